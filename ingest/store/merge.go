package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// quiet is how long an attempt must have got no report before it is merged, if nodes are missing or
// about to report once more: their reports are likely on their way.
const quiet = time.Second

// markMerge names the mark that a daemon holds while it merges.
const markMerge = "merge"

// mostMerged is how many attempts a call of Merge merges, and mergeTogether how many it has in hand
// at once. Reports that come meanwhile wait for as long as writing those takes.
const (
	mostMerged    = 1024
	mergeTogether = 64
)

// mostMergedText bounds the text of the reports that are merged into one job, bytes: only made-up
// reports have more. Each time that textUntilBound more of it was read, Merger.Bound bounds what came.
const (
	mostMergedText = 256 << 20
	textUntilBound = 16 << 20
)

// toMerge finds attempts whose figures lack something. Only these queries say what waits to be merged,
// so a killed daemon leaves nothing to repair. A time in the future comes from a clock that was set back.
//
// What waits for Slurm's word is shown to nobody, and may be made up: it is merged when its wait is
// over, and after the others.
const (
	toMerge = `SELECT cluster, job_id, attempt, unmerged, slurm_submit_us IS NOT NULL FROM attempts
	WHERE unmerged > 0 AND (reports >= nodes AND as_of_us IS NULL OR changed_us <= ? OR changed_us > ?) AND `
	toMergeTold     = toMerge + "slurm_submit_us IS NOT NULL ORDER BY changed_us LIMIT ?"
	toMergeShown    = toMerge + "slurm_submit_us IS NULL AND changed_us <= ? ORDER BY changed_us LIMIT ?"
	mostUnconfirmed = 2 // of one pass, where Slurm is asked
)

// Merge makes the figures of attempts that got something new, and returns their number. Nothing else
// makes figures. It reads and merges outside the writers, which then keep what is still up to date: if
// something came meanwhile, the attempt waits again. Of several daemons on one database, the one that
// holds the lock of a row merges. Reports that cannot be read are left out, and err names them.
func (s *Store) Merge(ctx context.Context) (merged int, err error) {
	return s.mergeAt(ctx, time.Now())
}

func (s *Store) mergeAt(ctx context.Context, now time.Time) (merged int, err error) {
	if err := s.keepHeard(ctx, now); err != nil {
		return 0, err
	}
	release, mine, err := s.engine.alone(ctx, markMerge)
	if err != nil || !mine {
		return 0, unavailable(err)
	}
	defer release()
	waiting, err := s.waitForMerge(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("store: attempts to merge: %w", unavailable(err))
	}
	var mu sync.Mutex // of what follows
	var damaged error
	reading := make(chan struct{}, readers/2) // the other half answers people
	err = each(mergeTogether, len(waiting), func(i int) error {
		m := waiting[i]
		waiting[i] = nil // its rows take memory
		reading <- struct{}{}
		err := s.mergeReports(ctx, m)
		<-reading
		if err == nil {
			err = s.doJob(ctx, jobKey{m.cluster, m.jobID}, m.write)
		}
		if err != nil {
			return fmt.Errorf("store: merging job %d: %w", m.jobID, unavailable(err))
		}
		mu.Lock()
		defer mu.Unlock()
		damaged = errors.Join(damaged, m.damaged)
		merged += bit(m.written)
		return nil
	})
	return merged, errors.Join(err, damaged)
}

// waitForMerge finds attempts to merge.
func (s *Store) waitForMerge(ctx context.Context, now time.Time) (waiting []*merge, err error) {
	read := func(rows *sql.Rows) error {
		m := new(merge)
		err := rows.Scan(&m.cluster, &m.jobID, &m.attempt, &m.unmerged, &m.confirmed)
		waiting = append(waiting, m)
		return err
	}
	still := []any{now.Add(-quiet).UnixMicro(), now.Add(quiet).UnixMicro()}
	if err := s.eachRow(ctx, toMergeTold, append(still, mostMerged), read); err != nil {
		return nil, err
	}
	most := mostMerged - len(waiting)
	if s.patience > 0 {
		most = min(most, mostUnconfirmed)
	}
	return waiting, s.eachRow(ctx, toMergeShown, append(still, s.shownSince(now), most), read)
}

// Unmerged is how many attempts wait for Merge.
func (s *Store) Unmerged(ctx context.Context) (n int64, err error) {
	err = s.number(ctx, &n, "SELECT count(*) FROM attempts WHERE unmerged > 0")
	return n, unavailable(err)
}

// FindHung sets how long nothing of a job may move until it counts as hung; 0: no job does. It must be
// called before the store is used.
func (s *Store) FindHung(after time.Duration) { s.hungAfter = after }

// merge is an attempt that is being merged.
type merge struct {
	attemptKey
	unmerged  int64 // of the attempt, before its reports were read
	confirmed bool  // Slurm has confirmed it
	row       *attemptRow
	rows      executionRows
	damaged   error // reports that cannot be read
	written   bool
}

// mergeReports makes the rows of an attempt's figures from its reports, and from what replays found.
func (s *Store) mergeReports(ctx context.Context, m *merge) error {
	told := map[reportKey][]toldWindows{}
	err := s.eachRow(ctx, windowsOfJob, []any{m.cluster, m.jobID}, func(rows *sql.Rows) error {
		var key reportKey
		var w toldWindows
		var text []byte
		if err := rows.Scan(&key.node, &key.nonce, &w.world, &w.start, &text); err != nil {
			return err
		}
		told[key] = append(told[key], w)
		return json.Unmarshal(text, &told[key][len(told[key])-1].windows)
	})
	if err != nil {
		return err
	}
	all := assemble.Merger{HungAfter: s.hungAfter}
	var text, unbound int64
	err = s.eachRow(ctx, reportsToMerge, append(m.args(), -m.attempt), func(rows *sql.Rows) error {
		var key reportKey
		var body sql.RawBytes
		var attempt int64
		var still string
		if err := rows.Scan(&key.node, &key.nonce, &body, &attempt, &still); err != nil {
			return err
		}
		if attempt < 0 {
			all.Foreign()
			return nil
		}
		size := wire.TextSize(body, int64(len(body)))
		if text += size; text > mostMergedText {
			all.TooLarge()
			return nil
		}
		r, err := unpackReport(body)
		if err == nil {
			r.Still, err = hang.ReadStill(still)
		}
		if err != nil {
			m.damaged = errors.Join(m.damaged, fmt.Errorf("job %d, node %s: %w", m.jobID, key.node, err))
			return nil
		}
		for _, w := range told[key] {
			w.tell(r)
		}
		all.Add(r)
		if unbound += size; unbound > textUntilBound {
			all.Bound()
			unbound = 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	j := all.Job()
	if m.confirmed { // Slurm told what it is part of
		j.ArrayJobID, j.ArrayTaskID, j.HetJobID = 0, nil, 0
	}
	m.row = &attemptRow{attemptKey: m.attemptKey, judgedBy: -time.Now().UnixMicro()}
	return errors.Join(m.row.merge(j), m.rows.add(m.attemptKey, j, m.confirmed))
}

// reportsToMerge reads those that were set aside (setAside), too.
const reportsToMerge = "SELECT node, nonce, body, attempt, still_json FROM reports WHERE cluster = ? AND job_id = ? AND attempt IN (?, ?)"

// write writes the figures, if nothing changed since the reports were read. Work on one job runs in
// order, so nothing changes between.
func (m *merge) write(w *writer) error {
	var before string // what an earlier merge found; "": there was none
	err := w.one("SELECT decision FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ? AND unmerged = ?",
		append(m.args(), m.unmerged), []any{&before})
	if m.written = err == nil; errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && before != "" {
		err = errors.Join(w.forget("executions", m.attemptKey), w.forget("workload_runs", m.attemptKey))
	}
	if err != nil {
		return err
	}
	return errors.Join(w.writeAttempt(m.row, from(merging)), w.insertRows(executionTable.into, m.rows.executions), w.insertRows(workloadTable.into, m.rows.workloads))
}

// mergeAgain lets Merge make the figures of an attempt anew.
func (w *writer) mergeAgain(k attemptKey) error {
	now := time.Now().UnixMicro()
	return w.exec("UPDATE attempts SET unmerged = CASE WHEN unmerged < ? THEN ? ELSE unmerged + 1 END WHERE cluster = ? AND job_id = ? AND attempt = ? AND trimmed = 0 AND reports > 0",
		append([]any{now, now}, k.args()...)...)
}

// executionRows are the values of rows of attempts' executions and runs, one row after another.
type executionRows struct{ executions, workloads []any }

// add adds the rows of an attempt. Only what Slurm confirmed, and what has ended, counts as a run of a
// workload.
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
		// Costly ones were picked for being slow: no curve may take them for typical.
		if !confirmed || !j.AsOf.IsZero() || x.Folded != nil || x.Costly && i != main {
			continue
		}
		run, err := workloadRow(k, j.UID, i, x)
		if err != nil {
			return err
		}
		if run != nil {
			r.workloads = appendValues(r.workloads, workloadTable.columns, run)
		}
	}
	return nil
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
	r.used, r.lost = r.CoreHours()
	r.cores, r.Executable, r.BuildID = r.Cores(), clip(r.Executable), clip(r.BuildID)
	return r, nil
}

// clip bounds text that a user chose and an index holds.
func clip(s string) string { return wire.CleanText(s, 1024) }
