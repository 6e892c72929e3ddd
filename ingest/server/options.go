package server

import (
	"context"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/store"
)

// Options are what a Server needs; Store and Log must be set.
type Options struct {
	Store       *store.Store
	Log         zerolog.Logger
	Operators   []uint32 // who may read everybody's jobs, besides root and us
	MungeSocket string   // "": munge's own
	// Open lets everybody see every job where Slurm's PrivateData has no jobs.
	Open  bool
	Pages Pages
	Proxy Proxy
	// Reported is called after a new report was committed; may be nil.
	Reported func()
	// Committed is called between a report's COMMIT and the answer; may be nil. It serves
	// tests: what happens to a node whose answer does not come.
	Committed func()
	// Reader says that another process takes the reports: this one answers people.
	Reader bool

	Cores      int           // that there are; 0: one
	ReportRate int           // reports per second of one node; 0: any
	ReadRate   int           // requests per second of one user; 0: any
	StrictNode bool          // a node may report from its own address only
	Grace      time.Duration // after a job's end, until it is taken as complete; 0: for ever
}

// Pages make HTML of what a reader may see; what is nil is not served. Package report,
// further along the flow, knows how.
type Pages struct {
	Policy   string // Content-Security-Policy of every page
	Jobs     func(*job.JobList) ([]byte, error)
	Job      func(*job.Job, *job.Workload) ([]byte, error) // the workload may be nil
	Workload func(*job.Workload) ([]byte, error)
	More     map[string]Page // further ones by their path, "/digest"
}

// Page is a further page. It asks the store itself, for no more than the viewer may see;
// store.ErrNotFound is answered as such.
type Page struct {
	Policy string   // its Content-Security-Policy
	Known  []string // its parameters; one that may be repeated ends in +
	Make   func(context.Context, store.Viewer, url.Values) ([]byte, error)
}
