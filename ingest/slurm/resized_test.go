package slurm

import (
	"reflect"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// TestResized: the lines of a job that was resized are one attempt, however many are there; those of others stay.
func TestResized(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 20, 14, 0, s, 0, time.UTC) }
	const gib = 1 << 30
	part := func(state string, submit, start, end, nodes int, cpu time.Duration) Job {
		j := Job{Cluster: "c", ID: "7", RawID: 7, State: state, Submit: at(submit), Eligible: at(submit), Start: at(start), Nodes: nodes, CPUs: 2 * nodes, GPUs: nodes,
			NodeList: map[int]string{1: "n1", 2: "n[1-2]"}[nodes], TRES: map[int]string{1: "cpu=2,mem=1G", 2: "cpu=4,mem=2G"}[nodes]}
		j.Elapsed = at(40).Sub(j.Start)
		if end > 0 {
			j.End, j.Elapsed = at(end), at(end).Sub(j.Start)
			j.Usage = &job.Usage{TotalCPU: cpu, Memory: int64(cpu), Allocated: int64(nodes) * gib}
		}
		return j
	}
	first, last, runs := part(resizing, 1, 2, 25, 2, 60), part("COMPLETED", 25, 2, 32, 1, 9), part("RUNNING", 25, 2, 0, 1, 0)
	moved := last // a Slurm that lets it start when it was resized
	moved.Start, moved.Elapsed = at(25), 7*time.Second
	other := part("COMPLETED", 1, 2, 30, 2, 5)
	other.RawID, other.ID = 8, "8"
	whole := first
	whole.State, whole.End, whole.Elapsed = "COMPLETED", at(32), 30*time.Second
	whole.Usage = &job.Usage{TotalCPU: 69, Memory: 60, Allocated: 2 * gib}
	whole.Used = coreTime(4*23 + 2*7) // not 4*23 + 2*30
	whole.GPUUsed = coreTime(2*23 + 1*7)
	still := first
	still.State, still.End, still.Elapsed, still.Usage, still.Used = "RUNNING", time.Time{}, 38*time.Second, nil, coreTime(4*23+2*15)
	still.GPUUsed = coreTime(2*23 + 1*15)
	late := last // nothing tells what it was before
	late.Start, late.Elapsed = at(25), 7*time.Second
	grew := part(resizing, 25, 2, 28, 1, 3)
	again := part("COMPLETED", 28, 2, 32, 2, 1)
	thrice := whole
	thrice.Usage = &job.Usage{TotalCPU: 64, Memory: 60, Allocated: 2 * gib}
	thrice.Used = coreTime(4*23 + 2*3 + 4*4)
	thrice.GPUUsed = coreTime(2*23 + 1*3 + 2*4)
	requeued := part("COMPLETED", 40, 90, 95, 2, 5)
	for name, c := range map[string]struct {
		lines, want []Job
		lone        []uint32
	}{
		"none":           {[]Job{other}, []Job{other}, nil},
		"ended":          {[]Job{first, last}, []Job{whole}, nil},
		"in any order":   {[]Job{last, other, first}, []Job{other, whole}, nil},
		"runs":           {[]Job{first, runs}, []Job{still}, nil},
		"starts anew":    {[]Job{first, moved}, []Job{whole}, nil},
		"twice":          {[]Job{first, grew, again}, []Job{thrice}, nil},
		"the first only": {[]Job{first}, nil, nil},
		"the last only":  {[]Job{last}, []Job{late}, []uint32{7}},
		"and again":      {[]Job{first, last, requeued}, []Job{whole, requeued}, nil},
	} {
		got, lone := joinResized(c.lines)
		if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(lone, c.lone) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, lone, c.want)
		}
	}
}

func coreTime(s int) *job.CoreTime {
	t := job.CoreTime(s) * 1e6
	return &t
}
