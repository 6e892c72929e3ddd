// Package harm watches whether jobs that jobeff measures end worse than others. It reads how Slurm
// says that jobs ended, and knows no clock and no database. Before it stands ingest/store, which
// reads the jobs. After it report writes the words of an alarm and cmd/jobeffd tells people.
//
// METRICS 7 has the formulas. With a share of the jobs measured, the job's id decides which ones:
// a coin that knows nothing of the job. If jobeff does nothing to jobs, the coin of a job that
// ended badly is like that of every other one, however many jobs end badly in a week, a partition or an
// array. Each job multiplies a bet on the coin (Robbins 1970; Grünwald, de Heide and Koolen,
// "Safe testing", 2024), and the bet is fair: it may be looked at after every job, and exceeds
// threshold rarely (Ville 1939). A new bet begins every week, since the harm may begin late; their
// sum is judged (Shin, Ramdas and Rinaldo, "E-detectors", 2024).
package harm

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

const (
	// threshold is what the sum of bets must exceed. Without harm a year of one kind of ending has a
	// chance of 52 / threshold to do so (Doob: the sum grows by 1 a week in the mean).
	threshold = 1000
	// pastThreshold is that of the one bet against the past.
	pastThreshold = 100
	// betEvery is how long it takes until another bet begins. The newest ones count.
	betEvery = 7 * 24 * time.Hour
	bets     = 4
	// most is one user's part of the counted jobs: 1/most.
	most = 10
	// After a job that ended badly, rest jobs of the user in a row must end otherwise until the next one
	// counts, or mostRest must pass. So a failing array counts about once.
	rest     = 20
	mostRest = 24 * time.Hour
	// Before is how long before the first measured job jobs are compared with. The rate of each week
	// with leastJobs is looked at, if there are leastWeeks. drift is how much worse than the worst of
	// them a week may be without jobeff.
	Before     = 8 * betEvery
	leastWeeks = 4
	leastJobs  = 1000
	drift      = 1.25
)

// Watch compares jobs as they end. New makes one.
type Watch struct {
	share float64
	since time.Time
	last  time.Time
	kinds []*comparison
	// seen are the jobs of this week and of the one before: the next attempt of a job has the same
	// coin, and does not count.
	seen  [2]map[attempted]bool
	week  float64
	times map[work][]time.Duration // of the newest runs
}

// attempted is a job, whatever attempt.
type attempted struct {
	cluster string
	id      uint32
}

// nobody is the uid of no user, (uid_t)-1. A user's jobs count together on all clusters: where one jobeffd
// serves several, nobody is two users.
const nobody = math.MaxUint32

// work are jobs that should take as long as each other.
type work struct {
	cluster         string
	uid             uint32
	name, partition string
	cpus, nodes     int
}

// New watches the jobs that end from since on, of which a share was measured.
func New(share float64, since time.Time) *Watch {
	w := &Watch{share: share, since: since, week: math.Inf(-1), times: map[work][]time.Duration{}}
	for _, kind := range job.AlarmKinds {
		w.kinds = append(w.kinds, &comparison{kind: kind, resting: map[uint32]rests{}, coins: sum{limit: threshold}, past: sum{limit: pastThreshold}})
	}
	return w
}

// Add counts a job that ended, once; measured is what its id decided. Jobs that ended before since are
// the past to compare with. The order may differ from that of their ends.
func (w *Watch) Add(j *job.Job, measured bool) {
	if week := math.Floor(float64(j.End.Sub(w.since)) / float64(betEvery)); week > w.week {
		w.seen, w.week = [2]map[attempted]bool{{}, w.seen[0]}, week
	}
	key := attempted{j.Cluster, j.JobID}
	if w.seen[0][key] || w.seen[1][key] {
		return
	}
	w.seen[0][key] = true
	if j.End.After(w.last) {
		w.last = j.End
	}
	ended := ending(j)
	longer, known := w.longer(j)
	for _, c := range w.kinds {
		if c.kind != job.AlarmSlower {
			c.add(w, j, measured, ended == c.kind)
		} else if known {
			c.add(w, j, measured, longer)
		}
	}
}

// ending is the kind of a job's bad ending, "": none that is counted.
func ending(j *job.Job) string {
	switch j.State {
	case "FAILED":
		if crashed(j.ExitCode) {
			return job.AlarmCrashed
		}
		return job.AlarmFailed
	case "OUT_OF_MEMORY":
		return job.AlarmMemory
	case "TIMEOUT":
		return job.AlarmTimeout
	case "NODE_FAIL":
		return job.AlarmNodeFail
	}
	return ""
}

// crashed tells whether Slurm's exit code names a signal that the kernel or abort() raises. A script
// that ends with its program's 128 + 11 is "11:0" here, like one that ends with 11.
func crashed(exitCode string) bool {
	code, signal, _ := strings.Cut(exitCode, ":")
	return slices.ContainsFunc([]string{code, signal}, func(n string) bool {
		return slices.Contains([]string{"4", "6", "7", "8", "11", "31"}, n) // ILL, ABRT, BUS, FPE, SEGV, SYS
	})
}

const (
	leastTime = time.Minute // Slurm tells times in seconds
	leastRuns = 3
	mostRuns  = 9
	slower    = 1.02
	mostWorks = 100_000
)

// longer tells whether a job took longer than the median of the same work before it; known is false
// where that ran too rarely.
func (w *Watch) longer(j *job.Job) (longer, known bool) {
	if j.State != "COMPLETED" || j.Elapsed < leastTime {
		return false, false
	}
	if len(w.times) >= mostWorks {
		clear(w.times)
	}
	key := work{j.Cluster, j.UID, j.Name, j.Partition, j.CPUs, j.Nodes}
	runs := w.times[key]
	if known = len(runs) >= leastRuns; known {
		sorted := slices.Sorted(slices.Values(runs))
		longer = j.Elapsed.Seconds() > slower*sorted[len(sorted)/2].Seconds()
	}
	w.times[key] = append(runs[max(0, len(runs)-mostRuns+1):], j.Elapsed)
	return longer, known
}

// Alarms are what is surely worse.
func (w *Watch) Alarms() (all []job.Alarm) {
	for _, c := range w.kinds {
		switch {
		case c.coins.exceeds():
			all = append(all, c.coins.alarm(w, c.kind))
		case c.past.exceeds():
			a := c.past.alarm(w, c.kind)
			worst, _ := c.worst()
			a.Before, a.Others, a.OthersBad = true, worst.sum(false), worst.all[0][1]
			all = append(all, a)
		}
	}
	return all
}

// comparison is one kind of ending.
type comparison struct {
	kind    string
	resting map[uint32]rests // by uid
	weeks   []*tally         // of the past, the newest last
	begun   int              // the week of the newest bet
	coins   sum              // bets that the coin of a bad ending is like any other
	past    sum              // a bet that no more jobs end badly than in the worst week of the past
}

// rests says which jobs of a user do not count: so many in a row, but none later than until.
type rests struct {
	clean int
	until time.Time
}

func (c *comparison) add(w *Watch, j *job.Job, measured, bad bool) {
	if c.kind != job.AlarmSlower {
		left := c.resting[j.UID]
		resting := left.clean > 0 && j.End.Before(left.until)
		switch {
		case bad && !resting:
			c.resting[j.UID] = rests{rest, j.End.Add(mostRest)}
		case bad:
			c.resting[j.UID] = rests{rest, left.until}
		case left.clean > 1:
			c.resting[j.UID] = rests{left.clean - 1, left.until}
		default:
			delete(c.resting, j.UID)
		}
		if resting {
			return
		}
	}
	if j.End.Before(w.since) {
		week := int(w.since.Sub(j.End) / betEvery) // 0: the last one
		for len(c.weeks) <= week {
			c.weeks = append(c.weeks, newTally(time.Time{}))
		}
		c.weeks[week].add(j, false, bad)
		return
	}
	c.begin(w, int(j.End.Sub(w.since)/betEvery))
	for _, t := range slices.Concat(c.coins.tallies, c.past.tallies) {
		t.add(j, measured, bad)
	}
}

// begin begins the bets of a week.
func (c *comparison) begin(w *Watch, week int) {
	if week < c.begun {
		return
	}
	if c.begun == 0 {
		if w.share > 0 && w.share < 1 {
			c.coins.factors = coinFactors(w.share)
		}
		if worst, ok := c.worst(); ok && c.kind == job.AlarmCrashed && w.share > 0 {
			c.past.factors = pastFactors(worst.bound())
			c.past.tallies = []*tally{newTally(w.since)}
		}
	}
	for ; c.begun <= week; c.begun++ {
		c.coins.tallies = append(c.coins.tallies, newTally(w.since.Add(time.Duration(c.begun)*betEvery)))
	}
	c.coins.tallies = c.coins.tallies[max(0, len(c.coins.tallies)-bets):]
	if week >= bets { // the past is too long ago
		c.past.tallies = nil
	}
}

// worst is the week of the past with the highest rate.
func (c *comparison) worst() (worst *tally, ok bool) {
	weeks := 0
	for _, t := range c.weeks {
		if t.sum(false) < leastJobs {
			continue
		}
		if weeks++; worst == nil || t.bound() > worst.bound() {
			worst = t
		}
	}
	return worst, weeks >= leastWeeks
}

// counts are jobs by whether they were measured and whether they ended badly.
type counts [2][2]int

func (c *counts) sum(measured bool) int { return c[index(measured)][0] + c[index(measured)][1] }

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tally counts the jobs since a moment, each user's up to a part.
type tally struct {
	from   time.Time
	all    counts
	users  map[uint32]*counts // by uid
	newest []uint32           // measured jobs that ended badly
}

// named is how many jobs an alarm names.
const named = 5

func newTally(from time.Time) *tally { return &tally{from: from, users: map[uint32]*counts{}} }

func (t *tally) sum(measured bool) int { return t.all.sum(measured) }

// bound is the rate of a week before, with one more job that ended badly: the next one might have.
func (t *tally) bound() float64 { return float64(t.all[0][1]+1) / float64(t.sum(false)+1) }

// add counts a job, unless its user would have more than a part of all. That is decided before it
// is looked at how the job ended, so that the bets stay fair.
func (t *tally) add(j *job.Job, measured, bad bool) {
	u := t.users[j.UID]
	if u == nil {
		u = new(counts)
		t.users[j.UID] = u
	}
	if u.sum(true)+u.sum(false)+1 > max(1, (t.sum(true)+t.sum(false)+1)/most) {
		return
	}
	u[index(measured)][index(bad)]++
	t.all[index(measured)][index(bad)]++
	if measured && bad {
		t.newest = append(t.newest[max(0, len(t.newest)-named+1):], j.JobID)
	}
}

// sum adds up bets: each is the mean over factors, which are what may be the case instead.
type sum struct {
	limit   float64
	factors []factor
	tallies []*tally
}

// factor is the logarithm by which a job multiplies a bet.
type factor [2][2]float64

// exceeds tells whether the bets exceed their limit, also without any one user's jobs: nobody raises
// an alarm alone.
func (s *sum) exceeds() bool {
	if s.without(nobody) < s.limit {
		return false
	}
	for _, t := range s.tallies {
		for uid := range t.users {
			if s.without(uid) < s.limit {
				return false
			}
		}
	}
	return true
}

func (s *sum) without(uid uint32) (sum float64) {
	for _, t := range s.tallies {
		sum += s.value(t, uid)
	}
	return sum
}

// largest keeps a bet a number.
const largest = 300

func (s *sum) value(t *tally, but uint32) (mean float64) {
	left := t.all
	if u := t.users[but]; u != nil {
		for m := range left {
			for b := range left[m] {
				left[m][b] -= u[m][b]
			}
		}
	}
	for _, f := range s.factors {
		log := 0.0
		for m := range left {
			for b := range left[m] {
				log += float64(left[m][b]) * f[m][b]
			}
		}
		mean += math.Exp(min(log, largest)) / float64(len(s.factors))
	}
	return mean
}

// alarm tells the counts of the largest bet.
func (s *sum) alarm(w *Watch, kind string) job.Alarm {
	t := slices.MaxFunc(s.tallies, func(a, b *tally) int { return cmp.Compare(s.value(a, nobody), s.value(b, nobody)) })
	return job.Alarm{Kind: kind, From: t.from, At: w.last, Measured: t.sum(true), MeasuredBad: t.all[1][1],
		Others: t.sum(false), OthersBad: t.all[0][1], Jobs: slices.Clone(t.newest)}
}

// worse are the rates without and with jobeff that are bet on, from rare endings to common ones, and
// from a little worse to nearly all.
var worse = [][2]float64{
	{.0005, .001}, {.0005, .002}, {.0005, .008}, {.01, .015}, {.01, .02}, {.01, .04}, {.01, .16}, {.02, .9},
	{.2, .25}, {.2, .3}, {.2, .5}, {.2, .9},
}

// coinFactors: given how a job ended, its coin is a bet between its chance if jobeff harms and
// its share.
func coinFactors(share float64) (all []factor) {
	for _, w := range worse {
		good, bad := share*(1-w[1])+(1-share)*(1-w[0]), share*w[1]+(1-share)*w[0]
		all = append(all, factor{{math.Log((1 - w[0]) / good), math.Log(w[0] / bad)}, {math.Log((1 - w[1]) / good), math.Log(w[1] / bad)}})
	}
	return all
}

// pastFactors bet against any rates up to drift times the worst of the past. Unmeasured jobs are no
// bet.
func pastFactors(worst float64) (all []factor) {
	for _, times := range []float64{1.5, 2, 4, 16, 64} {
		p := min(.5, drift*worst)
		q := min(.95, times*p)
		all = append(all, factor{1: {math.Log((1 - q) / (1 - p)), math.Log(q / p)}})
	}
	return all
}
