package harm

import (
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// bet is a bet that measured jobs end badly more often than others. Its value is the mean over factors
// of a product over users.
type bet struct {
	term   term
	most   float64 // term.most()
	week   int     // in which it began, 0: the first
	from   time.Time
	all    counts
	logs   []float64         // of each factor's product
	users  map[uint32]*stake // by uid
	newest []uint32          // measured jobs that ended badly
}

// stake is a user's part of a bet.
type stake struct {
	logs []float64 // counted jobs: others, measured
	jobs [2]int    // that were counted: others, measured
}

// factor is the logarithm of what one job multiplies a bet by: first index 1 if it was measured, second 1 if it
// ended badly.
type factor [2][2]float64

func newBet(t term, at int, since time.Time) *bet {
	return &bet{term: t, most: t.most(), week: at, from: since.Add(time.Duration(at) * week), logs: make([]float64, len(worse)), users: map[uint32]*stake{}}
}

// most is the logarithm of the most by which one user may multiply a bet. value leaves one user out: the
// remaining users - 1 can reach the limit, one fewer cannot.
func (t *term) most() float64 { return math.Log(t.limit) / (users - 2 + 1e-6) }

// add counts a job. Once a user has multiplied the bet by the most, or divided it by that, the user's jobs no
// longer change it. Stopping a bet by its past, or cutting what it pays, leaves it fair.
func (b *bet) add(factors []factor, j *job.Job, measured, bad bool) {
	u := b.users[j.UID]
	if u == nil {
		u = &stake{logs: make([]float64, len(factors))}
		b.users[j.UID] = u
	}
	for i, f := range factors {
		if was := u.logs[i]; math.Abs(was) < b.most {
			u.logs[i] = min(b.most, was+f[index(measured)][index(bad)])
			b.logs[i] += u.logs[i] - was
		}
	}
	u.jobs[index(measured)]++
	b.all[index(measured)][index(bad)]++
	if measured && bad {
		b.newest = append(b.newest[max(0, len(b.newest)-named+1):], j.JobID)
	}
}

// sees reports whether the bet would be at its limit now if a part of the measured jobs had crashed, and no
// other job had. A user's job counts if none of the rest jobs before it crashed.
func (b *bet) sees(factors []factor, part float64) bool {
	logs := make([]float64, len(factors))
	for i := range logs {
		logs[i] = -b.most // of the user who is left out
	}
	for _, u := range b.users {
		measured, others := float64(u.jobs[1]), float64(u.jobs[0])
		counted := math.Pow(1-part*measured/(measured+others), rest)
		for i, f := range factors {
			won := counted * (measured*(part*f[1][1]+(1-part)*f[1][0]) + others*f[0][0])
			logs[i] += min(b.most, max(-b.most, won))
		}
	}
	return mean(logs) >= b.term.limit
}

// value returns the least that the bet is worth without any one user: each factor leaves out the user who won
// most on it.
func (b *bet) value() float64 {
	logs := slices.Clone(b.logs)
	best := make([]float64, len(logs))
	for _, u := range b.users {
		for i, won := range u.logs {
			best[i] = max(best[i], won)
		}
	}
	for i := range logs {
		logs[i] -= best[i]
	}
	return mean(logs)
}

// mean returns the mean of numbers that are given by their logarithms. It caps huge ones, so that the sum stays
// finite.
func mean(logs []float64) (mean float64) {
	for _, log := range logs {
		mean += math.Exp(min(log, 300)) / float64(len(logs))
	}
	return mean
}
