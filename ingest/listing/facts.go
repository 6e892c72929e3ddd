package listing

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/policy/harm"
)

// Told is one line of the log of notices: what a user was told about a workload.
type Told struct {
	Cluster  string    `json:"cluster" db:"cluster"`
	UID      uint32    `json:"uid" db:"uid"`
	User     string    `json:"user,omitempty" db:"user_name"`
	At       time.Time `json:"at" db:"at_us"`
	Subject  string    `json:"subject" db:"subject"` // what the cool-down counts: the workload's key, or else cluster, uid and program
	Workload string    `json:"workload,omitempty" db:"workload_key"`
	Name     string    `json:"name,omitempty" db:"name"`
	Rule     string    `json:"rule" db:"rule"`
	Job      string    `json:"job" db:"job"`                   // the job that lost most
	Cores    int       `json:"cores" db:"cores"`               // that the job ran on
	Advised  int       `json:"advised,omitempty" db:"advised"` // cores; 0: no advice
	Jobs     int       `json:"jobs" db:"jobs"`
	Lost     float64   `json:"lost" db:"lost_h"` // core-hours
	Shadow   bool      `json:"shadow,omitempty" db:"shadow"`
	Muted    bool      `json:"muted,omitempty"`                  // they were not told, since they had muted it
	Cleared  time.Time `json:"cleared,omitzero" db:"cleared_us"` // when they were told that it is better now
	Running  bool      `json:"running,omitempty" db:"running"`   // they were told while the job ran
	WrongAt  time.Time `json:"wrong_at,omitzero" db:"wrong_us"`  // when somebody who got it said that it was wrong
	WrongBy  uint32    `json:"wrong_by,omitempty" db:"wrong_by"` // their uid
	Wrong    string    `json:"wrong,omitempty" db:"wrong"`       // in their words
	Cut      bool      `json:"cut,omitempty"`                    // Runs lacks the oldest ones since
	Runs     []job.Run `json:"runs,omitempty"`                   // of the workload before and since, if they were asked for
}

// SeriesRuns bounds the runs of a series in Facts. Some of these are compared with those before them.
const SeriesRuns = 100

// Facts sum up the jobs that ended in a span of time, for a digest. Hours are core-hours.
type Facts struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Total Hours     `json:"total"`
	// Lists hold the clusters, accounts, users and programs that lost the most hours.
	Clusters []NamedHours `json:"clusters,omitempty"` // only where jobeffd tells several apart, of all of them
	Accounts []NamedHours `json:"accounts"`
	Users    []NamedHours `json:"users"`
	Programs []NamedHours `json:"programs"`            // by file name; hours are those inside MPI programs
	IdleGPUs []NamedHours `json:"idle_gpus,omitempty"` // the few users with most GPU-hours in which no kernel ran
	Health   Health       `json:"health,omitzero"`     // zero in the earlier of TwoWeeks

	// The fields below are filled in only in the later of TwoWeeks.
	Heavy      []HeavyWorkload  `json:"heavy,omitempty"`      // those that lost most, each with enough runs to study it
	Lineages   [][]job.Run      `json:"lineages,omitempty"`   // runs of one Lineage with several executables, oldest first
	Series     [][]job.Run      `json:"series,omitempty"`     // the newest SeriesRuns of a workload on one core count that ran in the span, oldest first
	Alarms     []harm.Alarm     `json:"alarms,omitempty"`     // that were up, in a digest of all accounts
	Comparison *harm.Comparison `json:"comparison,omitempty"` // in a digest of all accounts: how rare a harm could have been noticed by now
	Told       []Told           `json:"told,omitempty"`       // of advised workloads, with their runs since
	Wrong      []Told           `json:"wrong,omitempty"`      // notices that somebody called wrong in the span, in a digest of all accounts
}

// HeavyWorkload sums up the jobs of a workload on one core count that lost much in the span.
type HeavyWorkload struct {
	Hours
	Workload *job.Workload `json:"workload"` // its newest runs, of every core count
	Job      *job.Job      `json:"job"`      // the one that lost most
}

// Health is how well jobeff itself works.
type Health struct {
	Known       []LedgerLine `json:"known"`        // of which core time figures are known, and why of the rest none are; without months and partitions
	Partial     int          `json:"partial"`      // jobs with coverage below 1
	NodesMissed int          `json:"nodes_missed"` // nodes of jobs that did not report
	// PrologFailed are jobs on a node where jobeff's part of the prolog failed or was too slow.
	PrologFailed int      `json:"prolog_failed"`
	Late         int      `json:"late"`    // reports that came later than LateAfter
	Reports      int      `json:"reports"` // that came in the span and still exist
	Silent       []string `json:"silent"`  // nodes that reported in the four weeks before, but not in the span
	Unsent       int      `json:"unsent"`  // mails that wait or were given up
	// Outboxes are those in which reports are stuck or got lost, the worst first, as each node
	// said last.
	Outboxes  []NodeOutbox `json:"outboxes,omitempty"`
	SlowNodes *SlowNodes   `json:"slow_nodes"` // what the last look at them found; null: there was none from the span's begin until as long after its end
}

// NodeOutbox is what a node said of its outbox.
type NodeOutbox struct {
	Node string `json:"node"` // its name
	wire.OutboxState
}

// Node says when a node reported last (Heard), and what it said of its outbox at Said. Zero: never.
type Node struct {
	NodeOutbox
	Heard, Said time.Time
}

// LateAfter: a node's report is late if it comes this long after its job's end.
const LateAfter = 10 * time.Minute

// TwoWeeks are the facts of a span of time and of the span before it, as
// GET /v1/digest?stored=1 answers them.
type TwoWeeks struct {
	Cluster  string   `json:"cluster,omitempty"`  // of whose jobs they are; "": of all
	Accounts []string `json:"accounts,omitempty"` // whose jobs they sum up; empty: all
	This     *Facts   `json:"this"`
	Before   *Facts   `json:"before"` // its sums alone
	Zone     string   `json:"zone"`   // the time zone in which jobeffd's weeks begin, as "Europe/Berlin"
}
