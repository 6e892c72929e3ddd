package store

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/policy/doubt"
)

// exportFormat is the version of Export's lines.
const exportFormat = 1

// line is one line of an export. The first says what the file is. Each other line holds an
// attempt with all that belongs to it, a month of pruned jobs, a mute, a mail, a notice, or an
// overhead curve.
type line struct {
	Format int   `json:"jobeff_export,omitempty"`
	Schema int64 `json:"schema,omitempty"`

	Attempt  row            `json:"attempt,omitempty"`
	Rows     map[string]any `json:"rows,omitempty"` // what belongs to it, by table
	Month    row            `json:"rollup_month,omitempty"`
	Sum      row            `json:"month_sum,omitempty"` // … as Months has it
	Mute     row            `json:"mute,omitempty"`
	Mail     row            `json:"mail,omitempty"`
	Notice   row            `json:"notice,omitempty"`
	Overhead row            `json:"overhead_curve,omitempty"`
}

// pageLength is how many attempts are read at once.
const pageLength = 200

// Progress is called with how much of the known total is done; 0 of 0 means unknown.
type Progress func(done, of int64)

// snapshot gives do a reader that sees one moment of the database.
func (s *Store) snapshot(ctx context.Context, do func(q func(query string, args ...any) ([]row, error)) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return do(func(query string, args ...any) ([]row, error) {
		return readRows(tx.QueryContext(ctx, s.read.rebind(query), plainArgs(args)...))
	})
}

// eachAttempt reads the attempts in the order of their keys, as they are at one moment.
func (s *Store) eachAttempt(ctx context.Context, progress Progress, do func(q func(string, ...any) ([]row, error), attempt row) error) error {
	return s.snapshot(ctx, func(q func(string, ...any) ([]row, error)) error {
		n, err := q("SELECT count(*) AS n FROM attempts")
		if err != nil {
			return err
		}
		total, done := n[0]["n"].(int64), int64(0)
		after := []any{"", int64(0), int64(0)}
		for {
			attempts, err := q("SELECT * FROM attempts WHERE (cluster, job_id, attempt) > (?, ?, ?) ORDER BY cluster, job_id, attempt LIMIT ?", append(after, pageLength)...)
			if err != nil || len(attempts) == 0 {
				return err
			}
			for _, r := range attempts {
				if err := do(q, r); err != nil {
					return err
				}
			}
			last := attempts[len(attempts)-1]
			after = []any{last["cluster"], last["job_id"], last["attempt"]}
			done += int64(len(attempts))
			if progress != nil {
				progress(done, total)
			}
		}
	})
}

// Export writes all jobs and months as lines of JSON for Import. It holds one job at a time
// in memory.
func (s *Store) Export(ctx context.Context, w io.Writer, progress Progress) error {
	out := json.NewEncoder(w)
	err := out.Encode(line{Format: exportFormat, Schema: schemaVersion})
	if err != nil {
		return err
	}
	err = s.eachAttempt(ctx, progress, func(q func(string, ...any) ([]row, error), attempt row) error {
		l := line{Attempt: attempt, Rows: map[string]any{}}
		for _, table := range append(slices.Clone(tablesOfAttempt), "windows") {
			rows, err := q(ofAttempt(table), attempt["cluster"], attempt["job_id"], attempt["attempt"])
			if err != nil {
				return err
			}
			l.Rows[table] = rows
		}
		return out.Encode(l)
	})
	for _, t := range []struct {
		table string
		line  func(row) line
	}{{"rollup_months", func(r row) line { return line{Month: r} }},
		{"month_sums WHERE part < 0", func(r row) line { return line{Sum: r} }}, {"mutes", func(r row) line { return line{Mute: r} }},
		{"mails", func(r row) line { return line{Mail: r} }}, {"notices", func(r row) line { return line{Notice: r} }},
		{"overhead_curves", func(r row) line { return line{Overhead: r} }}} {
		if err == nil {
			err = s.snapshot(ctx, func(q func(string, ...any) ([]row, error)) error {
				rows, err := q("SELECT * FROM " + t.table)
				for _, r := range rows {
					err = errors.Join(err, out.Encode(t.line(r)))
				}
				return err
			})
		}
	}
	if err != nil {
		return fmt.Errorf("store: export: %w", unavailable(err))
	}
	return nil
}

// csvColumns are the columns of a CSV table of jobs, named as in attempts.
var csvColumns = []string{"cluster", "job_id", "attempt", "array_job_id", "array_task_id", "het_job_id", "het_offset", "uid", "user_name", "account",
	"partition_name", "qos", "name", "state", "exit_code", "nodes", "alloc_cpus", "gpus", "slurm_submit_us", "start_us", "end_us", "reports", "coverage",
	"ranks", "metric_nodes", "parallel_efficiency", "load_balance", "communication_efficiency",
	"mpi_parallel_efficiency", "mpi_communication_efficiency", "load_balance_in", "load_balance_out",
	"elapsed_s", "useful_s", "mpi_time_s", "io_time_s", "wait_time_s", "rank_seconds", "total_cpu_us", "memory_b", "no_data"}

// monthCSV are the columns of a CSV table of months.
var monthCSV = strings.Split(names(monthTable.columns), ", ")

// ExportCSV writes a table of all jobs, or of the months of pruned jobs. Times are UTC. No
// field can become a formula in a spreadsheet.
func (s *Store) ExportCSV(ctx context.Context, w io.Writer, months bool, progress Progress) error {
	out := csv.NewWriter(w)
	columns := csvColumns
	if months {
		columns = monthCSV
	}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = strings.TrimSuffix(c, "_us")
	}
	if err := out.Write(header); err != nil {
		return err
	}
	write := func(r row) error { return out.Write(csvFields(columns, r)) }
	var err error
	if months {
		err = s.snapshot(ctx, func(q func(string, ...any) ([]row, error)) error {
			rows, err := q("SELECT * FROM rollup_months ORDER BY cluster, month, uid, account, workload_key")
			for _, r := range rows {
				err = errors.Join(err, write(r))
			}
			return err
		})
	} else {
		err = s.eachAttempt(ctx, progress, func(_ func(string, ...any) ([]row, error), r row) error { return write(r) })
	}
	out.Flush()
	if err = errors.Join(err, out.Error()); err != nil {
		return fmt.Errorf("store: export: %w", unavailable(err))
	}
	return nil
}

func csvFields(columns []string, r row) []string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		switch v := r[c].(type) {
		case nil:
		case string:
			if c == "no_data" { // its code is enough
				var why doubt.Warning
				if json.Unmarshal([]byte(v), &why) == nil {
					v = why.Code
				}
			}
			fields[i] = noFormula(v)
		case float64:
			fields[i] = strconv.FormatFloat(v, 'g', -1, 64)
		case int64:
			fields[i] = strconv.FormatInt(v, 10)
			if strings.HasSuffix(c, "_us") && c != "total_cpu_us" {
				fields[i] = time.UnixMicro(v).UTC().Format("2006-01-02T15:04:05.999999Z")
			}
		}
	}
	return fields
}

// noFormula makes text that no spreadsheet reads as a formula.
func noFormula(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(s[0])) {
		return "'" + s
	}
	return s
}
