package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jobeff/test/load"
)

// vector is a vector of METRICS 2: a program of test/apps/vectors.c, and what jobeff must say of it.
type vector struct {
	name  string
	ranks int
	want  map[string]float64 // by the names in JSON
	alone map[string]float64 // where it runs without MPI; nil: it cannot
}

var vectors = []vector{
	{"multiplicative", 3, map[string]float64{
		"parallel_efficiency": 0.667, "load_balance": 0.80, "communication_efficiency": 0.833,
		"hybrid_parallel_efficiency": 0.625, "hybrid_load_balance": 0.75, "hybrid_communication_efficiency": 0.833,
		"openmp_pop_parallel_efficiency": 0.938, "openmp_pop_load_balance": 0.938, "openmp_pop_communication_efficiency": 1,
	}, nil},
	{"dlb", 2, map[string]float64{
		"openmp_parallel_efficiency": 0.700, "openmp_load_balance": 0.895, "openmp_scheduling_efficiency": 0.950, "openmp_serialisation_efficiency": 0.824,
	}, map[string]float64{ // without m: 60/90, 75/85, 85/90, 60/75
		"openmp_parallel_efficiency": 0.667, "openmp_load_balance": 0.882, "openmp_scheduling_efficiency": 0.944, "openmp_serialisation_efficiency": 0.800,
	}},
	{"process", 2, map[string]float64{
		"process_efficiency": 0.583, "process_communication_efficiency": 0.667, "process_load_balance": 0.917, "thread_efficiency": 1,
	}, nil},
	{"threads", 1, threadsWant, threadsWant},
}

var threadsWant = map[string]float64{"openmp_region_efficiency": 0.75, "serial_region_efficiency": 0.833, "thread_efficiency": 0.583, "process_efficiency": 1}

// builds are the compilers of programs with OpenMP, and what launches them.
var builds = []struct {
	name   string
	cc     []string
	launch []string // "-n RANKS" follows; nil: without MPI
}{
	{"alone/gcc", []string{"gcc", "-DALONE"}, nil},
	{"OpenMPI/gcc", []string{"mpicc.openmpi"}, []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
	{"MPICH/gcc", []string{"mpicc.mpich"}, []string{"mpirun.mpich"}},
	{"alone/clang", []string{"clang", "-DALONE"}, nil},
	{"OpenMPI/clang", []string{"env", "OMPI_CC=clang", "mpicc.openmpi"}, []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
	{"MPICH/clang", []string{"mpicc.mpich", "-cc=clang"}, []string{"mpirun.mpich"}},
}

// TestVectorsOfRealPrograms: what METRICS 2 says of its vectors, jobeff says of programs that have
// these loads: a program leaves a record, the record is folded, the fold is printed. A sleep ends
// late on a busy machine, so a program has four tries there.
func TestVectorsOfRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs programs for seconds")
	}
	mustRun(t, t.TempDir(), []string{"make", "-s", "-C", "../..", "build/lib/libjobeff.so"})
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "v") // Open MPI's session needs a short path
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			program := filepath.Join(dir, "vectors")
			mustRun(t, dir, append(slices.Clone(b.cc), "-fopenmp", "-O1", "-o", program, "../../test/apps/vectors.c"))
			for _, v := range vectors {
				want := v.want
				if b.launch == nil {
					want = v.alone
				}
				if want != nil {
					t.Run(v.name, func(t *testing.T) { compareVector(t, dir, launchOf(b.launch, v.ranks, program, v.name), want) })
				}
			}
		})
	}
}

func launchOf(launch []string, ranks int, program, vector string) []string {
	var command []string
	if launch != nil {
		command = append(slices.Clone(launch), "-n", strconv.Itoa(ranks))
	}
	return append(command, program, vector, "30")
}

func compareVector(t *testing.T, dir string, command []string, want map[string]float64) {
	t.Helper()
	wrong := ""
	for range 4 {
		if wrong = wrongIn(jsonOf(t, dir, command), want); wrong == "" {
			return
		}
	}
	load.SkipIfBusy(t, 0.5, wrong)
	t.Error(wrong)
}

// wrongIn says which figures differ; "": none does.
func wrongIn(got map[string]any, want map[string]float64) string {
	var wrong []string
	for name, w := range want {
		if g, ok := got[name].(float64); !ok || math.Abs(g-w) > 0.015 {
			wrong = append(wrong, fmt.Sprintf("%s is %v, want %.3f", name, got[name], w))
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong, "; ")
}

// jsonOf is what jobeff prints of a program.
func jsonOf(t *testing.T, dir string, command []string) map[string]any {
	t.Helper()
	file := filepath.Join(dir, "record")
	must(t, os.RemoveAll(file))
	library, err := filepath.Abs("../../build/lib/libjobeff.so")
	must(t, err)
	at := slices.IndexFunc(command, func(s string) bool { return strings.HasPrefix(s, dir) })
	mustRun(t, dir, slices.Insert(slices.Clone(command), at, "env", "LD_PRELOAD="+library, "JOBEFF_RECORD="+file, "OMP_WAIT_POLICY=passive"))
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--print", "--json", file}, func(string) string { return "" }, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	var document map[string]any
	must(t, json.Unmarshal(stdout.Bytes(), &document))
	return document
}

// mustRun runs a command without the environment's OpenMP.
func mustRun(t *testing.T, dir string, command []string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OMP_") }), "TMPDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSectionsOfRealPrograms: METRICS 3's imbalances of ranks that enter 20 ms apart and stay 40 and
// 30 ms: T_in 0 and 20, T_out 40 and 50 ms. Against the program's own clock they are
// tested in preload.
func TestSectionsOfRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs programs for seconds")
	}
	mustRun(t, t.TempDir(), []string{"make", "-s", "-C", "../..", "build/lib/libjobeff.so", "build/lib/libjobeff_section.so"})
	lib, err := filepath.Abs("../../build/lib")
	must(t, err)
	for _, b := range builds[1:3] {
		t.Run(b.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "v")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			program := filepath.Join(dir, "sections")
			mustRun(t, dir, append(slices.Clone(b.cc), "-O1", "-I../../preload/include", "-pthread", "-o", program, "../../test/apps/sections.c", "-L"+lib, "-ljobeff_section", "-Wl,-rpath,"+lib))
			compareSection(t, dir, append(slices.Clone(b.launch), "-n", "2", program, "late", "10"), "late",
				map[string]float64{"instances": 10, "count": 20, "imbalance": 0.005, "entry_imbalance_mean": 0.010, "entry_imbalance_variance": 0.0001})
		})
	}
}

// compareSection wants figures of a section within 20 %.
func compareSection(t *testing.T, dir string, command []string, label string, want map[string]float64) {
	t.Helper()
	var got map[string]any
	for range 4 {
		got = nil
		for _, s := range jsonOf(t, dir, command)["sections"].([]any) {
			if s := s.(map[string]any); s["label"] == label {
				got = s
			}
		}
		if got == nil {
			t.Fatal("no section")
		}
		near := true
		for name, w := range want {
			is, known := got[name].(float64)
			if !known {
				t.Fatalf("%s is %v", name, got[name])
			}
			near = near && math.Abs(is-w) <= 0.2*w
		}
		if near {
			return
		}
	}
	load.SkipIfBusy(t, 0.5, fmt.Sprint(got))
	t.Errorf("got %v, want %v", got, want)
}
