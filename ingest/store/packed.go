package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"jobeff/ingest/job"
)

// reportsToMerge reads those that were set aside (setAside), too.
const (
	reportsToMerge   = "SELECT node, nonce, body, attempt FROM reports WHERE cluster = ? AND job_id = ? AND attempt IN (?, ?)"
	reportsOfAttempt = "SELECT body, received_us FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?"
)

// mergeArgs are the arguments of reportsToMerge.
func (k attemptKey) mergeArgs() []any { return append(k.args(), -k.attempt) }

// addAll gives an attempt's reports to the merger and counts them. Reports in known need no
// decoding.
func addAll(m *job.JobMerger, rows *sql.Rows, known map[reportKey]*job.NodeReport) (n int, err error) {
	defer rows.Close()
	for rows.Next() {
		var key reportKey
		var body sql.RawBytes
		var attempt int64
		if err := rows.Scan(&key.node, &key.nonce, &body, &attempt); err != nil {
			return n, err
		}
		if attempt < 0 {
			m.Foreign()
			continue
		}
		r := known[key]
		if r == nil {
			if r, err = unpackReport(body); err != nil {
				return n, err
			}
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
	return job.Compress(text), nil
}

// unpack reads what pack wrote.
func unpack(blob []byte, v any) error {
	text, err := job.Decompress(blob)
	if err != nil {
		return fmt.Errorf("store: a packed column is damaged: %w", err)
	}
	return job.UnmarshalFast(text, v)
}

// unpackReport decodes a report as it came.
func unpackReport(blob []byte) (*job.NodeReport, error) {
	text, err := job.DecompressReport(nil, blob)
	if err != nil {
		return nil, fmt.Errorf("store: a report is damaged: %w", err)
	}
	return job.DecodeReport(text)
}
