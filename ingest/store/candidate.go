package store

import (
	"cmp"
	"database/sql"
	"time"

	"jobeff/ingest/job"
)

// incoming is a report on its way into the database.
type incoming struct {
	*job.NodeReport
	body []byte // as it came, packed
	size int    // of its JSON, bytes
}

// outcome is what became of a report.
type outcome struct {
	attempt *candidate // that it was added to; nil: none, it was there already or is refused
	err     error      // why it is refused, which does not concern the others
}

// stretch is a time between two moments, in microseconds; not valid is not known.
type stretch struct{ start, end sql.NullInt64 }

// stretchOf is the time between two; the zero time is not known.
func stretchOf(start, end time.Time) stretch {
	known := func(t time.Time) sql.NullInt64 { return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()} }
	return stretch{known(start), known(end)}
}

// candidate is what a run of the wanted job id shows for the comparison, and what reports
// add to it.
type candidate struct {
	attempt  int64
	uid      uint32
	slurm    stretch       // as sacct has it
	nodes    stretch       // as its reports have it
	submit   sql.NullInt64 // sacct's; invalid: sacct does not know the run yet
	state    string        // sacct's
	nodelist string
	sluid    string
	nnodes   int // 0: not known yet
	reports  int
	trimmed  bool            // its reports' text is gone: nothing can be merged with it
	by       map[string]bool // of the nodes in question those that have reported it
	came     []*incoming     // added to it, not yet counted in reports
	isNew    bool            // not in the database yet
	waits    bool            // for Settle to merge it
}

// span is the better of both accounts.
func (c *candidate) span() stretch {
	return stretch{cmp.Or(c.slurm.start, c.nodes.start), cmp.Or(c.slurm.end, c.nodes.end)}
}

// gap is the time between the run and [start, end], 0 where they overlap.
func (c *candidate) gap(start, end int64) time.Duration { return c.span().gap(start, end) }

// gap is that of a stretch. One without an end goes on.
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

// complete tells whether all nodes have reported that the last report spoke of.
func (c *candidate) complete() bool {
	return c.reports+len(c.came) >= c.came[len(c.came)-1].NNodes
}
