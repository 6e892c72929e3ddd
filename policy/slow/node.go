package slow

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// All bets on a node begin with half of what it may have, and get the rest over a year. What they won fades as
	// fast, so the mean stays at half without end. That pays for a start in any week.
	start = 0.5
	fades = 1.0 / 52
	// One user's jobs can multiply a bet by e^userMost, and those of one day by e^dayMost. No node is named
	// that has won less than e^leastWon: that takes two users and three days.
	userMost, dayMost, leastWon = 8, 4, 10
	// spare is by how much a bet may exceed what is needed. So a node that was repaired is soon forgotten.
	spare = 2
	// mostUsers and mostDays bound the stakes of a node, mostSeen the observations behind an interval.
	mostUsers, mostDays, mostSeen = 32, 16, 64
	// mostScale is how many times as much as others a node's jobs may differ, and still count as differing no more. It is
	// known of knownAfter jobs and more.
	mostScale, knownAfter = 1.25, 32
	// tail is the chance that the true slowness lies beyond one end of the interval.
	tail = 0.05
	// leastJobs is the least number of jobs that a node is named for.
	leastJobs = 10
	// leastLow and leastSlow are the least lower end of the interval, and the least slowness, that are worth naming, ln.
	leastLow, leastSlow = 0.01, 0.02
)

// Slow is a slow node.
type Slow struct {
	Machine
	Slower   float64   `json:"slower"`   // how many times as long jobs computed there as alike jobs on other nodes: the median
	Low      float64   `json:"low"`      // lower end of the 90 % interval of slower
	High     float64   `json:"high"`     // its upper end
	Since    time.Time `json:"since"`    // the day of the first of these jobs
	Jobs     int       `json:"jobs"`     // behind these figures: those that made it suspect without a break, the newest 64 at most
	Users    int       `json:"users"`    // of these jobs
	Days     int       `json:"days"`     // on which these jobs ended
	Evidence float64   `json:"evidence"` // ln of the e-value
}

// node is what is known of a node.
type node struct {
	is          Machine
	week        int // up to which its bets have faded
	won         bet // what each bet is worth
	users, days []stake
	// seen holds the newest observations. The last run of them came since the bet on the smallest shift was
	// lowest (Page 1954); rise is the logarithm of what that has won since.
	seen []seen
	run  int
	rise float64
}

// stake is what the jobs of one user, or of one day, have won since they were lowest, as logarithms.
type stake struct {
	of  uint32
	won bet
}

// seen is an observation: how much longer it took than the others of its block, ln, and the part of the block that is faster.
type seen struct {
	over, rank float64
	uid, day   uint32
}

func newNode(is Machine, at int) *node {
	n := &node{is: is, week: at}
	for k, b := range bets {
		n.won[k] = start * b.weight
	}
	return n
}

func (n *node) clone() *node {
	c := *n
	c.users, c.days, c.seen = slices.Clone(n.users), slices.Clone(n.days), slices.Clone(n.seen)
	return &c
}

// relax lets the bets fade and start anew until a week: won = (1 - fades) won + fades start, each week.
func (n *node) relax(at int) {
	if at <= n.week {
		return
	}
	kept := math.Pow(1-fades, float64(at-n.week))
	for k, b := range bets {
		n.won[k] = start*b.weight + kept*(n.won[k]-start*b.weight)
	}
	n.week = at
}

// take pays the bets on an observation, and notes it. Paying less leaves a bet fair.
func (n *node) take(pay bet, o seen, at int) {
	n.relax(at)
	user, today := staked(&n.users, o.uid, mostUsers), staked(&n.days, o.day, mostDays)
	for k := range pay {
		pay[k] = min(pay[k], userMost-user.won[k], dayMost-today.won[k])
		user.won[k] = max(0, user.won[k]+pay[k])
		today.won[k] = max(0, today.won[k]+pay[k])
		n.won[k] *= math.Exp(pay[k])
	}
	n.seen = append(n.seen[max(0, len(n.seen)-mostSeen+1):], o)
	n.run = min(n.run+1, len(n.seen))
	if n.rise += pay[0]; n.rise <= 0 {
		n.rise, n.run = 0, 0
	}
}

// staked returns a stake, which becomes the newest. A new one takes the place of the oldest if there are too many.
func staked(all *[]stake, of uint32, most int) *stake {
	s := stake{of: of}
	if i := slices.IndexFunc(*all, func(s stake) bool { return s.of == of }); i >= 0 {
		s = (*all)[i]
		*all = slices.Delete(*all, i, i+1)
	} else if len(*all) == most {
		*all = slices.Delete(*all, 0, 1)
	}
	*all = append(*all, s)
	return &(*all)[len(*all)-1]
}

// cut bounds what the bets have won.
func (n *node) cut(limit float64) {
	most := max(math.Log(limit), leastWon) + spare
	for k := range n.won {
		n.won[k] = min(n.won[k], math.Exp(most))
	}
	n.rise = min(n.rise, most)
}

// evidence returns ln of the e-value: the sum of the bets of the scale 1. If the node's jobs may differ more than others, it
// is that of the larger scale, if lower.
func (n *node) evidence() float64 {
	var one, wide float64
	for k, b := range bets {
		if b.scale == 1 {
			one += n.won[k]
		} else {
			wide += n.won[k]
		}
	}
	if math.Log(one) >= leastWon && n.differs() {
		one = min(one, wide)
	}
	return math.Log(one)
}

// differs reports whether the node's jobs may differ more than those of others: by the root mean square of its normal scores
// below 0, which is 1 elsewhere, and does not grow where a node becomes slow.
func (n *node) differs() bool {
	var sum, count float64
	for _, s := range n.seen {
		if s.rank < 0.5 {
			sum += math.Pow(distuv.UnitNormal.Quantile(s.rank), 2)
			count++
		}
	}
	return len(n.seen) < knownAfter || sum > count*mostScale*mostScale
}

// found describes the node. ok is false if too little speaks for its being slow, or if it may be hardly
// slower: its e-value then counts as 0, which is always allowed.
func (n *node) found() (f Slow, ok bool) {
	if f.Evidence = n.evidence(); f.Evidence < leastWon || n.run < leastJobs {
		return f, false
	}
	run := n.seen[len(n.seen)-n.run:]
	over := make([]float64, len(run))
	users, days, first := map[uint32]bool{}, map[uint32]bool{}, uint32(math.MaxUint32)
	for i, s := range run {
		over[i], users[s.uid], days[s.day], first = s.over, true, true, min(first, s.day)
	}
	slices.Sort(over)
	low, high := interval(over)
	if low < leastLow || median(over) < leastSlow {
		return f, false
	}
	f.Machine, f.Low, f.High, f.Slower = n.is, math.Exp(low), math.Exp(high), math.Exp(median(over))
	f.Since, f.Jobs, f.Users, f.Days = time.Unix(int64(first)*int64(day/time.Second), 0).UTC(), len(over), len(users), len(days)
	return f, true
}

// interval returns the order statistics between which the median lies, whatever the distribution (Thompson 1936): it lies
// below the k-th of n with the chance that less than k of n coins show heads. It takes 5 values or more.
func interval(sorted []float64) (low, high float64) {
	coins, k := distuv.Binomial{N: float64(len(sorted)), P: 0.5}, 0
	for coins.CDF(float64(k)) <= tail {
		k++
	}
	return sorted[k-1], sorted[len(sorted)-k]
}

func median(sorted []float64) float64 {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
