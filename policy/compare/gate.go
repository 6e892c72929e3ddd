package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/when"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// LeastGated is how many runs of each build a gate needs. GateLevel is the confidence of its two intervals: of 100 gates of
// builds that are alike at most one fails, since each interval may be missed on one side by half a percent.
const (
	LeastGated = 5
	GateLevel  = 0.99
)

// Gate says whether a build is surely slower, or less efficient, than another one, from repeated runs of both.
type Gate struct {
	Limit         float64 // the change from which on it matters, 0.05: 5 %
	Before, After []Side
	Time          GateChange // elapsed time
	Efficiency    GateChange // parallel efficiency
	Cannot        string     // why the runs cannot be held against each other; "": they can
	Apart         bool       // all runs of one build came before all of the other
}

// GateChange is how a figure changed: its medians, and the ratio with its interval.
type GateChange struct {
	Before, After float64
	curve.Estimate
}

// NewGate compares the runs of two builds. The error is that there are too few of them, or that one has no figures.
func NewGate(before, after []*listing.JobAndWorkload, limit float64) (*Gate, error) {
	g := &Gate{Limit: limit}
	for _, one := range []struct {
		to   *[]Side
		from []*listing.JobAndWorkload
	}{{&g.Before, before}, {&g.After, after}} {
		if len(one.from) < LeastGated {
			return nil, fmt.Errorf("%s of a build: at least %d are needed of each", figure.Counted(len(one.from), "run"), LeastGated)
		}
		for _, found := range one.from {
			s, err := sideOf(found)
			if err == nil {
				if why := notWhole(&s); why != "" {
					err = &Refusal{Why: why}
				}
			}
			if err != nil {
				return nil, err
			}
			*one.to = append(*one.to, s)
		}
	}
	if g.Cannot = g.unlike(); g.Cannot != "" {
		return g, nil
	}
	g.Time = g.ratio(func(s *Side) float64 { return s.Elapsed })
	g.Efficiency = g.ratio(func(s *Side) float64 { return s.metrics.Parallel })
	g.Apart = lastStart(g.Before).Before(firstStart(g.After)) || lastStart(g.After).Before(firstStart(g.Before))
	return g, nil
}

func lastStart(runs []Side) (last time.Time) {
	for i := range runs {
		last = when.Last(last, runs[i].Run.Start)
	}
	return last
}

func firstStart(runs []Side) (first time.Time) {
	for i := range runs {
		first = when.First(first, runs[i].Run.Start)
	}
	return first
}

// unlike says why times of the two builds would tell of something else than the builds.
func (g *Gate) unlike() string {
	first := &g.Before[0]
	for _, s := range slices.Concat(g.Before, g.After) {
		a, b := job.HardwareOf(&first.main), job.HardwareOf(&s.main)
		switch {
		case s.Run.Ranks != first.Run.Ranks || s.Run.Threads != first.Run.Threads:
			return fmt.Sprintf("%s ran on %s of %s, and %s on %s of %s", s.Job.DisplayID, figure.Counted(s.Run.Ranks, "rank"), figure.Counted(s.Run.Threads, "thread"),
				first.Job.DisplayID, figure.Counted(first.Run.Ranks, "rank"), figure.Counted(first.Run.Threads, "thread"))
		case a == nil || b == nil:
			return "the CPU of a run is not known"
		case a.Model != b.Model:
			return fmt.Sprintf("%s ran on another CPU (%s) than %s (%s)", s.Job.DisplayID, b.Model, first.Job.DisplayID, a.Model)
		}
	}
	return ""
}

// ratio compares a figure of the two builds.
func (g *Gate) ratio(of func(*Side) float64) (c GateChange) {
	figures := func(runs []Side) (all, logs []float64) {
		for i := range runs {
			x := of(&runs[i])
			all, logs = append(all, x), append(logs, math.Log(max(x, 1e-9)))
		}
		return all, logs
	}
	before, a := figures(g.Before)
	after, b := figures(g.After)
	return GateChange{curve.Median(before), curve.Median(after), workload.Ratio(a, b, GateLevel)}
}

// Slower reports whether the second build surely takes longer, and by the limit or more.
func (g *Gate) Slower() bool {
	return g.Cannot == "" && g.Time.Low > 1 && g.Time.Value >= 1+g.Limit
}

// Worse reports whether the second build is surely less efficient, and by the limit or more. One that is surely faster is
// not: where computing gets faster and communication does not, the efficiency falls.
func (g *Gate) Worse() bool {
	return g.Cannot == "" && g.Time.High >= 1 && g.Efficiency.High < 1 && g.Efficiency.Value <= 1-g.Limit
}
