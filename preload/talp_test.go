package preload

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/node"
	"jobeff/policy/doubt"
)

// talpFolders are the folders of our libdlb.so, and how programs are built for their DLB.
var talpFolders = []struct{ name, c, fortran string }{{"talp", "-DJE_TALP_36", "-DTALP_36"}, {"talp-3.5", "-DJE_TALP_35", "-DTALP_35"}}

// talpFolder is where LD_LIBRARY_PATH finds our libdlb.so.
func talpFolder(name string) string { return filepath.Join(filepath.Dir(library), name) }

// compileTALP builds a program that needs libdlb.so, and does not know where it is.
func compileTALP(t *testing.T, folder, compiler, source string, flags ...string) string {
	t.Helper()
	return compile(t, compiler, source, append(flags, "-L"+talpFolder(folder), "-ldlb", "-pthread")...)
}

// foldTALP runs a program of two ranks with our libdlb.so, and folds its record.
func foldTALP(t *testing.T, f family, folder, program string, args ...string) folded {
	t.Helper()
	return foldRun(t, f, "env", append([]string{"LD_LIBRARY_PATH=" + talpFolder(folder), program}, args...)...)
}

// toldTimes sums the lines "told LABEL COUNT SECONDS USEFUL MPI" over ranks, as ownSections does.
func toldTimes(t *testing.T, output string) map[string]own {
	t.Helper()
	sums := map[string]own{}
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan(); {
		var label string
		var o own
		if n, _ := fmt.Sscanf(lines.Text(), "told %s %d %f %f %f", &label, &o.count, &o.all, &o.own, &o.mpi); n == 5 {
			s := sums[label]
			sums[label] = own{s.count + o.count, s.all + o.all, s.own + o.own, s.mpi + o.mpi}
		}
	}
	return sums
}

// A program built for TALP runs unchanged. Its regions are sections with the times of its own
// clock, and it is told the same times while it runs.
func TestTALPRegions(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		for _, folder := range talpFolders {
			program := compileTALP(t, folder.name, f.cc, "talp.c", folder.c, "-fopenmp")
			r := foldOnClock(t, f, "env", "LD_LIBRARY_PATH="+talpFolder(folder.name), program, "regions")
			says, told := ownSections(t, mustRun(t, r.ran).stdout), toldTimes(t, r.stdout)
			if d := cmp.Diff(map[string]uint64{"outer": 2, "inner": 6, "Anonymous Region 1": 2}, r.counts()); d != "" || codesOf(r.exec) != "" {
				t.Fatalf("%s: wanted (-), got (+):\n%s%v", folder.name, d, r.exec.Warnings)
			}
			if strings.Count(r.stderr, `jobeff: region "inner" of process `) != 2 {
				t.Errorf("reports: %q", r.stderr)
			}
			wantTimes(t, says, r.sections)
			for label, w := range says {
				if d := cmp.Diff([]float64{w.all, w.all - w.mpi, w.mpi}, []float64{told[label].all, told[label].own, told[label].mpi}, exactly); d != "" || told[label].count != w.count {
					t.Errorf("%s: was told %+v, measured %+v", label, told[label], w)
				}
			}
		}
	})
}

// What does not nest, or is another thread's, is told by a warning, and its run-time figures are
// right (the program checks them).
func TestTALPOddRegions(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileTALP(t, "talp", f.cc, "talp.c", "-DJE_TALP_36", "-fopenmp")
		for way, want := range map[string]string{"crossed": doubt.WarnSectionExit, "threads": ""} {
			r := foldOnClock(t, f, "env", "LD_LIBRARY_PATH="+talpFolder("talp"), program, way)
			mustRun(t, r.ran)
			if got := codesOf(r.exec); got != want || (way == "threads" && len(r.sections) != 0) {
				t.Errorf("%s: warnings %q, sections %v", way, got, r.sections)
			}
		}
	})
}

// Of two threads one works 0.1 s, then the main thread works 0.05 s alone.
func TestTALPOpenMP(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileTALP(t, "talp", f.cc, "talp.c", "-DJE_TALP_36", "-fopenmp")
		r := mustRun(t, foldOnClock(t, f, "env", "LD_LIBRARY_PATH="+talpFolder("talp"), program, "openmp").ran)
		want := "openmp 0.150000000 0.150000000 0.100000000 0.000000000 0.050000000\n" // elapsed, useful, imbalance, scheduling, serial
		if r.stdout != want+want {
			t.Errorf("%q, want twice %q", r.stdout, want)
		}
	})
}

// Without MPI a region has figures at run time (the program checks them), and is no section.
func TestTALPWithoutMPI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	program := compileTALP(t, "talp", "gcc", "talpalone.c", "-DJE_TALP_36", "-fopenmp")
	mustRun(t, run(t, append(byHand(file), "LD_LIBRARY_PATH="+talpFolder("talp")), program))
	report, err := node.FoldFile(file, node.ThisMachine())
	must(t, err)
	if len(report.Executions) != 1 || len(report.Executions[0].Sections) != 0 {
		t.Errorf("%+v", report.Executions)
	}
}

func TestTALPOfOtherLanguages(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		for _, folder := range talpFolders {
			cxx := compileTALP(t, folder.name, f.cxx, "talp.cc", folder.c, "-std=c++11", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
			r := foldTALP(t, f, folder.name, cxx)
			mustRun(t, r.ran)
			if d := cmp.Diff(map[string]uint64{"loop": 6, "inner": 6}, r.counts()); d != "" {
				t.Errorf("C++, wanted (-), got (+):\n%s", d)
			}
			r = foldTALP(t, f, folder.name, compileTALP(t, folder.name, f.fc, "talp.F90", folder.fortran))
			mustRun(t, r.ran)
			if d := cmp.Diff(map[string]uint64{"outer": 2, "inner": 4}, r.counts()); d != "" || codesOf(r.exec) != "" {
				t.Errorf("Fortran, wanted (-), got (+):\n%s%v", d, r.exec.Warnings)
			}
		}
	})
}

// Without libjobeff.so the program runs, and its calls answer as DLB does without TALP.
func TestTALPWithoutJobeff(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileTALP(t, "talp", f.cc, "talp.c", "-DJE_TALP_36", "-fopenmp")
		mustRun(t, mpirun(t, f, []string{"LD_LIBRARY_PATH=" + talpFolder("talp")}, 2, program, "off"))
	})
}

// fakeDLB builds what stands for DLB, with a name of its own.
func fakeDLB(t *testing.T, name string) string {
	t.Helper()
	runsMPI(t)
	file := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-Wl,-soname,"+name, "-o", file, filepath.Join(apps, "fakedlb.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// Programs that were linked with DLB's library with MPI find ours under that name.
func TestTALPUnderTheOtherName(t *testing.T) {
	f := families[0]
	program := compile(t, f.cxx, "talp.cc", "-DJE_TALP_36", "-std=c++11", "-DOMPI_SKIP_MPICXX", fakeDLB(t, "libdlb_mpi.so"))
	folder := t.TempDir()
	must(t, os.Symlink(filepath.Join(talpFolder("talp"), "libdlb.so"), filepath.Join(folder, "libdlb_mpi.so")))
	r := foldRun(t, f, "env", "LD_LIBRARY_PATH="+folder, program)
	if d := cmp.Diff(map[string]uint64{"loop": 6, "inner": 6}, r.counts()); d != "" || strings.Contains(mustRun(t, r.ran).stderr, "DLB:") {
		t.Errorf("wanted (-), got (+):\n%s%s", d, r.stderr)
	}
}

// A DLB behind our library gets each call and gives the answer, and its regions are sections, too.
// One before it gets them alone.
func TestTALPHandsOn(t *testing.T) {
	f := families[0]
	program := compileTALP(t, "talp", f.cxx, "talp.cc", "-DJE_TALP_36", "-std=c++11", "-DOMPI_SKIP_MPICXX")
	dlb := fakeDLB(t, "libother.so")
	ours := filepath.Join(talpFolder("talp"), "libdlb.so")
	for _, c := range []struct {
		first, second string
		sections      map[string]uint64
	}{
		{ours, dlb, map[string]uint64{"loop": 6, "inner": 6}},
		{dlb, ours, map[string]uint64{}},
	} {
		r := foldRun(t, f, "env", "LD_PRELOAD="+library+":"+c.first+":"+c.second, program)
		if got := strings.Count(mustRun(t, r.ran).stderr, "DLB: start"); got != 12 {
			t.Errorf("DLB got %d starts, want 12: %s", got, r.stderr)
		}
		if d := cmp.Diff(c.sections, r.counts()); d != "" {
			t.Errorf("wanted (-), got (+):\n%s", d)
		}
	}
}

// dlbFunctions are the functions of dlb.h and dlb_talp.h of DLB 3.6.
var dlbFunctions = strings.Fields(`
	Init Finalize PreInit Enable Disable SetMaxParallelism UnsetMaxParallelism CallbackSet CallbackGet
	Lend LendCpu LendCpus LendCpuMask Reclaim ReclaimCpu ReclaimCpus ReclaimCpuMask
	AcquireCpu AcquireCpus AcquireCpuMask AcquireCpusInMask Borrow BorrowCpu BorrowCpus BorrowCpuMask BorrowCpusInMask
	Return ReturnCpu ReturnCpuMask PollDROM PollDROM_Update CheckCpuAvailability Barrier BarrierAttach BarrierDetach
	BarrierNamedRegister BarrierNamedGet BarrierNamed BarrierNamedAttach BarrierNamedDetach
	SetVariable GetVariable PrintVariables PrintShmem Strerror SetObserverRole GetVersion GetGPUAffinity AutoSizerStart AutoSizerEnd
	TALP_Attach TALP_Detach TALP_GetNumCPUs TALP_GetPidList TALP_GetTimes TALP_GetNodeTimes TALP_QueryPOPNodeMetrics
	MonitoringRegionGetGlobal MonitoringRegionGetImplicit MonitoringRegionGetMPIRegion MonitoringRegionRegister
	MonitoringRegionReset MonitoringRegionStart MonitoringRegionStop MonitoringRegionReport MonitoringRegionsUpdate
	TALP_CollectPOPMetrics TALP_CollectPOPNodeMetrics TALP_CollectNodeMetrics`)

// Every function is there, nothing else is, and the library loads on glibc 2.17.
func TestTALPLibraries(t *testing.T) {
	want := []string{"dlb_monitoringregionregister_", "dlb_talp_querypopnodemetrics_"} // of DLB's newer Fortran interface
	for _, name := range dlbFunctions {
		want = append(want, "DLB_"+name)
	}
	slices.Sort(want)
	for _, folder := range talpFolders {
		f, err := elf.Open(filepath.Join(talpFolder(folder.name), "libdlb.so"))
		must(t, err)
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		must(t, err)
		var got []string
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF {
				got = append(got, s.Name)
			} else if s.Version != "" && newer(s.Version, 17) {
				t.Errorf("%s needs %s", s.Name, s.Version)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: wanted (-), got (+):\n%s", folder.name, d)
		}
		if name, err := f.DynString(elf.DT_SONAME); err != nil || !slices.Equal(name, []string{"libdlb.so"}) {
			t.Errorf("it is called %v (%v)", name, err)
		}
	}
}
