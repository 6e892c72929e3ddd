package preload

import (
	"path/filepath"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// TestClockSet is the node's half of fault 48: its clock is set an hour back, or ahead,
// between a job's start and its fold. However the ranks end, spans are what they were; only
// the day is what the clock said.
func TestClockSet(t *testing.T) {
	libs, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if len(libs) == 0 {
		t.Skip("faketime is not installed (make deps)")
	}
	program := compile(t, mpich.cc, "ending.c")
	for _, off := range []time.Duration{time.Hour, -time.Hour} { // of the job's clock against the fold's
		for _, way := range []string{"finalize", "kill"} {
			file := filepath.Join(t.TempDir(), "record")
			env := []string{"LD_PRELOAD=" + library + ":" + libs[0], "JOBEFF_RECORD=" + file, "FAKETIME_DONT_FAKE_MONOTONIC=1",
				"FAKETIME=" + map[bool]string{true: "+1h", false: "-1h"}[off > 0]}
			begin := time.Now()
			mpirun(t, mpich, env, 2, program, way)
			took := time.Since(begin)
			report, err := node.FoldFile(file, node.ThisMachine())
			if err != nil || len(report.Executions) != 1 {
				t.Fatalf("%v, %+v", err, report)
			}
			x := &report.Executions[0]
			if set := x.Start.Sub(begin); set < off-time.Second || set > off+took+time.Second {
				t.Fatalf("the job began %v off: its clock was not set", set)
			}
			m := job.ExecutionMetrics(x)
			if m == nil || m.Ranks != 2 || m.Coverage != 1 || m.Elapsed <= 0 || m.Elapsed > took.Seconds() ||
				m.Useful < 0 || m.MPITime < 0 || m.Useful+m.MPITime > 2*m.Elapsed*1.01 || x.End.Before(x.Start) {
				t.Errorf("%s, clock off by %v: took %v, %v to %v, %+v", way, off, took, x.Start, x.End, m)
			}
		}
	}
}
