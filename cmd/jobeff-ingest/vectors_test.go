package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
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
		"mpi_parallel_efficiency": 0.667, "mpi_load_balance": 0.80, "mpi_communication_efficiency": 0.833,
		"parallel_efficiency": 0.625, "load_balance": 0.75, "communication_efficiency": 0.833,
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

// TestVectorsOfRealPrograms: for programs with the loads of METRICS 2's vectors, jobeff prints the figures
// that are given there. A program leaves a record, the record is folded, the fold is printed.
func TestVectorsOfRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs MPI programs")
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			clock := clockFor(t, b.cc)
			program := filepath.Join(filepath.Dir(clock), "vectors")
			mustRun(t, clock, append(slices.Clone(b.cc), "-fopenmp", "-O1", "-o", program, "../../test/apps/vectors.c"))
			for _, v := range vectors {
				want := v.want
				if b.launch == nil {
					want = v.alone
				}
				if want != nil {
					t.Run(v.name, func(t *testing.T) {
						wantFigures(t, jsonOf(t, clock, b.launch, v.ranks, program, v.name, "30"), want)
					})
				}
			}
		})
	}
}

// clockFor builds test/apps/virtualclock.c for programs of a compiler, in a folder of its own, and the
// library that reads it. Only work moves that clock.
func clockFor(t *testing.T, cc []string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "v") // Open MPI's session needs a short path
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	clock := filepath.Join(dir, "clock.so")
	mustRun(t, clock, []string{"make", "-s", "-C", "../..", "build/test/libjobeff-clock.so", "build/lib/libjobeff_section.so"})
	mustRun(t, clock, append(slices.Clone(cc), "-O1", "-shared", "-fPIC", "-pthread", "-o", clock, "../../test/apps/virtualclock.c"))
	return clock
}

// wantFigures wants the printed figures, which are rounded to three digits here.
func wantFigures(t *testing.T, got map[string]any, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name].(float64); !ok || math.Abs(g-w) > 0.0005 {
			t.Errorf("%s is %v, want %.3f", name, got[name], w)
		}
	}
}

// jsonOf is what jobeff prints of a program.
func jsonOf(t *testing.T, clock string, launch []string, ranks int, program ...string) map[string]any {
	t.Helper()
	file := filepath.Join(filepath.Dir(clock), "record")
	must(t, os.RemoveAll(file))
	library, err := filepath.Abs("../../build/test/libjobeff-clock.so")
	must(t, err)
	command := slices.Clone(launch)
	if launch != nil {
		command = append(command, "-n", strconv.Itoa(ranks))
	}
	command = append(command, "env", "LD_PRELOAD="+library+":"+clock, "JOBEFF_RECORD="+file, "OMP_WAIT_POLICY=passive")
	mustRun(t, clock, append(command, program...))
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--print", "--json", file}, func(string) string { return "" }, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	var document map[string]any
	must(t, json.Unmarshal(stdout.Bytes(), &document))
	return document
}

// mustRun runs a command without the environment's OpenMP; temporary files lie beside the clock.
func mustRun(t *testing.T, clock string, command []string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OMP_") }), "TMPDIR="+filepath.Dir(clock))
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
// 30 ms: T_in 0 and 20, T_out 40 and 50 ms.
func TestSectionsOfRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs MPI programs")
	}
	lib, err := filepath.Abs("../../build/lib")
	must(t, err)
	for _, b := range builds[1:3] {
		t.Run(b.name, func(t *testing.T) {
			clock := clockFor(t, b.cc)
			program := filepath.Join(filepath.Dir(clock), "sections")
			mustRun(t, clock, append(slices.Clone(b.cc), "-O1", "-I../../preload/include", "-pthread", "-o", program, "../../test/apps/sections.c", "-L"+lib, "-ljobeff_section", "-Wl,-rpath,"+lib))
			for _, s := range jsonOf(t, clock, b.launch, 2, program, "late", "10")["sections"].([]any) {
				if s := s.(map[string]any); s["label"] == "late" {
					for name, w := range map[string]float64{"instances": 10, "count": 20, "imbalance": 0.005, "entry_imbalance_mean": 0.010, "entry_imbalance_variance": 0.0001} {
						if g, ok := s[name].(float64); !ok || math.Abs(g-w) > 1e-9 {
							t.Errorf("%s is %v, want %v", name, s[name], w)
						}
					}
					return
				}
			}
			t.Error("no section")
		})
	}
}
