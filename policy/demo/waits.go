package demo

import (
	"math"
	"time"

	"jobeff/ingest/job"
)

// waiting is how an application's ranks lose their time in MPI.
type waiting struct {
	forWork float64 // the part of that loss's logarithm that is waiting for other ranks' work
	inside  float64 // job.WaitPath's
	chain   []int
	returns bool
	call    string
	late    string // the call that it waits for
}

var (
	byTurns  = waiting{0.65, 0.9, []int{0, 1}, true, "MPI_Waitall", "MPI_Isend"}
	byVolume = waiting{0.15, 0.2, nil, false, "", ""}
	byNoise  = waiting{0.6, 0.3, nil, false, "", ""}
	inChain  = waiting{0.85, 0.95, []int{0, 1, 2, 3}, false, "MPI_Recv", "MPI_Send"}
)

// mostWindows is the number of windows that the library keeps.
const mostWindows = 1024

// windows makes the sampled windows of a run on one node that came to its end. A window is a time step.
func (w waiting) windows(e *job.Execution, steps int) *job.Windows {
	m := job.ExecutionMetrics(e)
	if m == nil || len(e.Nodes) != 1 || e.Nodes[0].Ranks != e.Size || e.Endings["finalized"] != e.Size || e.Size <= max(len(w.chain), 1) {
		return nil
	}
	logged := steps
	for logged > mostWindows {
		logged /= 2
	}
	ser := math.Pow(m.MPI.Communication, w.forWork)
	te := m.MPI.Communication / ser
	out := &job.Windows{Logged: logged, Matched: logged, Talking: logged, Share: 1, LoadBalance: m.MPI.LoadBalance, Communication: m.MPI.Communication,
		Serialisation: about(ser), Transfer: about(te), Elapsed: time.Duration(m.Elapsed * 1e9 * float64(logged) / float64(steps)),
		WhatIf: &job.WhatIf{FasterNetwork: (1 + te) / 2, FreeNetwork: te, Balanced: 1 - m.MPI.Communication*(1-m.MPI.LoadBalance)},
		Path:   &job.WaitPath{Inside: w.inside, Chain: w.chain, ChainLength: len(w.chain), ChainReturns: w.returns}}
	out.Ideal = time.Duration(float64(out.Elapsed) * te)
	if w.chain != nil {
		out.Path.ChainShare, out.Path.Calls = 0.8, []job.PathShare{{Call: w.call, Share: 0.9}}
		out.Path.Modules = []job.Module{module(e)}
		out.Path.Links = []job.WaitLink{{Waits: job.CallAt{Function: w.call, Frames: lineOf(e, w.call, 0)}, For: job.CallAt{Function: w.late, Frames: lineOf(e, w.late, 0)},
			Share: about(0.7)}}
	}
	return out
}

// about gives a value the interval that many windows leave.
func about(v float64) job.Estimate {
	return job.Estimate{Value: v, Low: max(v-0.01, 0), High: min(v+0.01, 1)}
}
