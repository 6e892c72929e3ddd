package job

import (
	"slices"
	"time"

	"jobeff/policy/overhead"
	"jobeff/preload/record"
)

// Hidable says how much of the job's time in point-to-point calls computation could have hidden, by its
// Overheads; nil if no execution with such messages has a curve.
func (j *Job) Hidable() *overhead.Hidable { return overhead.HidableOf(programsOf(j), j.Overheads) }

// AddOverheads gives the job those of its cluster's and partition's curves that fit its executions;
// the newest curve comes first.
func (j *Job) AddOverheads(curves []overhead.Curve) {
	j.Overheads = overhead.Fitting(programsOf(j), curves)
}

func programsOf(j *Job) (all []overhead.Program) {
	for i := range j.Executions {
		e := &j.Executions[i]
		all = append(all, overhead.Program{MPI: overhead.LibraryName(e.MPIVersion), Nodes: len(e.Nodes), Sizes: e.HistP2P, P2P: p2pTime(e)})
	}
	return all
}

// p2pClasses are the classes of calls in which ranks send and receive, or wait for that.
var p2pClasses = []string{record.ClassP2P.String(), record.ClassP2PStart.String(), record.ClassWait.String(), record.ClassRecv.String(), record.ClassTest.String()}

// p2pTime is the time of all ranks in such calls, s.
func p2pTime(e *Execution) float64 {
	var t time.Duration
	for _, c := range e.Classes {
		if slices.Contains(p2pClasses, c.Name) {
			t = AddTime(t, c.Time)
		}
	}
	return t.Seconds()
}
