package view

import (
	"time"

	"jobeff/ingest/listing"
	"jobeff/report/words"
)

// Coverage is the view of a site's ledger: which part of its core-hours has which figures, and why the rest has none.
// The sum of all lines is what sacct has of the jobs that ended in the time.
type Coverage struct {
	Cluster  string         `json:"cluster,omitempty"`   // of it alone; absent: of all
	From     time.Time      `json:"from"`                // jobs that ended since
	To       time.Time      `json:"to"`                  // and before
	Read     *time.Time     `json:"sacct_read"`          // up to when sacct was read; null: it never was
	Cut      bool           `json:"cut"`                 // retention removed jobs of a month that from or to cuts: they are left out
	Used     float64        `json:"core_hours"`          // of all lines
	Measured float64        `json:"measured_core_hours"` // of jobs with figures
	Lines    []CoverageLine `json:"lines"`               // a line for each month, partition, class and reason
	GPUs     *CoverageGPUs  `json:"gpus,omitempty"`      // absent: none of the jobs had any

	Words words.Answer `json:"-"`
}

// CoverageGPUs is the GPU time of the same jobs. The known and the unknown microseconds add up to those used.
type CoverageGPUs struct {
	*listing.GPULedger
	UsedHours  float64 `json:"gpu_hours"`       // gpu_microseconds in hours
	KnownHours float64 `json:"known_gpu_hours"` // likewise
	IdleHours  float64 `json:"idle_gpu_hours"`  // likewise
}

// CoverageLine is the core time of the jobs of one month, partition, class and reason.
type CoverageLine struct {
	listing.LedgerLine
	CoreHours float64 `json:"core_hours"` // core_microseconds in hours
	Text      string  `json:"text"`       // the reason in words, which may change
}

// NewCoverage makes the view of a ledger. wide: its reader sees characters outside ASCII.
func NewCoverage(l *listing.Ledger, wide bool) *Coverage {
	c := &Coverage{Cluster: l.Cluster, From: l.From, To: l.To, Cut: l.Cut, Lines: []CoverageLine{}, Words: words.OfCoverage(l, wide)}
	if !l.Read.IsZero() {
		c.Read = &l.Read
	}
	if g := l.GPUs; g != nil {
		c.GPUs = &CoverageGPUs{g, g.Used.Hours(), g.Known.Hours(), g.Idle.Hours()}
	}
	times := listing.ByClass(l.Lines)
	c.Used, c.Measured = times.Total(), times.Measured()
	for _, one := range l.Lines {
		line := CoverageLine{LedgerLine: one, CoreHours: one.Used.Hours()}
		if !one.Measured() {
			line.Text = words.ReasonText(one.Why())
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
