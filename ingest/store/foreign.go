package store

import (
	"errors"
	"fmt"

	"jobeff/ingest/job"
)

// ErrForeignNode says that a node reported a job which, as Slurm says, did not have this
// node.
var ErrForeignNode = errors.New("store: the job did not have this node")

// Only Slurm says which nodes a job has: a node that could claim it could shut out others.
// A report that comes before sacct told of the job is therefore accepted, and judged later
// (dropForeign). Where sacct is never asked, nobody judges.

// checkNode refuses a report if Slurm named the attempt's nodes and this is not one.
func (c *candidate) checkNode(node string) error {
	if !c.submit.Valid {
		return nil
	}
	if holds, known := job.HostlistHolds(c.nodelist, node); known && !holds {
		return fmt.Errorf("%w: it ran on %s", ErrForeignNode, c.nodelist)
	}
	return nil
}

// dropForeign sets aside the reports of nodes outside Slurm's nodelist, and merges the rest
// again. Set aside means that the report's attempt number becomes negative.
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

// foreignNodes lists the nodes that reported the attempt and are not in nodelist.
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
