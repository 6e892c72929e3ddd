package slurm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// step is what sacct says of a step.
type step struct {
	id         string // decimal, "batch", "extern", "interactive"
	state      string
	start, end time.Time
	nodes      int
	nodeList   string
	cpu        time.Duration // TotalCPU
	largest    int64         // MaxRSS, bytes
	memory     int64         // mem of TRESUsageInTot, bytes: the sum of the tasks' peaks
	counted    bool          // there are figures
}

// setUsage sums up the steps once the attempt has ended.
func (j *Job) setUsage(steps []step) {
	if j.End.IsZero() || len(steps) == 0 {
		return
	}
	allocated, _ := tresBytes(j.TRES, 1<<20)
	u := &job.Usage{Memory: peak(steps), Allocated: allocated, PartOfNodes: !everywhere(steps, j.Nodes)}
	for _, s := range steps {
		u.TotalCPU += s.cpu
		u.LargestTask = max(u.LargestTask, s.largest)
		j.StepsOpen = j.StepsOpen || s.end.IsZero() || !s.counted
	}
	u.OutOfMemory = outOfMemory(steps)
	j.Usage = u
}

// namedSteps bounds the steps that ran out of memory and are named.
const namedSteps = 64

// outOfMemory names the steps that ran out of memory. Slurm's cgroup plugin notices it, and sacct
// shows it in the step's state. The job's own state is that of its script.
func outOfMemory(steps []step) string {
	var ids []string
	for _, s := range steps {
		if s.state == "OUT_OF_MEMORY" && len(ids) < namedSteps {
			ids = append(ids, s.id)
		}
	}
	return strings.Join(ids, ",")
}

// peak is the most memory that steps held at the same time. A script's steps one after another
// are not added up. Steps side by side are, and so are the two that hold mpirun's ranks.
func peak(steps []step) int64 {
	type change struct {
		at    time.Time
		bytes int64
	}
	var changes []change
	most := int64(0)
	for _, s := range steps {
		most = max(most, s.memory)
		if s.end.After(s.start) && !s.start.IsZero() {
			changes = append(changes, change{s.start, s.memory}, change{s.end, -s.memory})
		}
	}
	// If a step ends in the second in which another starts, the two did not run at the same time.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.bytes, b.bytes)) })
	now := int64(0)
	for _, c := range changes {
		now += c.bytes
		most = max(most, now)
	}
	return most
}

// adopted: an extern step with this much CPU time held more than its own sleep: processes of ssh,
// which pam_slurm_adopt moved there.
const adopted = time.Second

// everywhere reports whether steps ran on all of the job's nodes. The batch step runs on the
// first node. If another step, as that of mpirun's daemons, has other nodes, both count.
func everywhere(steps []step, nodes int) bool {
	most, batch := 0, ""
	for _, s := range steps {
		if s.id == "batch" {
			batch = s.nodeList
		}
	}
	for _, s := range steps {
		n := s.nodes
		switch {
		case s.id == "extern" && s.cpu < adopted:
			continue
		case s.id != "batch" && batch != "" && s.nodeList != batch && n < nodes:
			n++
		}
		most = max(most, n)
	}
	return most >= nodes
}

// gpus counts the GPUs of a TRES list: gres/gpu, or else the sum over types (gres/gpu:a100). A
// part of a GPU, which sites call shard or mps, counts as one.
func gpus(tres string) int {
	all, typed, part := 0, 0, 0
	for item := range strings.SplitSeq(tres, ",") {
		name, value, _ := strings.Cut(item, "=")
		n, ok := parseCount(value)
		if !ok {
			continue
		}
		switch name, _, _ = strings.Cut(name, ":"); {
		case item == "gres/gpu="+value:
			all = n
		case name == "gres/gpu":
			typed += n
		case (name == "gres/shard" || name == "gres/mps") && n > 0:
			part = 1
		}
	}
	return max(all, typed, part)
}

// tresBytes is the memory of a TRES list; unit is what a number without a unit counts.
func tresBytes(tres string, unit float64) (int64, bool) {
	return parseBytes(ofTRES(tres, "mem"), unit)
}

// ofTRES is what a TRES list has of a name; "": nothing.
func ofTRES(tres, name string) string {
	for item := range strings.SplitSeq(tres, ",") {
		if value, is := strings.CutPrefix(item, name+"="); is {
			return value
		}
	}
	return ""
}
