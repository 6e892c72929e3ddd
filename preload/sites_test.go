package preload

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jobeff/cmd/source"
	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/preload/record"
)

// logged are the calls in a program's kept windows, of each process. A call has no frame where it is not known where
// it stands; its one module is that of the frame.
func logged(t *testing.T, file string) (all [][]job.Places) {
	t.Helper()
	processes, sites := map[int]*record.Slot{}, map[int][]record.Site{}
	slots := readSlots(t, file)
	for i := range slots {
		if w := slots[i].Windows; w == nil {
			processes[slots[i].Index] = &slots[i]
		} else if w.Order == 0 {
			sites[slots[i].Parent] = w.Sites
		}
	}
	slots = slices.DeleteFunc(slices.Clone(slots), func(s record.Slot) bool { return s.Windows == nil })
	slices.SortFunc(slots, func(a, b record.Slot) int {
		return cmp.Or(cmp.Compare(a.Parent, b.Parent), cmp.Compare(a.Windows.Order, b.Windows.Order))
	})
	for _, s := range slots {
		if s.Windows.Order == 0 {
			all = append(all, nil)
		}
		for _, e := range s.Windows.Entries {
			if e.Op < uint8(replay.OpLocal) {
				continue
			}
			p := job.Places{Modules: []job.Module{{}}, List: []job.Place{{Function: record.FuncName(int(e.Call)), Calls: 1}}}
			if e.Site > 0 {
				of := processes[s.Parent]
				at, known := of.Places.At(sites[s.Parent][e.Site-1])
				if !known {
					t.Fatalf("%+v: site %d is none: %+v", e, e.Site, sites[s.Parent][e.Site-1])
				}
				m := of.Places.Modules[at.Module]
				if m.Program {
					m.Path = of.Exe
				}
				p.Modules[0], p.List[0].Frames = job.Module{Path: m.Path, BuildID: m.BuildID}, []job.Frame{{Offset: at.Offset}}
			}
			all[len(all)-1] = append(all[len(all)-1], p)
		}
	}
	return all
}

// wantSites checks that each logged call stands at a line of the program that calls its function. Of those in `misplaced`
// the compiler tells a wrong line.
func wantSites(t *testing.T, file, app string, misplaced ...string) {
	t.Helper()
	if before != "" { // with sanitizers gcc makes no jumps, so a stub returns into the library (JE_JUMP)
		return
	}
	text, err := os.ReadFile(filepath.Join(apps, app))
	must(t, err)
	lines := strings.Split(strings.ToLower(string(text)), "\n")
	var sums job.PlaceSums
	for _, calls := range logged(t, file) {
		for i := range calls {
			sums.Add(&calls[i])
		}
	}
	places := sums.Places(1 << 20)
	if places == nil {
		t.Fatal("nothing is logged")
	}
	source.Find(context.Background(), &job.Job{Executions: []job.Execution{{Places: places}}}, true)
	for _, p := range places.List {
		if len(p.Frames) == 0 {
			t.Errorf("%d calls of %s stand nowhere", p.Calls, p.Function)
			continue
		}
		at := p.Frames[0]
		if slices.Contains(misplaced, p.Function) {
			continue
		}
		if filepath.Base(at.File) != app || at.Line < 1 || at.Line > len(lines) || !strings.Contains(lines[at.Line-1], strings.ToLower(p.Function)+"(") {
			t.Errorf("%s stands at %s, which does not call it", p.Function, frameOf(at))
		}
	}
}

// The chain names the lines of its two calls, and not those of other calls beside them.
func TestChainNamesItsLines(t *testing.T) {
	waits := fmt.Sprintf("MPI_Recv at waits.c:%d in chain", here(t, "waits.c", "waits"))
	late := fmt.Sprintf("MPI_Send at waits.c:%d in chain", here(t, "waits.c", "late"))
	eachFamily(t, func(t *testing.T, f family) {
		for _, flags := range [][]string{{"-g"}, {"-g", "-O2"}, {"-g", "-no-pie"}} {
			file := newRecord(t)
			mustRun(t, mpirun(t, f, append(onClock(t, f.cc, file), "JOBEFF_WINDOWS=1"), 4, compile(t, f.cc, "waits.c", flags...), "chain", "6"))
			e := foldedWindows(t, file)
			if e.Windows == nil || e.Windows.Path == nil || len(e.Windows.Path.Links) != 1 {
				t.Fatalf("%v: %+v", flags, e.Windows)
			}
			source.Find(context.Background(), &job.Job{Executions: []job.Execution{*e}}, true)
			p := e.Windows.Path
			l := &p.Links[0]
			if got := p.CallText(&l.Waits); got != waits {
				t.Errorf("%v: it waits in %s, want %s", flags, got, waits)
			}
			if got := p.CallText(&l.For); got != late {
				t.Errorf("%v: it waits for %s, want %s", flags, got, late)
			}
			if l.Share.Low < 1-1e-9 {
				t.Errorf("%v: %+v", flags, l.Share)
			}
		}
	})
}

// Two plugins in turn, each unloaded before the other is loaded where it was: a call is never taken for one of the
// other. What was called in a window in which one was unloaded is not known.
func TestSitesOfPlugins(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		var plugins []string
		for _, id := range []string{"01", "02"} { // else the same
			plugins = append(plugins, compile(t, f.cc, "places.c", "-g", "-shared", "-fPIC", "-DLIBRARY", "-Wl,--build-id=0x"+strings.Repeat(id, 20)))
		}
		file := newRecord(t)
		mustRun(t, mpirun(t, f, logs(file), 2, compile(t, f.cc, "places.c", "-g", "-ldl"), plugins...))
		seen := map[string]int{}
		for _, calls := range logged(t, file) {
			for i, call := range calls { // a look, an Allreduce, then a Barrier of the next plugin
				p := call.List[0]
				if p.Function != "MPI_Barrier" {
					if len(p.Frames) > 0 {
						t.Errorf("it is told where %s stands, though a plugin was unloaded in its window", p.Function)
					}
					continue
				}
				barrier := (i + 1) / 3 // the first one only begins a window
				if want := plugins[barrier%2]; len(p.Frames) != 1 || call.Modules[0].Path != want {
					t.Errorf("barrier %d stands at %+v of %s, want %s", barrier, p.Frames, call.Modules[0].Path, want)
				}
				seen[call.Modules[0].Path]++
			}
		}
		if seen[plugins[0]] != 8 || seen[plugins[1]] != 10 {
			t.Errorf("%v, want 8 and 10 barriers", seen)
		}
		addresses := map[uint64]int{}
		for _, s := range readSlots(t, file) {
			if s.Windows == nil {
				continue
			}
			for _, site := range s.Windows.Sites {
				addresses[site.Address]++
			}
		}
		delete(addresses, 0)
		most := 0
		for _, n := range addresses {
			most = max(most, n)
		}
		if most < 2 {
			t.Errorf("no address was used by both plugins, so that this shows nothing: %v", addresses)
		}
	})
}

// A log that had no room for places any more has some again once the windows are thinned.
func TestSitesAreUsedAgain(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := newRecord(t)
		mustRun(t, mpirun(t, f, logs(file), 2, compile(t, f.cc, "windows.c", "-pthread", "-g"), "places", "4000"))
		for rank, calls := range logged(t, file) {
			last, unknown := 0, 0
			for i, call := range calls {
				if len(call.List[0].Frames) == 0 {
					last, unknown = i, unknown+1
				}
			}
			if unknown == 0 || last > len(calls)/2 {
				t.Errorf("rank %d: of %d calls %d stand nowhere, the last one is number %d", rank, len(calls), unknown, last)
			}
		}
	})
}
