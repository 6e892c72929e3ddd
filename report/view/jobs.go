package view

import (
	"encoding/json"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/words"
)

// Jobs is a list of jobs. Its words are of lines, of which an array is one; its figures are those of each job.
type Jobs struct {
	Jobs []json.RawMessage `json:"jobs"` // as jobeffd answers them, each a Job
	More bool              `json:"more"`
	// Pending is what waits; null: it was not asked for.
	Pending *slurmid.PendingList `json:"pending"`
	Words   words.List           `json:"-"`
}

// NewJobs makes the view of the lines of a list, for people and for programs that do not read JSON.
func NewJobs(lines []listing.Line, opts words.ListOptions, wide bool) *Jobs {
	return &Jobs{More: opts.More, Pending: opts.Pending, Words: words.OfList(lines, opts, wide)}
}
