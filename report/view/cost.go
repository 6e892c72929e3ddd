package view

import (
	"jobeff/ingest/listing"
	"jobeff/report/words"
)

// Cost is the view of what jobeff costs a site: run times of measured and other jobs of the same work, what calls of
// MPI take, reports, and CPU time.
type Cost struct {
	listing.Cost
	CallSeconds float64  `json:"call_time"`           // that an MPI call takes longer, s: the median on the machine of doc/COSTS.md, of which part is an estimate
	NodesCPU    float64  `json:"nodes_cpu_per_day"`   // s of CPU time of prologs and epilogs, by doc/COSTS.md: an estimate
	DaemonCPU   *float64 `json:"jobeffd_cpu_per_day"` // s of CPU time of the jobeffd that answers; null: not known yet

	Words words.Answer `json:"-"`
}

// NewCost makes the view of a cost. wide: its reader sees characters outside ASCII.
func NewCost(of *listing.Cost, wide bool) *Cost {
	return &Cost{Cost: *of, CallSeconds: listing.CallSeconds, NodesCPU: of.NodesCPU(), DaemonCPU: of.Daemon.PerDay(), Words: words.OfCost(of, wide)}
}
