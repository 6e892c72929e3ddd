package workload

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// unfit returns why a core count is not recommended instead of n, whatever its runs cost; "": nothing speaks
// against it. Its nodes may not hold the work. If few jobs were completed on it, as many may have been killed
// for memory or time; or some were, and a job may not have more. Or what the killed jobs used may exceed the
// savings.
func (s *Study) unfit(r *Recommendation, n int) string {
	at := int(r.Cores.Value)
	runs, done := s.ranOn(at)
	lost := 0
	for i := range runs {
		if killed(&runs[i]) {
			lost++
		}
	}
	if lost > 0 && len(done) < someRuns {
		were := map[bool]string{true: "was", false: "were"}[lost == 1]
		why := fmt.Sprintf("on %s, %s of %s %s killed for memory or time", figure.Counted(at, "core"), figure.Count(lost), figure.Counted(len(runs), "job"), were)
		if len(done) <= lost {
			return why
		}
		if s.noMore(done) {
			return why + ", and it may not have more"
		}
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

// noMore reports whether a job like the newest of done may not have more memory or time than the killed ones
// had.
func (s *Study) noMore(done []job.Ran) bool {
	n := NeedsOf(s.jobs, done[len(done)-1], s.room)
	return n.RanOut != nil && n.Memory == 0 || n.OverTime != nil && n.Time.Seconds() <= n.OverTime.Had
}

func killed(r *job.Ran) bool { return outOfMemory(r) || overTime(r) }

// ranOn returns the jobs with as many ranks as the core count has, and the completed ones among them.
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

// wasted returns the cost of all jobs on a core count, those killed for memory or time included, over the cost
// of the completed ones. It is 1 if none of these is known.
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
