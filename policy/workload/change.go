package workload

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Change says how a workload's run time changed with its executable or its MPI library, as after
// another `module load`.
type Change struct {
	Name, User, Account string         // Name is the program's name
	Job                 string         // id of the newest run's job
	Old, New            string         // build ids
	OldMPI, NewMPI      string         // libraries with their versions; equal if one is not known
	Since               time.Time      // first run of New
	Runs, RunsBefore    int            // runs that were compared
	Factor              curve.Estimate // new run time / old one on the same cores, with its interval
	Level               float64        // of the interval
	Useful              float64        // the same factor for the useful time alone: the program's own work
	Beside              string         // what else differs, or may; "": nothing as far as is known (METRICS 4, "Comparable")
	ByCurve             bool           // some of the core counts were compared with a curve through the old runs
	Hours               float64        // core-hours that the new runs took more than they would have; negative: less
}

// Worse orders changes: 1 slower, 0 faster.
func (c *Change) Worse() int {
	if c.Factor.Value > 1 {
		return 1
	}
	return 0
}

const (
	// leastChange is the least factor that a change must surely exceed to be told. Machines differ by less from
	// week to week.
	leastChange = 1.03
	// changeLevel is the confidence of the interval of a change.
	changeLevel = 0.9
	// fewestChanged is the least number of runs of each executable that are compared.
	fewestChanged = 3
	// leastSpread is the least standard deviation of ln t that runs are taken to have.
	leastSpread = 0.02
)

// CompareExecutables compares the newest executable and MPI library of a workload with those before. It returns
// nil if there are no others, if too little is known, if the difference may be chance, or if the runs before
// told showed it already. runs are of one job.Lineage.
func CompareExecutables(runs []job.Run, told time.Time) *Change {
	runs, _ = pointsAmong(runs)
	slices.SortStableFunc(runs, func(a, b job.Run) int { return a.Start.Compare(b.Start) })
	c := compare(runs)
	if c == nil {
		return nil
	}
	at, _ := slices.BinarySearchFunc(runs, told, func(r job.Run, t time.Time) int { return r.Start.Compare(t) })
	if was := compare(runs[:at]); was != nil && was.New == c.New && was.NewMPI == c.NewMPI {
		return nil
	}
	return c
}

// compare is CompareExecutables for sorted runs, whatever was told before.
func compare(runs []job.Run) *Change {
	old, new := lastTwo(runs)
	if len(old) < fewestChanged || len(new) < fewestChanged || stepsApart(old, new) > math.Log(collectivesFactor) { // then it may be another input
		return nil
	}
	residuals, useful, byCurve := against(old, new)
	if len(residuals) < fewestChanged {
		return nil
	}
	spread := math.Max(leastSpread, math.Max(spreadOf(residuals), withinSpread(old)))
	mean := meanOf(residuals)
	half := math.Sqrt2 * math.Erfinv(changeLevel) * spread * math.Sqrt(1/float64(len(residuals))+1/float64(len(old)))
	f := curve.Estimate{Value: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)}
	if f.Low < leastChange && f.High > 1/leastChange {
		return nil
	}
	last := &new[len(new)-1]
	c := &Change{Name: filepath.Base(last.Executable), User: last.User, Account: last.Account, Job: last.DisplayID, Old: old[0].BuildID, New: last.BuildID, OldMPI: old[0].MPI, NewMPI: last.MPI, Since: new[0].Start,
		Runs: len(residuals), RunsBefore: len(old), Factor: f, Level: changeLevel, Useful: math.Exp(meanOf(useful)), Beside: beside(old, new), ByCurve: byCurve}
	if sameMPI(c.OldMPI, c.NewMPI) {
		c.OldMPI = c.NewMPI
	}
	for i := range new {
		c.Hours += float64(new[i].Cores()) * new[i].Elapsed / 3600 * (1 - 1/f.Value)
	}
	return c
}

// beside returns what besides the software differs between new and old runs on the same cores, or on the
// nearest; "": nothing.
func beside(old, new []job.Run) string {
	before, since := byCount(old), byCount(new)
	for _, c := range since.Counts {
		here, than := since.on(c.N), before.on(before.Counts[0].N)
		for _, b := range before.Counts {
			if math.Abs(math.Log(float64(b.N)/float64(c.N))) < math.Abs(math.Log(float64(than.N)/float64(c.N))) {
				than = before.on(b.N)
			}
		}
		work, nodes := unlike(than.runs, here.runs, true)
		if why := cmp.Or(nodes, work, otherNodes(here, than), unlikeRuns(here, than), lessCPU(here, than), slowerWeeks(here, than)); why != "" {
			return why
		}
	}
	return ""
}

// byCount makes a study of runs without choosing among them.
func byCount(runs []job.Run) *Study {
	s := &Study{Workload: &job.Workload{}, Runs: slices.Clone(runs)}
	slices.SortStableFunc(s.Runs, func(a, b job.Run) int { return compareRuns(&a, &b) })
	s.count()
	return s
}

// lastTwo returns the runs of the newest executable and MPI library, and of those before them.
func lastTwo(runs []job.Run) (old, new []job.Run) {
	if len(runs) == 0 {
		return nil, nil
	}
	newest := &runs[len(runs)-1]
	first := len(runs)
	for i := range runs {
		if sameSoftware(&runs[i], newest) {
			first = min(first, i)
			new = append(new, runs[i])
		}
	}
	if first == 0 {
		return nil, new
	}
	before := &runs[first-1]
	for i := range runs[:first] {
		if sameSoftware(&runs[i], before) {
			old = append(old, runs[i])
		}
	}
	return old, new
}

func sameSoftware(a, b *job.Run) bool { return a.BuildID == b.BuildID && sameMPI(a.MPI, b.MPI) }

// sameMPI reports whether two MPI libraries may be the same. For one, only the name may be known, or nothing.
func sameMPI(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// against returns ln of the new run times over the old ones: on the same cores, else over the curve through the
// old runs.
func against(old, new []job.Run) (times, useful []float64, byCurve bool) {
	byCores := map[int][]float64{}
	work := map[int][]float64{}
	var points []curve.Point
	for i := range old {
		r := &old[i]
		overhead := tau(r)
		byCores[r.Cores()] = append(byCores[r.Cores()], r.Elapsed)
		work[r.Cores()] = append(work[r.Cores()], r.Useful)
		points = append(points, curve.Point{N: r.Cores(), T: r.Elapsed, Tau: &overhead})
	}
	var through *curve.Result
	for i := range new {
		r := &new[i]
		if t := byCores[r.Cores()]; t != nil {
			times = append(times, math.Log(r.Elapsed)-logMedian(t))
			useful = append(useful, math.Log(r.Useful)-logMedian(work[r.Cores()]))
			continue
		}
		if through == nil {
			through = curve.Fit(points, curve.Settings{})
		}
		if t := through.At(r.Cores()).T; t != nil && r.Cores() <= through.Largest {
			times, byCurve = append(times, math.Log(r.Elapsed/t.Value)), true
		}
	}
	return times, useful, byCurve
}

// withinSpread returns the standard deviation of ln t within the core counts.
func withinSpread(runs []job.Run) float64 {
	byCores := map[int][]float64{}
	for i := range runs {
		byCores[runs[i].Cores()] = append(byCores[runs[i].Cores()], math.Log(runs[i].Elapsed))
	}
	var squares, free float64
	for _, v := range byCores {
		sum, of := squaresOf(v)
		squares, free = squares+sum, free+of
	}
	if free < 1 {
		return 0
	}
	return math.Sqrt(squares / free)
}

func spreadOf(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	squares, free := squaresOf(v)
	return math.Sqrt(squares / free)
}

// squaresOf returns the sum of squares about the mean, and its degrees of freedom.
func squaresOf(v []float64) (squares, free float64) {
	m := meanOf(v)
	for _, x := range v {
		off := x - m
		squares += off * off
	}
	return squares, float64(len(v) - 1)
}

func meanOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
