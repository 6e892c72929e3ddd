package job

import "time"

// imbalancesIn adds up the instances of a section of e. What is smaller than the doubt about the
// nodes' clocks is not told. Neither is anything where ranks that ended well entered the section a
// different number of times: their instances do not belong together.
func (s *Section) imbalancesIn(e *Execution) Imbalances {
	if s.Instances == nil || len(s.Instances.Kept) == 0 || s.Instances.Least != s.Instances.Most && e.allFinalized() {
		return Imbalances{}
	}
	sum := Imbalances{Sampled: len(s.Instances.Kept)}
	ranks, n := float64(s.Ranks), float64(sum.Sampled)
	for _, i := range s.Instances.Kept {
		mean := i.Late.Seconds() / ranks
		sum.Sum += i.Early.Seconds() / ranks
		sum.EntryMean += mean
		sum.EntryVariance += max(i.Late2.seconds()/ranks-mean*mean, 0)
	}
	doubt, known := e.clockDoubt()
	if known && sum.Sum/n >= doubt.Seconds() {
		sum.Known = sum.Sampled
	} else {
		sum.Sum = 0
	}
	if known && sum.EntryMean/n >= doubt.Seconds() {
		sum.Entries = sum.Sampled
	} else {
		sum.EntryMean, sum.EntryVariance = 0, 0
	}
	return sum
}

func (e *Execution) allFinalized() bool {
	ranks, _ := e.Ranks()
	return e.Endings[EndingFinalized] == ranks
}

// clockDoubt is by how much the clocks of an execution's nodes may differ; false: that is not
// known. Nodes of one boot share a clock.
func (e *Execution) clockDoubt() (time.Duration, bool) {
	known := true
	errors := map[string]time.Duration{}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		known = known && n.BootID != "" && n.ClockError > 0
		errors[n.BootID] = max(errors[n.BootID], n.ClockError)
	}
	if len(errors) <= 1 {
		return 0, len(e.Nodes) == 1 || len(errors) == 1 && e.Nodes[0].BootID != ""
	}
	var most, second time.Duration
	for _, d := range errors {
		most, second = max(most, d), max(second, min(most, d))
	}
	return AddTime(most, second), known
}
