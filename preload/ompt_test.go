package preload

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jobeff/preload/record"
)

// openMPs are the ways to an OpenMP runtime: who compiles, which environment the program has, and
// how it is measured.
var openMPs = []struct {
	name, cc string
	env      func(t *testing.T) []string
	runtimes record.OpenMPRuntimes
}{
	{"gcc", "gcc", func(*testing.T) []string { return nil }, record.OpenMPLibgomp},
	{"clang", "clang", func(*testing.T) []string { return nil }, record.OpenMPOMPT},
	{"gcc on libomp", "gcc", onLibomp, record.OpenMPOMPT},
}

// eachOpenMP runs a test in each of these ways. The program is one of test/apps.
func eachOpenMP(t *testing.T, source string, test func(t *testing.T, program string, env []string, runtimes record.OpenMPRuntimes)) {
	for _, w := range openMPs {
		t.Run(w.name, func(t *testing.T) {
			test(t, compile(t, w.cc, source, "-fopenmp", "-O1"), append(w.env(t), quietThreads), w.runtimes)
		})
	}
}

// libomp is LLVM's OpenMP runtime.
func libomp(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("ldd", compile(t, "clang", "openmphello.c", "-fopenmp")).Output()
	must(t, err)
	path := regexp.MustCompile(`libomp\.so\S* => (\S+)`).FindSubmatch(out)
	if path == nil {
		t.Fatalf("%s", out)
	}
	return string(path[1])
}

// onLibomp lets LLVM's runtime take libgomp's place, whose functions it has.
func onLibomp(t *testing.T) []string {
	dir := t.TempDir()
	must(t, os.Symlink(libomp(t), filepath.Join(dir, "libgomp.so.1")))
	return []string{"LD_LIBRARY_PATH=" + dir}
}

// LLVM's runtime gives the same results with and without the library. clang 14's own ends the
// program with an assertion on one thread, and hangs where regions are cancelled, without us.
func TestOMPTIsUnchanged(t *testing.T) {
	program := compile(t, "clang", "openmptour.c", "-fopenmp", "-O2", "-latomic")
	for _, threads := range []int{2, 3, 4, 8} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			env := []string{quietThreads, fmt.Sprintf("OMP_NUM_THREADS=%d", threads)}
			file := filepath.Join(t.TempDir(), "record")
			without, with := run(t, env, program), run(t, append(env, byHand(file)...), program)
			wantSame(t, without, with)
			if _, o := openMPOf(t, file); without.code != 5 || o.Regions < 100 || o.TasksRun == 0 || o.Waits == 0 || o.Locks == 0 {
				t.Errorf("exit code %d, OpenMP %+v", without.code, o)
			}
		})
	}
}

// Another tool gets its events, wherever it is, and the record says that we stood back.
func TestOMPTToolComesFirst(t *testing.T) {
	tool := compile(t, "clang", "ompttool.c", "-shared", "-fPIC")
	plain := compile(t, "clang", "openmp.c", "-fopenmp")
	linked := compile(t, "clang", "openmp.c", "-Wl,--no-as-needed", tool, "-fopenmp")
	after := compile(t, "clang", "openmp.c", "-fopenmp", "-Wl,--no-as-needed", tool)
	for name, c := range map[string]struct {
		program string
		env     []string
		preload string
	}{
		"OMP_TOOL_LIBRARIES": {plain, []string{"OMP_TOOL_LIBRARIES=" + tool}, ""},
		"LD_PRELOAD":         {plain, nil, tool},
		"linked":             {linked, nil, ""},
		"linked behind":      {after, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			env := append([]string{quietThreads}, c.env...)
			without := run(t, append([]string{"LD_PRELOAD=" + c.preload}, env...), c.program, "nested")
			with := run(t, append(append(byHand(file), env...), "LD_PRELOAD="+library+" "+c.preload), c.program, "nested")
			wantSame(t, without, with)
			if !strings.Contains(with.stdout, "the tool saw 3 regions") {
				t.Errorf("%q", with.stdout)
			}
			if _, o := openMPOf(t, file); o.Why != record.OpenMPOtherTool || o.Regions != 0 || o.TeamTicks != 0 {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Without the runtime's own tool, Archer, ThreadSanitizer would find races where there are none.
func TestOMPTLeavesThreadSanitizerItsTool(t *testing.T) {
	program := compile(t, "clang", "openmptsan.c", "-fopenmp", "-fsanitize=thread", "-g")
	file := filepath.Join(t.TempDir(), "record")
	archers, err := filepath.Glob("/usr/lib/llvm-*/lib/libarcher.so")
	if err != nil || len(archers) == 0 {
		t.Skipf("no Archer here: %v", err)
	}
	dir := t.TempDir()
	must(t, os.Symlink(archers[len(archers)-1], filepath.Join(dir, "libarcher.so")))
	env := []string{quietThreads, "TSAN_OPTIONS=ignore_noninstrumented_modules=1", "ARCHER_OPTIONS=verbose=1", "LD_LIBRARY_PATH=" + dir}
	without := mustRun(t, run(t, env, program))
	if !strings.Contains(without.stdout+without.stderr, "Archer detected OpenMP application with TSan") {
		t.Fatalf("%+v", without)
	}
	if with := run(t, append(byHand(file), env...), program); with != without {
		t.Errorf("without the library %+v, with it %+v", without, with)
	}
	if _, o := openMPOf(t, file); o.Why != record.OpenMPTSan || o.Regions != 0 {
		t.Errorf("%+v", o)
	}
}

// A runtime whose tools are switched off asks for none. Only gcc's calls show that it is there.
func TestOMPTSwitchedOff(t *testing.T) {
	for _, w := range openMPs[1:] {
		t.Run(w.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			env := append(append(byHand(file), quietThreads, "OMP_TOOL=disabled"), w.env(t)...)
			mustRun(t, run(t, env, compile(t, w.cc, "openmp.c", "-fopenmp"), "nested"))
			if w.cc == "clang" {
				if _, err := os.Lstat(file); !os.IsNotExist(err) {
					t.Errorf("a record was made: %v", err)
				}
				return
			}
			if _, o := openMPOf(t, file); o.Why != record.OpenMPNoOMPT || o.Regions != 0 || o.TeamTicks != 0 {
				t.Errorf("%+v", o)
			}
		})
	}
}

// A process may have gcc's runtime and LLVM's, one inside regions of the other.
func TestOMPTBesideLibgomp(t *testing.T) {
	host := compile(t, "gcc", "openmphost.c", "-ldl")
	llvm := compile(t, "clang", "openmpplugin.c", "-fopenmp", "-fPIC", "-shared")
	gnu := compile(t, "gcc", "openmpplugin.c", "-fopenmp", "-fPIC", "-shared")
	for _, plugins := range [][]string{{llvm}, {llvm, gnu}, {gnu, llvm}} {
		file := filepath.Join(t.TempDir(), "record")
		without := mustRun(t, run(t, []string{quietThreads}, host, plugins...))
		wantSame(t, without, run(t, append(byHand(file), quietThreads), host, plugins...))
		want := record.OpenMPOMPT
		if len(plugins) > 1 {
			want |= record.OpenMPLibgomp
		}
		if _, o := openMPOf(t, file); o.Runtimes != want || o.Regions < uint64(2*len(plugins)) || o.Locks == 0 || o.Why != record.OpenMPKnown {
			t.Errorf("%d plugins: %+v", len(plugins), o)
		}
	}
}
