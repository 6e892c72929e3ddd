package preload

import (
	"path/filepath"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
)

// A program whose error handler leaves a call by an exception or longjmp is measured until that
// call, and says so. The call does not seem to last until the end.
func TestCallLeftByJump(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cxx, "jump.cc", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
		for _, way := range []string{"throw", "jump"} {
			file := filepath.Join(t.TempDir(), "record")
			if r := mustRun(t, mpirun(t, f, byHand(file), 1, program, way)); r.stdout != "done\n" {
				t.Fatalf("%s: %+v", way, r)
			}
			report, err := node.FoldFile(file, node.ThisMachine())
			must(t, err)
			e := &report.Executions[0]
			m := job.ExecutionMetrics(e)
			if m == nil || m.Elapsed < 0.2 || m.MPITime > m.Elapsed/2 || e.Endings[job.EndingFinalized] != 1 ||
				jobtest.Codes(e.Warnings) != job.WarnLeft {
				t.Errorf("%s: %+v, %v, %v", way, m, e.Endings, e.Warnings)
			}
		}
	})
}
