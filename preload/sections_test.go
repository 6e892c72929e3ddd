package preload

import (
	"bufio"
	"debug/elf"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/policy/doubt"
)

// compileSections builds a program that is linked with the stub library.
func compileSections(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	lib := filepath.Dir(library)
	include, err := filepath.Abs("include")
	must(t, err)
	return compile(t, compiler, source, append(flags, "-I"+include, "-L"+lib, "-ljobeff_section", "-Wl,-rpath,"+lib, "-pthread")...)
}

// folded is what the record of a run says of its one execution.
type folded struct {
	ran
	exec     job.Execution
	sections map[string]job.Section
	figures  map[string]job.SectionFigures
}

// foldRun runs a program of two ranks, which may end badly, and folds its record. As in a
// job the record is on a tmpfs.
func foldRun(t *testing.T, f family, program string, args ...string) folded {
	t.Helper()
	file := newRecord(t)
	return foldOf(t, file, mpirun(t, f, byHand(file), 2, program, args...))
}

// foldOnClock does the same on the clock of onClock.
func foldOnClock(t *testing.T, f family, program string, args ...string) folded {
	t.Helper()
	file := newRecord(t)
	return foldOf(t, file, mpirun(t, f, onClock(t, f.cc, file), 2, program, args...))
}

func foldOf(t *testing.T, file string, r ran) folded {
	t.Helper()
	report, err := node.FoldFile(file, node.ThisMachine())
	must(t, err)
	if len(report.Executions) != 1 {
		t.Fatalf("%d executions\n%s%s", len(report.Executions), r.stdout, r.stderr)
	}
	out := folded{r, report.Executions[0], map[string]job.Section{}, map[string]job.SectionFigures{}}
	for _, s := range out.exec.Sections {
		out.sections[s.Label] = s
	}
	for _, s := range job.JobSections(report.Executions) {
		out.figures[s.Label] = s
	}
	return out
}

// own is what a program measured of one label itself, summed over ranks, s.
type own struct {
	count         uint64
	all, own, mpi float64
}

// ownSections sums the lines "section LABEL COUNT SECONDS OWN_SECONDS MPI_SECONDS".
func ownSections(t *testing.T, output string) map[string]own {
	t.Helper()
	sums := map[string]own{}
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan(); {
		var label string
		var o own
		if n, _ := fmt.Sscanf(lines.Text(), "section %s %d %f %f %f", &label, &o.count, &o.all, &o.own, &o.mpi); n != 5 {
			continue
		}
		s := sums[label]
		sums[label] = own{s.count + o.count, s.all + o.all, s.own + o.own, s.mpi + o.mpi}
	}
	if len(sums) == 0 {
		t.Fatalf("the program printed no sections: %s", output)
	}
	return sums
}

// wantTimes wants the program's own times of all labels, read on the clock of onClock.
func wantTimes(t *testing.T, says map[string]own, got map[string]job.Section) {
	t.Helper()
	for label, w := range says {
		s := got[label]
		found := []float64{s.Elapsed.Seconds(), s.Own.Seconds(), s.MPI.Seconds(), s.Useful.Seconds()}
		if d := cmp.Diff([]float64{w.all, w.own, w.mpi, w.all - w.mpi}, found, exactly); d != "" {
			t.Errorf("%s: the program says (-), the record (+): %s", label, d)
		}
	}
}

// Counts and times are the program's own.
func TestSections(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		for _, way := range []string{"nested", "recursive"} {
			t.Run(way, func(t *testing.T) {
				r := foldOnClock(t, f, program, way)
				says := ownSections(t, mustRun(t, r.ran).stdout)
				for label, want := range says {
					if s := r.sections[label]; s.Count != want.count || s.Ranks != 2 || s.Open != 0 {
						t.Errorf("%s: %+v, want %d", label, s, want.count)
					}
				}
				if len(r.sections) != len(says) || codesOf(r.exec) != "" {
					t.Errorf("sections %v, warnings %v", r.sections, r.exec.Warnings)
				}
				checkMain(t, r)
				wantTimes(t, says, r.sections)
			})
		}
	})
}

// checkMain checks that exclusive times add up to the run, and MPI_MAIN is the run.
func checkMain(t *testing.T, r folded) {
	t.Helper()
	whole, sum := r.figures[job.MainSection], 0.0
	for _, s := range r.figures {
		sum += s.Own
	}
	m := job.ExecutionMetrics(&r.exec)
	if math.Abs(sum-whole.ElapsedMean*float64(whole.Ranks)) > 1e-6 || whole.Count != 2 {
		t.Errorf("exclusive times are %v s in all, the run %+v", sum, whole)
	}
	if e := whole.Metrics; e == nil || math.Abs(e.Parallel-m.Parallel) > 1e-9 || math.Abs(e.LoadBalance*e.Communication-e.Parallel) > 1e-9 {
		t.Errorf("MPI_MAIN has %+v, the run %+v", e, m)
	}
}

func codesOf(e job.Execution) string {
	var codes []string
	for _, w := range e.Warnings {
		if w.Code != doubt.WarnOversubs {
			codes = append(codes, w.Code)
		}
	}
	slices.Sort(codes)
	return strings.Join(codes, " ")
}

// counts are the times each label was entered.
func (r folded) counts() map[string]uint64 {
	out := map[string]uint64{}
	for label, s := range r.sections {
		out[label] = s.Count
	}
	return out
}

// What programs do wrong or to excess is recorded, bounded and told, and never a crash.
func TestSectionsOfOddPrograms(t *testing.T) {
	cut := "012345678901234567890123456789012345678901234567890123456789012"
	cases := []struct {
		way    []string
		counts map[string]uint64
		codes  string
	}{
		{[]string{"none"}, map[string]uint64{}, ""},
		{[]string{"wrong"}, map[string]uint64{"outer": 2, "inner": 2, "left open": 2}, "section_exit section_exit section_exit sections_open"},
		{[]string{"hostile"}, map[string]uint64{"?[31mred?<b>&?": 2, "(no label)": 2, cut: 2}, ""},
		{[]string{"regions"}, map[string]uint64{"region": 2}, ""},
		{[]string{"half"}, map[string]uint64{"odd ranks": 1}, ""},
		{[]string{"threads", "100"}, map[string]uint64{"of the first thread": 2}, "sections_ignored"},
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		for _, c := range cases {
			t.Run(c.way[0], func(t *testing.T) {
				r := foldRun(t, f, program, c.way...)
				mustRun(t, r.ran)
				if d := cmp.Diff(c.counts, r.counts()); d != "" {
					t.Errorf("wanted (-), got (+):\n%s", d)
				}
				if got := codesOf(r.exec); got != c.codes {
					t.Errorf("warnings %q, want %q", got, c.codes)
				}
				checkMain(t, r)
			})
		}
	})
}

// A wrong exit is told with both labels.
func TestWrongExitNamesBothLabels(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		r := foldRun(t, f, compileSections(t, f.cc, "sections.c"), "wrong")
		var got []string
		for _, w := range r.exec.Warnings {
			if w.Code == doubt.WarnSectionExit {
				got = append(got, fmt.Sprintf("%d: %s was left, %s was open", w.Count, w.Args.Name, w.Args.Other))
			}
		}
		want := []string{"2: inner was left, MPI_MAIN was open", "2: never entered was left, MPI_MAIN was open", "2: outer was left, inner was open"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// 10,000 labels have an entry each, what comes later shares one, and all are counted.
func TestSectionsAreBounded(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		r := foldRun(t, f, program, "many", "10500")
		mustRun(t, r.ran)
		counts := r.counts()
		if len(counts) != 10_001 || counts["(other sections)"] != 500*4 || counts["label 0"] != 4 || counts["label 9999"] != 4 {
			t.Errorf("%d labels, %d in the rest", len(counts), counts["(other sections)"])
		}
		if codesOf(r.exec) != doubt.WarnSectionsMany {
			t.Errorf("warnings %v", r.exec.Warnings)
		}
		if r = foldRun(t, f, program, "many", "10000"); len(r.sections) != 10_000 || codesOf(r.exec) != "" {
			t.Errorf("%d labels, %v", len(r.sections), r.exec.Warnings)
		}
		r = foldRun(t, f, program, "deep", "100")
		if len(r.sections) != 64 || codesOf(r.exec) != doubt.WarnSectionsDeep || r.exec.Warnings[0].Count != 2*36 {
			t.Errorf("%d levels, %v", len(r.sections), r.exec.Warnings)
		}
	})
}

// A killed rank's open sections are known, with their time up to the last sign of life, 0.1 s after
// the first began: a further one begins then, and a call, before the kill. (The launcher's exit code may be 0: hydra's of MPICH 4.2
// was, once.)
func TestSectionsOfKilledRanks(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		for _, way := range []string{"killed", "killed_in_call"} {
			r := foldOnClock(t, f, program, way)
			outer, last := r.sections["outer"], r.sections["the last one"]
			if outer.Open == 0 || last.Open != outer.Open || outer.Count != uint64(outer.Ranks) || last.Count != uint64(last.Ranks) {
				t.Errorf("%s: outer %+v, within it %+v", way, outer, last)
			}
			if outer.ElapsedMax != 100*time.Millisecond || outer.Elapsed != time.Duration(outer.Ranks)*outer.ElapsedMax || last.Elapsed != 0 {
				t.Errorf("%s: outer %+v, within it %+v", way, outer, last)
			}
			checkMain(t, r)
		}
	})
}

// All Fortran bindings, with MPIX_Section_enter and with MPI_Pcontrol.
func TestSectionsOfFortran(t *testing.T) {
	bindings := map[string][]string{"mpif.h": {"-DUSE_MPIFH"}, "use_mpi": {"-DUSE_MPI"}, "mpi_f08": {"-DUSE_F08"}}
	eachFamily(t, func(t *testing.T, f family) {
		for name, flags := range bindings {
			t.Run(name, func(t *testing.T) {
				r := foldRun(t, f, compileSections(t, f.fc, "sections.F90", flags...))
				mustRun(t, r.ran)
				want := map[string]uint64{"outer": 6, "inner": 8}
				if name == "mpif.h" {
					want["region"], want["in C's way"] = 2, 2
				}
				if d := cmp.Diff(want, r.counts()); d != "" || codesOf(r.exec) != "" {
					t.Errorf("wanted (-), got (+):\n%s%v", d, r.exec.Warnings)
				}
			})
		}
	})
}

// The Fortran module takes either kind of communicator, and hands on the error of a wrong exit.
func TestFortranModule(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		for name, flags := range map[string][]string{"use_mpi": nil, "mpi_f08": {"-DUSE_F08"}} {
			t.Run(name, func(t *testing.T) {
				r := foldRun(t, f, compileSections(t, f.fc, "sectionmodule.F90", flags...))
				mustRun(t, r.ran)
				if d := cmp.Diff(map[string]uint64{"outer": 2, "inner": 4}, r.counts()); d != "" {
					t.Errorf("wanted (-), got (+):\n%s", d)
				}
				if got := codesOf(r.exec); got != doubt.WarnSectionExit {
					t.Errorf("warnings %q", got)
				}
			})
		}
	})
}

// A C++ object leaves its section however its block ends.
func TestSectionObjects(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		r := foldRun(t, f, compileSections(t, f.cxx, "sections.cc", "-std=c++11", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"))
		mustRun(t, r.ran)
		want := map[string]uint64{"loop": 4, "outer": 2, "inner": 2, "thrown": 2, "block": 2}
		if d := cmp.Diff(want, r.counts()); d != "" || codesOf(r.exec) != "" {
			t.Errorf("wanted (-), got (+):\n%s%v", d, r.exec.Warnings)
		}
		checkMain(t, r)
	})
}

// Regions of a real Kokkos program are sections, and Kokkos is told that no kernel needs a fence.
func TestKokkosRegions(t *testing.T) {
	const trilinos = "/usr/include/trilinos"
	if _, err := os.Stat(trilinos + "/Kokkos_Core.hpp"); err != nil {
		t.Skipf("no Kokkos to compile with: %v", err)
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cxx, "kokkos.cc", "-I"+trilinos, "-ltrilinos_kokkoscore")
		r := foldRun(t, f, program, "--kokkos-tools-library="+library)
		mustRun(t, r.ran)
		want := map[string]uint64{"outer": 2, "inner": 4, "by hand": 2, "(no label)": 2}
		if d := cmp.Diff(want, r.counts()); d != "" || codesOf(r.exec) != "" {
			t.Errorf("wanted (-), got (+):\n%s%v", d, r.exec.Warnings)
		}
		for label := range want {
			if s := r.sections[label]; s.Open != 0 {
				t.Errorf("%s stayed open: %+v", label, s)
			}
		}
		checkMain(t, r)
	})
}

// Without libjobeff.so, with it, and with it switched off, the stub serves a tool's
// callbacks alike.
func TestStubServesTools(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c", "-DWITH_TOOL")
		for way, want := range map[string]string{"none": "tool 2 1 3", "recursive": "tool 4 3 7", "deep": "tool 72 71 137", "wrong": "tool 5 3 8"} {
			for _, env := range [][]string{nil, {"JOBEFF=off"}, byHand(filepath.Join(t.TempDir(), "record"))} {
				r := mustRun(t, mpirun(t, f, env, 1, program, way, "70"))
				if !strings.Contains(r.stdout, want) {
					t.Errorf("%s %v: %s, want %s", way, env, r.stdout, want)
				}
			}
		}
	})
}

// The worked example: whatever the number of ranks the image is the same, counts are exact, each
// section is what it is known to be, and takes no less than its inside and no more than with the
// calls around it, by the program's readings of CLOCK_MONOTONIC.
func TestConvolution(t *testing.T) {
	const steps = 20
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "convolution.c", "-O2")
		plain := mustRun(t, mpirun(t, f, nil, 1, program, "200", "150", fmt.Sprint(steps)))
		file := newRecord(t)
		env := []string{"LD_PRELOAD=" + clocked, "JOBEFF_RECORD=" + file} // it reads the same clock
		r := foldOf(t, file, mustRun(t, mpirun(t, f, env, 2, program, "200", "150", fmt.Sprint(steps))))
		if sum := strings.SplitN(plain.stdout, "\n", 2)[0]; !strings.Contains(r.stdout, sum+"\n") {
			t.Fatalf("two ranks made another image: %s, one rank %s", r.stdout, sum)
		}
		want := map[string]uint64{"LOAD": 2, "SCATTER": 2, "STEPS": 2, "HALO": 2 * steps, "CONVOLVE": 2 * steps, "GATHER": 2, "STORE": 2}
		if d := cmp.Diff(want, r.counts()); d != "" || codesOf(r.exec) != "" {
			t.Errorf("wanted (-), got (+):\n%s%v", d, r.exec.Warnings)
		}
		checkMain(t, r)
		if c, h := r.sections["CONVOLVE"], r.sections["HALO"]; c.MPI != 0 || c.Useful != c.Elapsed || h.MPI <= 0 || h.MPI > h.Elapsed {
			t.Errorf("CONVOLVE %+v, HALO %+v", c, h)
		}
		if s := r.sections["STEPS"]; s.Elapsed < r.sections["CONVOLVE"].Elapsed+r.sections["HALO"].Elapsed {
			t.Errorf("STEPS %+v", s)
		}
		outer, inner := map[string]time.Duration{}, map[string]time.Duration{}
		for line := range strings.Lines(r.stdout) {
			var label string
			var count int
			var with, without time.Duration
			if n, _ := fmt.Sscanf(line, "section %s %d %d %d", &label, &count, &with, &without); n == 4 {
				outer[label], inner[label] = outer[label]+with, inner[label]+without
			}
		}
		for label := range want {
			if s := r.sections[label].Elapsed; s < inner[label] || s > outer[label] || outer[label] == 0 {
				t.Errorf("%s: %v, the program says %v to %v", label, s, inner[label], outer[label])
			}
		}
	})
}

// Where the record has no room for sections the run is measured without them, and told.
func TestNoRoomForSections(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, f, byHand(file), 1, program, "none"))
		setSlots(t, file, 4) // of which sections may take the first three
		mustRun(t, mpirun(t, f, byHand(file), 2, program, "many", "300"))
		if h := readHead(t, file); h.LostSections == 0 || h.LostFull != 0 {
			t.Errorf("lost: %+v", h)
		}
		report, err := node.FoldFile(file, node.ThisMachine())
		must(t, err)
		sums := map[string]uint64{}
		for _, e := range report.Executions {
			for _, s := range e.Sections {
				sums[s.Label] += s.Count
			}
		}
		if len(report.Executions) != 2 || len(report.Warnings) != 1 || report.Warnings[0].Code != doubt.WarnSectionsLost {
			t.Errorf("%d executions, warnings %v", len(report.Executions), report.Warnings)
		}
		if len(sums) != 0 && sums["(other sections)"] == 0 {
			t.Errorf("sections %v", sums)
		}
	})
}

// setSlots makes a record one of n slots.
func setSlots(t *testing.T, file string, n byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{n, 0, 0, 0}, 20) // je_head.slots
	must(t, err)
}

// The stub loads wherever libjobeff.so does, and needs no MPI.
func TestStubNeedsOnlyOldLibc(t *testing.T) {
	f, err := elf.Open(filepath.Join(filepath.Dir(library), "libjobeff_section.so"))
	must(t, err)
	defer f.Close()
	needed, err := f.ImportedLibraries()
	must(t, err)
	symbols, err := f.ImportedSymbols()
	must(t, err)
	for _, s := range symbols {
		if s.Version != "" && newer(s.Version, 17) {
			t.Errorf("%s needs %s", s.Name, s.Version)
		}
	}
	slices.Sort(needed)
	if got := strings.Join(needed, " "); got != "libc.so.6" && got != "ld-linux-x86-64.so.2 libc.so.6" {
		t.Errorf("needs %s", got)
	}
}
