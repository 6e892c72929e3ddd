package workload

import (
	"cmp"
	"slices"

	"jobeff/policy/curve"
)

// SectionRun holds the times of the sections of one strong-scaling run.
type SectionRun struct {
	N        int                // processes
	Sections map[string]float64 // label to the mean time per process, seconds
}

// SectionBounds are the partial speedup bounds of a run, METRICS 3.
type SectionBounds struct {
	N          int
	RelativeTo int     // processes of the run that speedups compare with; 1 if one process was run
	Bounds     []Bound // the tightest first: the first binds the program
}

// Bound says that the program cannot be faster than Speedup as long as this section stays as it is.
type Bound struct {
	Label   string
	Speedup float64
	Share   float64 // the section's part of the run's time on these processes
}

// LeastShare is the part of a run's time from which a section is worth a name (METRICS 3).
const LeastShare = 0.01

// SpeedupBound is B_i(p) of METRICS 3: the time of the whole sequential program over
// the mean time per process of one section (or the sum of several) on p processes,
// both in seconds.
func SpeedupBound(sequential, section float64) float64 { return sequential / section }

// PartialBounds returns the bounds of every run. The run on the fewest processes replaces the sequential one.
// Sections that took no time bind nothing.
func PartialBounds(runs []SectionRun) []SectionBounds {
	if len(runs) == 0 {
		return nil
	}
	runs = slices.SortedFunc(slices.Values(runs), func(a, b SectionRun) int { return cmp.Compare(a.N, b.N) })
	labels := make([]string, 0, len(runs[0].Sections))
	for label := range runs[0].Sections {
		labels = append(labels, label)
	}
	slices.Sort(labels) // a sum must not depend on the order of a map
	sequential := runs[0].whole(labels)
	all := make([]SectionBounds, 0, len(runs))
	for _, run := range runs {
		b, whole := SectionBounds{N: run.N, RelativeTo: runs[0].N}, run.whole(labels)
		for label, t := range run.Sections {
			if t > 0 {
				b.Bounds = append(b.Bounds, Bound{label, SpeedupBound(sequential, t), t / whole})
			}
		}
		slices.SortFunc(b.Bounds, func(a, b Bound) int {
			return cmp.Or(cmp.Compare(a.Speedup, b.Speedup), cmp.Compare(a.Label, b.Label))
		})
		all = append(all, b)
	}
	return all
}

// whole returns the time of all sections of a run.
func (r *SectionRun) whole(labels []string) (sum float64) {
	for _, label := range labels {
		sum += r.Sections[label]
	}
	return sum
}

// SectionInflexion returns the number of processes from which a section's time stops falling. Like n_fast, it
// is stated only if it was measured.
func SectionInflexion(runs []SectionRun, label string) curve.CoreCount {
	var points []curve.Point
	for _, run := range runs {
		if t := run.Sections[label]; t > 0 && run.N > 0 {
			points = append(points, curve.Point{N: run.N, T: t})
		}
	}
	if len(points) == 0 {
		return curve.CoreCount{Note: curve.NoteNotDetermined}
	}
	return curve.Fastest(points)
}
