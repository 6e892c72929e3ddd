package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"
)

// Letter is the content of a mail. To holds bare addresses; a subject holds no line breaks.
type Letter struct {
	To      []string `json:"to"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	HTML    string   `json:"html"`
}

// Kinds of mails.
const (
	MailDigest = "digest"
	MailNotice = "notice"
	MailAlarm  = "alarm"
)

// Mail is a mail that was decided. Its key makes sure that it is decided once.
type Mail struct {
	Key       string // digest:2026-11-16:ADDRESS, notice:2026-11-16:CLUSTER:UID, alarm:KIND:TIME:ADDRESS
	MessageID string // without <>; the same each time it is sent
	Kind      string
	Cluster   string // whom a notice is for
	UID       uint32
	Shadow    bool // the admins get it, not the user
	Decided   time.Time
	NotBefore time.Time // it is not sent earlier
	Attempts  int       // tries that failed
	Letter    Letter
	Told      []Told // what the user was told, or would have been told without shadow
}

// Told is one line of the log of notices: what a user was told of a workload.
type Told struct {
	Cluster  string    `json:"cluster"`
	UID      uint32    `json:"uid"`
	User     string    `json:"user,omitempty"`
	At       time.Time `json:"at"`
	Subject  string    `json:"subject"` // what the cool-down counts: the workload's key, or else cluster, uid and program
	Workload string    `json:"workload,omitempty"`
	Name     string    `json:"name,omitempty"`
	Rule     string    `json:"rule"`
	Job      string    `json:"job"`               // the job that lost most
	Cores    int       `json:"cores"`             // that the job ran on
	Advised  int       `json:"advised,omitempty"` // cores; 0: no advice
	Jobs     int       `json:"jobs"`
	Lost     float64   `json:"lost"` // core-hours
	Shadow   bool      `json:"shadow,omitempty"`
	Muted    bool      `json:"muted,omitempty"`    // they were not told, since they had muted it
	Cleared  time.Time `json:"cleared,omitzero"`   // when they were told that it is better now
	Running  bool      `json:"running,omitempty"`  // it was told while the job ran
	WrongAt  time.Time `json:"wrong_at,omitzero"`  // when somebody who got it said that it was wrong
	WrongBy  uint32    `json:"wrong_by,omitempty"` // their uid
	Wrong    string    `json:"wrong,omitempty"`    // in their words
	Cut      bool      `json:"cut,omitempty"`      // Runs lack the oldest since
	Runs     []Run     `json:"runs,omitempty"`     // of the workload before and since, if they were asked for
}

// Lineage tells which executions may be compared although their executable changed. They have
// the same cluster and user, and either the same name from the user, or the same program,
// arguments and input. "" if these are unknown. If the input is known, the program may move:
// another version's module has it elsewhere. If not, its path must be the same too, since every
// folder may have an a.out.
func Lineage(cluster string, uid uint32, e *Execution) string {
	parts := []string{cluster, fmt.Sprint(uid), "name", e.Workload}
	if e.Workload == "" {
		if e.Executable == "" || e.ArgsHash == "" {
			return ""
		}
		program := e.Executable
		if e.InputHash != "" {
			program = filepath.Base(program)
		}
		parts = []string{cluster, fmt.Sprint(uid), "path", program, e.ArgsHash, e.InputHash}
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// SeriesRuns is how many runs a series of Facts has at most: some are compared with those before them.
const SeriesRuns = 100

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

	// The rest is of the later of TwoWeeks only.
	Heavy      []HeavyWorkload `json:"heavy,omitempty"`      // those that lost most, with enough of each to study it
	Lineages   [][]Run         `json:"lineages,omitempty"`   // runs of one Lineage with several executables, oldest first
	Series     [][]Run         `json:"series,omitempty"`     // the newest SeriesRuns of a workload on one core count that ran in the span, oldest first
	Alarms     []Alarm         `json:"alarms,omitempty"`     // that were up, in a digest of all accounts
	Comparison *Comparison     `json:"comparison,omitempty"` // in a digest of all accounts: what could be seen of a harm by now
	Told       []Told          `json:"told,omitempty"`       // of advised workloads, with their runs since
	Wrong      []Told          `json:"wrong,omitempty"`      // of which somebody said so in the span, in a digest of all accounts
}

// Hours are sums over jobs.
type Hours struct {
	Jobs     int     `json:"jobs"`
	Measured int     `json:"measured"` // with metrics
	Used     float64 `json:"used"`     // AllocCPUS x Elapsed
	Judged   float64 `json:"judged"`   // part of Used: of jobs whose loss is known, without Job.FurtherThreads
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
	// PrologFailed are jobs on a node where jobeff's part of the prolog failed or was too slow.
	PrologFailed int      `json:"prolog_failed"`
	Late         int      `json:"late"`    // reports that came later than LateAfter
	Reports      int      `json:"reports"` // that came in the span and still exist
	Silent       []string `json:"silent"`  // nodes that reported in the four weeks before, but not in the span
	Unsent       int      `json:"unsent"`  // mails that wait or were given up
	// Outboxes are those in which reports are stuck or got lost, the worst first, as each node
	// said last.
	Outboxes []NodeOutbox `json:"outboxes,omitempty"`
}

// NodeOutbox is what a node said of its outbox.
type NodeOutbox struct {
	Node string `json:"node"`
	OutboxState
}

// Node is when a node reported last, and what it said of its outbox at Said; zero: never.
type Node struct {
	NodeOutbox
	Heard, Said time.Time
}

// LateAfter: a node's report is late if it comes this long after its job's end.
const LateAfter = 10 * time.Minute

// TwoWeeks are the facts of a span of time and of the span before it, as
// GET /v1/digest?from=&to=&account=… answers them.
type TwoWeeks struct {
	Accounts []string `json:"accounts,omitempty"` // of which they are; empty: all
	This     *Facts   `json:"this"`
	Before   *Facts   `json:"before"` // without comparisons
	Zone     string   `json:"zone"`   // the clock by which jobeffd's weeks begin, as "Europe/Berlin"
}
