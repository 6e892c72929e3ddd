package test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
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
				fmt.Fprintf(&script, "echo %s; timeout 300 %s%s %[1]s\n", w.way, s.ranks(t, 2), app)
			}
			id := site.run(t, "alice", script.String(), "-N1", "-n2")
			ran := wantExecutions(t, reported(t, id), len(waysOut))
			slices.SortFunc(ran, func(a, b view.Execution) int { return a.Start.Compare(b.Start) })
			for i, w := range waysOut {
				t.Run(w.way, func(t *testing.T) { wantEnding(t, s, w, ran[i]) })
			}
		})
	}
}

// reported waits for the report of the job's one node, not for sacct.
func reported(t *testing.T, id string) *view.Job {
	t.Helper()
	d := new(view.Job)
	site.untilReported(t, "the report of job "+id, func() bool {
		r := site.try(t, "", "as", "alice", "jobeff", "--json", id)
		*d = view.Job{}
		return r.code == 0 && json.Unmarshal([]byte(r.stdout), d) == nil && d.NodesReported > 0 && isMerged(d)
	})
	return d
}

func wantEnding(t *testing.T, s starter, w wayOut, e view.Execution) {
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

// TestTimesOfKilledRanks kills ranks 2 s into computing and 2 s into a receive. A rank's times are
// held against its own clock and the job script's: it lived until 2 s after the first rank's last word,
// as srun may kill the other then, and was dead when its launcher returned. Where nobody saw its end,
// that is assumed: not before its last word, and not after the job.
func TestTimesOfKilledRanks(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		for _, state := range []string{"computing", "recv"} {
			t.Run(s.name+" "+state, func(t *testing.T) {
				t.Parallel()
				killedIn(t, s, state)
			})
		}
	}
}

// killedIn runs the program once. The job goes on for a while: neither its end nor another execution
// may tell the end of the ranks.
func killedIn(t *testing.T, s starter, state string) {
	t.Helper()
	const dead = `awk '{print "at", $1}' /proc/uptime` // of hundredths of a second
	script := "timeout 300 " + s.ranks(t, 2) + build(t, site, s.f.cc, "ending.c") + " killed_in_" + state + "\n" + dead + "; sleep 3; " + dead
	id := site.run(t, "alice", script, "-N1", "-n2")
	e := wantExecutions(t, reported(t, id), 1)[0]
	said, after := saidTimes(site.output(t, "alice", id))
	if len(e.Slowest) != 2 || len(said) != 2 || len(after) != 2 {
		t.Fatalf("%d ranks, which said %v, and the script %v", len(e.Slowest), said, after)
	}
	first := math.Inf(1) // when the first one was killed
	for _, own := range said {
		first = min(first, own.from+own.useful+own.mpi+killedAfter)
	}
	for _, r := range e.Slowest {
		own, life := said[r.Rank], r.Useful+r.MPITime
		least, most := own.useful+own.mpi, after[1]+0.01-own.from
		if s.slurm {
			least, most = max(least, first-own.from), after[0]+0.01-own.from
		}
		t.Logf("rank %d lived for %.4f s, %.4f to %.4f; in MPI %.4f s, before its last word %.4f", r.Rank, life, least, most, r.MPITime, own.mpi)
		const clock = 1e-5 // s, that two clocks may differ by
		inMPI := r.MPITime > own.mpi+clock
		if life < least-clock || life > most+clock || r.Useful < own.useful-clock || inMPI != (state == "recv") {
			t.Errorf("rank %d: useful %g s, in MPI %g s, alive for %g to %g s; it said %+v", r.Rank, r.Useful, r.MPITime, least, most, own)
		}
	}
}

// lastWord is what a rank says of its life, s: when MPI_Init was left, and its times until then.
type lastWord struct{ from, useful, mpi float64 }

// saidTimes are the ranks' last words, and what the job script's clock said.
func saidTimes(output string) (said map[int]lastWord, script []float64) {
	said = map[int]lastWord{}
	for line := range strings.Lines(output) {
		var rank int
		var w lastWord
		var at float64
		if n, _ := fmt.Sscanf(line, "rank %d from %f useful %f mpi %f", &rank, &w.from, &w.useful, &w.mpi); n == 4 {
			said[rank] = w
		} else if n, _ := fmt.Sscanf(line, "at %f", &at); n == 1 {
			script = append(script, at)
		}
	}
	return said, script
}

// TestOutOfMemory: the ranks use more than the job's memory. Slurm says so of the step, and of
// the job if the batch step was hit. The ranks end by SIGKILL.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			app := build(t, site, s.f.cc, "ending.c")
			id := site.run(t, "alice", "timeout 300 "+s.ranks(t, 2)+app+" oom", "-N1", "-n2", "--mem=150M")
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
				id := site.submit(t, "alice", "timeout 300 "+s.ranks(t, 2)+rounds(t, site, s.f)+" 20000 20", "-N1", "-n2")
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
