package assemble

import (
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// From which share on waiting and sleeping are told, and in which words.
func TestWhatLoadsSay(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		load job.Load
		code string
		args doubt.Arguments
		e    job.Execution
	}{
		"nothing":         {job.Load{Queue: 5 * s, Slept: 10 * s}, "", doubt.Arguments{}, job.Execution{}},
		"threads":         {job.Load{Threaded: 1}, doubt.WarnThreadsCounted, doubt.Arguments{N: 1, Of: 4}, job.Execution{MPI: "m"}},
		"all":             {job.Load{Threaded: 4}, doubt.WarnThreadsCounted, doubt.Arguments{N: 4, Of: 4}, job.Execution{MPI: "m"}},
		"one of one":      {job.Load{Ranks: -3, Threaded: 1}, doubt.WarnThreadsCounted, doubt.Arguments{N: 1, Of: 1}, job.Execution{MPI: "m"}},
		"some are OpenMP": {job.Load{Threaded: 3, OpenMP: 1}, doubt.WarnThreadsCounted, doubt.Arguments{N: 2, Of: 4}, job.Execution{MPI: "m"}},
		"no MPI":          {job.Load{Threaded: 1}, "", doubt.Arguments{}, job.Execution{}},
		"asked for":       {job.Load{Threaded: 1}, "", doubt.Arguments{}, job.Execution{MPI: "m", CPUsPerTask: 2}},
		"OpenMP":          {job.Load{Threaded: 1, OpenMP: 1, BusyOfMPI: true}, "", doubt.Arguments{}, job.Execution{MPI: "m"}},
		"MPI's thread":    {job.Load{Threaded: 1, BusyOfMPI: true, BusyName: "prog"}, doubt.WarnProgress, doubt.Arguments{Name: "prog"}, job.Execution{MPI: "m"}},
		"crowd":           {job.Load{CrowdBusy: 4, CrowdRanks: 2, CrowdCPUs: "0-1"}, doubt.WarnContention, doubt.Arguments{N: 4, Of: 2, CPUs: 2, Name: "0-1"}, job.Execution{}},
		"on one CPU":      {job.Load{CrowdBusy: 4, CrowdRanks: 2, CrowdCPUs: "3"}, doubt.WarnContention, doubt.Arguments{N: 4, Of: 2, CPUs: 1, Name: "3"}, job.Execution{}},
		"waits":           {job.Load{Queue: 6 * s}, doubt.WarnContention, doubt.Arguments{Time: 6 * s, OfTime: 100 * s}, job.Execution{}},
		"sleeps":          {job.Load{Slept: 11 * s}, doubt.WarnSlept, doubt.Arguments{Time: 11 * s, OfTime: 100 * s}, job.Execution{}},
	} {
		l := c.load
		l.Ranks, l.Span, l.ThreadSpan = l.Ranks+4, 100*s, 100*s
		c.e.Nodes = []job.NodeShare{{Ranks: 4, Load: &l}}
		got := loadWarnings(&c.e)
		if len(got) != min(len(c.code), 1) || len(got) > 0 && got[0] != (doubt.Warning{Code: c.code, Args: c.args}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if loadWarnings(&job.Execution{Nodes: make([]job.NodeShare, 1)}) != nil || job.LoadOf(nil) != nil {
		t.Error("what nobody counted has a load")
	}
}
