package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/report/figure"
)

// Buckets of the made-up courses: 2^12/64 s = 64 s.
const (
	courseShift = 12
	courseEach  = 64 * time.Second
)

var courseFirst = job.BucketOf(began.UnixNano(), courseShift)

// spentIn is which parts of a bucket the ranks were in MPI and in files.
type spentIn struct{ mpi, io float64 }

// courseJob is a job of 4 ranks on two nodes of one machine, with n buckets.
func courseJob(n int, in func(i int) spentIn) *job.Job {
	const ranks = 4
	t := job.NewTimeline(courseShift, courseFirst, n)
	t.Ranks, t.IO = ranks, make([]time.Duration, n)
	e := job.Execution{Size: ranks, MPI: "Open MPI", Timeline: t, Endings: map[string]int{"finalized": ranks}, Start: began,
		Nodes: []job.NodeShare{{Node: "n1", Ranks: 2, BootID: "b"}, {Node: "n2", Ranks: 2, BootID: "b"}}}
	var mpi, io time.Duration
	for i := range n {
		part := in(i)
		t.Elapsed[i] = ranks * courseEach
		t.IO[i] = time.Duration(part.io * float64(t.Elapsed[i]))
		wait := time.Duration(part.mpi * float64(t.Elapsed[i]))
		t.Useful[i] = t.Elapsed[i] - t.IO[i] - wait
		mpi, io = mpi+wait, io+t.IO[i]
	}
	e.Nodes[0].MPI, e.Nodes[1].MPI, e.Nodes[0].IO, e.Nodes[1].IO = mpi/2, mpi-mpi/2, io/2, io-io/2
	e.Calls = []job.Call{{Name: "MPI_Recv", Time: mpi}, {Name: "MPI_File_write_at_all", Time: io}}
	j := aJob(e)
	return j
}

// levels are shares that stay for so many buckets each, with a spread around them.
func levels(spread float64, each int, all ...float64) func(int) spentIn {
	return func(i int) spentIn {
		return spentIn{mpi: all[min(i/each, len(all)-1)] + spread*[]float64{-.5, .5, 0, .25}[i%4]}
	}
}

// writes are times in files, every so many seconds from the first bucket's middle on, so many s each.
func writes(every, each float64) func(int) spentIn {
	return func(i int) spentIn {
		var in float64
		from, to := float64(i)*courseEach.Seconds(), float64(i+1)*courseEach.Seconds()
		for at := 30.0; at < to; at += every {
			in += max(min(at+each, to)-max(at, from), 0)
		}
		return spentIn{io: in / courseEach.Seconds()}
	}
}

// at is when a bucket begins, as it is written.
func at(i int) string {
	return figure.Beside(time.Unix(0, job.BucketBegin(courseFirst+int64(i), courseShift)), began)
}

// TestNoWordsOfACourse: the situations in which nothing may be said, each the change of a job of which
// something is said.
func TestNoWordsOfACourse(t *testing.T) {
	turns, beats := levels(0.05, 20, 0.1, 0.7), writes(640, 90)
	said := func() *job.Job { return courseJob(40, turns) }
	for name, j := range map[string]*job.Job{
		"nothing happens":             courseJob(64, levels(0.1, 64, 0.3)),
		"the step is small":           courseJob(40, levels(0.001, 20, 0.1, 0.15)),
		"the spread is as wide":       courseJob(40, levels(0.25, 20, 0.1, 0.6)),
		"few buckets":                 courseJob(11, levels(0, 5, 0.1, 0.7)),
		"a change at the very end":    courseJob(40, levels(0, 37, 0.1, 0.7)),
		"a change at the very begin":  courseJob(40, levels(0, 3, 0.1, 0.7)),
		"it gets worse slowly":        courseJob(40, func(i int) spentIn { return spentIn{mpi: float64(i) / 50} }),
		"it gets worse in five steps": courseJob(60, levels(0, 12, 0.1, 0.25, 0.4, 0.55, 0.7)),
		"it comes and goes":           courseJob(60, func(i int) spentIn { return spentIn{mpi: []float64{0.1, 0.7}[i/5%2]} }),
		"a wave":                      courseJob(64, func(i int) spentIn { return spentIn{mpi: 0.4 + 0.3*math.Sin(float64(i)/8)} }),
		"one bucket is other":         courseJob(40, func(i int) spentIn { return spentIn{mpi: map[bool]float64{true: 0.9, false: 0.1}[i == 20]} }),

		"writes at once":        courseJob(60, writes(1e9, 90)),
		"five writes":           courseJob(34, writes(384, 60)),
		"writes too often":      courseJob(64, writes(190, 40)),
		"writes in each bucket": courseJob(64, writes(70, 20)),
		"writes get rarer": courseJob(64, func(i int) spentIn {
			return spentIn{io: map[bool]float64{true: 0.5}[slices.Contains([]int{3, 7, 12, 18, 25, 33, 42, 52}, i)]}
		}),
		"writes stop":        courseJob(64, func(i int) spentIn { return map[bool]spentIn{true: writes(384, 60)(i)}[i < 50] }),
		"writes begin late":  courseJob(64, func(i int) spentIn { return map[bool]spentIn{true: writes(384, 60)(i)}[i > 14] }),
		"files all the time": courseJob(64, func(i int) spentIn { in := writes(640, 90)(i); in.io = max(in.io, 0.05); return in }),
		"hardly any time":    courseJob(64, writes(640, 2)),
		"one write is very short": courseJob(64, func(i int) spentIn {
			in := writes(640, 30)(i)
			if i > 18 && i < 23 {
				in.io /= 4
			}
			return in
		}),

		"no timeline":    changedJob(said(), func(j *job.Job, e *job.Execution) { e.Timeline = nil }),
		"folded":         changedJob(said(), func(j *job.Job, e *job.Execution) { e.Folded = &job.Folded{} }),
		"suspended":      changedJob(said(), func(j *job.Job, e *job.Execution) { j.Submit, j.Elapsed = j.Start, j.Elapsed/2 }),
		"a rank dropped": changedJob(said(), func(j *job.Job, e *job.Execution) { e.Size++ }),
		"an assumed end": changedJob(said(), func(j *job.Job, e *job.Execution) {
			e.Warnings = append(e.Warnings, doubt.Warning{Code: doubt.WarnAssumedEnd, Count: 1})
		}),
		"a clock drifts": changedJob(said(), func(j *job.Job, e *job.Execution) {
			e.Warnings = append(e.Warnings, doubt.Warning{Code: doubt.WarnClockDrift, Count: 1})
		}),
		"clocks of two nodes, unknown": changedJob(said(), func(j *job.Job, e *job.Execution) { e.Nodes[1].BootID = "c" }),
		"clocks far apart": changedJob(said(), func(j *job.Job, e *job.Execution) {
			e.Nodes[1].BootID, e.Nodes[0].ClockError, e.Nodes[1].ClockError = "c", 9*time.Second, 9*time.Second
		}),
		"a clock stepped before": changedJob(said(), func(j *job.Job, e *job.Execution) { // half of the ranks are three buckets late
			for _, i := range []int{0, 1, 2, 37, 38, 39} {
				e.Timeline.Elapsed[i] /= 2
				e.Timeline.Useful[i] /= 2
			}
		}),
		"a rank was gone meanwhile": changedJob(said(), func(j *job.Job, e *job.Execution) {
			e.Timeline.Elapsed[20], e.Timeline.Useful[20] = e.Timeline.Elapsed[20]*3/4, e.Timeline.Useful[20]*3/4
		}),
		"parts of seconds": changedJob(said(), func(j *job.Job, e *job.Execution) {
			e.Timeline.Shift, e.Timeline.First = 5, job.BucketOf(began.UnixNano(), 5)
			for i := range e.Timeline.Elapsed {
				e.Timeline.Elapsed[i] /= 128
				e.Timeline.Useful[i] /= 128
			}
		}),
	} {
		if got := Course(j, &j.Executions[0]); got != nil {
			t.Errorf("%s: it says %q", name, got)
		}
	}
	for _, j := range []*job.Job{said(), courseJob(64, beats), changedJob(said(), func(j *job.Job, e *job.Execution) {
		e.Nodes[1].BootID, e.Nodes[0].ClockError, e.Nodes[1].ClockError = "c", time.Second, time.Second
	})} {
		if Course(j, &j.Executions[0]) == nil {
			t.Error("it says nothing of what the others are changes of")
		}
	}
}

func changedJob(j *job.Job, change func(*job.Job, *job.Execution)) *job.Job {
	change(j, &j.Executions[0])
	return j
}

// TestWordsOfACourse: what is said, word by word.
func TestWordsOfACourse(t *testing.T) {
	calls := func(j *job.Job, all ...job.Call) *job.Job { j.Executions[0].Calls = all; return j }
	half := func(j *job.Job) *job.Job { // a further call has half of the time
		c := &j.Executions[0].Calls[0]
		c.Time /= 2
		j.Executions[0].Calls = append(j.Executions[0].Calls, job.Call{Name: "MPI_Bcast", Time: c.Time})
		return j
	}
	late := courseJob(40, func(i int) spentIn { return spentIn{mpi: map[bool]float64{true: 0.1, false: 0.7}[i < 20]} })
	late.Executions[0].Timeline.Useful[20] = late.Executions[0].Timeline.Elapsed[20] / 2 // the change comes in the midst of it
	for _, tt := range []struct {
		name string
		j    *job.Job
		want string
	}{
		{"it waits", courseJob(40, levels(0, 20, 0.1, 0.7)),
			fmt.Sprintf("Until %s, 10 %% of the ranks' time went into MPI; since %s, 70 %%, nearly all of it into MPI_Recv.", at(19), at(20))},
		{"it waits in several calls", half(courseJob(40, levels(0, 20, 0.1, 0.7))),
			fmt.Sprintf("Until %s, 10 %% of the ranks' time went into MPI; since %s, 70 %%.", at(19), at(20))},
		{"calls that are not told", calls(courseJob(40, levels(0, 20, 0.1, 0.7))),
			fmt.Sprintf("Until %s, 10 %% of the ranks' time went into MPI; since %s, 70 %%.", at(19), at(20))},
		{"in the midst of a bucket", late,
			fmt.Sprintf("Until %s, 10 %% of the ranks' time went into MPI; since %s, 70 %%, nearly all of it into MPI_Recv.", at(20), at(21))},
		{"it waits no more", calls(courseJob(40, levels(0, 20, 0.7, 0.1)), job.Call{Name: "MPI_Recv", Time: time.Hour}),
			fmt.Sprintf("Until %s, 70 %% of the ranks' time went into MPI; since %s, 10 %%.", at(19), at(20))},
		{"three phases", calls(courseJob(60, levels(0, 20, 0, 0.5, 0.25))),
			fmt.Sprintf("Until %s, 0 %% of the ranks' time went into MPI; from %s to %s, 50 %%; since %s, 25 %%.", at(19), at(20), at(39), at(40))},
		{"files", courseJob(40, func(i int) spentIn { return spentIn{io: map[bool]float64{true: 0, false: 0.4}[i < 20]} }),
			fmt.Sprintf("Until %s, 0 %% of the ranks' time went into MPI_File functions; since %s, 40 %%, nearly all of it into MPI_File_write_at_all.", at(19), at(20))},
		{"writes", courseJob(64, writes(640, 90)),
			"About every 11 min, the ranks were in MPI_File_write_at_all for 90.0 s each (6 times, 90.0 s to 90.0 s; means over the ranks)."},
		{"writes of several calls", half(calls(courseJob(64, writes(400, 45)), job.Call{Name: "MPI_File_write", Time: 11 * 4 * 45 * time.Second})),
			"About every 6.7 min, the ranks were in MPI_File functions for 45.0 s each (9 times, 45.0 s to 45.0 s; means over the ranks)."},
	} {
		if got := strings.Join(Course(tt.j, &tt.j.Executions[0]), " "); got != tt.want {
			t.Errorf("%s: it says\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// TestNoWordsOfNoise: of runs in which nothing happens but noise, white or with a memory, or writes at
// random, at most one in a thousand is said anything.
func TestNoWordsOfNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds: 80,000 runs")
	}
	const runs = 10_000
	for name, make := range map[string]func(*rand.Rand) func(int) spentIn{
		"white":              noise(0, 0.15, false),
		"memory of 2":        noise(0.6, 0.1, false),
		"memory of 10":       noise(0.9, 0.05, false),
		"memory of 100":      noise(0.99, 0.03, false),
		"a walk":             noise(1, 0.05, false),
		"white, heavy tails": noise(0, 0.03, true),
		"heavy tails":        noise(0.6, 0.02, true),
		"writes at random": func(rng *rand.Rand) func(int) spentIn {
			often := 0.05 + 0.25*rng.Float64()
			return func(int) spentIn { return spentIn{io: map[bool]float64{true: 0.5}[rng.Float64() < often]} }
		},
	} {
		rng, said, example := rand.New(rand.NewPCG(7, 32)), 0, ""
		for range runs {
			n := courseLeast + rng.IntN(job.MostBuckets-courseLeast+1)
			j := courseJob(n, make(rng))
			if got := Course(j, &j.Executions[0]); got != nil {
				said, example = said+1, got[0]
			}
		}
		t.Logf("%s: of %d of %d runs", name, said, runs)
		if said > runs/1000 {
			t.Errorf("%s: something is said of %d of %d runs: %s", name, said, runs, example)
		}
	}
}

// noise is a share around 0.4 whose departures keep so much of themselves from bucket to bucket. With
// heavy tails, they are Student's with three degrees of freedom.
func noise(memory, size float64, heavy bool) func(*rand.Rand) func(int) spentIn {
	return func(rng *rand.Rand) func(int) spentIn {
		off := 0.0
		return func(int) spentIn {
			d := rng.NormFloat64()
			if heavy {
				d /= math.Sqrt((math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2)) / 3)
			}
			off = memory*off + size*d
			return spentIn{mpi: min(max(0.4+off, 0), 1)}
		}
	}
}

// TestWordsOfNoisyTurns: a change is told although there is noise, as long as it is much smaller.
func TestWordsOfNoisyTurns(t *testing.T) {
	rng, said := rand.New(rand.NewPCG(8, 32)), 0
	const runs = 1000
	for range runs {
		around := noise(0.3, 0.02, false)(rng)
		j := courseJob(48, func(i int) spentIn { in := around(i); in.mpi += []float64{-0.3, 0.3}[i/24]; return in })
		said += len(Course(j, &j.Executions[0]))
	}
	if said < runs*99/100 {
		t.Errorf("of %d changes by 0.6, %d are told", runs, said)
	}
}
