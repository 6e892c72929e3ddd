package preload

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
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

// mpiOf is the path of the MPI library that a program is linked to.
func mpiOf(t *testing.T, program string) string {
	t.Helper()
	found := regexp.MustCompile(`libmpi(?:ch)?\.so\S* => (\S+)`).FindStringSubmatch(mustRun(t, run(t, nil, "ldd", program)).stdout)
	if found == nil {
		t.Fatalf("%s has no MPI", program)
	}
	return found[1]
}

// A program whose calls reach its MPI past the library cannot be measured, and that is said: it asks the
// MPI's own library for them, calls the PMPI names, or has an MPI_Init of its own. Launchers,
// and programs that begin no MPI, are nobody to speak of.
func TestMPIPastUsIsNoticed(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		opens := compile(t, "gcc", "ownhandle.c", "-ldl")
		mpi := mpiOf(t, compile(t, f.cc, "region.c"))
		pmpi := compile(t, f.cc, "ending.c", "-DMPI_Init=PMPI_Init", "-DMPI_Finalize=PMPI_Finalize")
		wraps := compile(t, f.cc, "region.c", filepath.Join(apps, "tool.c"), "-DWRAPS")
		for _, c := range []struct {
			name    string
			command []string
			lost    uint32 // of two ranks; 0: no record is made
		}{
			{"RTLD_LOCAL", []string{opens, mpi, "local"}, 2},
			{"RTLD_GLOBAL", []string{opens, mpi, "global"}, 2},
			{"PMPI", []string{pmpi, "finalize"}, 2},
			{"its own MPI_Init", []string{wraps}, 2},
			{"a shell between", []string{"sh", "-c", opens + " " + mpi + " local; true"}, 2},
			{"opened only", []string{opens, mpi, "open"}, 0},
			{"no MPI", []string{"sh", "-c", "true"}, 0},
		} {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				command := append(append(f.launcher(t), "-n", "2"), c.command...)
				mustRun(t, run(t, byHand(file), command[0], command[1:]...))
				wantLost(t, file, record.Head{LostUnseen: c.lost})
			})
		}
		t.Run("alone", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			if r := mustRun(t, run(t, byHand(file), opens, mpi, "local")); r != (ran{stdout: "begun\n"}) {
				t.Errorf("the program said %+v", r)
			}
			wantLost(t, file, record.Head{LostUnseen: 1})
		})
	})
}

// wantLost holds what a record says of processes that could not be measured; nothing: there is none.
func wantLost(t *testing.T, file string, want record.Head) {
	t.Helper()
	if want == (record.Head{}) {
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("a record was made: %v", err)
		}
		return
	}
	head := readHead(t, file)
	got := record.Head{Used: head.Used, LostStatic: head.LostStatic, LostPreload: head.LostPreload, LostUnseen: head.LostUnseen, LostStub: head.LostStub}
	if got != want {
		t.Errorf("the record says %+v, want %+v", got, want)
	}
}

// A stand-in for MPI, which begins no MPI, is no MPI to measure: that is said. A program of OpenMP with
// one is measured as one without MPI.
func TestStubIsNoMPI(t *testing.T) {
	stub := compile(t, "gcc", "fakempi.c", "-shared", "-fPIC", "-DSTUB")
	linkedIn := compile(t, "gcc", "fakeapp.c", filepath.Join(apps, "fakempi.c"), "-DSTUB")
	for _, c := range []struct {
		name, program string
		want          record.Head
	}{
		{"shared", compile(t, "gcc", "fakeapp.c", stub), record.Head{LostStub: 1}},
		{"OpenMP", compile(t, "gcc", "fakeapp.c", stub, "-fopenmp"), record.Head{LostStub: 1, Used: 2}},
		{"linked in", linkedIn, record.Head{}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			without := mustRun(t, run(t, nil, c.program))
			if with := run(t, append(byHand(file), "PMI_RANK=0"), c.program); with != without {
				t.Errorf("without the library %+v, with it %+v", without, with)
			}
			wantLost(t, file, c.want)
			if c.want.Used > 0 && !readSlots(t, file)[0].WithoutMPI {
				t.Error("its OpenMP is not measured")
			}
		})
	}
}
