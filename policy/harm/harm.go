// Package harm watches whether jobs that jobeff measures end worse than others. It reads how Slurm
// says that jobs ended, and knows no clock and no database. Before it comes ingest/job. After it the
// store reads the jobs and keeps alarms, report writes their words and cmd/jobeffd tells people.
//
// METRICS 7 has the formulas. With a share of the jobs measured, the job's id decides which ones:
// a coin that knows nothing of the job. If jobeff does nothing to jobs, the coin of a job that
// ended badly is like that of every other one, however many jobs end badly in a week, a partition or an
// array. Each job multiplies a bet on the coin (Robbins 1970; Grünwald, de Heide and Koolen,
// "Safe testing", 2024), and the bet is fair: it may be looked at after every job, and reaches
// a limit L with a chance of 1 / L at most (Ville 1939). A new bet begins every week, since the harm may
// begin late, and one every year, since few jobs may show it only in months.
package harm

import (
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

const (
	// users is the least number of users for an alarm.
	users = AlarmUsers
	week  = 7 * 24 * time.Hour
	// pastLimit is the limit of the one bet against the past.
	pastLimit = 100
	// After a job that ended badly, the user's next one counts once rest jobs in a row ended otherwise, or once
	// mostRest has passed. So a failing array counts about once.
	rest     = 20
	mostRest = 24 * time.Hour
	// Before is the length of the past that jobs are compared with, up to the first measured job. A week of it
	// counts if it has leastJobs, and the past if it has leastWeeks of these. Without jobeff, a week may have up
	// to drift times the worst of their rates. After pastFor weeks the past is too long ago.
	Before     = 8 * week
	leastWeeks = 4
	leastJobs  = 1000
	drift      = 1.25
	pastFor    = 4
)

// terms are the bets on one kind of ending, each with the weeks from one beginning to the next, the weeks that
// it counts, and its limit. The short ones see a harm that begins late, the long one a harm that few jobs meet.
// Without harm, a bet reaches its limit with a chance of 1 / limit (Ville): terms_test adds these up to a year.
var terms = []term{{52, 52, 500}, {1, 4, 13_000}}

type term struct {
	every, weeks int
	limit        float64
}

// Watch compares jobs as they end. New makes one.
type Watch struct {
	share   float64
	factors []factor // of share; none: all jobs are measured, or none is
	since   time.Time
	last    time.Time
	kinds   []*comparison
	// seen holds the jobs of this week and of the one before. A later attempt of such a job has the same coin, and
	// does not count.
	seen  [2]map[attempted]bool
	week  float64                  // the newest, counted from since
	times map[Work][]time.Duration // of the newest runs
}

// attempted identifies a job, for all of its attempts.
type attempted struct {
	cluster string
	id      uint32
}

// nobody is a uid that no user has, (uid_t)-1. Jobs count by uid on all clusters: if one jobeffd serves
// several, nobody is two users.
const nobody = math.MaxUint32

// Work is what jobs have in common that should take as long as each other.
type Work struct {
	cluster         string
	uid             uint32
	name, partition string
	cpus, nodes     int
}

// WorkOf is a job's. It alone decides which jobs are alike, for the alarm and for Times.
func WorkOf(j *job.Job) Work {
	return Work{j.Cluster, j.UID, j.Name, j.Partition, j.CPUs, j.Nodes}
}

// New watches the jobs that end from since on, a share of which was measured.
func New(share float64, since time.Time) *Watch {
	w := &Watch{share: share, since: since, week: math.Inf(-1), times: map[Work][]time.Duration{}}
	if share > 0 && share < 1 {
		w.factors = coinFactors(share)
	}
	for _, kind := range AlarmKinds {
		w.kinds = append(w.kinds, &comparison{kind: kind, resting: map[uint32]rests{}})
	}
	return w
}

// Add counts a job that ended, once. measured is what its id decided. Jobs that ended before since are the past
// to compare with. Jobs need not come in the order of their ends.
func (w *Watch) Add(j *job.Job, measured bool) {
	if at := math.Floor(float64(j.End.Sub(w.since)) / float64(week)); at > w.week {
		w.seen, w.week = [2]map[attempted]bool{{}, w.seen[0]}, at
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
		if c.kind != AlarmSlower {
			c.add(w, j, measured, ended == c.kind)
		} else if known {
			c.add(w, j, measured, longer)
		}
	}
}

// ending returns the kind of a job's bad ending; "": it did not end badly, or in a way that is not counted.
func ending(j *job.Job) string {
	switch j.State {
	case "FAILED":
		if crashed(j.ExitCode) {
			return AlarmCrashed
		}
		return AlarmFailed
	case "OUT_OF_MEMORY":
		return AlarmMemory
	case "TIMEOUT":
		return AlarmTimeout
	case "NODE_FAIL":
		return AlarmNodeFail
	}
	return ""
}

// crashed reports whether Slurm's exit code names a signal that the kernel or abort() raises. A script that
// ends with its program's 128 + 11 is "11:0" here, like one that ends with 11.
func crashed(exitCode string) bool {
	code, signal, _ := strings.Cut(exitCode, ":")
	return slices.ContainsFunc([]string{code, signal}, func(n string) bool {
		return slices.Contains([]string{"4", "6", "7", "8", "11", "31"}, n) // ILL, ABRT, BUS, FPE, SEGV, SYS
	})
}

const (
	leastTime = time.Minute // Slurm gives times in seconds
	leastRuns = 3
	mostRuns  = 9
	slower    = 1.02
	mostWorks = 100_000
)

// timed reports whether a job's time says how long its work takes.
func timed(j *job.Job) bool { return j.State == "COMPLETED" && j.Elapsed >= leastTime }

// longer reports whether a job took longer than the median of the same work before it. known is false if that
// ran too rarely.
func (w *Watch) longer(j *job.Job) (longer, known bool) {
	if !timed(j) {
		return false, false
	}
	if len(w.times) >= mostWorks {
		clear(w.times)
	}
	key := WorkOf(j)
	runs := w.times[key]
	if known = len(runs) >= leastRuns; known {
		sorted := slices.Sorted(slices.Values(runs))
		longer = j.Elapsed.Seconds() > slower*sorted[len(sorted)/2].Seconds()
	}
	w.times[key] = append(runs[max(0, len(runs)-mostRuns+1):], j.Elapsed)
	return longer, known
}

// Alarms returns the kinds of bad endings that measured jobs surely have more often.
func (w *Watch) Alarms() (all []Alarm) {
	for _, c := range w.kinds {
		if i := slices.IndexFunc(c.bets, func(b *bet) bool { return b.value() >= b.term.limit }); i >= 0 {
			b := c.bets[i]
			all = append(all, w.alarm(c.kind, b.from, b.all, b.newest))
			continue
		}
		if c.past == nil {
			continue
		}
		if worst, _ := c.worst(); c.past.exceeds(pastFactors(worst.bound())) {
			a := w.alarm(c.kind, c.past.from, c.past.all, c.past.newest)
			a.Before, a.Others, a.OthersBad = true, worst.sum(false), worst.all[0][1]
			all = append(all, a)
		}
	}
	return all
}

// rises lists parts of the measured jobs that might crash: one in so many.
var rises = []int{1000, 500, 200, 100, 50, 20, 10}

// Comparison says how rare crashes could be and still be noticed by now. It uses the bet on crashes that counts
// for a year, else the one against the past.
func (w *Watch) Comparison() Comparison {
	c := w.kinds[0]
	var is Comparison
	sees := func(float64) bool { return false }
	switch {
	case len(c.bets) > 0:
		b := c.bets[slices.IndexFunc(c.bets, func(b *bet) bool { return b.term == terms[0] })]
		is = Comparison{Users: len(b.users), Measured: b.all.sum(true), Others: b.all.sum(false)}
		sees = func(part float64) bool { return b.sees(w.factors, part) }
	case c.past != nil:
		worst, _ := c.worst()
		is = Comparison{Users: len(c.past.users), Measured: c.past.sum(true)}
		sees = func(part float64) bool {
			n := float64(is.Measured) * math.Pow(1-part, rest)
			return pastBet(pastFactors(worst.bound()), n*(1-part), n*part) >= pastLimit
		}
	case w.share == 0:
		is.Cannot = NoneMeasured
		return is
	case w.share == 1:
		is.Cannot = AllMeasured
		return is
	}
	// Crashes come unevenly, to users, too: half of them must suffice in the mean.
	if i := slices.IndexFunc(rises, func(n int) bool { return sees(.5 / float64(n)) }); i >= 0 && is.Users >= users {
		is.OneIn = rises[i]
	} else if is.Cannot = FewJobs; is.Users < users {
		is.Cannot = FewUsers
	}
	return is
}

func (w *Watch) alarm(kind string, from time.Time, n counts, newest []uint32) Alarm {
	return Alarm{Kind: kind, From: from, At: w.last, Measured: n.sum(true), MeasuredBad: n[1][1],
		Others: n.sum(false), OthersBad: n[0][1], Jobs: slices.Clone(newest)}
}

// comparison watches one kind of ending.
type comparison struct {
	kind    string
	resting map[uint32]rests // by uid
	weeks   []*tally         // of the past, the newest last
	begun   int              // how many weeks have begun
	bets    []*bet           // against the hypothesis that the coin of a bad ending is like any other
	past    *tally           // the bet against the hypothesis that no more jobs end badly than in the worst week of the past; nil: none
}

// rests says which jobs of a user do not count: first, clean of them in a row must end otherwise, or until must
// pass.
type rests struct {
	clean int
	until time.Time
}

// rested reports whether a user's job counts, and notes how it ended.
func (c *comparison) rested(j *job.Job, bad bool) bool {
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
	return !resting
}

func (c *comparison) add(w *Watch, j *job.Job, measured, bad bool) {
	if c.kind != AlarmSlower && !c.rested(j, bad) {
		return
	}
	if j.End.Before(w.since) {
		ago := int(w.since.Sub(j.End) / week) // 0: the last one
		for len(c.weeks) <= ago {
			c.weeks = append(c.weeks, newTally(time.Time{}))
		}
		c.weeks[ago].add(j, false, bad)
		return
	}
	c.begin(w, int(j.End.Sub(w.since)/week))
	for _, b := range c.bets {
		b.add(w.factors, j, measured, bad)
	}
	if c.past != nil {
		c.past.add(j, measured, bad)
	}
}

// begin begins the bets of a week, and of those before.
func (c *comparison) begin(w *Watch, now int) {
	if c.begun == 0 && now >= 0 && w.share > 0 && c.kind == AlarmCrashed {
		if _, ok := c.worst(); ok {
			c.past = newTally(w.since)
		}
	}
	for ; c.begun <= now; c.begun++ {
		for _, t := range terms {
			if c.begun%t.every == 0 && len(w.factors) > 0 {
				c.bets = append(c.bets, newBet(t, c.begun, w.since))
			}
		}
		c.bets = slices.DeleteFunc(c.bets, func(b *bet) bool { return c.begun >= b.week+b.term.weeks })
		if c.begun >= pastFor {
			c.past = nil
		}
	}
}

// worst returns the week of the past with the highest rate. ok reports whether enough weeks count.
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

// counts holds numbers of jobs: first index 1 if measured, second 1 if they ended badly.
type counts [2][2]int

func (c *counts) sum(measured bool) int { return c[index(measured)][0] + c[index(measured)][1] }

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tally counts the jobs since a moment. Each user's may be only a part of all.
type tally struct {
	from   time.Time
	all    counts
	users  map[uint32]*counts // by uid
	newest []uint32           // measured jobs that ended badly
}

// named bounds how many jobs an alarm names.
const named = 5

func newTally(from time.Time) *tally { return &tally{from: from, users: map[uint32]*counts{}} }

func (t *tally) sum(measured bool) int { return t.all.sum(measured) }

// bound returns the rate of a week with one more job that ended badly, as the next one might have.
func (t *tally) bound() float64 { return float64(t.all[0][1]+1) / float64(t.sum(false)+1) }

// add counts a job, unless its user would have more than a part of all. How the job ended has no influence on
// that, so the bets stay fair.
func (t *tally) add(j *job.Job, measured, bad bool) {
	u := t.users[j.UID]
	if u == nil {
		u = new(counts)
		t.users[j.UID] = u
	}
	if u.sum(true)+u.sum(false) > (t.sum(true)+t.sum(false))/users {
		return
	}
	u[index(measured)][index(bad)]++
	t.all[index(measured)][index(bad)]++
	if measured && bad {
		t.newest = append(t.newest[max(0, len(t.newest)-named+1):], j.JobID)
	}
}

// without returns the bet against the past without the jobs of a user.
func (t *tally) without(uid uint32, factors []factor) float64 {
	left := t.all
	if u := t.users[uid]; u != nil {
		for m := range left {
			for b := range left[m] {
				left[m][b] -= u[m][b]
			}
		}
	}
	return pastBet(factors, float64(left[1][0]), float64(left[1][1]))
}

// pastBet returns the value of the bet after so many measured jobs.
func pastBet(factors []factor, good, bad float64) float64 {
	var logs []float64
	for _, f := range factors {
		logs = append(logs, good*f[1][0]+bad*f[1][1])
	}
	return mean(logs)
}

// exceeds reports whether the bet reaches its limit, also without any one user's jobs.
func (t *tally) exceeds(factors []factor) bool {
	if t.without(nobody, factors) < pastLimit {
		return false
	}
	for uid := range t.users {
		if t.without(uid, factors) < pastLimit {
			return false
		}
	}
	return true
}

// worse lists pairs of rates, without and with jobeff, that are bet on: from rare endings to common ones, and
// from a little worse to nearly all.
var worse = [][2]float64{
	{.0005, .001}, {.0005, .002}, {.0005, .008}, {.01, .015}, {.01, .02}, {.01, .04}, {.01, .16}, {.02, .9},
	{.2, .25}, {.2, .3}, {.2, .5}, {.2, .9},
}

// coinFactors returns the factors if a coin decides which jobs are measured. For a job that ended in some way,
// the factor is the chance of its coin if jobeff harms, divided by the chance without harm, which is the share.
func coinFactors(share float64) (all []factor) {
	for _, w := range worse {
		good, bad := share*(1-w[1])+(1-share)*(1-w[0]), share*w[1]+(1-share)*w[0]
		all = append(all, factor{{math.Log((1 - w[0]) / good), math.Log(w[0] / bad)}, {math.Log((1 - w[1]) / good), math.Log(w[1] / bad)}})
	}
	return all
}

// pastFactors returns the factors against all rates up to drift times the worst of the past. Unmeasured jobs
// are not bet on.
func pastFactors(worst float64) (all []factor) {
	for _, times := range []float64{1.5, 2, 4, 16, 64} {
		p := min(.5, drift*worst)
		q := min(.95, times*p)
		all = append(all, factor{1: {math.Log((1 - q) / (1 - p)), math.Log(q / p)}})
	}
	return all
}
