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
	"sync"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/slow"
)

// Imported counts what Import did.
type Imported struct {
	Attempts, Months, Mutes int // added
	Mails, Notices          int // added
	Overheads               int // added
	Known                   int // there already
	Renumbered              int // attempts whose number was already another attempt's
}

// importer is an import under way.
type importer struct {
	*Store
	done    Imported
	columns map[string]map[string]bool // by table
	waiting []*importedAttempt         // of several jobs, which are added at once
	bytes   int64                      // of their lines
}

// Attempts are added so many at once, or as many bytes of them: SQLite's log grows by what is committed at once.
const (
	importAtOnce    = 200
	importBytesOnce = 8 << 20
)

// Import adds what Export wrote. Each attempt is added completely or not at all, and only
// once. What the database holds already stays unchanged.
func (s *Store) Import(ctx context.Context, r io.Reader, progress func(Imported)) (done Imported, err error) {
	if checkpoints := s.engine.checkpoints(); checkpoints != "" { // an import is long, and jobeffd may be away
		if err := s.do(ctx, func(w *writer) error { return w.exec(checkpoints) }); err != nil {
			return done, err
		}
	}
	in := json.NewDecoder(r)
	in.UseNumber()
	i := &importer{Store: s, columns: map[string]map[string]bool{}}
	for n, schema := 1, int64(0); ; n++ {
		var l line
		before := in.InputOffset()
		if err := in.Decode(&l); err == io.EOF && n > 1 {
			err = i.flush(ctx)
			return i.done, err
		} else if err != nil {
			err = errors.Join(&lineError{n, fmt.Errorf("%w: it was not made by `jobeff admin export --json`, or is cut short", err)}, i.flush(ctx))
			return i.done, err
		}
		if n == 1 {
			schema, err = l.Schema, l.check()
		} else {
			if schema == schema967a4cf4 {
				l.bridge()
			}
			l.addGPUTime()
			err = i.line(ctx, n, &l, in.InputOffset()-before)
		}
		if err != nil {
			err = errors.Join(atLine(n, err), i.flush(ctx))
			return i.done, err
		}
		if progress != nil {
			progress(i.done)
		}
	}
}

// lineError is a fault of a line of an export.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("store: import: line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// atLine says where in an export a fault is, unless the fault says so itself.
func atLine(n int, err error) error {
	if known := (*lineError)(nil); errors.As(err, &known) {
		return err
	}
	return &lineError{n, err}
}

// check examines the first line.
func (l *line) check() error {
	switch {
	case l.Format == 0:
		return errors.New("this is no export of jobeff's")
	case l.Format > exportFormat || (l.Schema < 1 || l.Schema > schemaVersion) && l.Schema != schema967a4cf4: // the steps so far only added tables, and columns with a default
		return errors.New("it comes from another version of jobeff: let that version import it, or export it with this one")
	}
	return nil
}

// line adds line n of so many bytes, or keeps its attempt until there are several.
func (i *importer) line(ctx context.Context, n int, l *line, bytes int64) error {
	if l.Attempt == nil {
		if err := i.flush(ctx); err != nil {
			return err
		}
		return i.other(ctx, l)
	}
	r, err := i.read(ctx, l)
	if err != nil {
		return err
	}
	r.line = n
	sameJob := func(w *importedAttempt) bool { return w.key.cluster == r.key.cluster && w.key.jobID == r.key.jobID }
	if len(i.waiting) == importAtOnce || i.bytes > importBytesOnce || slices.ContainsFunc(i.waiting, sameJob) { // those of one job are added in their order
		err = i.flush(ctx)
	}
	i.waiting, i.bytes = append(i.waiting, r), i.bytes+bytes
	return err
}

// other adds a line that is of no attempt.
func (i *importer) other(ctx context.Context, l *line) error {
	done := &i.done
	switch {
	case l.Month != nil:
		return i.row(ctx, "rollup_months", l.Month, &done.Months, &done.Known)
	case l.Sum != nil:
		return i.row(ctx, "month_sums", l.Sum, &done.Months, &done.Known)
	case l.Mute != nil:
		return i.row(ctx, "mutes", l.Mute, &done.Mutes, &done.Known)
	case l.Mail != nil:
		return i.row(ctx, "mails", l.Mail, &done.Mails, &done.Known)
	case l.Notice != nil:
		return i.row(ctx, "notices", l.Notice, &done.Notices, &done.Known)
	case l.Overhead != nil:
		return i.row(ctx, "overhead_curves", l.Overhead, &done.Overheads, &done.Known)
	}
	return errors.New("it holds nothing that is known")
}

// columnsOf are a table's columns; a statement names no others.
func (i *importer) columnsOf(ctx context.Context, table string) (map[string]bool, error) {
	if known := i.columns[table]; known != nil {
		return known, nil
	}
	rows, err := i.Store.read.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	if err == nil {
		i.columns[table] = known
	}
	return known, err
}

// typed converts a row from JSON to the database's types.
func (i *importer) typed(ctx context.Context, table string, in map[string]any) (row, error) {
	known, err := i.columnsOf(ctx, table)
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
			if text, is := v.(string); is && (c == "body" || c == "detail" || c == "letter" || c == "times") {
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

// row adds a row that belongs to no attempt, unless its key exists.
func (i *importer) row(ctx context.Context, table string, in row, taken, known *int) error {
	r, err := i.typed(ctx, table, in)
	if err != nil {
		return err
	}
	var before, after int64
	count := "SELECT count(*) FROM " + table
	err = i.do(ctx, func(w *writer) error {
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
	line    int
	key     attemptKey
	uid     int64
	start   sql.NullInt64
	attempt row
	rows    map[string][]row
}

// flush adds the attempts that wait, side by side: the writers commit several at once. If one of them
// cannot be added, the others still are.
func (i *importer) flush(ctx context.Context) error {
	waiting := i.waiting
	i.waiting, i.bytes = nil, 0
	for _, r := range waiting {
		if err := i.knowCluster(ctx, r.key.cluster, true); err != nil {
			return atLine(r.line, err)
		}
	}
	var mu sync.Mutex
	return each(importAtOnce, len(waiting), func(n int) error {
		r := waiting[n]
		var known, renumbered bool
		err := i.doJob(ctx, jobKey{r.key.cluster, r.key.jobID}, func(w *writer) (err error) {
			known, renumbered, err = w.importAttempt(r)
			return err
		})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			return atLine(r.line, err)
		case known:
			i.done.Known++
			return nil
		case renumbered:
			i.done.Renumbered++
		}
		i.done.Attempts++
		return nil
	})
}

// read checks the line of an attempt.
func (i *importer) read(ctx context.Context, l *line) (r *importedAttempt, err error) {
	r = &importedAttempt{rows: map[string][]row{}}
	if r.attempt, err = i.typed(ctx, "attempts", l.Attempt); err != nil {
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
			typed, err := i.typed(ctx, table, columns)
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

// AddJobs keeps jobs that are already merged, such as made-up ones, what each used and lost, and what it says of its nodes; the
// nodes' reports are not kept. One commit holds all of them, so pass some thousand at a time. Slurm is not asked about them again.
// If an attempt exists already, AddJobs fails and keeps nothing.
func (s *Store) AddJobs(ctx context.Context, jobs []*job.Job) error {
	now := time.Now()
	rows := make([]*attemptRow, len(jobs)) // built here, since the writer has enough to do
	by := make([]sourceSet, len(jobs))
	var executions executionRows
	var nodes []any // rows of node_times
	for i, j := range jobs {
		var err error
		if rows[i], by[i], err = rowOf(j, now); err == nil && j.Reports > 0 {
			err = executions.add(keyOf(j), j, !j.Submit.IsZero())
		}
		times, packErr := packTimes(slow.Of(j))
		if times != nil {
			nodes = append(nodes, j.Cluster, j.JobID, j.Attempt, j.End.UnixMicro(), j.UID, times)
		}
		err = errors.Join(err, packErr, s.knowCluster(ctx, j.Cluster, true))
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
		return errors.Join(w.insertRows(executionTable.into, executions.executions), w.insertRows(workloadTable.into, executions.workloads),
			w.insertRows("node_times (cluster, job_id, attempt, end_us, uid, times)", nodes))
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
		r.usedTime, r.gpuTime.Used = j.UsedTime(), j.GPUTime().Used
		r.limit = int64(j.TimeLimit / time.Second)
		r.setUsage(j.Usage)
	}
	if j.Reports > 0 {
		by = by.with(arrival, merging)
		r.nodesStart, r.nodesEnd = j.Start, j.End
		if err = r.merge(&r.job); len(j.Executions) > 0 {
			h := policy.CoreHoursOf(j)
			r.job.Judged, r.job.Lost = h.Judged(), h.Lost
		}
		r.gpuTime = j.GPUTime()
	}
	return r, by, err
}
