package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"
)

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
	if err := s.knowCluster(ctx, r.key.cluster); err != nil {
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
	job, ok2 := r.attempt["job_id"].(int64)
	number, ok3 := r.attempt["attempt"].(int64)
	uid, ok4 := r.attempt["uid"].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || cluster == "" || job <= 0 || job > math.MaxUint32 || number <= 0 {
		return nil, errors.New("it names no job")
	}
	r.key, r.uid = attemptKey{cluster, uint32(job), number}, uid
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
