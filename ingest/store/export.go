package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
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
	Mute     row            `json:"mute,omitempty"`
	Mail     row            `json:"mail,omitempty"`
	Notice   row            `json:"notice,omitempty"`
	Overhead row            `json:"overhead_curve,omitempty"`

	Trial row `json:"run,omitempty"` // an attempt of the last version before the schema was made anew, see fromTrial
}

// pageLength is how many attempts are read at once.
const pageLength = 200

// Progress is told how much of the known total is done; 0 of 0 means unknown.
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
	err := out.Encode(line{Format: exportFormat, Schema: schemaMark})
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
	}{{"rollup_months", func(r row) line { return line{Month: r} }}, {"mutes", func(r row) line { return line{Mute: r} }},
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
var monthCSV = strings.Split(names(monthTable.columns, ""), ", ")

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
				var why job.Warning
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

// Imported counts what Import did.
type Imported struct {
	Attempts, Months, Mutes int // added
	Mails, Notices          int // added
	Overheads               int // added
	Known                   int // there already
	Renumbered              int // attempts whose number was already another attempt's
}

// Import adds what Export wrote. Each attempt is added completely or not at all, and only
// once. What the database holds already stays unchanged.
func (s *Store) Import(ctx context.Context, r io.Reader, progress func(Imported)) (done Imported, err error) {
	in := json.NewDecoder(r)
	in.UseNumber()
	for n, schema := 1, int64(0); ; n++ {
		var l line
		if err := in.Decode(&l); err == io.EOF && n > 1 {
			return done, nil
		} else if err != nil {
			return done, fmt.Errorf("store: import: line %d: %w: it was not made by `jobeff admin export --json`, or is cut short", n, err)
		}
		if n == 1 {
			schema, err = l.Schema, l.check()
		} else if schema == trialSchema {
			err = l.fromTrial()
		}
		if n > 1 && err == nil {
			err = s.importLine(ctx, &l, &done)
		}
		if err != nil {
			return done, fmt.Errorf("store: import: line %d: %w", n, err)
		}
		if progress != nil {
			progress(done)
		}
	}
}

// check examines the first line.
func (l *line) check() error {
	switch {
	case l.Format == 0:
		return errors.New("this is no export of jobeff's")
	case l.Format > exportFormat || l.Schema != schemaMark && l.Schema != trialSchema:
		return errors.New("it comes from another version of jobeff: let that version import it, or export it with this one")
	}
	return nil
}

// trialSchema is the schema of commit 7955bd9, whose exports are taken, too: it is what was tried
// before the schema was made anew.
const trialSchema = 16

// fromTrial makes a line of such an export one of this version.
func (l *line) fromTrial() (err error) {
	if l.Trial == nil {
		return nil
	}
	l.Attempt, l.Trial = l.Trial, nil
	number := func(v any) int64 { // as unsigned ones are not in the columns
		n, _ := v.(json.Number)
		i, _ := n.Int64()
		return i
	}
	rename := func(r map[string]any) {
		for old, name := range map[string]string{"run": "attempt", "run_id": "nonce"} {
			if v, is := r[old]; is {
				delete(r, old)
				r[name] = v
			}
		}
	}
	rename(l.Attempt)
	efficienciesFromTrial(l.Attempt)
	text, _ := l.Attempt["warnings_json"].(string)
	l.Attempt["warnings_json"] = string(warningsFromTrial([]byte(text)))
	if why, _ := l.Attempt["no_data"].(string); why != "" {
		text, _ := json.Marshal(job.Warning{Code: job.KindText, Args: job.Args{Kind: job.KindText, Other: why}}) // strings alone
		l.Attempt["no_data"] = string(text)
	}
	l.Attempt["unmerged"] = json.Number("0")
	if number(l.Attempt["merged"]) < number(l.Attempt["reports"]) {
		l.Attempt["unmerged"] = json.Number("1")
	}
	delete(l.Attempt, "merged")
	delete(l.Rows, "calls")
	for table, rows := range l.Rows {
		list, _ := rows.([]any)
		for _, one := range list {
			r, _ := one.(map[string]any)
			rename(r)
			switch table {
			case "reports":
				r["sequence"] = json.Number("1")
				r["body"], err = fromPacked(r["body"], func(r map[string]json.RawMessage) {
					r["version"], r["sequence"], r["nonce"] = json.RawMessage("1"), json.RawMessage("1"), r["run"]
					delete(r, "run")
				})
			case "workload_runs":
				err = hoursFromTrial(r)
			case "executions":
				if r["threads"] == nil {
					r["threads"] = json.Number("1")
				}
				efficienciesFromTrial(r)
				r["detail"], err = fromPacked(r["detail"], func(x map[string]json.RawMessage) {
					x["warnings"] = warningsFromTrial(x["warnings"])
					delete(x, "metrics") // as its nodes give them
				})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// hoursFromTrial adds to a run the core-hours that are summed up.
func hoursFromTrial(r map[string]any) error {
	number := func(name string) float64 {
		n, _ := r[name].(json.Number)
		f, _ := n.Float64()
		return f
	}
	run := job.Run{Ranks: int(number("ranks")), Threads: int(number("threads")), Elapsed: number("elapsed_s"), Useful: number("useful_s"),
		MPITime: number("mpi_time_s"), Collectives: number("collectives"), Coverage: number("coverage")}
	text, _ := r["conditions_json"].(string)
	if err := json.Unmarshal([]byte(text), &run.Conditions); err != nil {
		return err
	}
	used, lost := run.CoreHours()
	r["used_core_hours"], r["lost_core_hours"] = json.Number(fmt.Sprint(used)), json.Number(fmt.Sprint(lost))
	return nil
}

// efficienciesFromTrial gives the efficiencies of a row their names.
func efficienciesFromTrial(r map[string]any) {
	const parallel, communication = "parallel_efficiency", "communication_efficiency"
	r["mpi_"+parallel], r["mpi_"+communication] = r[parallel], r[communication]
	p, threads := r["hybrid_"+parallel].(json.Number)
	if c, _ := r["hybrid_"+communication].(json.Number); threads {
		e := job.Efficiencies{}
		e.Parallel, _ = p.Float64()
		e.Communication, _ = c.Float64()
		e.Balanced()
		r[parallel], r["load_balance"], r[communication] = p, json.Number(fmt.Sprint(e.LoadBalance)), c
	}
	for _, name := range []string{parallel, "load_balance", communication} {
		delete(r, "hybrid_"+name)
	}
}

// warningsFromTrial keeps the texts of warnings, whose arguments are not known.
func warningsFromTrial(text json.RawMessage) json.RawMessage {
	var old []struct {
		Code, Text string
		Count      int
	}
	if json.Unmarshal(text, &old) != nil {
		return json.RawMessage("[]")
	}
	list := []job.Warning{}
	for _, w := range old {
		list = append(list, job.Warning{Code: w.Code, Args: job.Args{Kind: job.KindText, Other: w.Text}, Count: w.Count})
	}
	text, _ = json.Marshal(list) // strings and numbers
	return text
}

// fromPacked changes packed JSON. What was trimmed is empty.
func fromPacked(value any, change func(map[string]json.RawMessage)) (any, error) {
	text, _ := value.(string)
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed) == 0 {
		return value, err
	}
	if packed, err = job.DecompressReport(nil, packed); err != nil {
		return nil, err
	}
	r := map[string]json.RawMessage{}
	if err := json.Unmarshal(packed, &r); err != nil {
		return nil, err
	}
	change(r)
	if packed, err = pack(r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(packed), nil
}

func (s *Store) importLine(ctx context.Context, l *line, done *Imported) error {
	switch {
	case l.Attempt != nil:
		return s.importAttempt(ctx, l, done)
	case l.Month != nil:
		return s.importRow(ctx, "rollup_months", l.Month, &done.Months, &done.Known)
	case l.Mute != nil:
		return s.importRow(ctx, "mutes", l.Mute, &done.Mutes, &done.Known)
	case l.Mail != nil:
		return s.importRow(ctx, "mails", l.Mail, &done.Mails, &done.Known)
	case l.Notice != nil:
		return s.importRow(ctx, "notices", l.Notice, &done.Notices, &done.Known)
	case l.Overhead != nil:
		return s.importRow(ctx, "overhead_curves", l.Overhead, &done.Overheads, &done.Known)
	}
	return errors.New("it holds nothing that is known")
}

// columnsOf are a table's columns; a statement names no others.
func (s *Store) columnsOf(ctx context.Context, table string) (map[string]bool, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	return known, err
}

// typed converts a row from JSON to the database's types.
func (s *Store) typed(ctx context.Context, table string, in map[string]any) (row, error) {
	known, err := s.columnsOf(ctx, table)
	if err != nil {
		return nil, err
	}
	out := row{}
	for c, v := range in {
		if !known[c] {
			return nil, fmt.Errorf("table %s has no column %.40q", table, c)
		}
		switch v := v.(type) {
		case nil, string:
			out[c] = v
			if text, is := v.(string); is && (c == "body" || c == "detail" || c == "letter") {
				if out[c], err = base64.StdEncoding.DecodeString(text); err != nil {
					return nil, fmt.Errorf("column %s: %w", c, err)
				}
			}
		case json.Number:
			if n, err := v.Int64(); err == nil {
				out[c] = n
			} else if out[c], err = v.Float64(); err != nil {
				return nil, fmt.Errorf("column %s: %w", c, err)
			}
		default:
			return nil, fmt.Errorf("column %s holds neither text nor a number", c)
		}
	}
	return out, nil
}

// importRow adds a row that belongs to no attempt, unless its key exists.
func (s *Store) importRow(ctx context.Context, table string, in row, taken, known *int) error {
	r, err := s.typed(ctx, table, in)
	if err != nil {
		return err
	}
	var before, after int64
	count := "SELECT count(*) FROM " + table
	err = s.do(ctx, func(w *writer) error {
		if err := w.one(count, nil, []any{&before}); err != nil {
			return err
		}
		if err := w.insert(table, r); err != nil {
			return err
		}
		return w.one(count, nil, []any{&after})
	})
	if after > before {
		*taken++
	} else {
		*known++
	}
	return err
}
