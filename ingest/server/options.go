package server

import (
	"context"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/admit"
	"jobeff/ingest/job"
	"jobeff/ingest/store"
)

// Options are what a Server needs; Store and Log must be set.
type Options struct {
	Store       *store.Store
	Log         zerolog.Logger
	Operators   []uint32 // they see all jobs, like root and jobeffd's own user
	MungeSocket string   // "": munge's own
	// Open lets everybody see every job, unless Slurm's PrivateData has jobs.
	Open      bool
	Documents Documents
	Pages     Pages
	Proxy     admit.Proxy
	// Reported is called after a new report was committed. It may be nil.
	Reported func()
	// Committed is called between a report's COMMIT and its answer. It may be nil. Tests use it
	// to see what a node does that gets no answer.
	Committed func()
	// Reader says that another process takes the reports, and that this one answers people.
	Reader bool

	Cores       int           // of this machine; 0: one
	ReportRate  int           // reports per second of one node; 0: no bound
	ReadRate    int           // requests per second of one user; 0: no bound
	Connections int           // at once of one user or one node; 0: no bound
	StrictNode  bool          // a node may report only from its own address
	Grace       time.Duration // how long after its end a job is complete without all reports; 0: never

	lookup func(ctx context.Context, node string) ([]string, error) // a node's addresses; nil: the machine's resolver
}

// Documents make the JSON of what a viewer may see. Package report/document, which comes later in the
// flow, knows its form, and the rules by which a job is judged.
type Documents interface {
	Job(*job.JobAndWorkload) any                  // with verdicts
	Listed(*job.Job) any                          // without
	Verdicts(*job.JobAndWorkload) ([]byte, error) // a JSON list, for jobeff's own commands
}

// Pages make HTML of what a viewer may see. A nil page is not served. Package report, which comes
// later in the flow, writes them.
type Pages struct {
	Policy   string // Content-Security-Policy of every page
	Jobs     func(*job.JobList) ([]byte, error)
	Job      func(*job.JobAndWorkload) ([]byte, error)
	Workload func(*job.Workload) ([]byte, error)
	More     map[string]Page // further ones by their path, "/digest"
}

// Page is a further page. Make asks the store itself, for no more than the viewer may see. Its
// store.ErrNotFound becomes a 404.
type Page struct {
	Policy string   // its Content-Security-Policy
	Known  []string // its parameters; + at the end: may be repeated
	Make   func(context.Context, store.Viewer, url.Values) ([]byte, error)
}
