package preload

import (
	"bufio"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// imbalances are what METRICS 3 says of the stays that the ranks printed.
func imbalances(t *testing.T, output string, ranks int) (imb, mean, variance float64) {
	t.Helper()
	in, out := map[int][]float64{}, map[int][]float64{}
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan(); {
		var i int
		var from, to float64
		if n, _ := fmt.Sscanf(lines.Text(), "stay %d %f %f", &i, &from, &to); n == 3 {
			in[i], out[i] = append(in[i], from), append(out[i], to)
		}
	}
	for i := range in {
		if len(in[i]) != ranks {
			t.Fatalf("%d ranks in instance %d", len(in[i]), i)
		}
		first, last, n := math.Inf(1), math.Inf(-1), float64(ranks)*float64(len(in))
		for r := range in[i] {
			first, last = math.Min(first, in[i][r]), math.Max(last, out[i][r])
		}
		here := 0.
		for r := range in[i] {
			imb += (last - out[i][r]) / n // (T_max - T_min) - (T_out - T_min)
			here += (in[i][r] - first) / float64(ranks)
		}
		mean += here * float64(ranks) / n
		for r := range in[i] {
			variance += (in[i][r] - first - here) * (in[i][r] - first - here) / n
		}
	}
	return imb, mean, variance
}

// The imbalances of METRICS 3 are those by the program's own clock.
func TestImbalancesOfSections(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		r := foldOnClock(t, f, program, "late", "5")
		imb, mean, variance := imbalances(t, mustRun(t, r.ran).stdout, 2)
		got := r.figures["late"]
		if got.Instances != 5 || got.Imbalance == nil || got.EntryImbalanceMean == nil || got.EntryImbalanceVariance == nil {
			t.Fatalf("got %+v", got)
		}
		if run := r.figures[job.MainSection]; run.Instances != 1 || run.Imbalance == nil || run.EntryImbalanceMean == nil {
			t.Fatalf("the run has %+v", run)
		}
		want := []float64{0.005, 0.01, 0.0001} // T_in 0 and 20 ms, T_out 40 and 50 ms
		for _, is := range [][]float64{{imb, mean, variance}, {*got.Imbalance, *got.EntryImbalanceMean, *got.EntryImbalanceVariance}} {
			if d := cmp.Diff(want, is, exactly); d != "" {
				t.Errorf("the program's own, or the record's:\n%s", d)
			}
		}
	})
}

// A million instances take no more room than 37. Two ranks keep the same ones, whatever each
// entered beside them.
func TestManyInstances(t *testing.T) {
	const n = 1_000_000
	eachFamily(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, f, byHand(file), 2, compileSections(t, f.cc, "sections.c", "-O2"), "instances", fmt.Sprint(n)))
		var kept [2]map[string]*record.Instances
		slots := 0
		for _, s := range readSlots(t, file) {
			if s.Kind != record.KindSections {
				continue
			}
			kept[slots] = map[string]*record.Instances{}
			for _, e := range s.Sections.Entries {
				kept[slots][e.Label] = e.Sampled
			}
			slots++
		}
		if slots != 2 {
			t.Fatalf("%d slots of sections", slots)
		}
		for label, entered := range map[string]uint64{"one": n, "every second": n / 2} {
			a, b := kept[0][label], kept[1][label]
			if a == nil || b == nil || a.K != b.K || len(a.Kept) != len(b.Kept) || len(a.Kept) < record.MostInstances/4 {
				t.Fatalf("%s: %+v and %+v", label, a, b)
			}
			expect := 0
			for number := uint64(1); number <= entered; number++ {
				if record.IsKept(number, a.K) {
					expect++
				}
			}
			for i := range a.Kept {
				if a.Kept[i].Number != b.Kept[i].Number || a.Kept[i].Out < a.Kept[i].In {
					t.Errorf("%s: %+v and %+v", label, a.Kept[i], b.Kept[i])
				}
			}
			if len(a.Kept) != expect {
				t.Errorf("%s: %d instances at k = %d, want %d", label, len(a.Kept), a.K, expect)
			}
		}
	})
}

// Labels take the room of instances when they need it; the first labels keep theirs longest.
func TestLabelsBeforeInstances(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "sections.c")
		for labels, want := range map[int]int{10: 10, 24: 24, 30: 23, 100: 14, 217: 0, 230: 14 - 1} {
			file := filepath.Join(t.TempDir(), "record")
			mustRun(t, mpirun(t, f, byHand(file), 1, program, "many", fmt.Sprint(labels)))
			with, first := 0, 0
			for _, s := range readSlots(t, file) {
				if s.Kind != record.KindSections {
					continue
				}
				for i, e := range s.Sections.Entries {
					if e.Sampled != nil && (len(e.Sampled.Kept) != 2 || e.Count != 2) {
						t.Errorf("%d labels: %s has %+v", labels, e.Label, e)
					}
					if e.Sampled != nil {
						with++
						first = max(first, i)
					}
				}
			}
			if with != want || first > with {
				t.Errorf("%d labels: %d with instances up to entry %d, want %d", labels, with, first, want)
			}
		}
	})
}
