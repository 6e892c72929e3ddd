package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/report/view"
)

// where is what `jobeff where` says to alice, with the names that it found.
func where(t *testing.T, id string) view.Places {
	t.Helper()
	var p view.Places
	if err := json.Unmarshal([]byte(site.as(t, "alice", "jobeff", "where", id, "--json")), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// lineOf is a line of a test program that is marked with HERE and a name: "places.c:12".
func lineOf(t *testing.T, source, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("apps", source))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "HERE "+name+" ")
	if !found {
		t.Fatalf("%s has no %s", source, name)
	}
	return fmt.Sprintf("%s:%d", source, 1+strings.Count(before, "\n"))
}

// TestPlacesOverNodes: of eight ranks on two nodes seven wait for one, and its owner reads at which lines, and for how
// long. Those that are killed in a call have its line, too. One job at a time: eight ranks spin.
func TestPlacesOverNodes(t *testing.T) {
	t.Parallel()
	const ranks = 8
	for _, f := range families {
		for _, source := range []string{"places.c", "places.cc"} {
			t.Run(f.name+" "+source, func(t *testing.T) {
				compiler := f.cc
				if source == "places.cc" {
					compiler = strings.Replace(f.cc, "mpicc", "mpicxx", 1)
				}
				id := site.run(t, "alice", srun(t, f)+onClock(t, f)+build(t, site, compiler, source, "-O2", "-ldl"), "-N2", fmt.Sprint("-n", ranks), "--overcommit")
				e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
				wantWhole(t, e, f, ranks, 2)
				p := where(t, id)
				if len(p.Places) < 2 || p.Share == nil || *p.Share < .999 {
					t.Fatalf("%+v", p)
				}
				for i, want := range []struct {
					function, at, in string
					each             float64 // s of the ranks that wait
				}{{"MPI_Barrier", lineOf(t, "places.c", "barrier"), "exchange_halo", .4}, {"MPI_Allreduce", lineOf(t, "places.c", "allreduce"), "main", .1}} {
					got := p.Places[i]
					at := fmt.Sprintf("%s:%d", filepath.Base(got.File), got.Line)
					if got.Function != want.function || at != want.at || got.Symbol != want.in || got.Ranks != ranks-1 || got.Time < 7*want.each-.001 || got.Time > 7*want.each+.001 || got.Most > want.each+.001 {
						t.Errorf("place %d is %+v, want %+v", i, got, want)
					}
				}
				said := strings.Join(strings.Fields(site.as(t, "alice", "jobeff", "--full", id)), " ") // lines end anywhere
				if want := "MPI_Barrier 80 % at " + lineOf(t, "places.c", "barrier") + " in exchange_halo"; !strings.Contains(said, want) {
					t.Errorf("jobeff %s does not say %q:\n%s", id, want, said)
				}
			})
		}
		t.Run(f.name+" killed", func(t *testing.T) {
			id := site.run(t, "alice", srun(t, f)+"-K0 "+build(t, site, f.cc, "places.c", "-O2", "-ldl")+" hang", "-N2", fmt.Sprint("-n", ranks), "--overcommit")
			e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
			own := e.Endings["signal 27 (SIGPROF)"] // Open MPI kills the others, once one is dead
			if e.Ranks != ranks || own == 0 || own+e.Endings["signal 9 (SIGKILL)"] != ranks {
				t.Errorf("%d ranks, endings %v", e.Ranks, e.Endings)
			}
			p := where(t, id)
			for _, got := range p.Places {
				if got.Function == "MPI_Recv" && fmt.Sprintf("%s:%d", filepath.Base(got.File), got.Line) == lineOf(t, "places.c", "hang") && got.Ranks >= own && got.Calls == uint64(got.Ranks) && got.Most >= .3 {
					return
				}
			}
			t.Errorf("no rank is in the call in which it was killed: %+v", p.Places)
		})
	}
}

// TestPlacesOfPython: of a program in Python the module of mpi4py is named.
func TestPlacesOfPython(t *testing.T) {
	t.Parallel()
	const script = `
import time
from mpi4py import MPI
for i in range(10):
    if MPI.COMM_WORLD.rank == 0:
        time.sleep(.1)
    MPI.COMM_WORLD.Barrier()
`
	program := filepath.Join(site.home("alice"), "waits.py")
	if err := os.WriteFile(program, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	id := site.run(t, "alice", srun(t, openmpi)+"/usr/bin/python3 "+program, "-N2", "-n2")
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], openmpi, 2, 2)
	p := where(t, id)
	if len(p.Places) == 0 {
		t.Fatal("no places")
	}
	if got := p.Places[0]; got.Function != "MPI_Barrier" || !strings.HasPrefix(filepath.Base(got.Module), "MPI.") || !strings.HasSuffix(got.Module, ".so") || got.Time < .9 || got.Why == "" {
		t.Errorf("the costliest place is %+v, want a call in mpi4py's module of about 1 s", got)
	}
}
