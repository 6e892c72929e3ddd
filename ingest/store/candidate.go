package store

import (
	"cmp"
	"database/sql"
	"time"

	"jobeff/ingest/job"
)

// incoming is a report that is about to enter the database.
type incoming struct {
	*job.NodeReport
	body []byte // as it came, packed
	size int    // of its JSON, bytes
	// received is when it came; zero: now.
	received time.Time
}

// outcome says what happened to a report.
type outcome struct {
	attempt *candidate // it was added to this one; nil: it was refused, or was there already
	err     error      // why it was refused; the other reports of the group are not concerned
	foreign *candidate // with ErrForeignNode: whose node it was not
	apart   bool       // Slurm told of the job, but of no attempt that the report fits
}

// Settled tells what became of reports of a job when Slurm told of it.
type Settled struct {
	Cluster string
	JobID   uint32
	Fit     int // joined an attempt that Slurm confirms
	Unfit   int // fit none that Slurm told of so far: they wait apart, or are set aside for good
}

// stretch is a span of time, in microseconds; an invalid end is unknown.
type stretch struct{ start, end sql.NullInt64 }

// stretchOf is the span between two times; a zero time is unknown.
func stretchOf(start, end time.Time) stretch {
	known := func(t time.Time) sql.NullInt64 { return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()} }
	return stretch{known(start), known(end)}
}

// candidate is an attempt of the wanted job id: what matching compares, and the reports
// that were added to it.
type candidate struct {
	attempt   int64
	uid       uint32
	slurm     stretch       // as sacct says
	nodes     stretch       // as the nodes' reports say
	submit    sql.NullInt64 // from sacct; invalid: sacct has not told of this attempt yet
	state     string        // from sacct
	nodelist  string
	sluid     string
	nnodes    int // 0: not known yet
	reports   int
	trimmed   bool            // the text of its reports is gone, so nothing can be merged with it
	by        map[string]bool // nodes that have reported it, among those in question
	came      []*incoming     // added, but not yet counted in reports
	isNew     bool            // not in the database yet
	waits     bool            // until Settle merges it
	line      bool            // sacct tells of it now
	confirmed bool            // … for the first time
}

// isTold says that Slurm told of the attempt.
func (c *candidate) isTold() bool { return c.submit.Valid }

// span is the more trustworthy of the two: sacct's where it is known.
func (c *candidate) span() stretch {
	return stretch{cmp.Or(c.slurm.start, c.nodes.start), cmp.Or(c.slurm.end, c.nodes.end)}
}

// gap is the time between the attempt and [start, end]; 0 where they overlap.
func (c *candidate) gap(start, end int64) time.Duration { return c.span().gap(start, end) }

// gap is the time between the stretch and [start, end]. A stretch without an end goes on.
func (at stretch) gap(start, end int64) time.Duration {
	var g int64
	if at.end.Valid && start > at.end.Int64 {
		g = start - at.end.Int64
	}
	if at.start.Valid && end < at.start.Int64 {
		g = at.start.Int64 - end
	}
	return time.Duration(g) * time.Microsecond
}

// add adds a report.
func (c *candidate) add(in *incoming) {
	if c.reports+len(c.came) == 0 && c.nnodes == 0 && in.NNodes > 1 { // Settle waits for that many
		c.nnodes = in.NNodes
	}
	c.came = append(c.came, in)
	c.by[in.Node] = true
	c.sluid = cmp.Or(c.sluid, in.SLUID)
	if start := in.Start.UnixMicro(); !in.Start.IsZero() && (!c.nodes.start.Valid || start < c.nodes.start.Int64) {
		c.nodes.start = sql.NullInt64{Int64: start, Valid: true}
	}
	if end := in.End.UnixMicro(); !in.End.IsZero() && (!c.nodes.end.Valid || end > c.nodes.end.Int64) {
		c.nodes.end = sql.NullInt64{Int64: end, Valid: true}
	}
}

// complete tells whether all nodes of the job have reported.
func (c *candidate) complete() bool {
	return c.reports+len(c.came) >= c.came[len(c.came)-1].NNodes
}
