package listing

import (
	"time"

	"jobeff/policy/harm"
)

// What jobeff takes on the machines of doc/COSTS.md (1), an estimate for any other: of both MPIs, s.
const (
	CallSeconds    = 33.2e-9 // that an MPI call takes longer: the median call
	DearestSeconds = 57.2e-9 // … the dearest one
	NodeSeconds    = 9.6e-3  // CPU time of its part of a prolog and of an epilog
	RecordHead     = 4 << 10 // bytes of a record
	RecordRank     = 32 << 10
)

// Cost is what jobeff costs a site, of the jobs that ended in a span.
type Cost struct {
	Cluster string        `json:"cluster,omitempty"` // "": of all
	From    time.Time     `json:"from"`              // jobs that ended since
	To      time.Time     `json:"to"`                // and before
	Times   harm.Slowdown `json:"run_times"`         // of measured jobs against others of the same work
	// Busiest are those of the looked at runs whose ranks called MPI most often. Looked at is the newest run of each
	// workload, of those with the most core-hours.
	Busiest []BusyRun `json:"busiest"`
	Looked  int       `json:"looked"`               // how many these are
	Reports int64     `json:"reports"`              // of the jobs' nodes
	Kept    int64     `json:"reports_kept"`         // … that are still there
	Bytes   int64     `json:"report_bytes"`         // of these, compressed
	Largest int64     `json:"largest_report_bytes"` // of one of these
	// Daemon is what the jobeffd that answers has spent; null: not known.
	Daemon *DaemonTime `json:"jobeffd"`
}

// DaemonTime is the CPU time of a process.
type DaemonTime struct {
	CPU float64 `json:"cpu_time"` // s, user and system
	Up  float64 `json:"up"`       // s since the process began
}

// PerDay is the CPU time of a day, s; nil: it is not known, since an hour at least tells it.
func (d *DaemonTime) PerDay() *float64 {
	if d == nil || d.Up < time.Hour.Seconds() {
		return nil
	}
	perDay := d.CPU / d.Up * secondsOfDay
	return &perDay
}

const secondsOfDay = 24 * 60 * 60

// BusyRun is a run whose ranks call MPI often.
type BusyRun struct {
	Job     string  `json:"id"`               // of its job
	Program string  `json:"program"`          // its path
	Ranks   int     `json:"ranks"`            // of MPI_COMM_WORLD
	OnNode  int     `json:"ranks_of_node"`    // most ranks on one node
	Rate    float64 `json:"calls_per_second"` // of a rank
	Part    float64 `json:"part"`             // of the ranks' time: calls x call_time, an estimate
}

// Days is how long the span is.
func (c *Cost) Days() float64 { return c.To.Sub(c.From).Seconds() / secondsOfDay }

// NodesCPU is about what prologs and epilogs of all nodes take in a day, s of CPU time: each report stands for one of
// both.
func (c *Cost) NodesCPU() float64 { return float64(c.Reports) * NodeSeconds / c.Days() }

// RecordBytes is what the record of so many ranks takes, without windows.
func RecordBytes(ranks int) uint64 { return RecordHead + RecordRank*uint64(ranks) }
