package store

import (
	"cmp"
	"database/sql"
	"slices"
	"time"

	"jobeff/ingest"
	"jobeff/ingest/slurm"
)

// How far apart two accounts of one run may lie where they do not overlap: the
// clocks of nodes and controller differ, and sacct cuts to seconds. Slurm waits
// two minutes before it starts a requeued job again.
const (
	slackNodes = 20 * time.Second // between two nodes
	slackSlurm = 60 * time.Second // between a node and sacct
)

// runKey names a run.
type runKey struct {
	cluster string
	jobID   uint32
	run     int64
}

func (k runKey) args() []any { return []any{k.cluster, k.jobID, k.run} }

// candidate is what a run of the wanted job id shows for the comparison.
type candidate struct {
	run      int64
	uid      uint32
	start    sql.NullInt64
	end      sql.NullInt64
	submit   sql.NullInt64 // sacct's; invalid: sacct does not know the run yet
	nodelist string
	sluid    string
	reports  int
	trimmed  bool // its reports' text is gone: nothing can be merged with it
	taken    bool // the node has reported this run under another id of its own
}

// The + keeps SQLite from the index by run, which would have it look through all nodes of
// the run for each one's report; the one by node holds a row or two.
const candidatesOfJob = `SELECT run, uid, start_us, end_us, slurm_submit_us, nodelist, sluid, reports, trimmed,
		EXISTS (SELECT 1 FROM reports p WHERE p.cluster = r.cluster AND p.job_id = r.job_id AND p.node = ? AND +p.run = r.run)
		FROM runs r WHERE cluster = ? AND job_id = ?`

// candidates reads the runs of a job id.
func (w *writer) candidates(cluster string, jobID uint32, node string) ([]candidate, error) {
	rows, err := w.rows(candidatesOfJob, node, cluster, jobID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []candidate
	for rows.Next() {
		var c candidate
		if err := rows.Scan(&c.run, &c.uid, &c.start, &c.end, &c.submit, &c.nodelist, &c.sluid, &c.reports, &c.trimmed, &c.taken); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// gap is the time between the run and [start, end], 0 where they overlap. A run
// without an end goes on.
func (c *candidate) gap(start, end int64) time.Duration {
	var g int64
	if c.end.Valid && start > c.end.Int64 {
		g = start - c.end.Int64
	}
	if c.start.Valid && end < c.start.Int64 {
		g = c.start.Int64 - end
	}
	return time.Duration(g) * time.Microsecond
}

// nearest returns the candidate with the smallest gap; nil if fits takes none.
func nearest(all []candidate, start, end time.Time, fits func(c *candidate, gap time.Duration) bool) *candidate {
	from, to := start.UnixMicro(), end.UnixMicro()
	var fit []*candidate
	for i := range all {
		if c := &all[i]; fits(c, c.gap(from, to)) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.gap(from, to), b.gap(from, to)), cmp.Compare(b.run, a.run))
	})
}

// runFor finds or makes the run that a report belongs to; known is what was known
// of it before. Two runs of one job id never overlap in time, and a node reports a
// run once.
func (w *writer) runFor(r *ingest.NodeReport, now int64) (k runKey, known candidate, err error) {
	all, err := w.candidates(r.Cluster, r.JobID, r.Node)
	if err != nil {
		return runKey{}, known, err
	}
	c := nearest(all, r.Start, r.End, func(c *candidate, gap time.Duration) bool {
		slack := slackNodes
		if c.reports == 0 {
			slack = slackSlurm
		}
		other := r.SLUID != "" && c.sluid != "" && r.SLUID != c.sluid
		elsewhere := r.NodeList != "" && c.nodelist != "" && r.NodeList != c.nodelist
		return c.uid == r.UID && !c.taken && !other && (gap == 0 || gap <= slack && !elsewhere)
	})
	if c != nil {
		return runKey{r.Cluster, r.JobID, c.run}, *c, c.checkNode(r.Node)
	}
	if gone, err := w.pruned(r.End, now); gone || err != nil {
		return runKey{}, known, cmp.Or(err, ErrPruned)
	}
	k = runKey{r.Cluster, r.JobID, nextRun(all)}
	return k, known, w.newRun(k, r.UID, now, r.NodeList)
}

// runForSlurm finds or makes the run that a line of sacct speaks of; ok is false
// where it ended before the database began and no node reported it, or was pruned.
func (w *writer) runForSlurm(j *slurm.Job, began time.Time, now int64) (k runKey, ok bool, err error) {
	all, err := w.candidates(j.Cluster, j.RawID, "")
	if err != nil {
		return runKey{}, false, err
	}
	end := j.End
	if end.IsZero() {
		end = time.UnixMicro(now)
	}
	c := nearest(all, j.Start, end, func(c *candidate, gap time.Duration) bool {
		if c.submit.Valid {
			return c.submit.Int64 == j.Submit.UnixMicro()
		}
		return c.uid == j.UID && gap <= slackSlurm
	})
	if c != nil {
		return runKey{j.Cluster, j.RawID, c.run}, true, nil
	}
	if !j.End.IsZero() && j.End.Before(began) {
		return runKey{}, false, nil
	}
	if gone, err := w.pruned(j.End, now); gone || err != nil {
		return runKey{}, false, err
	}
	k = runKey{j.Cluster, j.RawID, nextRun(all)}
	return k, true, w.newRun(k, j.UID, now, j.NodeList)
}

func nextRun(all []candidate) int64 {
	last := int64(0)
	for _, c := range all {
		last = max(last, c.run)
	}
	return last + 1
}

func (w *writer) newRun(k runKey, uid uint32, now int64, nodelist string) error {
	return w.exec("INSERT INTO runs (cluster, job_id, run, uid, nodelist, changed_us) VALUES (?, ?, ?, ?, ?, ?)",
		k.cluster, k.jobID, k.run, uid, nodelist, now)
}
