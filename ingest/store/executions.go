package store

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// mergedRows are the rows of what n stored reports of an attempt come to.
func mergedRows(k attemptKey, j *job.Job, n int) (row *attemptRow, rows *executionRows, err error) {
	row, rows = &attemptRow{attemptKey: k}, &executionRows{}
	if err = row.merge(j, n); err == nil {
		err = rows.add(k, j, true) // turn.write leaves the runs out where it is not
	}
	return row, rows, err
}

// executionRows collects the values of rows of attempts' executions, one row after another.
type executionRows struct{ executions, workloads, calls []any }

// next takes the first n rows of each table; last says that no more are left.
func (r *executionRows) next(n int) (part executionRows, last bool) {
	take := func(from *[]any, columns string) []any {
		k := min(len(*from), n*(strings.Count(columns, ",")+1))
		first := (*from)[:k]
		*from = (*from)[k:]
		return first
	}
	part = executionRows{take(&r.executions, executionTable.into), take(&r.workloads, workloadTable.into), take(&r.calls, callTable.into)}
	return part, len(r.executions)+len(r.workloads)+len(r.calls) == 0
}

// add adds the rows of an attempt. Only what Slurm confirmed counts as a run of a workload.
func (r *executionRows) add(k attemptKey, j *job.Job, confirmed bool) error {
	main := job.MainExecution(j.Executions)
	for i := range j.Executions {
		x := &j.Executions[i]
		detail, err := pack(x)
		if err != nil {
			return err
		}
		row := &executionRow{attemptKey: k, execution: i, Execution: x, mpi: clip(job.MPILibrary(x)), count: x.Count(), threads: x.Threads(), detail: detail}
		if row.measured = x.Metrics != nil; row.measured {
			row.metrics = *x.Metrics
			if row.threaded = x.Metrics.Hybrid != nil; row.threaded {
				row.hybrid = *x.Metrics.Hybrid
			}
		}
		if x.Folded != nil && row.metrics.Ranks > 0 { // ranks times elapsed is their core time
			row.metrics.Elapsed = x.Folded.Span / float64(row.metrics.Ranks)
		}
		r.executions = appendValues(r.executions, executionTable.columns, row)
		if confirmed {
			if err := r.addRun(k, j, i, main); err != nil {
				return err
			}
		}
		for _, c := range x.Calls {
			r.calls = appendValues(r.calls, callTable.columns, &callRow{k, i, c})
		}
	}
	return nil
}

// addRun adds the run that execution i of a job is, if it is one. Costly ones were picked for being
// slow: no curve may take them for typical.
func (r *executionRows) addRun(k attemptKey, j *job.Job, i, main int) error {
	x := &j.Executions[i]
	if x.Folded != nil || x.Costly && i != main {
		return nil
	}
	run, err := workloadRow(k, j.UID, i, x)
	if err == nil && run != nil {
		r.workloads = appendValues(r.workloads, workloadTable.columns, run)
	}
	return err
}

// openRuns adds the runs of an attempt that Slurm has confirmed now. If Settle is about to merge
// it, Settle begins again, and adds them.
func (w *writer) openRuns(k attemptKey, uid uint32) error {
	err := w.exec("UPDATE attempts SET changed_us = ? WHERE cluster = ? AND job_id = ? AND attempt = ? AND merged < reports",
		append([]any{time.Now().UnixMicro()}, k.args()...)...)
	if err != nil {
		return err
	}
	all, err := readRows(w.rows("SELECT detail FROM executions WHERE cluster = ? AND job_id = ? AND attempt = ? ORDER BY execution", k.args()...))
	if err != nil {
		return err
	}
	j := &job.Job{UID: uid, Executions: make([]job.Execution, len(all))}
	for i, one := range all {
		detail, _ := one["detail"].([]byte)
		if err := unpack(detail, &j.Executions[i]); err != nil {
			return err
		}
	}
	var r executionRows
	main := job.MainExecution(j.Executions)
	for i := range j.Executions {
		if err := r.addRun(k, j, i, main); err != nil {
			return err
		}
	}
	return w.insertRows(workloadTable.into, r.workloads)
}

// insertExecutions inserts rows of executions that are new.
func (w *writer) insertExecutions(r *executionRows) error {
	return errors.Join(w.insertRows(executionTable.into, r.executions), w.insertRows(workloadTable.into, r.workloads),
		w.insertRows(callTable.into, r.calls))
}

// forgetExecutions deletes the executions of an attempt, with their runs and calls.
func (w *writer) forgetExecutions(k attemptKey) error {
	return errors.Join(w.forget("executions", k), w.forget("workload_runs", k), w.forget("calls", k))
}

// workloadRow is what a curve needs of an execution. It is nil if the execution belongs to
// no workload or has no figures.
func workloadRow(k attemptKey, uid uint32, i int, x *job.Execution) (*workloadRun, error) {
	key := job.WorkloadKey(k.cluster, uid, x)
	if key == "" || x.Metrics == nil {
		return nil, nil
	}
	r := &workloadRun{Run: job.RunOf(x), key: key, name: clip(job.WorkloadName(key, x)), lineage: job.Lineage(k.cluster, uid, x), inputNote: clip(x.InputNote)}
	sections, err := json.Marshal(r.Sections)
	if err != nil {
		return nil, err
	}
	counters, err := json.Marshal(r.Run.Counters)
	if err != nil {
		return nil, err
	}
	conditions, err := json.Marshal(r.Conditions)
	if err != nil {
		return nil, err
	}
	r.sections, r.counters, r.conditions = string(sections), string(counters), string(conditions)
	if !r.Start.IsZero() {
		r.start = r.Start.UnixMicro()
	}
	r.Cluster, r.JobID, r.Attempt, r.Execution, r.UID = k.cluster, k.jobID, int(k.attempt), i, uid
	r.cores, r.Executable, r.BuildID = r.Cores(), clip(r.Executable), clip(r.BuildID)
	return r, nil
}

// clip bounds text that a user chose and an index holds.
func clip(s string) string { return job.CleanText(s, 1024) }
