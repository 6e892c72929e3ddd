package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
	"jobeff/policy/rule"
	"jobeff/report/view"
	"jobeff/report/words"
)

// extremeReport is what a made-up node says of its ranks of two MPI programs: some numbers are at an edge. Where the
// server refuses all of it, it is nil.
func extremeReport(rng *rand.Rand, node, ranks int) *job.NodeReport {
	r := jobtest.Report(7, fmt.Sprint("n", node), jobtest.Nonce)
	r.NNodes, r.Executions = 2, nil
	large := rng.IntN(2) == 0 // whatever is summed up is as large as it can be
	for x := range []int{2, 12}[rng.IntN(2)] {
		e := jobtest.Part(rng, fmt.Sprint(x), r.Node, jobtest.Start, node*ranks, ranks, 2*ranks)
		sound(&e, ranks)
		if large {
			n := &e.Nodes[0]
			n.ElapsedMax, n.UsefulMax, n.ElapsedSum, n.Useful, n.MPI = 1<<60, 1<<60, time.Duration(ranks)<<60, time.Duration(ranks)<<60, 0
			p := &e.Places.List[0]
			p.Calls, p.Time, p.Most, p.Samples, p.Sampled = 1<<64-2, 1<<63-2, 1<<63-2, 1, 1<<63-2
			e.Calls[0].Count, e.Calls[0].Time, e.Calls[0].Sent, e.Calls[0].Received = 1<<64-2, 1<<63-2, 1<<64-2, 1<<64-2
			e.Classes = e.Calls
			e.HistP2P = []uint64{1<<64 - 1, 1<<64 - 1}
		}
		jobtest.Extreme(rng, &e, rng.IntN(4))
		r.Executions = append(r.Executions, e)
	}
	jobtest.Extreme(rng, r, rng.IntN(3))
	r.Version, r.JobID = job.ReportVersion, 7
	body, err := json.Marshal(r)
	if err != nil { // a year beyond 9999
		return nil
	}
	got, err := wire.DecodeReport(body)
	if err != nil {
		return nil
	}
	return got
}

// sound makes the parts of an execution fit together, so that it is not refused for what jobtest.Part says at random.
func sound(e *job.Execution, ranks int) {
	n := &e.Nodes[0]
	n.IO, n.ElapsedSum = 0, n.Useful+n.MPI
	n.Load = &job.Load{Ranks: ranks, Span: n.ElapsedSum, CPU: n.ElapsedSum, Other: n.MPI, Threaded: ranks, Busy: 2 * ranks, Used: ranks, Files: ranks,
		Whole: ranks, ThreadSpan: n.ElapsedSum, Queue: n.MPI, Slept: n.MPI, OffLeast: n.MPI, OffMost: n.MPI, System: n.MPI, Faults: 7, Waits: 7, Read: 7, Written: 7}
	n.Counters = &job.Counters{Ranks: ranks, Instructions: 5, Cycles: 5, Useful: n.Useful}
	n.Course = &job.Course{Rows: []string{"0z-"}}
	for i := range e.Slowest {
		r := &e.Slowest[i]
		r.MPI, r.Elapsed = 0, r.Useful
	}
	for i := range e.Sections {
		s := &e.Sections[i]
		s.IO, s.Own, s.OwnUseful, s.OwnMPI = 0, s.Elapsed, s.Useful, s.MPI
	}
	t := job.NewTimeline(3, job.BucketOf(e.Start.UnixNano(), 3), 3)
	t.Ranks, t.MostWhole = ranks, 9
	for i := range t.Elapsed {
		t.Elapsed[i], t.Useful[i] = 8, 4
	}
	for _, most := range t.Most {
		for i := range most {
			most[i] = 4
		}
	}
	e.Timeline = t
	e.Places = &job.Places{Modules: []job.Module{{Path: "/bin/app"}}, List: []job.Place{{Function: "MPI_Send", Frames: []job.Frame{{Offset: 5}},
		Calls: 3, Time: 9, Samples: 2, Sampled: 4, Ranks: ranks, Most: 9, Least: 1, Longest: 3}}}
	e.Windows = &job.Windows{Logged: 3, Matched: 2, Talking: 1, Dropped: 1, Share: 0.5, Elapsed: 5, Ideal: 4, Drops: []job.WindowDrop{{Reason: "x", Count: 1, Time: 3}}}
}

// checkExtremes merges made-up reports, and renders the job. No figure of it may be negative, or no number.
func checkExtremes(t *testing.T, rules *rule.Rules, rng *rand.Rand) (executions int) {
	t.Helper()
	var m assemble.Merger
	for node := range 2 {
		if r := extremeReport(rng, node, 1+rng.IntN(3)); r != nil {
			m.Add(r)
		}
	}
	j := m.Job()
	if j.Reports == 0 {
		return 0
	}
	j.TellHung()
	j.State, j.CPUs, j.Elapsed, j.Usage = "COMPLETED", 1<<21, 40*24*time.Hour, &job.Usage{TotalCPU: 1 << 62}
	var all []string
	for _, c := range words.AllColumns() {
		all = append(all, c.Name)
	}
	columns, err := words.ParseColumns(strings.Join(all, ","))
	if err != nil {
		t.Fatal(err)
	}
	verdicts := rules.Judge(j, nil)
	if ran := job.RunTime(j.Executions); ran < 0 {
		t.Errorf("programs ran for %v", ran)
	}
	for name, write := range map[string]func(w io.Writer) error{
		"job":            func(w io.Writer) error { return jsonOf(w, j, nil, verdicts) },
		"places":         func(w io.Writer) error { return view.Write(w, view.NewPlaces(j, true)) },
		"the text":       func(w io.Writer) error { return textOf(w, j, nil, verdicts, Options{}) },
		"the text where": func(w io.Writer) error { return TextOfPlaces(w, view.NewPlaces(j, false), Options{}) },
		"the line": func(w io.Writer) error {
			return textOfList(w, listing.LinesOf([]job.Job{*j}), words.ListOptions{Columns: columns, Parsable2: true}, Options{})
		},
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var d any
		if json.Unmarshal(out.Bytes(), &d) == nil {
			checkNumbers(t, name, d)
			if name == "job" {
				checkSums(t, out.Bytes())
			}
		} else if said := strange.FindString(out.String()); said != "" {
			t.Errorf("%s says %q", name, said)
		}
	}
	if len(j.Executions) == 1 { // what TALP writes is of one program
		if v, err := view.NewTALP(j); err == nil {
			var out bytes.Buffer
			if d := any(nil); view.Write(&out, v) == nil && json.Unmarshal(out.Bytes(), &d) == nil {
				checkNumbers(t, "TALP", d)
			}
		}
	}
	if err := pageOf(new(bytes.Buffer), j, nil, shippedVerdicts(t, j), Links{}); err != nil {
		t.Fatal(err)
	}
	return len(j.Executions)
}

// checkSums fails on a sum that is less than one of its parts.
func checkSums(t *testing.T, doc []byte) {
	t.Helper()
	var j view.Job
	if err := json.Unmarshal(doc, &j); err != nil {
		t.Fatal(err)
	}
	for _, sum := range j.Calls {
		least := view.Call{Bytes: max(sum.Sent, sum.Received)}
		for _, e := range j.Executions {
			for _, part := range e.Calls {
				if part.Name == sum.Name {
					least.Count, least.Time, least.Bytes = max(least.Count, part.Count), max(least.Time, part.Time), max(least.Bytes, part.Bytes)
				}
			}
		}
		if sum.Count < least.Count || sum.Time < least.Time || sum.Bytes < least.Bytes {
			t.Errorf("calls %+v are less than %+v", sum, least)
		}
	}
}

// strange is how a number that overflowed looks in a text.
var strange = regexp.MustCompile(`.*(NaN|Inf\b|[ (|]-[0-9]).*`)

// checkNumbers fails on a negative number in a document.
func checkNumbers(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case float64:
		if v < 0 {
			t.Errorf("%s is %v", path, v)
		}
	case []any:
		for i := range v {
			checkNumbers(t, fmt.Sprint(path, "[", i, "]"), v[i])
		}
	case map[string]any:
		for name := range v {
			checkNumbers(t, path+"."+name, v[name])
		}
	}
}

// TestExtremes: whatever valid numbers nodes say, sums of them end at the largest one.
func TestExtremes(t *testing.T) {
	rng, rules, shown := rand.New(rand.NewPCG(47, 2)), shippedRules(t), 0
	tries := 200
	if testing.Short() {
		tries = 30
	}
	for range tries {
		if shown += checkExtremes(t, rules, rng); t.Failed() {
			return
		}
	}
	if shown < tries {
		t.Errorf("only %d executions were not refused", shown)
	}
}

// FuzzExtremes does the same of more numbers.
func FuzzExtremes(f *testing.F) {
	var rules *rule.Rules
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		if rules == nil {
			rules = shippedRules(t)
		}
		checkExtremes(t, rules, rand.New(rand.NewPCG(a, b)))
	})
}
