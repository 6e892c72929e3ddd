package preload

import (
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// TestTimeline: three phases of known efficiency, however long the run and however it ends. Each edge
// has what the rank had spent until then, and all buckets come to the sums of the run.
func TestTimeline(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "phases.c")
		for _, tt := range []struct {
			name   string
			rounds string
			phase  time.Duration
			end    []string
		}{{"half a second", "8", 160 * time.Millisecond, nil}, {"12 seconds", "200", 4 * time.Second, nil}, {"killed", "50", time.Second, []string{"kill"}}} {
			t.Run(tt.name, func(t *testing.T) {
				file := newRecord(t)
				r := mpirun(t, f, onClock(t, f.cc, file), 2, program, append([]string{tt.rounds}, tt.end...)...)
				if tt.end == nil {
					mustRun(t, r)
				}
				report, err := node.FoldFile(file, node.ThisMachine())
				must(t, err)
				e := &report.Executions[0]
				line := e.Timeline
				if line == nil {
					t.Fatalf("no timeline in %+v", e)
				}
				var useful, elapsed time.Duration
				for i := range line.Elapsed {
					useful, elapsed = useful+line.Useful[i], elapsed+line.Elapsed[i]
				}
				if n := &e.Nodes[0]; useful != n.Useful || elapsed != n.ElapsedSum || line.MostWhole != n.UsefulMax {
					t.Errorf("useful %v of %v, most %v; the run has %v of %v, most %v", useful, elapsed, line.MostWhole, n.Useful, n.ElapsedSum, n.UsefulMax)
				}
				for _, slot := range readSlots(t, file) {
					for _, edge := range slot.Timeline.Edges {
						at := time.Duration(edge.At - slot.InitLeft)
						if want := at - workIn(slot.Rank, at, tt.phase); (time.Duration(edge.MPI) - want).Abs() > time.Microsecond {
							t.Fatalf("rank %d, %v after its begin: %v in MPI, want %v", slot.Rank, at, time.Duration(edge.MPI), want)
						}
					}
				}
			})
		}
	})
}

// workIn is how long a rank of phases.c has computed at a moment of its run.
func workIn(rank int, to, phase time.Duration) (sum time.Duration) {
	const round = 20 * time.Millisecond
	for at := time.Duration(0); at < min(to, 3*phase); at += round {
		length := round
		if rank > 0 {
			length = []time.Duration{round, 0, round / 2}[at/phase]
		}
		sum += min(length, to-at)
	}
	return sum
}

// TestTimelineOfThreads: the same of the threads of a program without MPI. What they do in a region is
// noted at its end.
func TestTimelineOfThreads(t *testing.T) {
	program := compile(t, "gcc", "openmpphases.c", "-fopenmp")
	for rounds, phase := range map[string]time.Duration{"8": 160 * time.Millisecond, "100": 2 * time.Second} {
		file := newRecord(t)
		mustRun(t, run(t, onClock(t, "gcc", file), program, rounds))
		report, err := node.FoldFile(file, node.ThisMachine())
		must(t, err)
		e := &report.Executions[0]
		line, threads := e.Timeline, e.Nodes[0].Threads
		if line == nil || line.Threads == nil || threads == nil {
			t.Fatalf("no timeline of threads in %+v", e)
		}
		var useful time.Duration
		for _, u := range line.ThreadsUseful {
			useful += u
		}
		if useful != threads.Useful {
			t.Errorf("useful %v, the run has %v", useful, threads.Useful)
		}
		wantPhases(t, e, phase)
		slot := readSlots(t, file)[0]
		for _, edge := range slot.Timeline.Edges {
			at := time.Duration(edge.At + edge.Late - slot.InitLeft)
			if want := threadWork(at, phase); (time.Duration(edge.OpenMP) - want).Abs() > time.Microsecond {
				t.Fatalf("%v after the begin, %v late: useful %v, want %v", at, time.Duration(edge.Late), time.Duration(edge.OpenMP), want)
			}
		}
	}
}

// threadWork is how long the threads of openmpphases.c have computed at a moment of its run that is in
// no region.
func threadWork(to, phase time.Duration) (sum time.Duration) {
	const round = 20 * time.Millisecond
	for at := time.Duration(0); at < min(to, 3*phase); at += round {
		in := min(round, to-at)
		sum += in + []time.Duration{in, 0, max(in-round/2, 0)}[at/phase]
	}
	return sum
}

// wantPhases: the parts of three phases that are whole buckets have the efficiencies 1, 0.5 and 0.75. A
// round takes 20 ms, and the first and the last of a phase may be cut.
func wantPhases(t *testing.T, e *job.Execution, phase time.Duration) {
	t.Helper()
	var seen [3]int
	var sum [3]float64
	for _, b := range e.Timeline.Buckets() {
		p := int(b.From.Sub(e.Start) / phase)
		if b.From.Before(e.Start) || p > 2 || int(b.To.Sub(e.Start)/phase) != p {
			continue
		}
		seen[p]++
		sum[p] += b.Parallel
	}
	for p, want := range []float64{1, .5, .75} {
		if got := sum[p] / float64(seen[p]); seen[p] < 5 || got < want-.02 || got > want+.02 {
			t.Errorf("phase %d: efficiency %.3f in %d buckets, want %.2f", p, got, seen[p], want)
		}
	}
}
