package listing

import (
	"time"

	"jobeff/policy/slow"
)

// SlowNodes is what the last look at the nodes of all jobs found.
type SlowNodes struct {
	At       time.Time   `json:"at"`             // of the look
	Observed int         `json:"observed_nodes"` // of which a job of the last year told how fast it computed there
	Nodes    []slow.Slow `json:"nodes"`          // the surest first
}

// lookLasts is for how long a look tells how nodes are: there is one each day.
const lookLasts = 48 * time.Hour

// Old reports whether the look is too old to tell how nodes are.
func (s *SlowNodes) Old(now time.Time) bool { return now.Sub(s.At) > lookLasts }

// Of returns what was found of a node by its name; nil: it was not found slow.
func (s *SlowNodes) Of(name string) *slow.Slow {
	if s != nil {
		for i := range s.Nodes {
			if s.Nodes[i].Node == name {
				return &s.Nodes[i]
			}
		}
	}
	return nil
}
