package policy

import (
	"strings"
	"testing"

	"jobeff/ingest/job"
)

func withoutMPI(e job.Execution) job.Execution { e.MPI = ""; return e }

// TestCauseOfThreads holds which of MPI and OpenMP is to blame, and what of it.
func TestCauseOfThreads(t *testing.T) {
	for _, c := range []struct {
		name             string
		of               job.Execution
		code, text, mend string
	}{
		{"one thread of four works", openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 4, 0, 1, 0), CauseIdleThreads,
			"Threads idle: the 8 threads of its 2 ranks computed for hardly longer than one thread of each rank could.", "OMP_NUM_THREADS=1"},
		{"one thread of eight works", openmp(world(1, 1, 10, work(3400, 100), work(10, 3490)), 4, 0, 1, 0), CauseIdleThreads, "Threads idle", "OMP_NUM_THREADS=1"},
		{"no regions to speak of", openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 4, 0.01, 0, 0), CauseIdleThreads, "Threads idle", "OMP_NUM_THREADS=1"},
		{"serial parts", openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 4, 0.5, 0.1, 0.1), CauseSerial, "22 % of the threads' time was outside of parallel regions", "run fewer threads"},
		{"unequal threads", openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 4, 0.5, 0.4, 0.1), CauseUnequalThreads, "waiting in barriers", "schedule(dynamic)"},
		{"small chunks", openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 4, 0.5, 0.1, 0.4), CauseScheduling, "handing out loops", "larger"},
		{"MPI, with good threads", openmp(world(1, 1, 10, alike(2, work(1700, 1800))...), 4, 0.9, 0.1, 0), CauseCommunication, "MPI is slow", ""},
		{"MPI, with worse threads than most", openmp(world(1, 1, 10, alike(2, work(1400, 2100))...), 4, 0.5, 0.5, 0), CauseCommunication, "MPI is slow", ""},
		{"good", openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 4, 0.9, 0.1, 0), "", "", ""},
	} {
		got := CauseOf(aJob(c.of))
		if got.Code != c.code || !strings.Contains(got.Text, c.text) || !strings.Contains(got.Mend, c.mend) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestHoursWithoutMPI: what no MPI program spent is told as such.
func TestHoursWithoutMPI(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *job.Job
		want bool
	}{{"OpenMP alone", onOneNode(withoutMPI(openmp(world(1, 1, 0, work(3600, 0)), 4, 1, 0, 0))), true}, {"MPI", aJob(world(1, 1, 0, work(3600, 0))), false}, {"no program", aJob(), false}} {
		if got := Describe(c.of, nil).Hours.NoMPI; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestHoursOfThreads: what OpenMP lost is one of the five parts of the lost core-hours (METRICS 6).
func TestHoursOfThreads(t *testing.T) {
	h := Describe(aJob(openmp(world(1, 1, 0, alike(2, work(2700, 900))...), 2, 0.5, 0.3, 0.1)), nil).Hours
	for _, c := range []struct {
		part string
		got  *job.CoreTime
		want float64
	}{{"used", h.Used, 4}, {"lost", h.Lost, 1.75}, {"MPI", h.MPI, 1}, {"OpenMP", h.OpenMP, 0.75}, {"idle", h.Idle, 0}, {"outside", h.Outside, 0}} {
		if c.got == nil || c.got.Hours() != c.want {
			t.Errorf("%s: %v, want %v", c.part, value(c.got), c.want)
		}
	}
}
