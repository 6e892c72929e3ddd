package test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	product "jobeff/ingest/job"
	"jobeff/report/figure"
)

// placedApps are further applications of Debian's whose places are held against a full trace.
var placedApps = []loggedApp{
	{name: "NWChem", program: "nwchem.openmpi", folder: "nwchem", prepare: "true", run: "nwchem.openmpi water.nw"},
	{name: "CP2K", program: "cp2k.psmp", folder: "cp2k", prepare: "true", run: "cp2k.psmp -i water.inp"},
}

// callAt is a function and from where it was called.
type callAt struct{ function, module, offset string }

func (c callAt) String() string { return c.function + " at " + c.module + "+" + c.offset }

// seen is what was seen of it, of all ranks. Times are s.
type seen struct {
	time    float64
	short   float64 // of it in calls shorter than 20 us
	samples uint64  // that stand for these
	symbol  string  // the function around it; "": not known
}

// within is by how much the time may be off as it is sampled, in 95 % of cases.
func (s *seen) within() float64 {
	return product.SampledWithin(time.Duration(s.short*1e9), s.samples).Seconds()
}

// ranking are calls, the costliest first.
func ranking(all map[callAt]*seen) (calls []callAt) {
	for c := range all {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b callAt) int {
		return cmp.Or(cmp.Compare(all[b].time, all[a].time), cmp.Compare(a.String(), b.String()))
	})
	return calls
}

// refereed is what referee.c wrote, of all ranks.
func refereed(t *testing.T, files string) (all map[callAt]*seen, sum float64) {
	t.Helper()
	paths, _ := filepath.Glob(files + ".*")
	if len(paths) != 2 {
		t.Fatalf("the referee wrote %v", paths)
	}
	all = map[callAt]*seen{}
	for _, file := range paths {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var c callAt
			var s seen
			var calls int
			if n, err := fmt.Sscan(line, &c.function, &c.module, &c.offset, &calls, &s.time, &s.short, &s.symbol); n != 7 {
				t.Fatalf("the referee wrote %q: %v", line, err)
			}
			if strings.HasPrefix(c.function, "MPI_File_") {
				continue
			}
			c.module, s.symbol = filepath.Base(c.module), strings.TrimPrefix(s.symbol, "-")
			to := all[c]
			if to == nil {
				to = &seen{symbol: s.symbol}
				all[c] = to
			}
			to.time, to.short = to.time+s.time, to.short+s.short
			sum += s.time
		}
	}
	return all, sum
}

// told is what jobeff tells of the same calls, and what share of the time in MPI that is.
func told(t *testing.T, id string) (all map[callAt]*seen, sum, share float64) {
	t.Helper()
	p := where(t, id)
	if p.Share == nil || *p.Share == 0 {
		t.Fatal("no share of the time in MPI is known")
	}
	all = map[callAt]*seen{}
	for _, one := range p.Places {
		if one.Offset == nil {
			continue
		}
		c := callAt{one.Function, filepath.Base(one.Module), fmt.Sprintf("%#x", *one.Offset)}
		if all[c] == nil {
			all[c] = &seen{symbol: one.Symbol}
		}
		s := all[c]
		s.time, s.short, s.samples = s.time+one.Time, s.short+one.Sampled, s.samples+one.Samples
		sum += one.Time
	}
	return all, sum / *p.Share, *p.Share
}

// TestPlacesOfApplications holds the places of real applications against a full trace of the same run, which found
// them in another way (referee.c).
func TestPlacesOfApplications(t *testing.T) {
	onlyInApps(t, "it takes minutes")
	const (
		covered     = 0.95 // of the time in MPI, at least
		apart       = 0.02 // of it: by so much the share of a place may differ …
		samplesOff  = 2    // … and by so many times what its samples leave open in 95 % of cases
		ofShort     = 0.10 // of the time in short calls a place may be off …
		enough      = 1000 // … if so many samples stand for it: their standard error is 3 % at most
		shownPlaces = 3
	)
	referee := build(t, site, "gcc", "referee.c", "-shared", "-fPIC", "-ldl")
	for _, a := range slices.Concat(loggedApps, placedApps) {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			if _, err := exec.LookPath(a.program); err != nil {
				t.Skipf("this Debian has no %s", a.program)
			}
			id := a.start(t, "places", "REFEREE=$PWD/referee LD_PRELOAD="+referee+" ")
			wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], openmpi, 2, 1)
			is, all := refereed(t, filepath.Join(site.home("alice"), id, "referee"))
			got, mpi, share := told(t, id)
			t.Logf("%s: places have %s of the time in MPI, %d of %d calls in the code", a.name, figure.Percent(share), len(got), len(is))
			if share < covered {
				t.Errorf("they have %.4f", share)
			}
			for i, c := range ranking(is)[:shownPlaces] {
				want, had, off := is[c].time/all, 0., apart
				if g := got[c]; g != nil {
					had, off = g.time/mpi, apart+samplesOff*g.within()/mpi
					symbol, err := exec.Command("c++filt", "-p", is[c].symbol).Output()
					if is[c].symbol != "" && (err != nil || strings.TrimSpace(string(symbol)) != g.symbol) {
						t.Errorf("%v is in %s, by the referee in %s", c, g.symbol, symbol)
					}
				}
				t.Logf("%s %d: %v: %s, referee %s", a.name, i+1, c, figure.Percent(had), figure.Percent(want))
				if math.Abs(had-want) > off {
					t.Errorf("%v: %.4f of the time in MPI, by the referee %.4f; it may be off by %.4f", c, had, want, off)
				}
			}
			for _, c := range ranking(got)[:shownPlaces] {
				off := apart + samplesOff*got[c].within()/mpi
				if want := is[c]; want == nil || math.Abs(got[c].time/mpi-want.time/all) > off {
					t.Errorf("%v: %.4f of the time in MPI, by the referee %+v of %.4f", c, got[c].time/mpi, want, all)
				}
			}
			short, worst := 0, 0.
			for c, g := range got {
				if want := is[c]; want != nil && g.samples >= enough {
					off := math.Abs(g.short/want.short - 1)
					short, worst = short+1, max(worst, off)
					if off > ofShort {
						t.Errorf("%v: %.3f s in short calls from %d samples, by the referee %.3f", c, g.short, g.samples, want.short)
					}
				}
			}
			if short > 0 {
				t.Logf("%s: %d places have %d samples of short calls or more; the worst is off by %s", a.name, short, enough, figure.Percent(worst))
			}
		})
	}
}
