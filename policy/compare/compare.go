// Package compare says why one run of the same work took longer than another, and what changed
// between them. Before it come ingest/job, whose jobs it takes, and policy/workload, which says
// whether they did the same work and holds the runs that show how much these usually differ. After it
// report writes the comparison, and cmd asks for the jobs.
//
//  1. New refuses jobs without comparable figures, and different work, with the reason
//  2. factors.go takes the time apart: the parts add up to the difference (METRICS 9)
//  3. usual.go holds each part against the spread of the workload's other runs
//  4. changed.go lists what changed, and the calls, sections and places that grew
package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Comparison is a run against another one of the same work. Times are seconds.
type Comparison struct {
	Before, After Side
	Median        int     // the number of earlier runs that Before is the median of; 0: a user named Before
	Rebuilt       bool    // those runs are of other builds, since there is no earlier run of the same build
	Parts         []Part  // in the order of the formula; they add up to Longer
	Usual         Usual   // of the program's time
	Different     string  // why the two are not the same work, or not whole, but were to be compared all the same; "": they are
	Nodes         []Grown // whose ranks computed much longer than those of the others
	Ranks         []Grown // likewise, if it is not a whole node
	Changed       []Change
	Calls         []Grown // that changed most, mean time per rank
	Sections      []Grown // likewise, without the sections inside them
	Places        []Grown // likewise, of places in the code
	Named         bool    // the places' names were looked for
	Doubts        []string
	mean          float64 // logarithmic, of both elapsed times
}

// Side is one of the two runs.
type Side struct {
	Job     *job.Job
	Run     job.Run       // of its main program
	Time    float64       // T: Slurm's time of the job, at least Elapsed; Elapsed where Slurm's is not known
	Elapsed float64       // E
	Whole   bool          // T is known
	Several int           // programs that the job ran
	main    job.Execution // the program with the most core time
	metrics *job.Metrics
}

// Part is what one factor added to the time.
type Part struct {
	Code          string
	Before, After float64  // of the factor; seconds of Outside and Computing
	Seconds       float64  // seconds by which it made After longer; negative: shorter
	Usual         *float64 // 9 of 10 such pairs of runs differ by less, s; nil: not known
}

// Told reports whether a part differs by more than usual between such runs. If that is not known for the part,
// the usual difference of the whole program counts.
func (c *Comparison) Told(p *Part) bool {
	usual := c.Usual.Time * c.Before.Elapsed
	if p.Usual != nil {
		usual = *p.Usual
	}
	return math.Abs(p.Seconds) > usual
}

// Longer returns by how much After took longer, s.
func (c *Comparison) Longer() float64 { return c.After.Time - c.Before.Time }

// Nothing reports whether the runs differ by no more than usual. Large parts that cancel each other out are not
// nothing.
func (c *Comparison) Nothing() bool {
	usual := c.Usual.Time * c.Before.Elapsed
	for i := range c.Parts {
		p := &c.Parts[i]
		most := max(leastOutside, usual)
		if p.Code != Outside {
			most = farMore * usual
			if p.Usual != nil {
				most = max(most, farMore**p.Usual)
			}
		}
		if math.Abs(p.Seconds) > most {
			return false
		}
	}
	return c.Usual.Known() && math.Abs(math.Log(c.After.Elapsed/c.Before.Elapsed)) <= math.Log1p(c.Usual.Time)
}

const (
	// leastOutside, s: Slurm gives times in whole seconds.
	leastOutside = 2
	// farMore bounds each part, in its usual differences: of several parts, one often exceeds its usual one.
	farMore = 3
)

// Refusal is the reason why two jobs are not compared.
type Refusal struct {
	Why   string
	Force bool // with force they are, and the comparison says in what they differ
}

func (r *Refusal) Error() string { return r.Why }

// New compares the main program of a job with that of an earlier one. With force, it also compares different
// work and runs that are not whole, and says so. Its errors are Refusals.
func New(before, after *listing.JobAndWorkload, force bool) (*Comparison, error) {
	return new(Comparison).of(before, after, force)
}

// of fills in all but Median and Rebuilt.
func (c *Comparison) of(before, after *listing.JobAndWorkload, force bool) (*Comparison, error) {
	if a, b := before.Job, after.Job; a.Cluster == b.Cluster && a.JobID == b.JobID && a.Attempt == b.Attempt {
		return nil, &Refusal{Why: fmt.Sprintf("job %s cannot be compared with itself", b.DisplayID)}
	}
	for _, one := range []struct {
		to   *Side
		from *listing.JobAndWorkload
	}{{&c.Before, before}, {&c.After, after}} {
		var err error
		if *one.to, err = sideOf(one.from); err != nil {
			return nil, err
		}
	}
	if c.Different = c.unlike(); c.Different != "" && !force {
		return nil, &Refusal{c.Different, true}
	}
	if err := c.takeApart(); err != nil {
		return nil, err
	}
	c.hold(before.Workload, after.Workload)
	c.outliers()
	c.Changed = changes(&c.Before, &c.After)
	c.doubt()
	c.grow()
	return c, nil
}

// sideOf makes a job's side. The error is why the job allows no comparison at all.
func sideOf(found *listing.JobAndWorkload) (s Side, err error) {
	j := found.Job
	refuse := func(format string, args ...any) (Side, error) {
		return s, &Refusal{Why: "job " + j.DisplayID + " " + fmt.Sprintf(format, args...)}
	}
	main := job.MainExecution(j.Executions)
	switch {
	case found.Step:
		return refuse("was asked for as a step: whole jobs are compared")
	case j.IsRunning():
		return refuse("runs: its figures are those up to %s", figure.Minute(j.AsOf))
	case !j.AsOf.IsZero():
		return refuse("has figures up to %s only: a node was lost", figure.Minute(j.AsOf))
	case j.Metrics == nil || main < 0:
		return refuse("has no figures: %s", cmp.Or(doubt.Text(j.NoData), "no reason was recorded"))
	case j.Reports < j.Nodes && !j.Complete:
		return refuse("is not whole yet: %s", doubt.Reported(j.Reports, j.Nodes))
	}
	s = Side{Job: j, Several: job.CountExecutions(j.Executions), main: j.Executions[main]}
	if s.main.Folded != nil {
		return refuse("ran %s, and no single one is kept", figure.Counted(s.Several, "program"))
	}
	if s.metrics = job.ExecutionMetrics(&s.main); s.metrics == nil {
		return refuse("has a main program without figures")
	}
	s.Run = job.RunOfJob(j, main)
	s.Elapsed, s.Whole = s.metrics.Elapsed, j.Elapsed > 0
	s.Time = max(j.Elapsed.Seconds(), s.Elapsed)
	return s, nil
}

// unlike returns why the comparison would explain nothing: a run is not whole, or did other work; "": neither.
func (c *Comparison) unlike() string {
	if why := cmp.Or(notWhole(&c.Before), notWhole(&c.After)); why != "" {
		return why
	}
	a, b := &c.Before.main, &c.After.main
	sameArguments := a.ArgsHash != "" && a.ArgsHash == b.ArgsHash || a.Workload != "" && a.Workload == b.Workload
	if why := workload.OtherWork(&c.Before.Run, &c.After.Run, sameArguments); why != "" {
		return fmt.Sprintf("job %s did other work than job %s: %s", c.After.Job.DisplayID, c.Before.Job.DisplayID, why)
	}
	return ""
}

// notWhole returns why a run is not all of its work; "": it is.
func notWhole(s *Side) string {
	if why := workload.NotWhole(&s.Run); why != "" {
		return "job " + s.Job.DisplayID + ": " + why
	}
	if s.Several > 1 && s.main.IsSingleton() {
		return "job " + s.Job.DisplayID + ": its ranks never met each other"
	}
	return ""
}

// takeApart fills in the parts.
func (c *Comparison) takeApart() error {
	known := shapeOf(&c.Before.main, c.Before.metrics).and(shapeOf(&c.After.main, c.After.metrics))
	var factors [2][]factor
	for i, s := range []*Side{&c.Before, &c.After} {
		var why string
		if factors[i], why = factorsOf(&s.main, s.metrics, known); why != "" {
			return &Refusal{Why: "job " + s.Job.DisplayID + ": " + why}
		}
	}
	if c.Before.Whole && c.After.Whole {
		before, after := c.Before.Time-c.Before.Elapsed, c.After.Time-c.After.Elapsed
		c.Parts = append(c.Parts, Part{Code: Outside, Before: before, After: after, Seconds: after - before})
	} else {
		c.Before.Time, c.After.Time = c.Before.Elapsed, c.After.Elapsed
	}
	c.mean = logMean(c.Before.Elapsed, c.After.Elapsed)
	for i := range factors[0] {
		c.Parts = append(c.Parts, part(factors[0][i], factors[1][i], c.mean))
	}
	return nil
}

// doubt collects the reasons why the comparison is uncertain.
func (c *Comparison) doubt() {
	add := func(format string, args ...any) { c.Doubts = append(c.Doubts, fmt.Sprintf(format, args...)) }
	if !c.Before.Whole || !c.After.Whole {
		add("Slurm has not told how long both jobs took: the times are those of their programs, MPI_Init to MPI_Finalize")
	}
	for _, s := range []*Side{&c.Before, &c.After} {
		if s.Several > 1 {
			add("job %s ran %s: that with the most core time is compared, and the others count as time outside of it", s.Job.DisplayID, figure.Counted(s.Several, "program"))
		}
		if s.Job.Attempt > 1 {
			add("job %s was started %s: the last start is compared", s.Job.DisplayID, figure.Counted(s.Job.Attempt, "time"))
		}
		if k := s.Run.Conditions; k != nil && k.Contended {
			add("job %s: %s", s.Job.DisplayID, workload.LackedCPUs)
		}
		if state := s.Job.State; state != "" && state != "COMPLETED" {
			add("job %s ended as %s", s.Job.DisplayID, state)
		}
	}
}

// medianRun returns the median, by time, of the earlier runs of a job's workload on as many cores. For an even
// number it is the shorter of the two in the middle. If there are none, runs of earlier builds stand in.
func (c *Comparison) medianRun(of *listing.JobAndWorkload) (*job.Run, error) {
	s, err := sideOf(of)
	if err != nil {
		return nil, err
	}
	if of.Workload == nil {
		return nil, &Refusal{Why: fmt.Sprintf("job %s belongs to no workload: name a job to compare it with", s.Job.DisplayID)}
	}
	before := func(runs []job.Run) []job.Run {
		return slices.DeleteFunc(slices.Clone(runs), func(r job.Run) bool {
			return !r.Start.Before(s.Run.Start) || r.JobID == s.Run.JobID && r.Cluster == s.Run.Cluster
		})
	}
	earlier, left := workload.Peers(before(of.Workload.Runs), &s.Run)
	if len(earlier) == 0 {
		c.Rebuilt = true
		var others []workload.LeftOut
		earlier, others = workload.Peers(before(of.Workload.Rebuilt), &s.Run)
		left = append(left, others...)
	}
	if len(earlier) == 0 {
		return nil, &Refusal{Why: cmp.Or(notWhole(&s), noneEarlier(of.Workload, &s.Run, left)+": name a job to compare it with")}
	}
	slices.SortStableFunc(earlier, func(a, b job.Run) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	c.Median = len(earlier)
	return &earlier[(len(earlier)-1)/2], nil
}

// noneEarlier says why a workload has no earlier run to compare a run with. left are its earlier runs on as
// many cores that had to be left out.
func noneEarlier(w *job.Workload, of *job.Run, left []workload.LeftOut) string {
	on := figure.Counted(of.Cores(), "core")
	if slices.ContainsFunc(w.Runs, func(r job.Run) bool { return r.Cores() == of.Cores() && r.Ranks != of.Ranks }) {
		on = workload.Mix{Ranks: of.Ranks, Threads: max(of.Threads, 1)}.String()
	}
	if len(left) == 0 && w.All != nil {
		return fmt.Sprintf("only the newest runs of its workload are looked at, and none of these on %s began before job %s", on, of.DisplayID)
	} else if len(left) == 0 {
		return fmt.Sprintf("no run of its workload on %s began before job %s", on, of.DisplayID)
	}
	newest := slices.MaxFunc(left, func(a, b workload.LeftOut) int { return a.Run.Start.Compare(b.Run.Start) })
	which := "job " + newest.Run.DisplayID
	if len(left) > 1 {
		which += ", the newest"
	}
	return fmt.Sprintf("%s on %s cannot be taken (%s: %s)", figure.Counted(len(left), "earlier run"), on, which, newest.Why)
}

// WithMedian compares a job with the median of its workload's earlier runs. load reads the job of a run.
func WithMedian(after *listing.JobAndWorkload, force bool, load func(*job.Run) (*listing.JobAndWorkload, error)) (*Comparison, error) {
	c := new(Comparison)
	r, err := c.medianRun(after)
	if err != nil {
		return nil, err
	}
	before, err := load(r)
	if err != nil {
		return nil, fmt.Errorf("job %s, the median of %s: %w", r.DisplayID, figure.Counted(c.Median, "earlier run"), err)
	}
	if before.Attempt != r.Attempt {
		return nil, &Refusal{Why: fmt.Sprintf("the median of %s is an earlier start of job %s: name a job to compare it with", figure.Counted(c.Median, "earlier run"), r.DisplayID)}
	}
	return c.of(before, after, force)
}
