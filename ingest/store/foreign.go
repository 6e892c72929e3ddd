package store

import (
	"errors"
	"fmt"

	"jobeff/ingest/job"
)

// ErrForeignNode is that a node reports for a job of which Slurm says that it did not
// have this node.
var ErrForeignNode = errors.New("store: the job did not have this node")

// Who says which nodes a job has is Slurm alone: what a node claims of it would let one
// shut out the others. So a report that comes before sacct has told of the job is taken
// and judged when it does (dropForeign), and where sacct is never asked nobody judges.

// checkNode refuses a report for a run whose nodes Slurm has told.
func (c *candidate) checkNode(node string) error {
	if !c.submit.Valid {
		return nil
	}
	if holds, known := job.HostlistHolds(c.nodelist, node); known && !holds {
		return fmt.Errorf("%w: it ran on %s", ErrForeignNode, c.nodelist)
	}
	return nil
}

// dropForeign sets aside the run's reports of nodes that are not in nodelist, which is
// Slurm's, and merges the rest anew. Set aside is a report whose run is negative.
func (w *writer) dropForeign(k attemptKey, nodelist string) error {
	foreign, err := w.foreignNodes(k, nodelist)
	if err != nil || len(foreign) == 0 {
		return err
	}
	for _, node := range foreign {
		if err := w.exec("UPDATE reports SET attempt = -attempt WHERE cluster = ? AND job_id = ? AND attempt = ? AND node = ?", append(k.args(), node)...); err != nil {
			return err
		}
	}
	rows, err := w.rows(reportsOfAttempt, k.args()...)
	if err != nil {
		return err
	}
	var m job.JobMerger
	n, err := addAll(&m, rows, nil)
	if err != nil {
		return err
	}
	j := new(job.Job)
	if n > 0 {
		j = m.Job()
	}
	j.Warnings = append(j.Warnings, job.NewWarning(job.WarnForeignNode, len(foreign)))
	if err := w.exec("UPDATE attempts SET reports = ? WHERE cluster = ? AND job_id = ? AND attempt = ?", append([]any{n}, k.args()...)...); err != nil {
		return err
	}
	return w.keepMerged(k, j, n)
}

// foreignNodes lists the nodes that reported the run and are not in nodelist.
func (w *writer) foreignNodes(k attemptKey, nodelist string) (foreign []string, err error) {
	rows, err := w.rows("SELECT node FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var node string
		if err := rows.Scan(&node); err != nil {
			return nil, err
		}
		if holds, known := job.HostlistHolds(nodelist, node); known && !holds {
			foreign = append(foreign, node)
		}
	}
	return foreign, rows.Err()
}
