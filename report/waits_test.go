package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
)

// sampled is a job whose windows say w.
func sampled(w job.Windows) *job.Job {
	e := execution(2, work{60, 38}, work{61, 37}, work{62, 36}, work{59, 39})
	e.Windows = &w
	return aJob(e)
}

// serialised are windows in which a chain of ranks waits; transferred are those of a slow network.
func serialised() job.Windows {
	return job.Windows{
		Logged: 120, Matched: 113, Talking: 100, Dropped: 7, Share: 0.94, LoadBalance: 0.979, Communication: 0.633,
		Drops: []job.WindowDrop{{Reason: "more calls than a rank can log", Count: 5, Time: sec(3)},
			{Reason: "a request was open at one of its ends", Count: 2, Time: sec(1)}},
		Serialisation: job.Estimate{Value: 0.661, Low: 0.641, High: 0.688}, Transfer: job.Estimate{Value: 0.957, Low: 0.94, High: 0.962},
		Elapsed: sec(60), Ideal: sec(57.4), WhatIf: &job.WhatIf{FasterNetwork: 0.979, FreeNetwork: 0.957, Balanced: 0.93},
		Path: &job.WaitPath{Ranks: []job.PathShare{{Rank: 3, Share: 0.6}, {Rank: 2, Share: 0.4}}, Calls: []job.PathShare{{Call: "MPI_Recv", Share: 0.88}, {Call: "MPI_Wait", Share: 0.1}, {Call: "MPI_Bcast", Share: 0.02}},
			Inside: 0.9, Chain: []int{1, 2, 3}, ChainLength: 3, ChainShare: 0.8,
			Looked: true, Modules: []job.Module{{Path: "/home/a/solver", BuildID: "ab"}, {Path: "/lib/" + nasty, BuildID: "cd"}},
			Links: []job.WaitLink{
				{Waits: callAt("MPI_Recv", 0, 0x10, "exchange_halo", 212), For: callAt("MPI_Send", 0, 0x20, "relax", 88), Share: job.Estimate{Value: 0.61, Low: 0.55, High: 0.66}},
				{Waits: callAt("MPI_Allreduce", 0, 0x30, "norm", 40), For: callAt("MPI_Allreduce", 0, 0x30, "norm", 40), Share: job.Estimate{Value: 0.2, Low: 0.2, High: 0.2}},
				{Waits: callAt("MPI_Wait", 1, 0x40, "", 0), For: job.CallAt{Function: "MPI_Isend"}, Share: job.Estimate{Value: 0.1, Low: 0.02, High: 0.2}},
				{Waits: callAt("MPI_Recv", 0, 0x50, "fourth", 9), For: job.CallAt{Function: "MPI_Send"}, Share: job.Estimate{Value: 0.05, Low: 0.04, High: 0.06}},
			}},
	}
}

// callAt is a call whose line was found; 0: it was not.
func callAt(function string, module int, offset uint64, symbol string, line int) job.CallAt {
	return job.CallAt{Function: function, Frames: []job.Frame{{Module: module, Offset: offset, Symbol: symbol, File: "/src/solver.f90", Line: line}}}
}

// TestUnsureLinks: a wait is told where it surely is some of the waiting. Where nobody looked for names, the command is
// told that does.
func TestUnsureLinks(t *testing.T) {
	w := serialised()
	w.Path.Links = w.Path.Links[:2]
	w.Path.Links[0].Share.Low = 0
	w.Path.Links[1].Share = job.Estimate{Value: 0.04, Low: 0.03, High: 0.05}
	w.Path.Looked = false
	said := func() string {
		var out bytes.Buffer
		if err := pageOf(&out, sampled(w), nil, nil, Links{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := said(); strings.Contains(got, "of these waits") {
		t.Error("the page tells of waits that may be none")
	}
	w.Path.Links[0].Share.Low = 0.01
	w.Path.Links[0].Waits.Frames[0] = job.Frame{Offset: 0x10}
	if got := said(); !strings.Contains(got, "MPI_Recv at solver&#43;0x10, for another rank&#39;s MPI_Send at") || !strings.Contains(got, "names functions, files and lines of these waits") {
		t.Errorf("the page has %s", got[max(strings.Index(got, "Why ranks wait"), 0):])
	}
	w.Path = &job.WaitPath{Inside: 0.2, Chain: []int{0, 1}, ChainLength: 2, Links: w.Path.Links, Modules: w.Path.Modules}
	if got := said(); strings.Contains(got, "of these waits") {
		t.Error("the page tells of links of waits that vary")
	}
}

func transferred() job.Windows {
	w := serialised()
	w.Drops, w.Logged, w.Dropped, w.Share = nil, 113, 0, 1
	w.Serialisation, w.Transfer, w.WhatIf = job.Estimate{Value: 0.99, Low: 0.98, High: 1}, job.Estimate{Value: 0.64, Low: 0.63, High: 0.66}, nil
	return w
}

func varying() job.Windows {
	w := serialised()
	w.Path = &job.WaitPath{Inside: 0.2, Chain: []int{0, 1}, ChainLength: 2, ChainShare: 1}
	return w
}

// byTurns are windows whose critical path goes to and fro, and which are not quite like the run.
func byTurns() job.Windows {
	w := serialised()
	w.Path = &job.WaitPath{Inside: 1, Chain: []int{0, 1, 3}, ChainLength: 3, ChainReturns: true, ChainShare: 0.97}
	w.LoadBalance, w.Communication = 0.95, 0.61
	return w
}

// TestWaits: what a job's views say of why ranks wait. Without windows they are silent.
func TestWaits(t *testing.T) {
	undetermined := job.Windows{Why: "the windows that could be replayed hold too little of the time", Logged: 9, Matched: 2, Dropped: 7, Share: 0.31, LoadBalance: 0.71, Communication: 0.412,
		Drops: []job.WindowDrop{{Reason: nasty, Count: 7, Time: sec(3)}}}
	for name, w := range map[string]job.Windows{"serialised": serialised(), "transferred": transferred(), "varying": varying(), "turns": byTurns(), "undetermined": undetermined} {
		eachView(t, "waits-"+name, func(w2 io.Writer, opts Options) error {
			j := sampled(w)
			if err := textOf(w2, j, nil, nil, opts); err != nil {
				return err
			}
			return explain(w2, j, judged(t, j), opts)
		})
	}
	var out bytes.Buffer
	if err := jsonOf(&out, sampled(serialised()), nil, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "waits.json", out.Bytes())
	out.Reset()
	if err := pageOf(&out, sampled(serialised()), nil, nil, Links{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Serialisation efficiency", "Why ranks wait in MPI", "ranks 1 -&gt; 2 -&gt; 3", "a network that takes no time would save at most 4 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestWaitsOfContendedRanks: a replay takes waiting for a CPU inside MPI for a slow network. Each
// view says so.
func TestWaitsOfContendedRanks(t *testing.T) {
	j := sampled(transferred())
	j.Executions[0].Nodes[0].Load = &job.Load{Ranks: 2, Whole: 2, Span: sec(196), ThreadSpan: sec(196), Queue: sec(60)}
	for name, write := range map[string]func(w io.Writer) error{
		"job":     func(w io.Writer) error { return textOf(w, j, nil, nil, Options{}) },
		"explain": func(w io.Writer) error { return explain(w, j, nil, Options{}) },
		"page":    func(w io.Writer) error { return pageOf(w, j, nil, nil, Links{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(out.String()), " "); strings.Count(said, "ranks waited for CPUs: a call that takes longer for it counts as transfer here") != 1 {
			t.Errorf("%s: %s", name, said)
		}
	}
}
