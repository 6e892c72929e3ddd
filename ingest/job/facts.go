package job

import "time"

// Facts sum up the jobs that ended in a span of time, for a digest. Hours are core-hours.
type Facts struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Total Hours     `json:"total"`
	// Lists hold the accounts, users and programs that lost the most hours.
	Accounts []NamedHours `json:"accounts"`
	Users    []NamedHours `json:"users"`
	Programs []NamedHours `json:"programs"` // by file name; hours are those inside MPI programs
	Health   Health       `json:"health"`

	// The rest comes only with Store.Comparisons.
	Heavy    []HeavyWorkload `json:"heavy,omitempty"`    // those that lost most, with enough of each to study it
	Lineages [][]Run         `json:"lineages,omitempty"` // runs of one Lineage with several executables, oldest first
	Told     []Told          `json:"told,omitempty"`     // of advised workloads, with their runs since
}

// Hours are sums over jobs.
type Hours struct {
	Jobs     int     `json:"jobs"`
	Measured int     `json:"measured"` // with metrics
	Used     float64 `json:"used"`     // AllocCPUS x Elapsed
	Judged   float64 `json:"judged"`   // part of Used: of jobs whose loss is known
	Lost     float64 `json:"lost"`     // part of Judged, METRICS 6
}

// Add adds another sum.
func (h *Hours) Add(o Hours) {
	h.Jobs, h.Measured = h.Jobs+o.Jobs, h.Measured+o.Measured
	h.Used, h.Judged, h.Lost = h.Used+o.Used, h.Judged+o.Judged, h.Lost+o.Lost
}

// NamedHours are the hours of one account, user or program.
type NamedHours struct {
	Name string `json:"name"`
	Hours
}

// ReasonHours are the hours of jobs that have no data for one reason.
type ReasonHours struct {
	NoData Warning `json:"no_data"`
	Hours
}

// HeavyWorkload sums up the jobs of a workload on one core count that lost much in the span.
type HeavyWorkload struct {
	Hours
	Workload *Workload `json:"workload"` // its newest runs, of every core count
	Job      *Job      `json:"job"`      // the one that lost most
}

// Health is how well jobeff itself works.
type Health struct {
	Reasons     []ReasonHours `json:"reasons"`      // why jobs have no data, the commonest first
	Partial     int           `json:"partial"`      // jobs with coverage below 1
	NodesMissed int           `json:"nodes_missed"` // nodes of jobs that did not report
	Late        int           `json:"late"`         // reports that came later than LateAfter
	Reports     int           `json:"reports"`      // that came in the span and still exist
	Silent      []string      `json:"silent"`       // nodes that reported in the four weeks before, but not in the span
	Unsent      int           `json:"unsent"`       // mails that wait or were given up
	// Outboxes are those in which reports are stuck or got lost, the worst first, as each node
	// said last.
	Outboxes []NodeOutbox `json:"outboxes,omitempty"`
}

// NodeOutbox is what a node said of its outbox.
type NodeOutbox struct {
	Node string `json:"node"`
	OutboxState
}

// LateAfter: a node's report is late if it comes this long after its job's end.
const LateAfter = 10 * time.Minute

// TwoWeeks are the facts of a span of time and of the span before it, as
// GET /v1/digest?from=&to=&account=… answers them.
type TwoWeeks struct {
	This   *Facts `json:"this"`
	Before *Facts `json:"before"` // without comparisons
}
