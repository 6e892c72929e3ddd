package preload

import (
	"fmt"
	"path/filepath"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/policy/doubt"
)

// A program whose error handler leaves a call by an exception or longjmp is measured until that
// call, and says so. The call does not seem to last until the end.
func TestCallLeftByJump(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cxx, "jump.cc", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
		for _, way := range []string{"throw", "jump"} {
			file := filepath.Join(t.TempDir(), "record")
			env := []string{"LD_PRELOAD=" + clocked, "JOBEFF_RECORD=" + file} // it reads the program's clock
			var took float64
			if _, err := fmt.Sscan(mustRun(t, mpirun(t, f, env, 1, program, way)).stdout, &took); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			report, err := node.FoldFile(file, node.ThisMachine())
			must(t, err)
			e := &report.Executions[0]
			m := job.ExecutionMetrics(e)
			if m == nil || m.Elapsed < 0.2 || m.MPITime > took/1e9 || e.Endings[job.EndingFinalized] != 1 ||
				jobtest.Codes(e.Warnings) != doubt.WarnLeft {
				t.Errorf("%s: %+v, %v, %v", way, m, e.Endings, e.Warnings)
			}
		}
	})
}
