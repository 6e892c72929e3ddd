package workload

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// unfit says why a core count is not asked for instead of n, whatever its runs cost: its nodes do not hold the work, or its
// jobs were killed for memory or time, and too few were completed since, or all together cost more. "": nothing speaks
// against it.
func (s *Study) unfit(r *Recommendation, n int) string {
	at := int(r.Cores.Value)
	runs, done := s.ranOn(at)
	if f := new(Needs).failureOf(runs, func(r *job.Ran) float64 { return float64(r.Memory) }, func(*job.Ran) float64 { return 0 }, killed); f != nil && f.Doubled && len(done) < someRuns {
		were := map[bool]string{true: "was", false: "were"}[f.Many == 1]
		return fmt.Sprintf("on %s, %s of %s %s killed for memory or time", figure.Counted(at, "core"), figure.Count(f.Many), figure.Counted(f.Of, "job"), were)
	}
	if more := s.wasted(at) / s.wasted(n); more > 1 && r.Time != nil && more*r.spends() >= 1 {
		return fmt.Sprintf("on %s, jobs were killed for memory or time, and with what these used it would have saved nothing", figure.Counted(at, "core"))
	}
	if s.room == nil || s.room.Memory == 0 {
		return ""
	}
	var need int64
	for i := range done {
		need = max(need, done[i].NodeNeeded)
	}
	if nodes := s.NodesFor(at); need == 0 && nodes > 0 {
		need = s.held / int64(nodes)
	}
	if need > s.room.Memory {
		return fmt.Sprintf("on %s, a node would have to hold %s, and has %s", figure.Counted(at, "core"), figure.Bytes(uint64(need)), figure.Bytes(uint64(s.room.Memory)))
	}
	return ""
}

func killed(r *job.Ran) bool { return outOfMemory(r) || overTime(r) }

// ranOn are the jobs with as many ranks as the core count has, and those of them that were completed.
func (s *Study) ranOn(n int) (all, done []job.Ran) {
	if len(s.jobs) == 0 {
		return nil, nil
	}
	ranks := n / s.ThreadsFor(n)
	for _, r := range s.jobs {
		if r.Ranks != ranks {
			continue
		}
		if all = append(all, r); !NotCompleted(&r) {
			done = append(done, r)
		}
	}
	return all, done
}

// wasted is what the jobs on a core count cost, those too that were killed for memory or time, over what the completed
// ones cost. It is 1 where none is known.
func (s *Study) wasted(n int) float64 {
	var whole, lost float64
	all, _ := s.ranOn(n)
	for i := range all {
		switch r := &all[i]; {
		case killed(r):
			lost += float64(r.CPUs) * r.Elapsed
		case !NotCompleted(r):
			whole += float64(r.CPUs) * r.Elapsed
		}
	}
	if whole == 0 {
		return 1
	}
	return 1 + lost/whole
}
