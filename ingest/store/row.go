package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"jobeff/ingest/job"
)

// row is a row of a table by its columns: int64, float64, string, []byte or nil.
type row map[string]any

// tablesOfAttempt hold what belongs to an attempt, beside its row in attempts.
var tablesOfAttempt = []string{"reports", "executions", "workload_runs"}

// computed are the columns that the database computes.
var computed = map[string]bool{"attempts.start_us": true, "attempts.end_us": true}

// ofAttempt selects a table's rows of one attempt. Windows belong to one through their report.
func ofAttempt(table string) string {
	if table == "windows" {
		return `SELECT w.* FROM reports r JOIN windows w ON w.cluster = r.cluster AND w.job_id = r.job_id AND w.node = r.node AND w.nonce = r.nonce
			WHERE r.cluster = ? AND r.job_id = ? AND r.attempt = ?`
	}
	return "SELECT * FROM " + table + " WHERE cluster = ? AND job_id = ? AND attempt = ?"
}

// readRows reads all rows of a query.
func readRows(rows *sql.Rows, err error) (all []row, e error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		r := row{}
		for i, c := range columns {
			r[c] = values[i]
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// places are the places of n arguments.
func places(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// insert writes a row, unless its key exists.
func (w *writer) insert(table string, r row) error {
	var columns []string
	var args []any
	for _, c := range slices.Sorted(maps.Keys(r)) {
		if !computed[table+"."+c] {
			columns, args = append(columns, c), append(args, r[c])
		}
	}
	return w.exec("INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+") ON CONFLICT DO NOTHING", args...)
}

// forget deletes a table's rows of one attempt.
func (w *writer) forget(table string, k attemptKey) error {
	return w.exec("DELETE FROM "+table+" WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
}

// rowsAtOnce bounds the rows of one statement.
const rowsAtOnce = 64

// insertRows writes rows into a table's columns; existing rows stay. args holds the rows'
// values, one row after another. Each statement takes a power of two of them, so that there
// are few statements, and few kinds of them to prepare.
func (w *writer) insertRows(columns string, args []any) error {
	width := strings.Count(columns, ",") + 1
	row := "(?" + strings.Repeat(", ?", width-1) + ")"
	for rows := len(args) / width; rows > 0; rows = len(args) / width {
		n := 1 << (bits.Len(uint(min(rows, rowsAtOnce))) - 1)
		err := w.exec("INSERT INTO "+columns+" VALUES "+row+strings.Repeat(", "+row, n-1)+" ON CONFLICT DO NOTHING", args[:n*width]...)
		if err != nil {
			return err
		}
		args = args[n*width:]
	}
	return nil
}

// oneOf is the list behind an IN, with its arguments. It repeats the last value up to a power
// of two, so that there are few kinds of statements.
func oneOf(all []string) (list string, args []any) {
	n := 1 << bits.Len(uint(len(all)-1))
	for i := range n {
		args = append(args, all[min(i, len(all)-1)])
	}
	return "(?" + strings.Repeat(", ?", n-1) + ")", args
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
		return fmt.Errorf("store: a packed column is damaged: %v", err) // an io.EOF would be taken for the connection's
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
