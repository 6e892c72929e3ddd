package replay

import (
	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// Windows replays the windows of an execution, from the logs of its ranks.
func Windows(logs []Log, e *job.Execution) *job.Windows {
	var run Run
	if m := job.ExecutionMetrics(e); m != nil {
		run = Run{PE: m.MPI.Parallel, LB: m.MPI.LoadBalance, CommE: m.MPI.Communication}
	}
	return windowsOf(Replay(logs, e.Size, run))
}

// windowsOf is what a report tells of a replay.
func windowsOf(r Result) *job.Windows {
	out := &job.Windows{Why: string(r.Why), Logged: r.Logged, Matched: r.Matched, Talking: r.Talking, Dropped: r.Dropped, Share: r.Share,
		LoadBalance: r.LB, Communication: r.CommE}
	for _, d := range r.Drops {
		out.Drops = append(out.Drops, job.WindowDrop{Reason: string(d.Reason), Count: d.Count, Time: d.Time})
	}
	if r.Why != Determined {
		return out
	}
	out.Serialisation = job.Estimate{Value: r.SerE, Low: r.SerEIn.Low, High: r.SerEIn.High}
	out.Transfer = job.Estimate{Value: r.TE, Low: r.TEIn.Low, High: r.TEIn.High}
	out.Elapsed, out.Ideal, out.WhatIf = r.Elapsed, r.Ideal, r.WhatIf
	out.Path = &job.WaitPath{Inside: r.Path.Inside, Chain: r.Path.Chain.Ranks, ChainLength: r.Path.Length,
		ChainReturns: r.Path.Returns, ChainShare: r.Path.Chain.Share}
	for _, s := range r.Path.Ranks {
		out.Path.Ranks = append(out.Path.Ranks, job.PathShare{Rank: s.Rank, Share: s.Share})
	}
	for _, c := range r.Path.Calls {
		out.Path.Calls = append(out.Path.Calls, job.PathShare{Call: record.FuncName(c.Call), Share: c.Share})
	}
	return out
}
