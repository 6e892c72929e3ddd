package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// Rooms is what Slurm gives the jobs of a cluster, by the names of partitions and QOS.
type Rooms struct {
	Partitions map[string]Partition `json:"partitions"`
	QOS        map[string]QOS       `json:"qos"`
}

// Limits are those of one job; a zero is no limit.
type Limits struct {
	Nodes      int           `json:"nodes,omitempty"`
	CPUs       int           `json:"cpus,omitempty"`
	Memory     int64         `json:"memory,omitempty"` // bytes
	NodeCPUs   int           `json:"node_cpus,omitempty"`
	NodeMemory int64         `json:"node_memory,omitempty"` // bytes, of each node
	CPUMemory  int64         `json:"cpu_memory,omitempty"`  // bytes, for each CPU: a job that asks for more gets more CPUs
	Time       time.Duration `json:"time_ns,omitempty"`
}

// Partition is a partition's limits, and its nodes with what jobs may have of them.
type Partition struct {
	Limits
	QOS   string         `json:"qos,omitempty"` // whose limits hold for all of its jobs
	Kinds []job.NodeKind `json:"kinds,omitempty"`
}

// QOS is a QOS's limits, and which other limits they override.
type QOS struct {
	Limits
	OverQOS   bool `json:"over_qos,omitempty"` // over the partition's QOS, which else comes first
	OverNodes bool `json:"over_nodes,omitempty"`
	OverTime  bool `json:"over_time,omitempty"` // … over the partition's
}

// Bounds of what is kept.
const (
	maxPartitions = 16 << 20 // bytes of one answer
	maxNodes      = 64 << 20 // likewise: some 50,000 nodes
	mostRooms     = 1000     // partitions, and QOS
	mostKinds     = 16       // of a partition's nodes
)

// ReadRooms asks slurmctld for its cluster's name, partitions and nodes, and slurmdbd for its QOS.
func (c Commands) ReadRooms(ctx context.Context) (cluster string, rooms *Rooms, err error) {
	var answers [4][]byte
	for i, ask := range []struct {
		most    int
		command []string
	}{
		{maxConfig, []string{"scontrol", "show", "config"}},
		{maxPartitions, []string{"scontrol", "--local", "--all", "--oneliner", "show", "partition"}},
		{maxNodes, []string{"scontrol", "--local", "--all", "--oneliner", "show", "node"}},
		{maxConfig, []string{"sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=" + strings.Join(qosFields, ",")}},
	} {
		if answers[i], err = c.output(ctx, ask.most, ask.command[0], ask.command[1:]...); err != nil {
			return "", nil, err
		}
	}
	config := settingsOf(answers[0])
	if config["ClusterName"] == "" {
		return "", nil, errNoCluster
	}
	rooms, err = parseRooms(config, answers[1], answers[2], answers[3])
	return config["ClusterName"], rooms, err
}

var errNoCluster = errors.New("slurm: scontrol show config tells no ClusterName")

// settingsOf reads "Name = value" lines, the first of each name.
func settingsOf(text []byte) map[string]string {
	all := map[string]string{}
	for line := range lines(text) {
		key, value, _ := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); all[key] == "" {
			all[key] = strings.TrimSpace(value)
		}
	}
	return all
}

// parseRooms reads the answers. A partition, node or QOS that cannot be read is left out.
func parseRooms(config map[string]string, partitions, nodes, qos []byte) (*Rooms, error) {
	r := &Rooms{Partitions: map[string]Partition{}, QOS: map[string]QOS{}}
	for line := range lines(partitions) {
		name, p, ok := parsePartition(line, config)
		if ok && len(r.Partitions) < mostRooms {
			r.Partitions[name] = p
		}
	}
	for line := range lines(nodes) {
		r.addNode(line)
	}
	some := false
	for name, p := range r.Partitions {
		if len(p.Kinds) > 0 {
			some, p.Kinds = true, fewKinds(p.Kinds)
			r.Partitions[name] = p
		}
	}
	for line := range lines(qos) {
		name, q, ok := parseQOS(line)
		if !strings.Contains(config["AccountingStorageEnforce"], "limits") { // Slurm holds no job to these
			q.Limits = Limits{}
		}
		if ok && len(r.QOS) < mostRooms {
			r.QOS[name] = q
		}
	}
	if !some {
		return nil, fmt.Errorf("slurm: scontrol tells of no partition with nodes: %.200q, %.200q", partitions, nodes)
	}
	return r, nil
}

// keysOf reads a line of scontrol --oneliner. It takes the first of each key, and stops at the key
// last: what people write about a node comes after it.
func keysOf(line, last string) map[string]string {
	all := map[string]string{}
	line, _, _ = strings.Cut(line, " "+last+"=")
	for word := range strings.FieldsSeq(line) {
		if key, value, is := strings.Cut(word, "="); is && all[key] == "" {
			all[key] = value
		}
	}
	return all
}

// parsePartition reads a line of scontrol show partition. If it sets no limit of memory, the cluster's applies.
func parsePartition(line string, config map[string]string) (name string, p Partition, ok bool) {
	of := keysOf(line, "TRESBillingWeights")
	name = of["PartitionName"]
	var oks [5]bool
	p.Nodes, oks[0] = limitNumber(of["MaxNodes"])
	p.NodeCPUs, oks[1] = limitNumber(of["MaxCPUsPerNode"])
	if of["MaxTime"] != unlimited {
		p.Time, oks[2] = parseCPUTime(of["MaxTime"])
	} else {
		oks[2] = true
	}
	if isLimit(of["MaxMemPerNode"]) || isLimit(of["MaxMemPerCPU"]) {
		config = of
	}
	p.NodeMemory, oks[3] = limitMiB(config["MaxMemPerNode"])
	p.CPUMemory, oks[4] = limitMiB(config["MaxMemPerCPU"])
	if q := of["QoS"]; q != "N/A" {
		p.QOS = q
	}
	return name, p, name != "" && of["MaxTime"] != "" && !slices.Contains(oks[:], false)
}

const unlimited = "UNLIMITED"

func isLimit(s string) bool { return s != "" && s != unlimited }

// limitNumber reads a number, 0 if there is no limit.
func limitNumber(s string) (int, bool) {
	if !isLimit(s) {
		return 0, true
	}
	return parseCount(s)
}

// limitMiB reads a number of MiB.
func limitMiB(s string) (int64, bool) {
	if !isLimit(s) {
		return 0, true
	}
	return parseBytes(s, 1<<20)
}

// addNode adds a node of scontrol show node to its partitions, without what Slurm keeps for the system.
func (r *Rooms) addNode(line string) {
	of := keysOf(line, "BootTime")
	cpus, ok := parseCount(cmp.Or(of["CPUEfctv"], of["CPUTot"]))
	memory, told := parseBytes(of["RealMemory"], 1<<20)
	system, is := parseBytes(of["MemSpecLimit"], 1<<20)
	if memory -= system; of["NodeName"] == "" || !ok || !told || !is || cpus <= 0 || memory <= 0 {
		return
	}
	if memory == 1<<20 { // Slurm's default, if the site sets none
		memory = 0
	}
	for name := range strings.SplitSeq(of["Partitions"], ",") {
		p, known := r.Partitions[name]
		if !known {
			continue
		}
		at := slices.IndexFunc(p.Kinds, func(k job.NodeKind) bool { return k.CPUs == cpus && k.Memory == memory })
		if at < 0 {
			at, p.Kinds = len(p.Kinds), append(p.Kinds, job.NodeKind{CPUs: cpus, Memory: memory})
		}
		p.Kinds[at].Nodes++
		r.Partitions[name] = p
	}
}

// fewKinds joins kinds of nodes if there are many. A joined kind has the least memory of its nodes,
// rounded down. Nodes may report their own memory, and no two the same.
func fewKinds(kinds []job.NodeKind) []job.NodeKind {
	for step := int64(2 << 20); ; step *= 2 {
		slices.SortFunc(kinds, func(a, b job.NodeKind) int {
			return cmp.Or(cmp.Compare(a.CPUs, b.CPUs), cmp.Compare(a.Memory, b.Memory))
		})
		var few []job.NodeKind
		for _, k := range kinds {
			if last := len(few) - 1; last >= 0 && few[last].CPUs == k.CPUs && few[last].Memory == k.Memory {
				few[last].Nodes += k.Nodes
			} else {
				few = append(few, k)
			}
		}
		least := slices.MinFunc(few, func(a, b job.NodeKind) int { return cmp.Compare(a.Memory, b.Memory) })
		if kinds = few; len(kinds) <= mostKinds || step > least.Memory {
			return kinds
		}
		for i := range kinds {
			kinds[i].Memory -= kinds[i].Memory % step
		}
	}
}

// qosFields are asked of sacctmgr in this order. Slurm 22.05 and later have all of them.
var qosFields = []string{"Name", "Flags", "MaxWall", "MaxTRES", "MaxTRESPerNode"}

// parseQOS reads a line of sacctmgr.
func parseQOS(line string) (name string, q QOS, ok bool) {
	of := strings.Split(line, "|")
	if len(of) != len(qosFields) || of[0] == "" {
		return "", q, false
	}
	flags := strings.Split(of[1], ",")
	q.OverQOS, q.OverNodes, q.OverTime = slices.Contains(flags, "OverPartQOS"), slices.Contains(flags, "PartitionMaxNodes"), slices.Contains(flags, "PartitionTimeLimit")
	var oks [6]bool
	q.Time, oks[0] = parseCPUTime(of[2])
	q.Nodes, oks[1] = parseCount(ofTRES(of[3], "node"))
	q.CPUs, oks[2] = parseCount(ofTRES(of[3], "cpu"))
	q.Memory, oks[3] = tresBytes(of[3], 1<<20)
	q.NodeCPUs, oks[4] = parseCount(ofTRES(of[4], "cpu"))
	q.NodeMemory, oks[5] = tresBytes(of[4], 1<<20)
	return of[0], q, !slices.Contains(oks[:], false)
}

// or returns these limits, and the other's where these set none.
func (l Limits) or(other Limits) Limits {
	return Limits{Nodes: cmp.Or(l.Nodes, other.Nodes), CPUs: cmp.Or(l.CPUs, other.CPUs), Memory: cmp.Or(l.Memory, other.Memory),
		NodeCPUs: cmp.Or(l.NodeCPUs, other.NodeCPUs), NodeMemory: cmp.Or(l.NodeMemory, other.NodeMemory), Time: cmp.Or(l.Time, other.Time)}
}

// Of is the room of a partition's jobs with a QOS; nil: the partition, or its nodes, are not known.
// The partition's own QOS comes before the job's, unless the job's says otherwise.
func (r *Rooms) Of(partition, qos string) *job.Room {
	p := r.Partitions[partition]
	if len(p.Kinds) == 0 {
		return nil
	}
	first, own := r.QOS[p.QOS].Limits, r.QOS[qos]
	limits := first.or(own.Limits)
	if own.OverQOS {
		limits = own.Limits.or(first)
	}
	if own.OverNodes {
		p.Nodes = 0
	}
	if own.OverTime {
		p.Time = 0
	}
	room := &job.Room{AllCPUs: limits.CPUs, AllMemory: limits.Memory, Time: least(p.Time, limits.Time)}
	for _, k := range p.Kinds {
		k.CPUs = least(k.CPUs, p.NodeCPUs, limits.NodeCPUs, limits.CPUs)
		k.Memory = least(k.Memory, p.NodeMemory, limits.NodeMemory, limits.Memory)
		if each := p.CPUMemory; each > 0 && each < k.Memory/int64(k.CPUs) {
			k.Memory = each * int64(k.CPUs)
		}
		room.Kinds = append(room.Kinds, k)
		room.Nodes, room.CPUs, room.Memory = room.Nodes+k.Nodes, max(room.CPUs, k.CPUs), max(room.Memory, k.Memory)
	}
	room.Nodes = least(room.Nodes, p.Nodes, limits.Nodes)
	return room
}

// least is the least of what is more than 0.
func least[N int | int64 | time.Duration](all ...N) (is N) {
	for _, n := range all {
		if n > 0 && (is == 0 || n < is) {
			is = n
		}
	}
	return is
}
