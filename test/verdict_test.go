package test

import (
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
)

// What jobeff says if there are no usual figures, and how jobs end.

func wantNoData(t *testing.T, d *view.Job, words ...string) {
	t.Helper()
	if len(d.Executions) != 0 || d.ParallelEfficiency != nil {
		t.Errorf("%d executions, want no data", len(d.Executions))
	}
	for _, w := range words {
		if !strings.Contains(d.NoData, w) {
			t.Errorf("no data because %q, which does not say %q", d.NoData, w)
		}
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	app := func(t *testing.T) string { return srun(t, usual) + rounds(t, site, usual) + " 10 5" }
	t.Run("sbatch --jobeff=off", func(t *testing.T) {
		t.Parallel()
		id := site.run(t, "alice", app(t), "-n2", "--jobeff=off")
		wantNoData(t, site.jobeff(t, "alice", id), "--jobeff=off")
	})
	t.Run("srun --jobeff=off", func(t *testing.T) {
		t.Parallel()
		id := site.run(t, "alice", strings.Replace(app(t), "srun", "srun --jobeff=off", 1), "-n2")
		wantNoData(t, site.jobeff(t, "alice", id), "--jobeff=off")
	})
	t.Run("JOBEFF=off in the environment", func(t *testing.T) {
		t.Parallel()
		id := site.run(t, "alice", app(t), "-n2", "--export=ALL,JOBEFF=off")
		wantNoData(t, site.jobeff(t, "alice", id), "JOBEFF=off")
	})
	t.Run("JOBEFF=off in the script", func(t *testing.T) {
		t.Parallel()
		id := site.run(t, "alice", "export JOBEFF=off\n"+app(t), "-n2")
		wantNoData(t, site.jobeff(t, "alice", id), "JOBEFF=off")
	})
}

func TestNoMPI(t *testing.T) {
	t.Parallel()
	id := site.run(t, "alice", "srun hostname", "-N2", "-n2")
	wantNoData(t, site.jobeff(t, "alice", id), "MPI")
	if text := site.as(t, "alice", "jobeff", id); !strings.Contains(text, "MPI") {
		t.Errorf("jobeff %s does not say that there was no MPI:\n%s", id, text)
	}
}

// An MPICH program without its launch protocol becomes N worlds of one rank, with
// exit code 0.
func TestSingletons(t *testing.T) {
	t.Parallel()
	id := site.run(t, "alice", "srun --mpi=none "+rounds(t, site, mpich)+" 10 5", "-N2", "-n4")
	d := site.jobeff(t, "alice", id)
	for _, e := range wantExecutions(t, d, 4) {
		if e.Size != 1 {
			t.Errorf("size %d, want 1", e.Size)
		}
	}
	if !warned(d, "singletons") {
		t.Errorf("nothing is said of singletons: %v", d.Warnings)
	}
	if text := site.as(t, "alice", "jobeff", "--full", id); !strings.Contains(text, "--mpi=pmi2") {
		t.Errorf("jobeff %s does not say what to try:\n%s", id, text)
	}
}

func warned(d *view.Job, code string) bool {
	all := d.Warnings
	for _, e := range d.Executions {
		all = append(all, e.Warnings...)
	}
	for _, w := range all {
		if w.Code == code {
			return true
		}
	}
	return false
}

// longJob starts 4 ranks on 2 nodes that would run for minutes, and waits until they are in
// their rounds.
func longJob(t *testing.T) string {
	t.Helper()
	id := site.submit(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 10000 20", "-N2", "-n4", "-t10")
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool {
		return strings.Contains(site.output(t, "alice", id), "size 4")
	})
	time.Sleep(2 * time.Second) // some rounds
	return id
}

// wantPartial checks what a killed job of longJob left: all ranks, with their time. A rank may end
// by its MPI before the signal comes: Open MPI 5 notices that another one is gone, and exits; MPICH 5
// crashes then at times, also with --jobeff=off (1 of 25 jobs of 4 ranks on 2 nodes).
func wantPartial(t *testing.T, d *view.Job, state, ending string) {
	t.Helper()
	if !strings.HasPrefix(d.State, state) {
		t.Errorf("state %q, want %s", d.State, state)
	}
	e := wantExecutions(t, d, 1)[0]
	if e.Size != 4 || e.Ranks != 4 || e.Nodes != 2 {
		t.Errorf("size %d, %d ranks on %d nodes, want 4 on 2", e.Size, e.Ranks, e.Nodes)
	}
	wantIdentities(t, e.Figures)
	if e.Elapsed == nil || *e.Elapsed < 1.5 {
		t.Errorf("elapsed %v s, want at least 1.5", e.Elapsed)
	}
	killed, byMPI := 0, 0
	for words, n := range e.Endings {
		switch {
		case strings.Contains(words, ending):
			killed += n
		case strings.HasPrefix(words, "exit "), strings.Contains(words, "SIGSEGV") && e.MPI == "MPICH" && strings.Contains(e.MPIVersion, " 5."):
			byMPI += n
		}
	}
	if killed == 0 || killed+byMPI != 4 {
		t.Errorf("endings %v, want %q for 4 ranks", e.Endings, ending)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	id := longJob(t)
	// A user may shorten a job of theirs; Slurm then checks the limit within 30 s.
	site.as(t, "alice", "scontrol", "update", "jobid="+id, "timelimit=0")
	site.wait(t, id)
	wantPartial(t, site.jobeff(t, "alice", id), "TIMEOUT", "signal 15")
	if text := site.as(t, "alice", "jobeff", id); !strings.Contains(text, "time limit") && !strings.Contains(text, "TIMEOUT") {
		t.Errorf("jobeff %s does not say how the job ended:\n%s", id, text)
	}
}

func TestKilled(t *testing.T) {
	t.Parallel()
	id := longJob(t)
	site.as(t, "alice", "scancel", "--signal=KILL", id)
	site.wait(t, id)
	// Slurm makes a cancellation of it: SIGTERM first, SIGKILL after KillWait
	wantPartial(t, site.jobeff(t, "alice", id), "CANCELLED", "signal")
}

func TestRequeue(t *testing.T) {
	t.Parallel()
	script := srun(t, usual) + rounds(t, site, usual) + " $((SLURM_RESTART_COUNT == 0 ? 10000 : 7)) 10"
	id := site.submit(t, "bob", script, "-N1", "-n2", "--requeue")
	site.waitRunning(t, id)
	time.Sleep(3 * time.Second)
	site.as(t, "bob", "scontrol", "requeue", id)
	until(t, "the requeued job to be pending", func() bool { return site.inState(t, id, "PENDING") })
	until(t, "Slurm to let it start", func() bool { // not while its database is told of the job
		return site.try(t, "", "exec", "ctl", "scontrol", "update", "jobid="+id, "starttime=now").code == 0
	})
	site.wait(t, id)
	d := site.jobeff(t, "bob", id)
	// The first start's report may wait for Slurm's word of it.
	site.untilReported(t, "both starts to be told", func() bool { d = site.jobeff(t, "bob", id); return d.Attempt == 2 })
	e := wantExecutions(t, d, 1)[0]
	wantWhole(t, e, usual, 2, 1)
	wantCalls(t, e.Figures, "MPI_Allreduce", 14)
	wantRows(t, id, 2)
}

func TestForeignJob(t *testing.T) {
	t.Parallel()
	id := site.run(t, "alice", "srun true")
	site.jobeff(t, "alice", id)
	foreign := site.try(t, "", "as", "bob", "jobeff", id)
	unknown := site.try(t, "", "as", "bob", "jobeff", "999999")
	if foreign.code == 0 || !strings.Contains(foreign.stderr, "not found") || foreign.stdout != "" {
		t.Errorf("bob asks for alice's job: exit %d, %q, %q", foreign.code, foreign.stdout, foreign.stderr)
	}
	if strings.ReplaceAll(unknown.stderr, "999999", id) != foreign.stderr || unknown.code != foreign.code {
		t.Errorf("a foreign job (%q) and an unknown one (%q) can be told apart", foreign.stderr, unknown.stderr)
	}
	for _, d := range site.list(t, "bob") {
		if d.User != "bob" {
			t.Errorf("bob's list shows job %s of %s", d.ID, d.User)
		}
	}
}
