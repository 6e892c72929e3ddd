package test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/report/document"
)

// Every ending of a rank, with both MPIs, started by Slurm or by another launcher.

// starter is a way to start the ranks of an MPI.
type starter struct {
	name  string
	f     family
	slurm bool // Slurm itself starts them and sees how each one ends
}

var starters = []starter{
	{"srun Open MPI", openmpi, true},
	{"srun MPICH", mpich, true},
	{"mpirun Open MPI", openmpi, false},
	{"mpirun MPICH", mpich, false},
}

// ranks is how s starts n ranks, up to the program.
func (s starter) ranks(t *testing.T, n int) string {
	t.Helper()
	if s.slurm {
		return fmt.Sprint(srun(t, s.f), "-K1 -n ", n, " ")
	}
	return fmt.Sprint(s.f.launch, " -n ", n, " ")
}

// wayOut is a way in which test/apps/ending.c ends, with the endings that its ranks may have: if
// Slurm saw them, and if their launcher did.
type wayOut struct {
	way, srun, mpirun string
	all               bool // every rank ends so; otherwise one is enough, since the launcher kills the rest
}

var waysOut = []wayOut{
	{"finalize", "finalized", "finalized", true},
	{"fork", "finalized", "finalized", true},
	{"return", "exit 0 without MPI_Finalize", "exit 0 without MPI_Finalize", false},
	{"exit", "exit 3 without MPI_Finalize", "exit 3 without MPI_Finalize", false},
	{"mpi_abort", "MPI_Abort 5", "MPI_Abort 5", false},
	{"_exit", "exit 3", "assumed", false},
	{"abort", "signal 6 (SIGABRT)", "assumed", false},
	{"segv", "signal 11 (SIGSEGV)", "assumed", false},
	{"term", "signal 15 (SIGTERM)", "assumed", false},
	{"int", "signal 2 (SIGINT)", "assumed", false},
	{"kill", "signal 9 (SIGKILL)", "assumed", true},
	{"kill_one", "signal 9 (SIGKILL)", "assumed", false},
	{"exec", "exit 0", "assumed", false},
}

// TestEndings runs all ways in one job, one after another: each is an execution.
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			app := build(t, site, s.f.cc, "ending.c")
			var script strings.Builder
			for _, w := range waysOut {
				fmt.Fprintf(&script, "echo %s; timeout 60 %s%s %[1]s\n", w.way, s.ranks(t, 2), app)
			}
			id := site.run(t, "alice", script.String(), "-N1", "-n2")
			ran := wantExecutions(t, reported(t, id), len(waysOut))
			slices.SortFunc(ran, func(a, b document.Execution) int { return a.Start.Compare(b.Start) })
			for i, w := range waysOut {
				t.Run(w.way, func(t *testing.T) { wantEnding(t, s, w, ran[i]) })
			}
		})
	}
}

// reported waits for the report of the job's one node, not for sacct.
func reported(t *testing.T, id string) *document.Job {
	t.Helper()
	d := new(document.Job)
	site.untilReported(t, "the report of job "+id, func() bool {
		r := site.try(t, "", "as", "alice", "jobeff", "--json", id)
		*d = document.Job{}
		return r.code == 0 && json.Unmarshal([]byte(r.stdout), d) == nil && d.NodesReported > 0
	})
	return d
}

func wantEnding(t *testing.T, s starter, w wayOut, e document.Execution) {
	t.Helper()
	want := w.mpirun
	if s.slurm {
		want = w.srun
	}
	named := e.Endings[want]
	if named == 0 || w.all && named != 2 {
		t.Errorf("endings %v, want %q", e.Endings, want)
	}
	if e.Size != 2 || e.Ranks != 2 || e.MPI != s.f.name {
		t.Errorf("size %d, %d ranks of %s", e.Size, e.Ranks, e.MPI)
	}
	wantIdentities(t, e.Figures)
	wantCalls(t, e.Figures, "MPI_Barrier", 6)
}

// killedAfter is ending.c's KILLED_AFTER, s.
const killedAfter = 2

// TestTimesOfKilledRanks kills ranks 2 s into computing and 2 s into a receive. That time counts
// as useful, or as MPI. No test of this package runs beside it, but those of other packages may.
// They delay the kill, and Slurm's notice of it. So the bound grows by as much as a sleep of
// 10 ms was late meanwhile.
func TestTimesOfKilledRanks(t *testing.T) {
	for _, s := range starters {
		least, most := -1.0, 1.0 // the end is assumed
		if s.slurm {
			least, most = -0.01, 0.05 // Slurm saw the end
		}
		for _, state := range []string{"computing", "recv"} {
			t.Run(s.name+" "+state, func(t *testing.T) {
				for try := 1; ; try++ {
					late := lateness()
					low, high := killedIn(t, s, state)
					slack := 5 * late()
					if low >= least-slack && high <= most+slack {
						return
					}
					t.Logf("a life is %+.1f ms off and a figure %.1f, wanted are %.0f and %.0f and %.1f for the load", 1e3*low, 1e3*high, 1e3*least, 1e3*most, 1e3*slack)
					if try == 3 {
						t.Fatal("three times in a row")
					}
				}
			})
		}
	}
}

// lateness begins to measure the longest time that a ready process waits for a core. The
// returned function ends that and returns the time, s.
func lateness() func() float64 {
	stop, worst := make(chan struct{}), make(chan float64)
	go func() {
		most := time.Duration(0)
		for {
			select {
			case <-stop:
				worst <- most.Seconds()
				return
			default:
			}
			const nap = 10 * time.Millisecond
			begin := time.Now()
			time.Sleep(nap)
			most = max(most, time.Since(begin)-nap)
		}
	}()
	return func() float64 {
		close(stop)
		return <-worst
	}
}

// killedIn runs the program once. It returns how much too short the life of a rank is at worst
// (negative), and the largest error of its figures, s. The job goes on for a while: neither its
// end nor another execution may tell the end of the ranks.
func killedIn(t *testing.T, s starter, state string) (low, high float64) {
	t.Helper()
	script := "timeout 60 " + s.ranks(t, 2) + build(t, site, s.f.cc, "ending.c") + " killed_in_" + state + "; sleep 3"
	id := site.run(t, "alice", script, "-N1", "-n2")
	e := wantExecutions(t, reported(t, id), 1)[0]
	if len(e.Slowest) != 2 {
		t.Fatalf("%d ranks", len(e.Slowest))
	}
	said := saidTimes(site.output(t, "alice", id))
	low = math.Inf(1)
	for _, r := range e.Slowest {
		want, ok := said[r.Rank]
		if !ok {
			t.Fatalf("rank %d said nothing of itself", r.Rank)
		}
		if state == "recv" {
			want[1] += killedAfter
		} else {
			want[0] += killedAfter
		}
		t.Logf("rank %d: useful %+.1f ms, MPI %+.1f ms", r.Rank, 1e3*(r.Useful-want[0]), 1e3*(r.MPITime-want[1]))
		low = min(low, r.Useful-want[0]+r.MPITime-want[1])
		high = max(high, math.Abs(r.Useful-want[0]), math.Abs(r.MPITime-want[1]))
	}
	return low, high
}

// saidTimes reads lines "rank R useful SECONDS mpi SECONDS": useful and MPI time by rank.
func saidTimes(output string) map[int][2]float64 {
	said := map[int][2]float64{}
	for line := range strings.Lines(output) {
		var rank int
		var useful, mpi float64
		if n, _ := fmt.Sscanf(line, "rank %d useful %f mpi %f", &rank, &useful, &mpi); n == 3 {
			said[rank] = [2]float64{useful, mpi}
		}
	}
	return said
}

// TestOutOfMemory: the ranks use more than the job's memory. Slurm says so of the step, and of
// the job if the batch step was hit. The ranks end by SIGKILL.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			app := build(t, site, s.f.cc, "ending.c")
			id := site.run(t, "alice", "timeout 60 "+s.ranks(t, 2)+app+" oom", "-N1", "-n2", "--mem=150M")
			wantEnding(t, s, wayOut{"oom", "signal 9 (SIGKILL)", "assumed", false}, wantExecutions(t, reported(t, id), 1)[0])
		})
	}
}

// started tells whether rank 0 of rounds.c has printed something.
func started(t *testing.T, id string) bool {
	t.Helper()
	return site.try(t, "", "as", "alice", "grep", "-q", "^size", strings.ReplaceAll(site.outputFile(t, "alice"), "%j", id)).code == 0
}

// TestStopped ends jobs from outside, by the time limit and by scancel: SIGTERM comes first.
func TestStopped(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, id string){
		"time limit": func(t *testing.T, id string) {
			site.as(t, "alice", "scontrol", "update", "jobid="+id, "timelimit=0")
		},
		"scancel": func(t *testing.T, id string) { site.as(t, "alice", "scancel", id) },
	}
	for _, s := range starters {
		for name, stop := range ways {
			t.Run(s.name+" "+name, func(t *testing.T) {
				t.Parallel()
				id := site.submit(t, "alice", "timeout 100 "+s.ranks(t, 2)+rounds(t, site, s.f)+" 10000 20", "-N1", "-n2")
				site.waitRunning(t, id)
				until(t, "the ranks of job "+id, func() bool { return started(t, id) })
				time.Sleep(2 * time.Second) // some rounds
				stop(t, id)
				site.wait(t, id)
				e := wantExecutions(t, reported(t, id), 1)[0]
				want := "assumed"
				if s.slurm {
					want = "signal 15 (SIGTERM)"
				}
				if e.Endings[want] != 2 || e.Elapsed == nil || *e.Elapsed < 1.5 {
					t.Errorf("endings %v, want 2 x %q", e.Endings, want)
				}
				wantIdentities(t, e.Figures)
			})
		}
	}
}
