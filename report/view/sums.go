package view

import (
	"time"

	"jobeff/ingest/listing"
	"jobeff/report/words"
)

// Sums is the view of sums of jobs by month, user, account or program. Hours are core-hours.
type Sums struct {
	By    string               `json:"by"`    // what a row is: month, user, account or program, of which runs count as jobs
	From  time.Time            `json:"from"`  // jobs that ended since
	Total listing.Hours        `json:"total"` // of all rows, those that are left out too
	Rows  []listing.NamedHours `json:"rows"`  // in the order that was asked for
	More  bool                 `json:"more"`  // rows are left: offset skips these

	Words *words.ListPage `json:"-"`
}

// NewSums makes the view of sums.
func NewSums(p *words.SumsPage) *Sums {
	rows, total, n := p.Selected()
	return &Sums{By: p.Of, From: p.Query.Start, Total: total, Rows: append([]listing.NamedHours{}, rows...), More: p.Query.Offset+len(rows) < n, Words: words.OfSums(p)}
}
