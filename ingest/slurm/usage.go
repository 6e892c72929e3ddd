package slurm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// step is what sacct says of a step, as far as it concerns what the job used.
type step struct {
	id         string // decimal, "batch", "extern", "interactive"
	start, end time.Time
	nodes      int
	nodeList   string
	cpu        time.Duration // TotalCPU
	largest    int64         // MaxRSS, bytes
	memory     int64         // mem of TRESUsageInTot, bytes: the sum of the tasks' peaks
	counted    bool          // there are figures
}

// setUsage sums the steps up, once the run has ended.
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
	j.Usage = u
}

// peak is the most memory that steps held which ran at the same time: a script's
// steps one after the other are not added up, those side by side are, and so are
// the two in which mpirun's ranks run.
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
	// Steps that end in the second in which others start did not run beside them.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.bytes, b.bytes)) })
	now := int64(0)
	for _, c := range changes {
		now += c.bytes
		most = max(most, now)
	}
	return most
}

// adopted is the CPU time from which the extern step holds more than its own sleep:
// processes of ssh that pam_slurm_adopt moved there.
const adopted = time.Second

// everywhere tells whether steps ran on all of the job's nodes. The batch step is on
// the first node; where another has other nodes, as the one of mpirun's daemons,
// both count.
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

// gpus counts the GPUs of a TRES list: gres/gpu, else what there is of each type
// (gres/gpu:a100); a part of one, which sites call shard or mps, is one.
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

// tresBytes is the memory of a TRES list; unit is what a plain number counts.
func tresBytes(tres string, unit float64) (int64, bool) {
	for item := range strings.SplitSeq(tres, ",") {
		if value, is := strings.CutPrefix(item, "mem="); is {
			return parseBytes(value, unit)
		}
	}
	return 0, true
}
