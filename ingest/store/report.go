package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// mergeAtOnce is the most reports of an attempt that are merged in the transaction that adds
// the last one. With more nodes, or while one is missing, the attempt waits for Settle. So a
// job of N nodes costs N additions and one merge, not N merges.
const mergeAtOnce = 8

// mergeBytes is the most packed text of an attempt's reports that is merged in that transaction.
// A usual report has 1 KB. Other reports wait for the writer meanwhile, and merging a script of
// thousands of mpiruns takes a second.
const mergeBytes = 32 << 10

// mostAtOnce is the most executions likewise, and mostSteps the most steps.
const (
	mostAtOnce = 50
	mostSteps  = 500
)

// AddReport stores a report that job.DecodeReport made, joins it to its attempt, and returns
// after the COMMIT. packed is its text, compressed; size is the bytes of the text. added is
// false if the same report was there already. The caller must not change the report
// afterwards.
func (s *Store) AddReport(ctx context.Context, r *job.NodeReport, packed []byte, size int) (added bool, err error) {
	if err = s.knowCluster(ctx, r.Cluster); err == nil {
		added, err = s.addGathered(ctx, &incoming{NodeReport: r, body: packed, size: size})
	}
	if added {
		s.heard.note(r.Node, heardNode{at: time.Now()})
	}
	if err != nil {
		return false, fmt.Errorf("store: report of job %d from %s: %w", r.JobID, r.Node, err)
	}
	return added, nil
}

// addReports adds reports of one job to its attempts.
func (w *writer) addReports(k jobKey, all []*incoming) ([]outcome, error) {
	if len(all) == 0 {
		return nil, nil
	}
	attempts, err := w.candidates(k)
	if err != nil {
		return nil, err
	}
	there, err := w.reportsThere(k, attempts, all)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(all))
	for i, in := range all {
		key := reportKey{in.Node, in.Nonce}
		if there[key] {
			continue
		}
		c, err := attemptOf(attempts, in.NodeReport)
		if err != nil {
			outcomes[i] = outcome{err: err, foreign: c}
			continue
		}
		if c == nil {
			refused, err := w.mayOpen(in, attempts)
			if err != nil {
				return nil, err
			}
			if refused != nil {
				outcomes[i].err = refused
				continue
			}
			c = &candidate{isNew: true, attempt: nextAttempt(attempts), uid: in.UID, nodelist: in.NodeList, by: map[string]bool{}}
			attempts = append(attempts, c)
		}
		c.add(in)
		there[key], outcomes[i].attempt = true, c
		outcomes[i].apart = !c.isTold() && slices.ContainsFunc(attempts, (*candidate).isTold)
	}
	for _, c := range attempts {
		if err := w.addToAttempt(attemptKey{k.cluster, k.jobID, c.attempt}, c); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// mostWaiting bounds the attempts of one job id of which Slurm has not told. Each report that fits
// none makes one, and every report of the job is matched with all of them.
const mostWaiting = 100

// mayOpen says why a report makes no new attempt; nil: it makes one.
func (w *writer) mayOpen(in *incoming, attempts []*candidate) (refused, err error) {
	switch gone, err := w.pruned(in.Cluster, in.End, time.Now().UnixMicro()); {
	case err != nil:
		return nil, err
	case gone:
		return ErrPruned, nil
	}
	waiting := 0
	for _, c := range attempts {
		waiting += bit(!c.isTold())
	}
	if waiting >= mostWaiting && in.received.IsZero() { // what was acknowledged stays
		return ErrManyWaiting, nil
	}
	return nil, nil
}

const reportsOfNodes = "SELECT node, nonce, attempt FROM reports p WHERE cluster = ? AND job_id = ? AND node IN "

// reportsThere reads which reports of these nodes are in the database, and notes at each
// attempt which nodes have reported it.
func (w *writer) reportsThere(k jobKey, attempts []*candidate, all []*incoming) (map[reportKey]bool, error) {
	var nodes []string
	for _, in := range all {
		nodes = append(nodes, in.Node)
	}
	list, args := oneOf(nodes)
	rows, err := w.rows(reportsOfNodes+list, append([]any{k.cluster, k.jobID}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	there := map[reportKey]bool{}
	for rows.Next() {
		var key reportKey
		var attempt int64
		if err := rows.Scan(&key.node, &key.nonce, &attempt); err != nil {
			return nil, err
		}
		there[key] = true
		for _, c := range attempts {
			if c.attempt == attempt {
				c.by[key.node] = true
			}
		}
	}
	return there, rows.Err()
}

// addToAttempt writes the new reports of an attempt, and merges it if that is little work.
func (w *writer) addToAttempt(k attemptKey, c *candidate) error {
	if len(c.came) == 0 {
		return nil
	}
	now := time.Now()
	row := &attemptRow{attemptKey: k, changed: now, sluid: c.sluid, nodelist: c.nodelist, nodesStart: fromMicro(c.nodes.start), nodesEnd: fromMicro(c.nodes.end),
		job: job.Job{UID: c.uid, Nodes: c.nnodes, Reports: c.reports + len(c.came)}, merged: c.reports + len(c.came)}
	by := from(arrival)
	if c.isNew {
		by = by.with(opening)
	}
	large, err := w.isLarge(k, c)
	if err != nil {
		return err
	}
	c.waits = !c.trimmed && (c.reports >= mergeAtOnce || !c.complete() || large)
	merge := !c.trimmed && !c.waits
	var executions executionRows
	switch {
	case c.trimmed:
		by = by.with(counting)
	case merge: // merge before writing, so that only the older reports are read
		by = by.with(merging)
		var m job.JobMerger
		if err := w.mergeAll(&m, k, c); err != nil {
			return err
		}
		merged := m.Job()
		if err := errors.Join(row.merge(merged, row.merged), executions.add(k, merged, c.isTold())); err != nil {
			return err
		}
	}
	if err := w.writeAttempt(row, by); err != nil {
		return err
	}
	if err := w.insertRows(reportTable.into, c.rows(k, now)); err != nil {
		return err
	}
	if merge && c.reports > 0 {
		if err := w.forgetExecutions(k); err != nil {
			return err
		}
	}
	return w.insertExecutions(&executions)
}

// isLarge tells whether merging an attempt's reports would hold the writer for long.
func (w *writer) isLarge(k attemptKey, c *candidate) (bool, error) {
	bytes, executions, steps := 0, 0, 0
	for _, in := range c.came {
		bytes, executions, steps = bytes+len(in.body), executions+len(in.Executions), steps+len(in.Steps)
	}
	if large := bytes > mergeBytes || executions > mostAtOnce || steps > mostSteps; large || c.reports == 0 {
		return large, nil
	}
	var before int
	err := w.one("SELECT COALESCE(SUM(LENGTH(body)), 0) FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args(), []any{&before})
	return bytes+before > mergeBytes, err
}

// rows are the values of the rows of the new reports.
func (c *candidate) rows(k attemptKey, now time.Time) (values []any) {
	for _, in := range c.came {
		received := now
		if !in.received.IsZero() {
			received = in.received
		}
		values = appendValues(values, reportTable.columns, &reportRow{k.cluster, k.jobID, in.Node, in.Nonce, k.attempt, received, in.body})
	}
	return values
}

// mergeAll gives the merger an attempt's stored reports and the new ones.
func (w *writer) mergeAll(m *job.JobMerger, k attemptKey, c *candidate) error {
	if c.reports > 0 {
		rows, err := w.rows(reportsToMerge, k.mergeArgs()...)
		if err != nil {
			return err
		}
		if _, err := addAll(m, rows, nil); err != nil {
			return err
		}
	}
	for _, in := range c.came {
		m.Add(in.NodeReport)
	}
	return nil
}
