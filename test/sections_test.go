package test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"testing"

	"jobeff/report/view"
)

// buildSections compiles a program with sections against this tree. The nodes run it with the
// package's library.
func buildSections(t *testing.T, c *cluster, f family, source string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return build(t, c, f.cc, source, "-I"+root+"/preload/include", "-L"+root+"/build/lib", "-ljobeff_section", "-pthread")
}

func sectionsByLabel(d *view.Job) map[string]view.Section {
	all := map[string]view.Section{}
	for _, s := range d.Sections {
		all[s.Label] = s
	}
	return all
}

// The worked example over two nodes: all ranks' sections, under the names of the program.
func TestSections(t *testing.T) {
	t.Parallel()
	const steps = 10
	for _, f := range families {
		t.Run(f.mpi, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", fmt.Sprintf("%s%s 300 200 %d", srun(t, f), buildSections(t, site, f, "convolution.c"), steps), "-N2", "-n4")
			d := site.jobeff(t, "alice", id)
			wantWhole(t, wantExecutions(t, d, 1)[0], f, 4, 2)
			want := map[string]uint64{"MPI_MAIN": 4, "LOAD": 4, "SCATTER": 4, "STEPS": 4, "HALO": 4 * steps, "CONVOLVE": 4 * steps, "GATHER": 4, "STORE": 4}
			got := map[string]uint64{}
			for _, s := range d.Sections {
				got[s.Label] = s.Count
				if s.Ranks != 4 || s.ParallelEfficiency == nil || *s.ParallelEfficiency > 1 {
					t.Errorf("%+v", s)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("sections %v, want %v", got, want)
			}
			if h := sectionsByLabel(d)["HALO"]; h.Instances != steps || h.Imbalance == nil || h.EntryImbalanceMean == nil || *h.EntryImbalanceMean > h.ElapsedMean+*d.Elapsed {
				t.Errorf("both nodes have the same clock, but HALO has %+v", h) // they are one machine
			}
			if whole := sectionsByLabel(d)["MPI_MAIN"]; math.Abs(*whole.ParallelEfficiency-*d.ParallelEfficiency) > 1e-9 || whole.Elapsed != *d.Elapsed {
				t.Errorf("MPI_MAIN %+v", whole)
			}
		})
	}
}

// A killed rank's open sections last until its death, which Slurm saw: at least 0.6 s for the
// outer one. They do not last until the job ends, which sleeps 5 s afterwards.
func TestSectionsOfKilledRanks(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.mpi, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", srun(t, f)+buildSections(t, site, f, "sections.c")+" killed; sleep 5", "-N1", "-n1")
			d := site.jobeff(t, "alice", id)
			all := sectionsByLabel(d)
			outer, last := all["outer"], all["the last one"]
			if outer.Open != 1 || last.Open != 1 || outer.Elapsed < 0.6 || outer.Elapsed > d.JobElapsed-4 || last.Elapsed < 0.5 || last.Elapsed > outer.Elapsed-0.1 {
				t.Errorf("outer %+v, the last one %+v", outer, last)
			}
		})
	}
}

// A program that was built for TALP runs with the package's libdlb.so, over two nodes.
func TestTALP(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	f := families[0]
	program := build(t, site, f.cc, "talp.c", "-L"+root+"/build/lib/talp", "-ldlb", "-pthread", "-fopenmp")
	id := site.run(t, "alice", "export LD_LIBRARY_PATH=/usr/lib/jobeff/talp\n"+srun(t, f)+program, "-N2", "-n2")
	d := site.jobeff(t, "alice", id)
	wantWhole(t, wantExecutions(t, d, 1)[0], f, 2, 2)
	want := map[string]uint64{"MPI_MAIN": 2, "outer": 2, "inner": 6, "Anonymous Region 1": 2}
	got := map[string]uint64{}
	for _, s := range d.Sections {
		got[s.Label] = s.Count
	}
	if inner := sectionsByLabel(d)["inner"]; !maps.Equal(got, want) || inner.Elapsed < 0.12 {
		t.Errorf("sections %v, want %v; inner %+v", got, want, inner)
	}
}
