package harm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
)

// timedSite is a made-up site of several works. Measuring multiplies the time of each job by factor.
type timedSite struct {
	works  int
	each   int // jobs of a work, in the mean
	share  float64
	spread func(r *rand.Rand, work int) float64 // the logarithm of a job's time, against its work's
	factor float64
}

// ran runs the site's jobs and compares them.
func (s timedSite) ran(seed uint64) Slowdown {
	r, times := rand.New(rand.NewPCG(seed, 54)), NewTimes(s.share)
	for id := range uint32(s.works * s.each) {
		work := r.IntN(s.works)
		j := completed(uint32(seed)*1_000_000+id, fmt.Sprint("work", work), 1000*math.Exp(float64(work%5))*math.Exp(s.spread(r, work)))
		j.UID = uint32(work % 7)
		measured := (&etc.Measure{Share: s.share}).Draws(j.JobID)
		if measured {
			j.Metrics, j.Elapsed = new(job.Metrics), time.Duration(float64(j.Elapsed)*s.factor)
		}
		j.Elapsed = j.Elapsed.Truncate(time.Second)
		times.Add(j, measured)
	}
	return times.Slowdown()
}

func completed(id uint32, name string, seconds float64) *job.Job {
	return &job.Job{Cluster: "made", JobID: id, UID: 1, Name: name, Partition: "main", CPUs: 64, Nodes: 1, State: "COMPLETED", Elapsed: time.Duration(seconds * float64(time.Second))}
}

func normal(sigma float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, _ int) float64 { return sigma * r.NormFloat64() }
}

// uneven works: times of one in three differ by 0.5 %, of one in three by a factor, of the others they have two modes
// and a few that are far out.
func uneven(r *rand.Rand, work int) float64 {
	switch work % 3 {
	case 0:
		return .005 * r.NormFloat64()
	case 1:
		return r.ExpFloat64() * 2
	}
	return .02*r.NormFloat64() + float64(r.IntN(2)) + 3*float64(r.IntN(20)/19)
}

// TestIntervalsHold: at sites with and without harm, 90 % of the intervals hold the factor by which measuring multiplies
// times, give or take what chance does in so many.
func TestIntervalsHold(t *testing.T) {
	sites := 400
	if testing.Short() {
		sites = 100
	}
	for name, s := range map[string]timedSite{
		"even":     {works: 10, each: 60, share: .5, spread: normal(.05), factor: 1},
		"harm":     {works: 10, each: 60, share: .5, spread: normal(.05), factor: 1.03},
		"uneven":   {works: 30, each: 20, share: .5, spread: uneven, factor: 1.01},
		"few left": {works: 30, each: 60, share: .95, spread: uneven, factor: 1},
		"few":      {works: 12, each: 5, share: .5, spread: uneven, factor: 1},
		"alike":    {works: 5, each: 100, share: .5, spread: normal(1e-6), factor: 1},
	} {
		held, told := 0, 0
		for seed := range uint64(sites) {
			is := s.ran(seed)
			if is.Cannot != "" {
				continue
			}
			if told++; *is.TimeLow <= s.factor-1 && s.factor-1 <= *is.TimeHigh {
				held++
			}
		}
		part := float64(held) / float64(told)
		t.Logf("%s: %.3f of %d", name, part, told)
		if sure := 3 * math.Sqrt(.09/float64(told)); part < .9-sure || part > .92+sure || told < sites/2 {
			t.Errorf("%s: %d of %d intervals hold the factor", name, held, told)
		}
	}
}

// TestTestOfRanks: the factor that fits one work is the median of all quotients of a measured time and another. Each
// end of an interval is where the test's result is what a normal distribution says.
func TestTestOfRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 54))
	var all strata
	for range 3 {
		var logs [2][]float64
		for i := range 2 {
			for range 21 {
				logs[i] = append(logs[i], r.NormFloat64()+.3*float64(i))
			}
		}
		all = append(all, newStratum(logs))
		var quotients []float64
		for _, a := range logs[1] {
			for _, b := range logs[0] {
				quotients = append(quotients, a-b)
			}
		}
		slices.Sort(quotients)
		if got, want := (strata{all[len(all)-1]}).factor(0), quotients[len(quotients)/2]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v, the median is %v", got, want)
		}
	}
	for _, z := range []float64{-normal90, 0, normal90} {
		at := all.factor(z)
		if above, below := all.test(at-1e-6), all.test(at+1e-6); above < z || below > z {
			t.Errorf("%v deviations at %v: %v before it, %v behind it", z, at, above, below)
		}
	}
	// Ranks 1, 3 and 6 of 6 are 10, chance gives 10.5 with a variance of 5.25.
	one := strata{newStratum([2][]float64{{2, 4, 5}, {1, 3, 6}})}
	if got, want := one.test(0), -.5/math.Sqrt(5.25); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWideWorksCostNothing: works whose times say little leave the interval as narrow as it is without them.
func TestWideWorksCostNothing(t *testing.T) {
	narrow := func(r *rand.Rand, work int) float64 { return .01 * r.NormFloat64() }
	mixed := func(r *rand.Rand, work int) float64 {
		if work < 30 {
			return narrow(r, work)
		}
		return r.NormFloat64()
	}
	few := timedSite{works: 30, each: 40, share: .5, spread: narrow, factor: 1}.ran(1)
	many := timedSite{works: 300, each: 40, share: .5, spread: mixed, factor: 1}.ran(1)
	if a, b := *few.TimeHigh-*few.TimeLow, *many.TimeHigh-*many.TimeLow; b > 1.15*a || many.Measured < 5*few.Measured {
		t.Errorf("%v wide of %d jobs, with others %v of %d", a, few.Measured, b, many.Measured)
	}
}

// TestNeeded: so many jobs as it says it needs give an interval that is about as narrow as it says.
func TestNeeded(t *testing.T) {
	s := timedSite{works: 10, each: 100, share: .5, spread: normal(.03), factor: 1}
	is := s.ran(3)
	s.each = is.Needed / s.works
	enough := s.ran(4)
	if half := (*enough.TimeHigh - *enough.TimeLow) / 2; math.Abs(half/Aim-1) > .15 || is.Needed < 1000 {
		t.Errorf("%d jobs needed: %v", is.Needed, half)
	}
	if *is.Time < *is.TimeLow || *is.Time > *is.TimeHigh || is.Works != 10 || is.Users != 7 || is.Measured+is.Others != 1000 || is.Figures != is.Measured || is.Level != .9 {
		t.Errorf("%+v", is)
	}
}

// TestWhichTimesCount: only completed jobs of a minute or more, once each, of works that jobeff measures; without enough
// of both kinds it cannot tell.
func TestWhichTimesCount(t *testing.T) {
	for name, c := range map[string]struct {
		share  float64
		change func(j *job.Job, measured bool)
		jobs   int // that count
		cannot string
	}{
		"all":           {.5, func(*job.Job, bool) {}, 80, ""},
		"none measured": {0, func(*job.Job, bool) {}, 0, NoneMeasured},
		"all measured":  {1, func(*job.Job, bool) {}, 0, AllMeasured},
		"failed":        {.5, func(j *job.Job, _ bool) { j.State = "FAILED" }, 0, FewAlike},
		"short":         {.5, func(j *job.Job, _ bool) { j.Elapsed = 59 * time.Second }, 0, FewAlike},
		"a minute":      {.5, func(j *job.Job, _ bool) { j.Elapsed = time.Minute }, 80, ""},
		"attempts":      {.5, func(j *job.Job, measured bool) { j.JobID = uint32(index(measured)) }, 0, FewAlike},
		"clusters":      {.5, func(j *job.Job, _ bool) { j.Cluster = fmt.Sprint(j.JobID % 4 / 2) }, 80, ""},
		"by name":       {.5, func(j *job.Job, measured bool) { j.Name = fmt.Sprint(measured) }, 0, FewAlike},
		"by partition":  {.5, func(j *job.Job, measured bool) { j.Partition = fmt.Sprint(measured) }, 0, FewAlike},
		"by user":       {.5, func(j *job.Job, measured bool) { j.UID = uint32(index(measured)) }, 0, FewAlike},
		"by CPUs":       {.5, func(j *job.Job, measured bool) { j.CPUs = 1 + index(measured) }, 0, FewAlike},
		"by nodes":      {.5, func(j *job.Job, measured bool) { j.Nodes = 1 + index(measured) }, 0, FewAlike},
		"by cluster":    {.5, func(j *job.Job, measured bool) { j.Cluster = fmt.Sprint(measured) }, 0, FewAlike},
		"no MPI":        {.5, func(j *job.Job, _ bool) { j.Metrics = nil }, 0, FewAlike},
		"some no MPI": {.5, func(j *job.Job, measured bool) {
			if j.JobID%4 == 1 { // half of the measured ones
				j.Metrics = nil
			}
		}, 80, ""},
		"another share": {.5, func(j *job.Job, measured bool) {
			if j.JobID%16 == 0 {
				j.Metrics = new(job.Metrics)
			}
		}, 80, OtherShare},
		"few": {.5, func(j *job.Job, measured bool) {
			if j.JobID == 0 || j.JobID == 2 {
				j.State = "TIMEOUT"
			}
		}, 78, ""},
		"too few": {.5, func(j *job.Job, measured bool) {
			if j.JobID >= 39 && !measured {
				j.State = "TIMEOUT"
			}
		}, 60, ""},
		"far too few": {.5, func(j *job.Job, measured bool) {
			if j.JobID >= 38 && !measured {
				j.State = "TIMEOUT"
			}
		}, 59, FewAlike},
	} {
		times := NewTimes(c.share)
		for id := range uint32(80) {
			j, measured := completed(id, "work", 3600), id%2 == 1
			if measured {
				j.Metrics = new(job.Metrics)
			}
			c.change(j, measured)
			times.Add(j, measured)
		}
		is := times.Slowdown()
		if is.Cannot != c.cannot || is.Measured+is.Others != c.jobs || (is.Time == nil) != (c.cannot != "") || (is.Needed > 0) != (c.cannot == "") {
			t.Errorf("%s: %+v, want %d, %q", name, is, c.jobs, c.cannot)
		}
	}
}
