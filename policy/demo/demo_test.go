package demo

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/policy/slow"
	"jobeff/policy/workload"
)

var until = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func jobs(seed uint64, n int) []*job.Job { return jobsOf(Options{Seed: seed, Jobs: n, Until: until}) }

// large is a year of 20,000 jobs, as make site has.
var large = sync.OnceValue(func() []*job.Job { return jobs(1, 20_000) })

func jobsOf(o Options) (all []*job.Job) {
	y := New(o)
	for j := y.Next(); j != nil; j = y.Next() {
		all = append(all, j)
	}
	return all
}

func TestSameSeedSameYear(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		all, err := json.Marshal(jobs(seed, 2000))
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	first := text(7)
	if first != text(7) {
		t.Error("the same seed makes another year")
	}
	if first == text(8) {
		t.Error("another seed makes the same year")
	}
}

// TestBelievable holds what the views rely on: there is some of everything.
func TestBelievable(t *testing.T) {
	t.Parallel()
	all := large()
	beside := len(seriesOf)*tasks + 6 + 3
	for _, h := range habits {
		beside += h.jobs
	}
	for _, h := range gpuHabits {
		beside += h.jobs
	}
	if len(all) != 20_000+beside {
		t.Fatalf("%d jobs", len(all))
	}
	kinds := map[string]int{}
	var last uint32
	for _, j := range all {
		ended := !j.End.After(until) && !j.End.Before(j.Start) || j.State == "RUNNING" && j.End.IsZero() && !j.AsOf.After(until)
		if j.JobID <= last || j.Start.Before(until.Add(-year)) || !ended || j.Submit.After(j.Start) {
			t.Fatalf("job %d after %d: submitted %v, %v to %v", j.JobID, last, j.Submit, j.Start, j.End)
		}
		last = j.JobID
		for _, kind := range kindsOf(j) {
			kinds[kind]++
		}
	}
	for _, want := range []string{"COMPLETED", "TIMEOUT", "CANCELLED", "FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "no MPI", "off", "silent",
		"singletons", "part", "threads", "good", "bad", "awful", "imbalanced", "sections", "threads in sections", "named", "no input", "array", "many nodes",
		"waits in a chain", "waits by turns", "waits at a line", "places", "sampled places", "transfer", "RUNNING", "figures so far", "threads without MPI",
		"GPUs alike", "GPUs differ", "no process on GPUs", "some GPUs not known"} {
		if kinds[want] == 0 {
			t.Errorf("no job is %q: %v", want, kinds)
		}
	}
	users, loads := map[string]bool{}, map[string]bool{}
	for _, j := range all {
		users[j.User] = true
		for i := range j.Executions {
			loads[job.WorkloadKey(j.Cluster, j.UID, &j.Executions[i])] = true
		}
	}
	if len(users) != 50 || len(loads) < 180 {
		t.Errorf("%d users, %d workloads", len(users), len(loads))
	}
	told := New(Options{Seed: 1, Jobs: 20_000, Until: until}).Told()
	for _, one := range told {
		if !loads[one.Workload] {
			t.Errorf("told of %s, which nobody ran", one.Name)
		}
	}
	if len(told) < 5 {
		t.Errorf("%d users were told", len(told))
	}
}

func kindsOf(j *job.Job) (all []string) {
	all = append(all, j.State)
	for kind, is := range map[string]bool{
		"no MPI": j.NoData.Code == doubt.WhyNoMPI, "off": j.NoData.Code == doubt.WhyOff, "silent": j.Reports == 0,
		"singletons": len(j.Executions) > 1, "array": j.ArrayJobID > 0, "figures so far": j.IsRunning() && j.Metrics != nil, "threads without MPI": j.Metrics != nil && j.Metrics.Hybrid != nil && !job.WithMPI(j.Executions), "many nodes": j.Nodes > 8,
	} {
		if is {
			all = append(all, kind)
		}
	}
	if u := j.GPUUse; u != nil {
		b := u.LoadBalance()
		whole, why := j.WholeNodes() // nothing is said of unused GPUs that came with them
		for kind, is := range map[string]bool{"GPUs alike": b != nil && *b > .95, "GPUs differ": b != nil && *b < .5, "no process on GPUs": u.Known > 0 && u.Processes == 0 && !whole && why == "",
			"some GPUs not known": u.Known > 0 && u.Known < u.GPUs} {
			if is {
				all = append(all, kind)
			}
		}
	}
	if m := j.Metrics; m != nil {
		e := &j.Executions[0]
		w := job.JobWindows(j.Executions)
		for kind, is := range map[string]bool{
			"part": m.Coverage < 1, "good": m.MPI.Parallel > 0.8, "bad": m.MPI.Parallel < 0.8, "awful": m.MPI.Parallel < 0.5,
			"imbalanced": m.MPI.LoadBalance < 0.8, "threads": e.OMPThreads > 1, "sections": len(e.Sections) > 0, "threads in sections": len(e.Sections) > 0 && e.Sections[0].Threads != nil, "named": e.Workload != "", "no input": e.InputHash == "",
			"waits in a chain": w.Determined() && len(w.Path.Chain) > 2, "waits by turns": w.Determined() && w.Path.ChainReturns,
			"waits at a line": w.Determined() && len(w.Path.Links) > 0, "places": e.Places != nil, "sampled places": e.Places != nil && e.Places.List[0].Samples > 0,
			"transfer": w.Determined() && w.Transfer.High < w.Serialisation.Low,
		} {
			if is {
				all = append(all, kind)
			}
		}
	}
	return all
}

// TestCurveComesBack fits the curve of a much used workload to its jobs and compares
// with the model that they were made of.
func TestCurveComesBack(t *testing.T) {
	t.Parallel()
	y := New(Options{Seed: 1, Jobs: 20_000, Until: until})
	var l *load
	for _, l = range y.loads {
		if l.knee == 0 && l.threads == 1 && len(l.sizes) >= 5 && l.hot < 0.5 {
			break
		}
	}
	var points []curve.Point
	for range 40 {
		for _, n := range l.sizes {
			x := l.takes(float64(n), &l.builds[0], math.Exp(l.noise*y.rng.NormFloat64()))
			tau := x.elapsed * x.lost
			points = append(points, curve.Point{N: n, T: x.elapsed, Tau: &tau})
		}
	}
	r := curve.Fit(points, curve.Settings{})
	want := l.model.Efficient(0.8)
	if got := r.Eff.Estimate; r.Refused != "" || got == nil || math.Abs(math.Log(got.Value/want)) > math.Log(1.3) {
		t.Errorf("n_eff of %v: got %+v %s, the model has %v", l.sizes, r.Eff, r.Refused, want)
	}
}

// TestSlowNode: the times of a large year say that one node is slow, and nothing of the others. The last one reports no more.
func TestSlowNode(t *testing.T) {
	t.Parallel()
	var all []slow.Observation
	for _, j := range large() {
		all = append(all, slow.Of(j)...)
	}
	slices.SortStableFunc(all, func(a, b slow.Observation) int { return a.At.Compare(b.At) })
	w := slow.New()
	for _, o := range all {
		w.Add(o)
	}
	found := w.Look(until)
	if len(found) != 1 || found[0].Node != nodeName(slowNode) || found[0].Low > slowBy || found[0].High < slowBy || w.Nodes() != nodeCount-1 {
		t.Errorf("%d observations of %d nodes: %+v", len(all), w.Nodes(), found)
	}
	heard := New(Options{Until: until}).Heard()
	silent := 0
	for _, at := range heard {
		if until.Sub(at) > 7*24*time.Hour {
			silent++
		}
	}
	if len(heard) != nodeCount+gpuNodes || silent != 1 {
		t.Errorf("%d of %d nodes are silent", silent, len(heard))
	}
}

// TestShare: a job that is not drawn has no figures and says why. In all else it is as if all jobs were measured.
func TestShare(t *testing.T) {
	t.Parallel()
	m, left := etc.Measure{Share: 0.9}, 0
	all := jobsOf(Options{Seed: 1, Jobs: 2000, Until: until, Share: m.Share})
	for i, j := range jobs(1, 2000) {
		some := all[i]
		if m.Draws(j.JobID) {
			if d := cmp.Diff(j, some); d != "" {
				t.Errorf("job %d was drawn: %s", j.JobID, d)
			}
			continue
		}
		left++
		if len(some.Executions) > 0 || some.Metrics != nil || some.Reports > 0 && some.NoData.Code != doubt.WhyOff || !strings.HasPrefix(some.Decision, "off") && some.Reports > 0 {
			t.Errorf("job %d was not drawn: %+v", j.JobID, some)
		}
		if !some.Start.Equal(j.Start) || !some.End.Equal(j.End) || some.Name != j.Name || some.State != j.State {
			t.Errorf("job %d differs: %+v, %+v", j.JobID, some, j)
		}
	}
	if n := len(all); left < n/20 || left > n/5 {
		t.Errorf("%d of %d jobs were not drawn", left, n)
	}
}

// TestMixes: a visitor sees a hybrid workload with a curve over cores, and which mix of ranks and
// threads was fastest.
func TestMixes(t *testing.T) {
	t.Parallel()
	w := &job.Workload{Name: "hybrid"}
	args := ""
	var last *job.Job
	for _, j := range large() {
		for i := range j.Executions {
			e := &j.Executions[i]
			if args == "" && e.OMPThreads > 1 && len(e.Nodes) > 4 {
				args = e.ArgsHash
			}
			if e.ArgsHash != args || args == "" {
				continue
			}
			r := job.RunOf(e)
			r.Cluster, r.JobID, r.Attempt, r.Execution, r.Partition = j.Cluster, j.JobID, j.Attempt, i, j.Partition
			w.Runs, last = append(w.Runs, r), j
		}
	}
	s := workload.NewStudy(w, last, until, curve.Settings{})
	shown := slices.ContainsFunc(s.Mixes, func(m workload.MixesOn) bool { return len(m.Mixes) == 3 && m.Mixes[0].Threads == usualThreads })
	if s.Curve.Refused != "" || !shown {
		t.Errorf("%d runs, refused %q, mixes %+v", len(w.Runs), s.Curve.Refused, s.Mixes)
	}
}

// TestOneIsPast: a visitor sees advice that the data carry.
func TestOneIsPast(t *testing.T) {
	t.Parallel()
	w := &job.Workload{Name: "past"}
	var last *job.Job
	for _, j := range jobs(1, 6000) {
		for i := range j.Executions {
			if e := &j.Executions[i]; e.ArgsHash == digest("args", pastLoad)[:32] {
				r := job.RunOf(e)
				r.Cluster, r.JobID, r.Attempt, r.Execution, r.Partition = j.Cluster, j.JobID, j.Attempt, i, j.Partition
				w.Runs = append(w.Runs, r)
				if e.Size == mostCores {
					last = j
				}
			}
		}
	}
	s := workload.NewStudy(w, last, until, curve.Settings{})
	if past, why := s.Past(mostCores); !past || s.Recommend(last) == nil {
		t.Errorf("past %v: %s; advice %+v", past, why, s.Recommend(last))
	}
	if m := last.Metrics; m.MPI.LoadBalance < 0.9 {
		t.Errorf("load balance %v", m.MPI.LoadBalance)
	}
}
