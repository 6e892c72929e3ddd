package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
)

// As scontrol and sacctmgr of Slurm 22.05 to 26.05 write it: partition_info.c, node_info.c, qos_functions.c.
const (
	partitionMain = "PartitionName=main AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=00:30:00 DisableRootJobs=NO ExclusiveUser=NO ExclusiveTopo=NO GraceTime=0 Hidden=NO " +
		"MaxNodes=UNLIMITED MaxTime=1-12:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED Nodes=n[1-3],fat1 PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF " +
		"State=UP TotalCPUs=224 TotalNodes=4 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerCPU=400 MaxMemPerNode=UNLIMITED TRES=cpu=224,mem=1812G,node=4,billing=224 TRESBillingWeights=CPU=1.0,MaxTime=1\n"
	partitionTight = "PartitionName=tight AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=part DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=YES " +
		"MaxNodes=2 MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=16 Nodes=n[1-3] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=192 TotalNodes=3 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerCPU=4000\n"
	partitionEmpty = "PartitionName=empty AllowGroups=ALL Nodes=(null) MaxNodes=UNLIMITED MaxTime=UNLIMITED MaxCPUsPerNode=UNLIMITED QoS=N/A MaxMemPerNode=UNLIMITED\n"
	qosLines       = "normal||||\nlong|DenyOnLimit,PartitionTimeLimit|10-00:00:00||\nmine|OverPartQOS,PartitionMaxNodes|02:00:00|cpu=64,mem=100G,node=3|cpu=32,mem=512000M\npart||06:00:00|cpu=24|\n"
)

// nodeLine is a line of scontrol show node.
func nodeLine(name string, cpus, memory int, rest, partitions string) string {
	return fmt.Sprintf("NodeName=%[1]s Arch=x86_64 CoresPerSocket=%[2]d  CPUAlloc=0 CPUEfctv=%[3]d CPUTot=64 CPULoad=0.50 AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null) NodeAddr=%[1]s NodeHostName=%[1]s Version=22.05.8 "+
		"OS=Linux 6.1.0-25-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.106-3 (2024-08-26)  RealMemory=%[4]d AllocMem=0 FreeMem=251000 Sockets=2 Boards=1 %[5]sState=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "+
		"Partitions=%[6]s  BootTime=2026-11-20T08:00:00 SlurmdStartTime=2026-11-20T08:00:10 LastBusyTime=2026-11-20T08:00:10 CfgTRES=cpu=%[3]d,mem=%[4]dM,billing=4 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 Reason=RealMemory=1 MemSpecLimit=1 [root@2026-11-20T08:00:00]\n", name, cpus/2, cpus, memory, rest, partitions)
}

var nodeLines = nodeLine("n1", 64, 257000, "", "main,tight") + nodeLine("n2", 64, 257000, "", "main,tight,other") + nodeLine("n3", 60, 257000, "CoreSpecCount=4 CPUSpecList=60-63 MemSpecLimit=8000 ", "tight,main") +
	nodeLine("fat1", 32, 1031000, "", "main") + nodeLine("alone", 64, 9000000, "", "")

const mib = 1 << 20

// TestRooms: a job is given no more than a node has for jobs, its partition's limits and those of QOS, in Slurm's order of these.
func TestRooms(t *testing.T) {
	config := map[string]string{"ClusterName": "zeta", "MaxMemPerNode": "UNLIMITED", "AccountingStorageEnforce": "associations,limits,qos,safe"}
	r, err := parseRooms(config, []byte(partitionMain+partitionTight+partitionEmpty), []byte(nodeLines), []byte(qosLines))
	if err != nil {
		t.Fatal(err)
	}
	all := []job.NodeKind{{Nodes: 1, CPUs: 32, Memory: 1031000 * mib}, {Nodes: 1, CPUs: 60, Memory: 249000 * mib}, {Nodes: 2, CPUs: 64, Memory: 257000 * mib}}
	whole := &job.Room{Nodes: 4, CPUs: 64, Memory: 1031000 * mib, Time: 36 * time.Hour, Kinds: all}
	in := func(change func(*job.Room)) *job.Room {
		is := *whole
		is.Kinds = append([]job.NodeKind{}, all...)
		change(&is)
		return &is
	}
	tight := func(limit time.Duration, nodes, cpus, allCPUs int, memory, allMemory int64) *job.Room {
		return &job.Room{Nodes: nodes, CPUs: cpus, Memory: memory, AllCPUs: allCPUs, AllMemory: allMemory, Time: limit, Kinds: []job.NodeKind{{Nodes: 1, CPUs: cpus, Memory: memory}, {Nodes: 2, CPUs: cpus, Memory: memory}}}
	}
	for _, c := range []struct {
		partition, qos string
		want           *job.Room
	}{
		{"main", "", whole}, {"main", "normal", whole}, {"main", "gone", whole}, {"nowhere", "normal", nil}, {"", "", nil}, {"empty", "normal", nil},
		{"main", "long", in(func(r *job.Room) { r.Time = 240 * time.Hour })},
		{"main", "mine", in(func(r *job.Room) {
			r.Time, r.Nodes, r.CPUs, r.Memory, r.AllCPUs, r.AllMemory = 2*time.Hour, 3, 32, 100<<30, 64, 100<<30
			for i := range r.Kinds {
				r.Kinds[i].CPUs, r.Kinds[i].Memory = 32, 100<<30
			}
		})},
		{"tight", "normal", tight(6*time.Hour, 2, 16, 24, 16*4000*mib, 0)},
		{"tight", "long", tight(6*time.Hour, 2, 16, 24, 16*4000*mib, 0)}, // the partition's QOS comes first
		{"tight", "mine", tight(2*time.Hour, 3, 16, 64, 16*4000*mib, 100<<30)},
	} {
		if d := cmp.Diff(c.want, r.Of(c.partition, c.qos)); d != "" {
			t.Errorf("%s, %s: %s", c.partition, c.qos, d)
		}
	}
	if again := r.Of("main", "mine"); !reflect.DeepEqual(r.Of("main", ""), whole) || again.Memory != 100<<30 {
		t.Error("one answer changes the next")
	}
	config["AccountingStorageEnforce"], config["MaxMemPerNode"] = "associations,qos", "200000"
	if r, err = parseRooms(config, []byte(partitionMain), []byte(nodeLines), []byte(qosLines)); err != nil {
		t.Fatal(err)
	}
	if got := r.Of("main", "mine"); got.Time != 36*time.Hour || got.AllCPUs != 0 || got.Memory != 200000*mib || got.CPUs != 64 {
		t.Errorf("limits of QOS that Slurm does not enforce, and the cluster's one of memory: %+v", got)
	}
}

// TestRoomsOfACluster reads what a Slurm 22.05.8 said.
func TestRoomsOfACluster(t *testing.T) {
	var said [3][]byte
	for i, name := range []string{"partitions", "nodes", "qos"} {
		var err error
		if said[i], err = os.ReadFile("testdata/" + name + "-22.05.8.txt"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := parseRooms(map[string]string{"AccountingStorageEnforce": "limits"}, said[0], said[1], said[2])
	if err != nil {
		t.Fatal(err)
	}
	kind := job.NodeKind{Nodes: 3, CPUs: 4, Memory: 8000 * mib}
	for qos, want := range map[string]*job.Room{"normal": {Nodes: 3, CPUs: 4, Memory: 8000 * mib, Kinds: []job.NodeKind{kind}},
		"tight": {Nodes: 3, CPUs: 4, Memory: 8000 * mib, AllCPUs: 64, AllMemory: 100 << 30, Time: 51 * time.Hour, Kinds: []job.NodeKind{kind}}} {
		if d := cmp.Diff(want, r.Of("main", qos)); d != "" {
			t.Errorf("%s: %s", qos, d)
		}
	}
	want := QOS{Limits: Limits{Nodes: 3, CPUs: 64, Memory: 100 << 30, NodeCPUs: 32, NodeMemory: 500 << 30, Time: 51 * time.Hour}, OverQOS: true, OverNodes: true, OverTime: true}
	if d := cmp.Diff(want, r.QOS["tight"]); d != "" {
		t.Error(d)
	}
}

// TestHostileRooms: what cannot be read is left out, and an answer of nothing else refused.
func TestHostileRooms(t *testing.T) {
	odd := "PartitionName=odd MaxNodes=-1 MaxTime=1-00:00:00\nPartitionName=late MaxTime=soon\nPartitionName= MaxTime=1\nPartitionName=none\nMaxTime=UNLIMITED\nPartitionName=much MaxTime=UNLIMITED MaxMemPerNode=1e300\n\n"
	nodes := "NodeName=x CPUTot=64 RealMemory=99999999 MemSpecLimit=x Partitions=main\nNodeName=x CPUTot=-4 RealMemory=9999999 Partitions=main\nNodeName=x CPUTot=4 Partitions=main\nCPUTot=4 RealMemory=9999999 Partitions=main\n" +
		"NodeName=x CPUTot=400 RealMemory=10 MemSpecLimit=10 Partitions=main\nNodeName=x Comment=CPUTot=1 BootTime=None CPUTot=4 RealMemory=9999999 Partitions=main\n"
	qos := "|x|||\nbad||soon||\nbad||||cpu=x\nbad\nforged||||\x00|\nbad|||mem=1e400|\n"
	r, err := parseRooms(nil, []byte(odd+partitionMain), []byte(nodes+nodeLine("n1", 64, 257000, "", "main")), []byte(qos+qosLines))
	if err != nil || len(r.Partitions) != 1 || len(r.QOS) != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := r.Of("main", "bad"); got.Nodes != 1 || got.CPUs != 64 || got.Memory != 257000*mib {
		t.Errorf("%+v", got)
	}
	if r, err = parseRooms(nil, []byte(partitionMain), []byte(nodeLine("n1", 64, 1, "", "main")), nil); err != nil || r.Of("main", "").Memory != 0 || !r.Of("main", "").Holds(1, 64, 1<<50) {
		t.Errorf("a memory that the site does not tell: %+v, %v", r, err)
	}
	if r, err = parseRooms(nil, []byte(partitionMain), []byte("slurm_load_node error: Access/permission denied\n"), []byte(qosLines)); err == nil {
		t.Errorf("of nodes that are hidden: %+v", r)
	}
	for _, text := range []string{"", "No partitions in the system\n", "down", odd, "<html>", strings.Repeat("=", 10000)} {
		if r, err := parseRooms(nil, []byte(text), []byte(nodeLines), nil); err == nil {
			t.Errorf("%.60q: %+v", text, r)
		}
	}
}

// TestFewKinds: nodes of which each tells another memory are a few kinds, of which none has more than its nodes.
func TestFewKinds(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(nodeLine(fmt.Sprint("n", i), 64, 257000-i, "", "main"))
	}
	r, err := parseRooms(nil, []byte(partitionMain), []byte(text.String()+nodeLine("fat1", 32, 1031000, "", "main")), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Of("main", "")
	if got.Nodes != 3001 || len(got.Kinds) > mostKinds || got.Memory > 1031000*mib || got.Memory < 1029000*mib {
		t.Errorf("%+v", got)
	}
	if got.Holds(1, 64, 257001*mib) || !got.Holds(3000, 64, 253000*mib) || got.Holds(3000, 64, 254001*mib) {
		t.Errorf("%+v", got)
	}
}

// TestReadRooms: Slurm is asked for its own cluster's partitions, hidden ones too.
func TestReadRooms(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	say := func(name, script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const told = `echo "$@" >>` + "%[1]s/asked; case $* in *config) echo 'ClusterName = zeta'; echo 'AccountingStorageEnforce = limits';; *partition) cat %[1]s/partitions;; *node) cat %[1]s/nodes;; esac"
	say("scontrol", fmt.Sprintf(told, dir))
	say("partitions", "")
	say("sacctmgr", "echo \"$@\" >>"+dir+"/asked; echo 'normal||12:00:00||'")
	for name, text := range map[string]string{"partitions": partitionMain, "nodes": nodeLines} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cluster, r, err := Commands{}.ReadRooms(t.Context())
	if err != nil || cluster != "zeta" || r.Of("main", "normal").Time != 12*time.Hour {
		t.Fatalf("%s, %+v, %v", cluster, r, err)
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if want := "show config\n--local --all --oneliner show partition\n--local --all --oneliner show node\n--noheader --parsable2 show qos format=Name,Flags,MaxWall,MaxTRES,MaxTRESPerNode\n"; string(asked) != want {
		t.Errorf("asked %q", asked)
	}
	for name, script := range map[string]string{"sacctmgr": "echo down >&2; exit 1", "scontrol": "exec yes"} {
		say(name, script)
		if _, r, err := (Commands{}).ReadRooms(t.Context()); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// FuzzRooms: whatever Slurm's commands print, no room is negative, and nothing crashes.
func FuzzRooms(f *testing.F) {
	f.Add([]byte(partitionMain+partitionTight), []byte(nodeLines), []byte(qosLines), "limits")
	f.Add([]byte("PartitionName=main MaxTime=0 MaxMemPerCPU=9E\n"), []byte("NodeName=x CPUTot=2147483647 RealMemory=1P Partitions=main,,main\n"), []byte("normal|||cpu=0,mem=9E|mem=3E"), "")
	f.Fuzz(func(t *testing.T, partitions, nodes, qos []byte, enforce string) {
		r, err := parseRooms(map[string]string{"AccountingStorageEnforce": enforce}, partitions, nodes, qos)
		if err != nil {
			return
		}
		for name := range r.Partitions {
			for of := range r.QOS {
				room := r.Of(name, of)
				if room == nil {
					continue
				}
				if room.Nodes <= 0 || room.CPUs <= 0 || room.Memory < 0 || room.Time < 0 || room.AllCPUs < 0 || room.AllMemory < 0 {
					t.Fatalf("%+v", room)
				}
				room.Holds(room.Nodes, room.CPUs, room.Memory)
			}
		}
	})
}
