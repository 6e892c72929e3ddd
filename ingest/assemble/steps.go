package assemble

import (
	"cmp"
	"slices"
	"strconv"

	"jobeff/ingest/job"
	"jobeff/ingest/when"
)

// mergedSteps joins what several nodes saw of a job's steps. If there are too many, those with the
// smallest numbers stay, so the order in which nodes come makes no difference.
type mergedSteps struct {
	byID map[string]*job.Step
	cut  bool
}

// add adds a node's part of a step. Up to twice as many steps as stay are held, so that cutting is
// rare.
func (m *mergedSteps) add(p *job.Step) {
	s := m.byID[p.ID]
	if s == nil {
		if m.byID == nil {
			m.byID = map[string]*job.Step{}
		}
		if len(m.byID) == 2*job.MostSteps {
			m.keepFirst()
		}
		s = &job.Step{ID: p.ID, Off: p.Off}
		m.byID[p.ID] = s
	}
	s.Tasks += p.Tasks
	s.Start, s.End = when.First(s.Start, p.Start), when.Last(s.End, p.End)
	s.Off, s.Args, s.Asked = max(s.Off, p.Off), max(s.Args, p.Args), max(s.Asked, p.Asked)
	s.Container = s.Container || p.Container
	s.Peak, s.Kills = max(s.Peak, p.Peak), s.Kills+p.Kills
	for exit, n := range p.Exits {
		if s.Exits == nil {
			s.Exits = map[string]int{}
		}
		s.Exits[exit] += n
	}
}

// keepFirst drops all but the MostSteps smallest numbers.
func (m *mergedSteps) keepFirst() {
	all := m.sorted()
	if len(all) <= job.MostSteps {
		return
	}
	m.cut = true
	for _, s := range all[job.MostSteps:] {
		delete(m.byID, s.ID)
	}
}

// sorted are the steps by their numbers, those without one first.
func (m *mergedSteps) sorted() (all []*job.Step) {
	for _, s := range m.byID {
		all = append(all, s)
	}
	number := func(s *job.Step) int {
		n, err := strconv.Atoi(s.ID)
		if err != nil {
			return -1
		}
		return n
	}
	slices.SortFunc(all, func(a, b *job.Step) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.ID, b.ID)) })
	return all
}

// list is what stays, sorted by time.
func (m *mergedSteps) list() []job.Step {
	m.keepFirst()
	out := make([]job.Step, 0, len(m.byID))
	for _, s := range m.sorted() {
		out = append(out, *s)
	}
	slices.SortStableFunc(out, func(a, b job.Step) int { return a.Start.Compare(b.Start) })
	return out
}
