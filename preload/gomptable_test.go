package preload

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// gompRow is a row of gomp_calls.def.
type gompRow struct {
	kind    string // REGION, CALL, NEST, WAIT, OLD or TASK
	name    string
	version string // as in "4.5"
	args    int
}

// gompTasks are wrapped by hand, in lib/gomp.c, with so many arguments.
var gompTasks = map[string]int{"GOMP_task": 10, "GOMP_taskloop": 11, "GOMP_taskloop_ull": 11}

func readGompRows(t *testing.T) []gompRow {
	t.Helper()
	text, err := os.ReadFile("gomp_calls.def")
	must(t, err)
	var rows []gompRow
	for _, m := range regexp.MustCompile(`(?m)^JE_GOMP_(REGION|CALL|NEST|WAIT|OLD|TASK)\((GOMP_\w+), ([\d.]+)(?:, [A-Z]+)?(?:, (\d+))?\)$`).FindAllStringSubmatch(string(text), -1) {
		args := gompTasks[m[2]]
		if m[1] != "TASK" && m[1] != "WAIT" {
			args, err = strconv.Atoi(m[4])
			must(t, err)
		}
		rows = append(rows, gompRow{m[1], m[2], m[3], args})
	}
	if len(rows) < 90 {
		t.Fatalf("only %d rows", len(rows))
	}
	return rows
}

// gompLeftOut says which of libgomp's functions the table has not, and why. What neither waits
// nor runs the program's code in other threads is too quick to be worth two readings of the clock.
var gompLeftOut = []struct {
	why   string
	names *regexp.Regexp
}{
	{"ends a lock, never waits", regexp.MustCompile(`^GOMP_(critical_end|critical_name_end|atomic_end|ordered_end)$`)},
	{"posts, never waits", regexp.MustCompile(`^GOMP_doacross_(ull_)?post$`)},
	{"ends a worksharing without a barrier", regexp.MustCompile(`^GOMP_(loop|sections)_end_nowait$`)},
	{"picks a thread, never waits", regexp.MustCompile(`^GOMP_(single_start|scope_start)$`)},
	{"asks or sets a flag", regexp.MustCompile(`^GOMP_(cancel|cancellation_point)$`)},
	{"opens a taskgroup, or notes reductions", regexp.MustCompile(`^GOMP_(taskgroup_start|taskgroup_reduction_(un)?register|task_reduction_remap)$`)},
	{"may run a task, whose body is wrapped", regexp.MustCompile(`^GOMP_(taskyield|taskwait_depend_nowait)$`)},
	{"runs in the calling thread; its regions have rows", regexp.MustCompile(`^GOMP_teams(4|_reg)?$`)},
	{"offloads to a device, or waits for one", regexp.MustCompile(`^GOMP_(target(_\w+)?|offload_(un)?register(_ver)?|interop)$`)},
	{"memory", regexp.MustCompile(`^GOMP_(alloc|free|add_alloc|is_alloc)$`)},
	{"prints a message", regexp.MustCompile(`^GOMP_(error|warning)$`)},
	{"for libgomp's own plugins", regexp.MustCompile(`^GOMP_PLUGIN_\w+$`)},
	{"ends a region of old code, which is not measured", regexp.MustCompile(`^GOMP_parallel_end$`)},
}

// libgomp is the path of gcc's OpenMP runtime.
func libgomp(t *testing.T) string {
	t.Helper()
	path, err := exec.Command("gcc", "-print-file-name=libgomp.so.1").Output()
	must(t, err)
	return strings.TrimSpace(string(path))
}

// gompExports are the functions of a library that code from gcc calls, with their versions.
func gompExports(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	symbols, err := f.DynamicSymbols()
	must(t, err)
	found := map[string]elf.Symbol{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, "GOMP_") {
			found[s.Name] = s
		}
	}
	return found
}

func libgompExports(t *testing.T) map[string]elf.Symbol {
	t.Helper()
	f, err := elf.Open(libgomp(t))
	must(t, err)
	defer f.Close()
	return gompExports(t, f)
}

// Each function of libgomp is in the table or is left out for a reason, and each row is a function
// of libgomp, in libgomp's version.
func TestGompTableIsComplete(t *testing.T) {
	exports := libgompExports(t)
	wrapped := map[string]bool{}
	for _, r := range readGompRows(t) {
		if wrapped[r.name] {
			t.Errorf("%s is there twice", r.name)
		}
		if got := exports[r.name].Version; got != "GOMP_"+r.version {
			t.Errorf("libgomp's %s has the version %q, not GOMP_%s", r.name, got, r.version)
		}
		wrapped[r.name] = true
	}
	used := map[string]bool{}
	for name := range exports {
		why := ""
		for _, l := range gompLeftOut {
			if l.names.MatchString(name) {
				why = l.why
			}
		}
		used[why] = true
		if (why == "") != wrapped[name] {
			t.Errorf("%s: in the table %v, left out because %q", name, wrapped[name], why)
		}
	}
	for _, l := range gompLeftOut {
		if !used[l.why] {
			t.Errorf("no function is left out because %q", l.why)
		}
	}
}

// compilesCall tells whether gcc takes a call of one of its functions with so many arguments.
func compilesCall(t *testing.T, name string, args int) (bool, string) {
	t.Helper()
	zeros := strings.TrimSuffix(strings.Repeat("0, ", args), ", ")
	cc := exec.Command("gcc", "-w", "-Werror=implicit-function-declaration", "-fopenmp", "-fsyntax-only", "-x", "c", "-")
	cc.Stdin = strings.NewReader(fmt.Sprintf("void f(void) { __builtin_%s(%s); }\n", name, zeros))
	out, err := cc.CombinedOutput()
	return err == nil, string(out)
}

// gcc itself says how many arguments its functions have. Those of old code it does not know any
// more. Variadic ones take any number, so they have a wrapper of their own.
func TestGompRowsHaveGccsArguments(t *testing.T) {
	for _, r := range readGompRows(t) {
		if r.kind == "OLD" {
			continue
		}
		if many, _ := compilesCall(t, r.name, 40); r.kind == "WAIT" {
			if !many {
				t.Errorf("%s is not variadic", r.name)
			}
			continue
		}
		ok, out := compilesCall(t, r.name, r.args)
		if strings.Contains(out, "implicit declaration") {
			t.Logf("gcc emits no call of %s", r.name)
			continue
		}
		more, _ := compilesCall(t, r.name, r.args+1)
		fewer := false
		if r.args > 0 {
			fewer, _ = compilesCall(t, r.name, r.args-1)
		}
		if !ok || more || fewer {
			t.Errorf("%s with %d arguments: %v; with one more %v, with one fewer %v\n%s", r.name, r.args, ok, more, fewer, out)
		}
	}
}

// The library exports the rows, and no other function of libgomp. Only those who ask for the
// version find one.
func TestExportsGompRows(t *testing.T) {
	exports := gompExports(t, openLibrary(t))
	for _, r := range readGompRows(t) {
		if s := exports[r.name]; s.Version != "GOMP_"+r.version || !s.VersionIndex.IsHidden() {
			t.Errorf("%s: the library exports %+v, want a hidden GOMP_%s", r.name, s, r.version)
		}
		delete(exports, r.name)
	}
	for name := range exports {
		t.Errorf("exports %s", name)
	}
}
