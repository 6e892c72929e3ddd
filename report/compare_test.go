package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/policy/compare"
	"jobeff/report/view"
	"jobeff/report/words"
)

// compared are jobs of one program and input, made of the same execution with a change.
func compared(id uint32, change func(*job.Execution), ranks ...work) *listing.JobAndWorkload {
	e := execution(2, ranks...)
	e.ArgsHash, e.InputHash, e.BuildID = "ef01234567", "abcdef0123", "aa11bb22cc"
	e.Classes = []job.Call{{Name: "collective", Count: uint64(10000 * len(ranks))}}
	e.Start = began.Add(time.Duration(id) * time.Hour)
	for i := range e.Nodes {
		e.Nodes[i].RankIDs = fmt.Sprintf("%d-%d", 2*i, 2*i+1)
	}
	if change != nil {
		change(&e)
	}
	j := aJob(e)
	j.JobID, j.DisplayID, j.Attempt = id, fmt.Sprint(id), 1
	j.Elapsed = e.Nodes[0].ElapsedMax + 9*time.Second
	w := jobtest.Workload()
	for i, t := range []float64{98, 97, 99, 98.5, 97.5, 98} {
		r := jobtest.Run(uint32(i+1), len(ranks), t, 0.92*t)
		r.Nodes, r.Collectives, r.Start = 4, 10000, began.Add(time.Duration(i-9)*time.Hour)
		w.Runs = append(w.Runs, r)
	}
	return &listing.JobAndWorkload{Job: j, Workload: w}
}

// evenly are n ranks with so much work.
func evenly(n int, each work) (all []work) {
	for range n {
		all = append(all, each)
	}
	return all
}

// comparisons are those that every view is looked at with.
func comparisons(t *testing.T) map[string]*compare.Comparison {
	t.Helper()
	before := func() *listing.JobAndWorkload { return compared(11, nil, evenly(8, work{90, 8})...) }
	slow := append(evenly(6, work{90, 22}), work{104, 8}, work{104, 8})
	new := func(before, after *listing.JobAndWorkload, force bool) *compare.Comparison {
		c, err := compare.New(before, after, force)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	median, err := compare.WithMedian(compared(20, nil, slow...), false, func(r *job.Run) (*listing.JobAndWorkload, error) {
		return compared(r.JobID, nil, evenly(8, work{90, 8})...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	halo := func(e *job.Execution, all float64) {
		e.Sections = []job.Section{{Label: "halo", Ranks: 8, Count: 800, Elapsed: sec(all), ElapsedMax: sec(all / 8), Useful: sec(40), UsefulMax: sec(5), MPI: sec(all - 40), Own: sec(all), OwnUseful: sec(40), OwnMPI: sec(all - 40)}}
	}
	changed := func(e *job.Execution) {
		e.MPI, e.MPIVersion, e.BuildID, e.Nodes[1].Node = "MPICH", "MPICH 4.0.2", "dd33ee44ff", "n7"
		halo(e, 200)
	}
	loaded := func(id uint32, queue, useful float64) *listing.JobAndWorkload {
		return compared(id, func(e *job.Execution) {
			for i := range e.Nodes {
				n := &e.Nodes[i]
				n.Load = &job.Load{Ranks: n.Ranks, Whole: n.Ranks, Span: n.ElapsedSum, CPU: n.ElapsedSum, ThreadSpan: n.ElapsedSum, Queue: time.Duration(queue * float64(n.ElapsedSum)), Busy: n.Ranks, CPUList: "0-1"}
			}
		}, evenly(8, work{useful, 8})...)
	}
	few := compared(12, nil, evenly(8, work{90, 8})...)
	few.Workload.Runs = few.Workload.Runs[:1]
	alone := before()
	alone.Workload = few.Workload
	hostileJob := compared(13, func(e *job.Execution) {
		e.Executable, e.MPI, e.MPIVersion, e.BuildID, e.Nodes[0].Node, e.Calls[0].Name = nasty, nasty, nasty, nasty, nasty, nasty
		e.Args = []string{nasty}
	}, evenly(8, work{90, 30})...)
	hostileJob.Job.DisplayID, hostileJob.Job.User, hostileJob.Job.State = nasty, nasty, nasty
	return map[string]*compare.Comparison{
		"slow-node": new(before(), compared(12, nil, slow...), false),
		"median":    median,
		"nothing":   new(before(), compared(12, nil, evenly(8, work{90, 8.6})...), false),
		"mpi":       new(compared(11, func(e *job.Execution) { halo(e, 60) }, evenly(8, work{90, 8})...), compared(12, changed, evenly(8, work{90, 30})...), false),
		"faster":    new(compared(11, nil, slow...), compared(12, nil, evenly(8, work{80, 7})...), false),
		"alone":     new(alone, func() *listing.JobAndWorkload { few.Job.Elapsed += 20 * time.Second; return few }(), false),
		"forced":    new(before(), compared(12, func(e *job.Execution) { e.Classes[0].Count *= 2 }, evenly(8, work{180, 16})...), true),
		"shared":    new(loaded(11, 0, 90), loaded(12, 0.25, 112), false),
		"cores":     new(before(), compared(12, nil, evenly(4, work{175, 10})...), false),
		"hostile":   new(before(), hostileJob, true),
	}
}

func TestCompareViews(t *testing.T) {
	for name, c := range comparisons(t) {
		eachView(t, "compare-"+name, func(w io.Writer, opts Options) error {
			return TextOfComparison(w, view.NewComparison(c, opts.Unicode), opts)
		})
	}
}

// TestPartsThatMakeUp: where one part made it longer and another one shorter by as much, neither is all of a
// difference that is none.
func TestPartsThatMakeUp(t *testing.T) {
	for _, after := range []float64{9, 8.9, 8.7} { // s outside of the program
		c, err := compare.New(compared(11, nil, evenly(8, work{90, 9})...), compared(12, nil, evenly(8, work{80, 8})...), true)
		if err != nil {
			t.Fatal(err)
		}
		c.Usual = compare.Usual{}
		c.Before.Time, c.After.Time = 109, 108+after-8
		c.Parts = []compare.Part{{Code: compare.Outside, Before: 9, After: 19, Seconds: after + 1}, {Code: compare.Computing, Before: 900, After: 800, Seconds: -10}}
		h := view.NewComparison(c, true).Words.Headline
		if !strings.Contains(h.Text, "makes up for each other") || strings.Contains(h.Text, "Nearly all") || strings.Contains(h.Text, "Inf") || h.Bad || h.Good {
			t.Errorf("%+v", h)
		}
	}
}

// Places are named where somebody looked; else the command that does.
func TestPlacesThatChanged(t *testing.T) {
	for _, named := range []bool{false, true} {
		c := comparisons(t)["mpi"]
		c.Named, c.Places = named, []compare.Grown{{Name: "MPI_Barrier at solver+0x12", Before: 1, After: 9}}
		var out bytes.Buffer
		if err := TextOfComparison(&out, view.NewComparison(c, false), Options{}); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(said, "MPI_Barrier at solver+0x12 1.0 s 9.0 s +8.0 s") || strings.Contains(said, "`jobeff compare 11 12` names functions") == named {
			t.Errorf("looked %v:\n%s", named, out.String())
		}
	}
}

// compareHTML is a comparison's page.
func compareHTML(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := PageOfComparison(&out, view.NewComparison(comparisons(t)[name], true), siteLinks); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestComparePages(t *testing.T) {
	for name := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			checkPage(t, compareHTML(t, name))
			if name == "mpi" || name == "hostile" {
				golden(t, "compare-"+name+".html", compareHTML(t, name))
			}
		})
	}
	var out bytes.Buffer
	err := PageOfComparison(&out, view.NoComparison(compared(12, nil, work{9, 1}).Job, "it did <other> work", true), siteLinks)
	checkPage(t, out.Bytes())
	if err != nil || !strings.Contains(out.String(), "It did &lt;other&gt; work.") {
		t.Errorf("%v %s", err, out.String())
	}
}

func TestCompareJSON(t *testing.T) {
	for _, name := range []string{"mpi", "hostile"} {
		var out bytes.Buffer
		if err := view.Write(&out, view.NewComparison(comparisons(t)[name], true)); err != nil {
			t.Fatal(err)
		}
		checkASCII(t, out.Bytes())
		golden(t, "compare-"+name+".json", out.Bytes())
	}
}

// TestGateViews: what a gate between two builds says.
func TestGateViews(t *testing.T) {
	build := func(first uint32, factor float64) (runs []*listing.JobAndWorkload) {
		for i := range uint32(5) {
			f := factor * (1 + float64(i)/300)
			found := compared(first+2*i, nil, evenly(8, work{90 * f, 8 * f})...)
			for k := range found.Executions[0].Nodes {
				found.Executions[0].Nodes[k].Hardware = &job.Hardware{Model: "A"}
			}
			runs = append(runs, found)
		}
		return runs
	}
	other := build(2, 1)
	other[0].DisplayID, other[0].Executions[0].Nodes[0].Hardware = nasty, nil
	eachView(t, "gate", func(w io.Writer, opts Options) error {
		for _, after := range [][]*listing.JobAndWorkload{build(2, 1.1), build(2, 1.01), build(101, 0.9), other} {
			g, err := compare.NewGate(build(1, 1), after, 0.05)
			if err != nil {
				return err
			}
			if err := TextOfPart(w, words.OfGate(g, opts.Unicode), opts); err != nil {
				return err
			}
		}
		return nil
	})
}
