package test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/report"
)

// Every ending of a rank, with both MPIs, and with and without Slurm as what starts
// the ranks.

// starter is a way to start the ranks of an MPI: %d is their number.
type starter struct {
	name    string
	f       family
	command string
	slurm   bool // Slurm itself starts them and sees how each one ends
}

var starters = []starter{
	{"srun Open MPI", openmpi, "srun --mpi=pmix -K1 -n %d", true},
	{"srun MPICH", mpich, "srun --mpi=pmi2 -K1 -n %d", true},
	{"mpirun Open MPI", openmpi, "mpirun.openmpi -np %d", false},
	{"mpirun MPICH", mpich, "mpiexec.hydra -n %d", false},
}

// wayOut is a way of test/apps/ending.c and the ending that both ranks may have where
// Slurm saw it, and where their launcher did.
type wayOut struct {
	way, srun, mpirun string
	all               bool // every rank ends so; else one of them is enough, the launcher kills the rest
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

// TestEndings runs all ways in one job, one after the other: each is an execution.
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			app := build(t, site, s.f.cc, "ending.c")
			var script strings.Builder
			for _, w := range waysOut {
				fmt.Fprintf(&script, "echo %s; timeout 60 "+s.command+" %s %s\n", w.way, 2, app, w.way)
			}
			id := site.run(t, "alice", script.String(), "-N1", "-n2")
			ran := wantExecutions(t, reported(t, id), len(waysOut))
			slices.SortFunc(ran, func(a, b report.DocumentExecution) int { return a.Start.Compare(b.Start) })
			for i, w := range waysOut {
				t.Run(w.way, func(t *testing.T) { wantEnding(t, s, w, ran[i]) })
			}
		})
	}
}

// reported waits for the job's one node, not for sacct.
func reported(t *testing.T, id string) *report.Document {
	t.Helper()
	d := new(report.Document)
	until(t, "the report of job "+id, func() bool {
		r := site.try(t, "", "as", "alice", "jobeff", "--json", id)
		*d = report.Document{}
		return r.code == 0 && json.Unmarshal([]byte(r.stdout), d) == nil && d.NodesReported > 0
	})
	return d
}

func wantEnding(t *testing.T, s starter, w wayOut, e report.DocumentExecution) {
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

// TestTimesOfKilledRanks kills ranks 2 s into computing and 2 s into a receive: that time
// counts as useful, or to MPI. It is not parallel to others, and since who wants 50 ms of
// a machine with two cores may wait longer for his turn, it tries three times.
func TestTimesOfKilledRanks(t *testing.T) {
	for _, s := range starters {
		most := 1.0
		if s.slurm {
			most = 0.05
		}
		for _, state := range []string{"computing", "recv"} {
			t.Run(s.name+" "+state, func(t *testing.T) {
				for try := 1; ; try++ {
					off := killedIn(t, s, state)
					if off <= most {
						return
					}
					t.Logf("%.1f ms off, at most %.0f is wanted", 1e3*off, 1e3*most)
					if try == 3 {
						t.Fatal("three times in a row")
					}
				}
			})
		}
	}
}

// killedIn runs it once and returns by how much the worst figure is off, s. The job goes
// on for a while: its end, or another execution, must not be what tells the ranks' end.
func killedIn(t *testing.T, s starter, state string) (off float64) {
	t.Helper()
	script := fmt.Sprintf("timeout 60 "+s.command+" %s killed_in_%s; sleep 3", 2, build(t, site, s.f.cc, "ending.c"), state)
	id := site.run(t, "alice", script, "-N1", "-n2")
	e := wantExecutions(t, reported(t, id), 1)[0]
	if len(e.Slowest) != 2 {
		t.Fatalf("%d ranks", len(e.Slowest))
	}
	said := map[int][2]float64{} // useful and MPI by rank, s
	for line := range strings.Lines(site.output(t, "alice", id)) {
		var rank int
		var useful, mpi float64
		if n, _ := fmt.Sscanf(line, "rank %d useful %f mpi %f", &rank, &useful, &mpi); n == 3 {
			said[rank] = [2]float64{useful, mpi}
		}
	}
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
		off = max(off, math.Abs(r.Useful-want[0]), math.Abs(r.MPITime-want[1]))
	}
	return off
}

// TestOutOfMemory lets the ranks use more than the job's memory. Slurm says so of the
// step, and of the job where the batch step was hit; the ranks' ending is a SIGKILL.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			app := build(t, site, s.f.cc, "ending.c")
			id := site.run(t, "alice", fmt.Sprintf("timeout 60 "+s.command+" %s oom", 2, app), "-N1", "-n2", "--mem=150M")
			wantEnding(t, s, wayOut{"oom", "signal 9 (SIGKILL)", "assumed", false}, wantExecutions(t, reported(t, id), 1)[0])
		})
	}
}

// started tells whether rank 0 of rounds.c has said something.
func started(t *testing.T, id string) bool {
	t.Helper()
	return site.try(t, "", "as", "alice", "grep", "-q", "^size", strings.ReplaceAll(site.outputFile(t, "alice"), "%j", id)).code == 0
}

// TestStopped ends jobs from outside, by the time limit and by scancel: SIGTERM first.
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
				id := site.submit(t, "alice", fmt.Sprintf("timeout 100 "+s.command+" %s 10000 20", 2, rounds(t, site, s.f)), "-N1", "-n2")
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
