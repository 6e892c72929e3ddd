package preload

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tools are PMPI tools of a user's own, and what each says of a rank of region.c.
var tools = []struct{ name, flag, says string }{
	{"mpiP-like", "-DWRAPS", "1 begun, 15 calls, 0 regions, time sound"},
	{"IPM-like", "-DBORDERS", "1 begun, 0 calls, 1 regions, time sound"},
}

// A tool behind the library sees every call, and the library sees every call of the program: the
// plugin puts it before the tool.
func TestToolBehindUsCountsToo(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "region.c")
		for _, c := range tools {
			t.Run(c.name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				tool := compile(t, f.cc, "tool.c", "-shared", "-fPIC", c.flag)
				env := []string{"LD_PRELOAD=" + library + ":" + tool, "JOBEFF_RECORD=" + file}
				r := mustRun(t, mpirun(t, f, env, 2, program))
				for rank := range 2 {
					if want := fmt.Sprintf("tool: rank %d, %s\n", rank, c.says); !strings.Contains(r.stderr, want) {
						t.Errorf("the tool says %q, want %q", r.stderr, want)
					}
				}
				if diff := cmp.Diff(called(t, r.stdout), recorded(readSlots(t, file))); diff != "" {
					t.Errorf("what the program says (-) and the record (+):\n%s", diff)
				}
			})
		}
	})
}
