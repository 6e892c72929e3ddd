package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/report/document"
	"jobeff/report/page"
	"jobeff/report/text"
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
			Inside: 0.9, Chain: []int{1, 2, 3}, ChainLength: 3, ChainShare: 0.8},
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
		eachView(t, "waits-"+name, func(w2 io.Writer, opts text.Options) error {
			j := sampled(w)
			if err := Job(w2, j, nil, nil, opts); err != nil {
				return err
			}
			return Explain(w2, j, judged(t, j), opts)
		})
	}
	var out bytes.Buffer
	if err := document.WriteJob(&out, sampled(serialised()), nil, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "waits.json", out.Bytes())
	out.Reset()
	if err := JobHTML(&out, &job.JobAndWorkload{Job: sampled(serialised())}, nil, nil, page.Links{}); err != nil {
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
		"job":     func(w io.Writer) error { return Job(w, j, nil, nil, text.Options{}) },
		"explain": func(w io.Writer) error { return Explain(w, j, nil, text.Options{}) },
		"page":    func(w io.Writer) error { return JobHTML(w, &job.JobAndWorkload{Job: j}, nil, nil, page.Links{}) },
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
