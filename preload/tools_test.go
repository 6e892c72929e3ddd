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

// A tool before the library calls PMPI_X past it. Nothing can be measured then, and the record
// says so, instead of nothing at all.
func TestToolBeforeUsIsNoticed(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "region.c")
		for _, c := range tools {
			t.Run(c.name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				tool := compile(t, f.cc, "tool.c", "-shared", "-fPIC", c.flag)
				without := mpirun(t, f, []string{"LD_PRELOAD=" + tool}, 1, program)
				with := mpirun(t, f, []string{"LD_PRELOAD=" + tool + ":" + library, "JOBEFF_RECORD=" + file}, 1, program)
				if without != with || with.code != 0 {
					t.Errorf("without the library %+v, with it %+v", without, with)
				}
				if head := readHead(t, file); head.LostPreload != 1 || head.Used != 0 || head.LostStatic != 0 {
					t.Errorf("the record says %+v", head)
				}
			})
		}
	})
}

// A launcher that is told to replace its ranks' LD_PRELOAD says that it leaves the library out.
func TestLauncherLeavesUsOut(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "region.c")
		tool := compile(t, f.cc, "tool.c", "-shared", "-fPIC", "-DWRAPS")
		set := func(list string) []string {
			if f.name == openMPI.name {
				return []string{"-x", "LD_PRELOAD=" + list}
			}
			return []string{"-genv", "LD_PRELOAD", list}
		}
		for _, c := range []struct {
			name, list string
			lost       uint32
			used       int // slots: each rank takes one, and one for its region
		}{
			{"a tool alone", tool, 1, 0},
			{"ours and a tool", library + ":" + tool, 0, 4},
		} {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				command := append(append(f.launcher(t), set(c.list)...), "-n", "2", program)
				mustRun(t, run(t, byHand(file), command[0], command[1:]...))
				if head := readHead(t, file); head.LostPreload != c.lost || head.Used != c.used {
					t.Errorf("the record says %+v", head)
				}
			})
		}
	})
}
