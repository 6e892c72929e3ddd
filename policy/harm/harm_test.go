package harm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
)

// madeSite is a made-up site with the troubles of a real one: a few users run most jobs, each has times in
// which a program is broken, arrays fail as a whole, rates drift from week to week, and
// partitions differ. Its jobs know nothing of who is measured, but for harm.
type madeSite struct {
	r      *rand.Rand
	jobs   int // per day
	calm   float64
	harm   func(j *job.Job) // what measuring does to a job; nil: nothing
	share  float64
	now    time.Time
	nextID uint32
	drift  map[string]float64 // of this week, by ending
	week   int
	broken map[uint32]time.Time // until when a user's program crashes often
	queue  []*job.Job           // of an array that fails
}

var began = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func newSite(seed uint64, jobs int, share float64) *madeSite {
	return &madeSite{r: rand.New(rand.NewPCG(seed, 31)), jobs: jobs, calm: .0002, share: share, now: began, nextID: uint32(seed) * 1_000_000,
		week: -1, broken: map[uint32]time.Time{}}
}

// rates of a day's work: of every job, before drift.
var rates = []struct {
	kind, state, code string
	rate              float64
}{
	{AlarmCrashed, "FAILED", "11:0", 0}, // calm
	{AlarmFailed, "FAILED", "1:0", .04},
	{AlarmMemory, "OUT_OF_MEMORY", "0:125", .01},
	{AlarmTimeout, "TIMEOUT", "0:0", .05},
	{AlarmNodeFail, "NODE_FAIL", "0:0", .0005},
}

// next is the next job, and whether its id says that it is measured.
func (s *madeSite) next() (*job.Job, bool) {
	s.nextID++
	s.now = s.now.Add(time.Duration(s.r.ExpFloat64() * 24 * float64(time.Hour) / float64(s.jobs)))
	if week := int(s.now.Sub(began) / week); week > s.week {
		s.week, s.drift = week, map[string]float64{}
		for _, r := range rates {
			s.drift[r.kind] = math.Exp(.3 * s.r.NormFloat64())
		}
	}
	j := s.work()
	j.JobID, j.End = s.nextID, s.now
	measured := (&etc.Measure{Share: s.share}).Draws(j.JobID)
	if measured && s.harm != nil {
		s.harm(j)
	}
	return j, measured
}

func (s *madeSite) work() *job.Job {
	if n := len(s.queue); n > 0 && s.r.Float64() < .8 {
		j := *s.queue[n-1]
		s.queue = s.queue[:n-1]
		return &j
	}
	uid := uint32(1000 + 150*math.Pow(s.r.Float64(), 2)) // user 1000 has a twelfth of the jobs
	j := &job.Job{Cluster: "made", UID: uid, Name: fmt.Sprint("work", s.r.IntN(4)), CPUs: 64, Nodes: 1, State: "COMPLETED", ExitCode: "0:0", Partition: "main",
		Elapsed: time.Duration(float64(time.Hour) * math.Exp(.05*s.r.NormFloat64()))}
	worse := 1.0
	if uid%5 == 0 {
		j.Partition, worse = "gpu", 2
	}
	if s.r.Float64() < .0002 {
		s.broken[uid] = s.now.Add(time.Duration(s.r.Float64() * float64(4*24*time.Hour)))
	}
	at := s.r.Float64()
	for _, r := range rates {
		rate := r.rate
		if r.kind == AlarmCrashed {
			if rate = s.calm; s.now.Before(s.broken[uid]) {
				rate = .3
			}
		}
		if at -= rate * worse * s.drift[r.kind]; at < 0 {
			j.State, j.ExitCode = r.state, r.code
			break
		}
	}
	if j.State != "COMPLETED" && s.r.Float64() < .002 { // an array of it
		for range 100 + s.r.IntN(900) {
			s.queue = append(s.queue, j)
		}
	}
	return j
}

// until adds jobs until an alarm, or until a moment; seen is how many measured jobs that took.
func (s *madeSite) until(w *Watch, end time.Time, most int) (a *Alarm, seen int) {
	for i := 0; s.now.Before(end) && seen < most; i++ {
		j, measured := s.next()
		w.Add(j, measured)
		if measured {
			seen++
		}
		if i%100 == 0 {
			if all := w.Alarms(); len(all) > 0 {
				return &all[0], seen
			}
		}
	}
	return nil, seen
}

// watched is a made-up site after its past, and who watches it.
func watched(seed uint64, jobs int, share float64, past bool) (*madeSite, *Watch) {
	s := newSite(seed, jobs, share)
	since := began
	if past {
		since = since.Add(Before)
	}
	w := New(share, since)
	for s.now.Before(since) {
		j, _ := s.next()
		w.Add(j, false)
	}
	return s, w
}

func crash(j *job.Job) { j.State, j.ExitCode = "FAILED", "11:0" }

// oneIn harms one in n of the measured jobs.
func oneIn(n uint32, harm func(*job.Job)) func(*job.Job) {
	return func(j *job.Job) {
		if j.JobID%n == 0 {
			harm(j)
		}
	}
}

// TestHarmIsSeen: an alarm comes within so many measured jobs. With 2 % of 5,000 jobs unmeasured and
// no past, nothing can be seen: where all of 25 crashes are of measured jobs, chance does
// the same in .98^25 = 60 % of cases.
func TestHarmIsSeen(t *testing.T) {
	const most = 5000
	crashes := oneIn(200, crash)
	for _, c := range []struct {
		name   string
		share  float64
		past   bool
		harm   func(*job.Job)
		kind   string
		within int
	}{
		{"a tenth is measured", .1, false, crashes, AlarmCrashed, most},
		{"a fifth is measured", .2, false, crashes, AlarmCrashed, most},
		{"half is measured", .5, false, crashes, AlarmCrashed, 2 * most},
		{"nearly all, with a past", .98, true, crashes, AlarmCrashed, most},
		{"nearly all, without a past", .98, false, crashes, "", 3 * most},
		{"half, one in 20 hangs", .5, false, oneIn(20, func(j *job.Job) { j.State = "TIMEOUT" }), AlarmTimeout, 2 * most},
		{"nearly all, every one crashes", .98, false, crash, AlarmCrashed, 3 * most},
		{"nearly all, every one crashes, with a past", .98, true, crash, AlarmCrashed, 200},
		{"half, all take 5 % longer", .5, false, func(j *job.Job) { j.Elapsed += j.Elapsed / 20 }, AlarmSlower, most},
	} {
		t.Run(c.name, func(t *testing.T) {
			seeds := uint64(3)
			if testing.Short() {
				seeds = 1
			}
			for seed := range seeds {
				s, w := watched(seed+1, 3000, c.share, c.past)
				s.harm = c.harm
				a, seen := s.until(w, began.AddDate(10, 0, 0), c.within)
				t.Logf("seed %d: after %d measured jobs: %v", seed, seen, a != nil)
				switch {
				case c.kind == "" && a != nil:
					t.Errorf("seed %d: %+v", seed, *a)
				case c.kind != "" && (a == nil || a.Kind != c.kind || a.Before && !c.past || a.MeasuredBad == 0 || len(a.Jobs) == 0):
					t.Errorf("seed %d: after %d measured jobs %+v", seed, seen, a)
				}
			}
		})
	}
}

// TestQuietYear: a year without harm has no alarm, whatever its users do. In the mean one may come in three
// years.
func TestQuietYear(t *testing.T) {
	shares, days := []float64{.02, .5, .98}, 365
	if testing.Short() {
		shares, days = []float64{.5}, 60
	}
	for _, share := range shares {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			s, w := watched(7, 1500, share, true)
			if a, seen := s.until(w, s.now.AddDate(0, 0, days), math.MaxInt); a != nil {
				t.Errorf("after %d measured jobs: %+v", seen, *a)
			}
		})
	}
}

// TestOneUserRaisesNothing: a user knows which of their jobs are measured, and has just these fail, by turns on two
// clusters. A third of all jobs are theirs.
func TestOneUserRaisesNothing(t *testing.T) {
	for _, share := range []float64{.01, .1, .5, .98} {
		for _, past := range []bool{false, true} {
			s, w := watched(3, 1500, share, past)
			hostile := 0
			s.harm = func(j *job.Job) {
				if j.UID == 6666 {
					hostile++
					crash(j)
				}
			}
			for id := uint32(1); id < 60_000; id++ {
				if j, measured := s.next(); id%3 != 0 {
					w.Add(j, measured)
					continue
				}
				j := &job.Job{Cluster: []string{"made", "other"}[id/3%2], JobID: 1<<31 + id, UID: 6666, State: "COMPLETED", End: s.now}
				measured := (&etc.Measure{Share: share}).Draws(j.JobID)
				if measured {
					s.harm(j)
				}
				w.Add(j, measured)
				if id%100 != 0 {
					continue
				}
				if all := w.Alarms(); len(all) > 0 {
					t.Fatalf("share %v, past %v, job %d: %+v", share, past, id, all)
				}
			}
			if hostile == 0 {
				t.Errorf("share %v: nothing happened", share)
			}
		}
	}
}

// TestBetsAreFair: whatever happens to a job, the mean over its coin multiplies a bet by 1. That is
// all that the theorems ask for. A bet against the past is at most that up to the rate that it allows.
func TestBetsAreFair(t *testing.T) {
	for _, share := range []float64{.001, .1, .5, .98} {
		for _, f := range coinFactors(share) {
			for bad := range 2 {
				if mean := share*math.Exp(f[1][bad]) + (1-share)*math.Exp(f[0][bad]); math.Abs(mean-1) > 1e-12 {
					t.Errorf("share %v: %v", share, mean)
				}
			}
		}
	}
	for _, worst := range []float64{1e-5, .001, .1, 1} {
		for _, f := range pastFactors(worst) {
			for _, part := range []float64{0, .5, 1} {
				rate := part * min(.5, drift*worst)
				if mean := rate*math.Exp(f[1][1]) + (1-rate)*math.Exp(f[1][0]); mean > 1+1e-12 {
					t.Errorf("worst %v, rate %v: %v", worst, rate, mean)
				}
			}
		}
	}
}

func TestEnding(t *testing.T) {
	for _, c := range []struct{ state, code, want string }{
		{"COMPLETED", "0:0", ""}, {"CANCELLED", "0:15", ""}, {"FAILED", "1:0", AlarmFailed}, {"FAILED", "0:9", AlarmFailed},
		{"FAILED", "0:11", AlarmCrashed}, {"FAILED", "11:0", AlarmCrashed}, {"FAILED", "6:0", AlarmCrashed},
		{"OUT_OF_MEMORY", "0:125", AlarmMemory}, {"TIMEOUT", "0:0", AlarmTimeout}, {"NODE_FAIL", "1:0", AlarmNodeFail},
	} {
		if got := ending(&job.Job{State: c.state, ExitCode: c.code}); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.state, c.code, got, c.want)
		}
	}
}
