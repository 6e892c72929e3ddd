package workload

import (
	"slices"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// TestUnfit: a core count on which jobs were killed is asked for only if enough of its jobs were completed, or more than were
// killed and the next one may have more.
func TestUnfit(t *testing.T) {
	ran := func(state string) job.Ran {
		r := aRan(0, 6, 3600)
		r.State, r.Ranks, r.Memory = state, 4, 8*gib
		return r
	}
	done, out, late := ran("COMPLETED"), ran("OUT_OF_MEMORY"), ran("TIMEOUT")
	late.Limit = late.Elapsed
	for name, c := range map[string]struct {
		jobs []job.Ran
		room *job.Room
		time float64 // that the four cores take longer than the eight, as a fraction
		why  string
	}{
		"none was killed":                   {[]job.Ran{done}, nil, .2, ""},
		"none was completed":                {[]job.Ran{late, ran("FAILED")}, nil, .2, "on 4 cores, 1 of 2 jobs was killed for memory or time"},
		"as many as were completed":         {[]job.Ran{late, done, out, done}, nil, .2, "on 4 cores, 2 of 4 jobs were killed for memory or time"},
		"most were completed":               {[]job.Ran{done, done, out}, &job.Room{Memory: 32 * gib}, .2, ""},
		"and the node has no more":          {[]job.Ran{done, done, out}, &job.Room{Memory: 8 * gib}, .2, "on 4 cores, 1 of 3 jobs was killed for memory or time, and it may not have more"},
		"and the node has a little more":    {[]job.Ran{done, done, out}, &job.Room{Memory: 9 * gib}, .2, ""},
		"and its limit is the highest":      {[]job.Ran{done, done, late}, &job.Room{Memory: 32 * gib, Time: time.Hour}, .2, "on 4 cores, 1 of 3 jobs was killed for memory or time, and it may not have more"},
		"it is not known what the node has": {[]job.Ran{done, done, out}, nil, .2, ""},
		"what they used eats up the saving": {[]job.Ran{done, done, out}, nil, .5, "on 4 cores, jobs were killed for memory or time, and with what these used it would have saved nothing"},
		"enough were completed":             {slices.Repeat([]job.Ran{out, done, done, done}, 2), &job.Room{Memory: 8 * gib}, .2, ""},
	} {
		s := studyOf(measuredRuns([3]float64{4, 130, 120}, [3]float64{8, 100, 60})...)
		s.jobs, s.room = c.jobs, c.room
		r := &Recommendation{Cores: curve.Estimate{Value: 4}, Time: &curve.Estimate{Value: c.time}, cost: .5}
		if why := s.unfit(r, 8); why != c.why {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}
