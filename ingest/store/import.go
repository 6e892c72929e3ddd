package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
)

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

// number is a number of a line; 0 of anything else.
func number(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
}

// hoursFromTrial adds to a run the core-hours that are summed up.
func hoursFromTrial(r map[string]any) error {
	run := job.Run{Ranks: int(number(r["ranks"])), Threads: int(number(r["threads"])), Elapsed: number(r["elapsed_s"]), Useful: number(r["useful_s"]),
		MPITime: number(r["mpi_time_s"]), Collectives: number(r["collectives"]), Coverage: number(r["coverage"])}
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
	case l.Sum != nil:
		return s.importRow(ctx, "month_sums", l.Sum, &done.Months, &done.Known)
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

// gone are columns that older exports have, and nothing reads any more.
var gone = map[string]bool{"notices.useful_s": true, "notices.hours": true}

// typed converts a row from JSON to the database's types.
func (s *Store) typed(ctx context.Context, table string, in map[string]any) (row, error) {
	known, err := s.columnsOf(ctx, table)
	if err != nil {
		return nil, err
	}
	out := row{}
	for c, v := range in {
		if gone[table+"."+c] {
			continue
		}
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

// importedAttempt is an attempt with its rows, about to enter this database.
type importedAttempt struct {
	key     attemptKey
	uid     int64
	start   sql.NullInt64
	attempt row
	rows    map[string][]row
}

func (s *Store) importAttempt(ctx context.Context, l *line, done *Imported) error {
	r, err := s.readImported(ctx, l)
	if err != nil {
		return err
	}
	if err := s.knowCluster(ctx, r.key.cluster, true); err != nil {
		return err
	}
	var known, renumbered bool
	err = s.doJob(ctx, jobKey{r.key.cluster, r.key.jobID}, func(w *writer) (err error) {
		known, renumbered, err = w.importAttempt(r)
		return err
	})
	switch {
	case err != nil:
		return err
	case known:
		done.Known++
		return nil
	case renumbered:
		done.Renumbered++
	}
	done.Attempts++
	return nil
}

func (s *Store) readImported(ctx context.Context, l *line) (r *importedAttempt, err error) {
	r = &importedAttempt{rows: map[string][]row{}}
	if r.attempt, err = s.typed(ctx, "attempts", l.Attempt); err != nil {
		return nil, err
	}
	cluster, ok1 := r.attempt["cluster"].(string)
	id, ok2 := r.attempt["job_id"].(int64)
	number, ok3 := r.attempt["attempt"].(int64)
	uid, ok4 := r.attempt["uid"].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || cluster == "" || id <= 0 || id > math.MaxUint32 || number <= 0 {
		return nil, errors.New("it names no job")
	}
	r.key, r.uid = attemptKey{cluster, uint32(id), number}, uid
	if start, is := r.attempt["start_us"].(int64); is {
		r.start = sql.NullInt64{Int64: start, Valid: true}
	}
	for _, table := range append(slices.Clone(tablesOfAttempt), "windows") {
		list, _ := l.Rows[table].([]any)
		for _, one := range list {
			columns, _ := one.(map[string]any)
			typed, err := s.typed(ctx, table, columns)
			if err != nil {
				return nil, err
			}
			r.rows[table] = append(r.rows[table], typed)
		}
	}
	return r, nil
}

// importAttempt adds an attempt, unless it is known: the user and start are the same,
// whatever its number, or its month holds it already. If its number is taken, it gets the
// next one.
func (w *writer) importAttempt(r *importedAttempt) (known, renumbered bool, err error) {
	there, err := w.candidates(jobKey{r.key.cluster, r.key.jobID})
	if err != nil {
		return false, false, err
	}
	number := r.key.attempt
	for _, c := range there {
		if int64(c.uid) == r.uid && c.span().start == r.start {
			return true, false, nil
		}
		if c.attempt == r.key.attempt {
			number = nextAttempt(there)
		}
	}
	if end, is := r.attempt["end_us"].(int64); is {
		if gone, err := w.pruned(r.key.cluster, time.UnixMicro(end), time.Now().UnixMicro()); gone || err != nil {
			return gone, false, err
		}
	}
	r.attempt["attempt"] = number
	if err := w.insert("attempts", r.attempt); err != nil {
		return false, false, err
	}
	for table, rows := range r.rows {
		for _, one := range rows {
			one["cluster"], one["job_id"] = r.key.cluster, int64(r.key.jobID)
			if table != "windows" {
				one["attempt"] = number
			}
			if err := w.insert(table, one); err != nil {
				return false, false, err
			}
		}
	}
	return false, number != r.key.attempt, nil
}

// AddJobs keeps jobs that are already merged, as an import has them; the nodes' reports
// are not kept. One commit holds all of them, so pass some thousand at a time. Slurm is not
// asked about them again. If an attempt exists already, AddJobs fails and keeps nothing.
func (s *Store) AddJobs(ctx context.Context, jobs []*job.Job) error {
	now := time.Now()
	rows := make([]*attemptRow, len(jobs)) // built here, since the writer has enough to do
	by := make([]sourceSet, len(jobs))
	var executions executionRows
	for i, j := range jobs {
		var err error
		if rows[i], by[i], err = rowOf(j, now); err == nil && j.Reports > 0 {
			err = executions.add(keyOf(j), j, !j.Submit.IsZero())
		}
		err = errors.Join(err, s.knowCluster(ctx, j.Cluster, true))
		if err != nil {
			return fmt.Errorf("store: job %d: %w", j.JobID, err)
		}
	}
	err := s.do(ctx, func(w *writer) error {
		for i, j := range jobs {
			if err := w.writeAttempt(rows[i], by[i]); err != nil {
				return fmt.Errorf("job %d: %w", j.JobID, err)
			}
		}
		return errors.Join(w.insertRows(executionTable.into, executions.executions), w.insertRows(workloadTable.into, executions.workloads))
	})
	if err != nil {
		return fmt.Errorf("store: jobs: %w", err)
	}
	return nil
}

// keyOf names a job's attempt.
func keyOf(j *job.Job) attemptKey { return attemptKey{j.Cluster, j.JobID, int64(j.Attempt)} }

// rowOf builds the whole row of an attempt, and names the sources that write it.
func rowOf(j *job.Job, now time.Time) (r *attemptRow, by sourceSet, err error) {
	r, by = &attemptRow{attemptKey: keyOf(j), job: *j, changed: now}, from(opening)
	if !j.Submit.IsZero() {
		by = by.with(accounting, usage)
		r.job.State = j.StateWord()
		r.slurmStart, r.slurmEnd = j.Start, j.End
		r.setElapsed(j.Elapsed)
		r.limit = int64(j.TimeLimit / time.Second)
		r.setUsage(j.Usage)
	}
	if j.Reports > 0 {
		by = by.with(arrival, merging)
		r.nodesStart, r.nodesEnd = j.Start, j.End
		err = r.merge(&r.job)
	}
	return r, by, err
}
