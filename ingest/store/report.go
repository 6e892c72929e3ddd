package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"jobeff/ingest"
)

// mergeAtOnce is up to how many reports of a run are merged in the transaction
// that adds the last one. With more nodes, or while one is missing, the run waits for
// Settle, so that a job of N nodes costs N additions and one merge, not N merges.
const mergeAtOnce = 8

// AddReport keeps a validated report, joins it to its run and returns after the
// COMMIT. Added is false where the same report was there already. The report must
// not be changed afterwards.
func (s *Store) AddReport(ctx context.Context, r *ingest.NodeReport) (added bool, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("store: report of job %d: %w", r.JobID, err)
	}
	body := ingest.Compress(text)
	if err := s.knowCluster(ctx, r.Cluster); err != nil {
		return false, fmt.Errorf("store: report of job %d from %s: %w", r.JobID, r.Node, err)
	}
	var waits bool
	err = s.doJob(ctx, jobKey{r.Cluster, r.JobID}, func(w *writer) error {
		var e error
		added, waits, e = w.addReport(r, body)
		return e
	})
	if err != nil {
		return false, fmt.Errorf("store: report of job %d from %s: %w", r.JobID, r.Node, err)
	}
	if waits {
		s.kept.add(r, len(text))
	}
	return added, nil
}

// addReport adds it to its run; waits says that the run is merged by Settle.
func (w *writer) addReport(r *ingest.NodeReport, body []byte) (added, waits bool, err error) {
	var run int64
	err = w.one("SELECT run FROM reports WHERE cluster = ? AND job_id = ? AND node = ? AND run_id = ?",
		[]any{r.Cluster, r.JobID, r.Node, r.Run}, []any{&run})
	if err == nil {
		return false, false, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return false, false, err
	}
	now := time.Now().UnixMicro()
	k, known, err := w.runFor(r, now)
	if err != nil {
		return false, false, err
	}
	err = w.exec("INSERT INTO reports (cluster, job_id, node, run_id, run, received_us, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
		r.Cluster, r.JobID, r.Node, r.Run, k.run, now, body)
	if err != nil {
		return false, false, err
	}
	err = w.exec(`UPDATE runs SET reports = reports + 1, changed_us = ?, sluid = CASE sluid WHEN '' THEN ? ELSE sluid END,
		node_start_us = CASE WHEN node_start_us <= ? THEN node_start_us ELSE COALESCE(?, node_start_us) END,
		node_end_us = CASE WHEN node_end_us >= ? THEN node_end_us ELSE COALESCE(?, node_end_us) END
		WHERE cluster = ? AND job_id = ? AND run = ?`,
		now, r.SLUID, micro(r.Start), micro(r.Start), micro(r.End), micro(r.End), k.cluster, k.jobID, k.run)
	if err == nil && known.reports == 0 && r.NNodes > 1 { // Settle waits for that many
		err = w.exec("UPDATE runs SET nodes = ? WHERE cluster = ? AND job_id = ? AND run = ? AND nodes = 0", append([]any{r.NNodes}, k.args()...)...)
	}
	switch {
	case err != nil:
		return false, false, err
	case known.trimmed: // the figures stay without it
		return true, false, w.exec("UPDATE runs SET merged = reports WHERE cluster = ? AND job_id = ? AND run = ?", k.args()...)
	case known.reports >= mergeAtOnce, known.reports+1 < r.NNodes:
		return true, true, nil
	}
	return true, false, w.mergeNow(k, known.reports, r)
}

// mergeNow merges a run of few reports; r is the one just added.
func (w *writer) mergeNow(k runKey, before int, r *ingest.NodeReport) error {
	var m ingest.JobMerger
	if before == 0 {
		m.Add(r)
	} else {
		rows, err := w.rows(reportsOfRun, k.args()...)
		if err != nil {
			return err
		}
		if _, err := addAll(&m, rows); err != nil {
			return err
		}
	}
	return w.keepMerged(k, m.Job(), before+1, before == 0)
}

const reportsOfRun = "SELECT body FROM reports WHERE cluster = ? AND job_id = ? AND run = ?"

// addAll gives a run's reports to the merger and counts them.
func addAll(m *ingest.JobMerger, rows *sql.Rows) (n int, err error) {
	defer rows.Close()
	for rows.Next() {
		var body sql.RawBytes
		r := new(ingest.NodeReport)
		if err := rows.Scan(&body); err != nil {
			return n, err
		}
		if err := unpack(body, r); err != nil {
			return n, err
		}
		m.Add(r)
		n++
	}
	return n, rows.Err()
}

// pack is the form of the BLOB columns: JSON, compressed.
func pack(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return ingest.Compress(text), nil
}

// unpack reads what pack wrote.
func unpack(blob []byte, v any) error {
	text, err := ingest.Decompress(blob, math.MaxInt64-1)
	if err != nil {
		return fmt.Errorf("store: a packed column is damaged: %w", err)
	}
	return ingest.UnmarshalFast(text, v)
}

// micro is a time for an _us column; the zero time is NULL.
func micro(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// fromMicro reads an _us column.
func fromMicro(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return time.UnixMicro(us.Int64).UTC()
}
