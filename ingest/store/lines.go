package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/listing"
)

// This file reads lists in which an array is one line. The database brings the tasks together, so neither a page's
// end nor the limit parts an array, and a list is sorted by what its lines have: sums, or means over the tasks.

// mostOfLines is how many jobs the lines of one answer are made of; the line that reaches it is the last. Of one
// array so many tasks are read, the newest. The sums are of all.
const mostOfLines = maxLimit

// lineHead is a line before its jobs are read.
type lineHead struct {
	cursor
	uid, array uint32 // array 0: a job
	sum        listing.Hours
}

// A list's lines are its jobs of no array (value, selection) and its arrays (value, value of a task, selection). Each is read
// in a pass of its own: to bring single jobs together costs more than to pass over them again.
const (
	singleLines = `SELECT r.cluster, r.job_id, r.attempt, r.start_us, r.uid, 0 AS of_array, ROUND(1e6 * CAST(%s AS DOUBLE PRECISION)) AS value,
	1 AS jobs, 0 AS measured, 0.0 AS used, 0.0 AS judged, 0.0 AS lost FROM %s`
	arrayLines = ` UNION ALL SELECT r.cluster, max(r.job_id), max(r.attempt), max(r.start_us), r.uid, r.of_array, ROUND(1e6 * (%s)), ` + sumOfLines + ` FROM (
	SELECT r.cluster, r.job_id, r.attempt, r.start_us, r.end_us, r.state, r.uid, r.array_job_id AS of_array, CAST(%s AS DOUBLE PRECISION) AS value, ` + inSum + ` FROM %s AND r.array_job_id + 0 > 0) r
	GROUP BY r.of_array, r.uid, r.cluster`
	ofNoArray = " AND r.array_job_id = 0"

	inSum      = `r.parallel_efficiency AS pe, r.used_us, r.judged_us, r.lost_us`
	sumOfLines = `count(*), count(pe), ` + hoursSum
)

// selectedBy counts the lines of a selection, and sums up its jobs: array, selection.
const selectedBy = `SELECT count(CASE WHEN r.of_array = 0 THEN 1 END) + count(DISTINCT CASE WHEN r.of_array > 0 THEN r.cluster || '/' || r.uid || '/' || r.of_array END), ` + sumOfLines + `, count(unjudged)
	FROM (SELECT r.cluster, r.uid, %s AS of_array, ` + inSum + `, CASE WHEN ` + isUnjudged + ` THEN 1 END AS unjudged FROM %s) r`

// meanOfTasks is a value of an array: the mean of its completed tasks or, where none is, of all that ended.
const meanOfTasks = `CASE WHEN count(*) = 1 THEN max(value) WHEN count(*) FILTER (WHERE state = 'COMPLETED') > 0 THEN avg(value) FILTER (WHERE state = 'COMPLETED')
	ELSE avg(value) FILTER (WHERE end_us IS NOT NULL) END`

// lineOrder is the order of lines: the value of a job, that of a line, and the ORDER BY. Values are whole numbers: sums in
// another order of the tasks would differ in their last bits, and a cursor would miss a line.
func lineOrder(by string) (ofJob, ofLine, order string, err error) {
	if order, err = orderOf(by); err != nil || order == newestFirst {
		return "NULL", "max(value)", order, err
	}
	ofJob, later := sortedBy(order)
	order = "r.value" + map[string]string{"<": " DESC", ">": ""}[later] + " NULLS LAST, " + newestFirst
	switch ofLine = meanOfTasks; strings.TrimPrefix(by, "-") {
	case "lost", "corehours":
		ofLine = "sum(value)"
	case "start":
		ofLine = "min(value)"
	}
	return ofJob, ofLine, order, nil
}

// EachLine calls do with each line of a query, as EachJob does with each job. A line's jobs have the programs of
// an array's tasks. all is of a list that begins at its beginning.
func (s *Store) EachLine(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32, do func(*listing.Line) error) (next string, all listing.Selected, err error) {
	here, at, err := readCursor(q.After, q.Values())
	if err != nil {
		return "", all, err
	}
	c, from, err := chosen(q, uids)
	if err != nil {
		return "", all, err
	}
	ended := whichRan(q, "", nil)[0]
	c.add(ended.where, ended.args...)
	limit := defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, defaultLimit)
	}
	heads, all, err := s.lineHeads(ctx, v, q, c, from, at, limit)
	if err == nil && at == nil && q.Rule != "" {
		all.Unjudged, err = s.UnjudgedOf(ctx, v, q, uids)
	}
	var singles map[attemptKey]*attemptRow
	if err == nil {
		singles, err = s.singles(ctx, v, heads[:min(limit, len(heads))])
	}
	if err != nil {
		return "", all, listError(err)
	}
	most := mostOfLines
	if q.Detail {
		most = MaxDetail
	}
	for i := range heads[:min(limit, len(heads))] {
		h := &heads[i]
		line, err := s.line(ctx, v, q, c, h, singles)
		if err != nil {
			return "", all, listError(err)
		}
		var enough error
		if len(line.Jobs) > 0 { // else it was matched again meanwhile
			enough = do(line)
		}
		if enough != nil && !errors.Is(enough, ErrEnough) {
			return "", all, enough
		}
		if most -= len(line.Jobs); i+1 < len(heads) && (enough != nil || most <= 0 || i+1 == limit) {
			h.List = here.List
			return h.word(), all, nil
		}
	}
	return "", all, nil
}

func listError(err error) error { return fmt.Errorf("store: list: %w", unavailable(err)) }

// lineHeads reads the lines of a selection behind at, if it is not nil, one more than the limit.
func (s *Store) lineHeads(ctx context.Context, v Viewer, q listing.JobQuery, c conditions, from string, at *cursor, limit int) (heads []lineHead, all listing.Selected, err error) {
	ofJob, ofLine, order, err := lineOrder(q.Sort)
	if err != nil {
		return nil, all, err
	}
	where, args := s.shownTo(v, from, strings.Join(c.where, " AND "), c.args)
	selection, array := from+" WHERE "+where, "0"
	query := fmt.Sprintf(singleLines, ofJob, selection)
	if !q.Tasks {
		array = "r.array_job_id"
		query += ofNoArray + fmt.Sprintf(arrayLines, ofLine, ofJob, selection)
	}
	if at == nil {
		if err := s.read.QueryRowContext(ctx, fmt.Sprintf(selectedBy, array, selection), args...).Scan(&all.Lines, &all.Sum.Jobs, &all.Sum.Measured, &all.Sum.Used, &all.Sum.Judged, &all.Sum.Lost, &all.Unjudged); err != nil {
			return nil, all, err
		}
	}
	if query = "SELECT * FROM (" + query + ") r"; !q.Tasks {
		args = append(args, args...)
	}
	if at != nil {
		var behind conditions
		at.behind(&behind, order)
		query, args = query+" WHERE "+behind.where[0], append(args, behind.args...)
	}
	err = s.eachRow(ctx, query+" ORDER BY "+order+" LIMIT ? OFFSET ?", append(args, limit+1, q.Offset), func(rows *sql.Rows) error {
		var h lineHead
		err := rows.Scan(&h.Cluster, &h.JobID, &h.Attempt, &h.Start, &h.uid, &h.array, &h.Value, &h.sum.Jobs, &h.sum.Measured, &h.sum.Used, &h.sum.Judged, &h.sum.Lost)
		heads = append(heads, h)
		return err
	})
	return heads, all, err
}

// singles reads the jobs of the lines that are of no array.
func (s *Store) singles(ctx context.Context, v Viewer, heads []lineHead) (map[attemptKey]*attemptRow, error) {
	all := map[attemptKey]*attemptRow{}
	var ids []uint32
	for _, h := range heads {
		if h.array == 0 {
			ids = append(ids, h.JobID)
		}
	}
	if len(ids) == 0 {
		return all, nil
	}
	var c conditions
	in(&c, ofJob, ids) // and so other jobs of these numbers, if there are clusters or attempts
	rows, err := s.readAttempts(ctx, v, attemptsOfClusters, c.where[0], "r.job_id", c.args)
	for _, r := range rows {
		all[r.attemptKey] = r
	}
	return all, err
}

// line reads the jobs of a line.
func (s *Store) line(ctx context.Context, v Viewer, q listing.JobQuery, c conditions, h *lineHead, singles map[attemptKey]*attemptRow) (*listing.Line, error) {
	var rows []*attemptRow
	if h.array > 0 {
		c := conditions{slices.Clone(c.where), slices.Clone(c.args)}
		c.add(ofArrayOf+" AND r.uid + 0 = ?", h.Cluster, h.array, h.uid)
		from := "attempts r"
		if q.Jobs != "" {
			from = attemptsOfClusters
		}
		var err error
		if rows, err = s.readAttempts(ctx, v, from, strings.Join(c.where, " AND "), newestFirst+" LIMIT ?", c.args, mostOfLines); err != nil {
			return nil, err
		}
		if err := s.addPrograms(ctx, rows); err != nil {
			return nil, err
		}
	} else if r := singles[attemptKey{h.Cluster, h.JobID, h.Attempt}]; r != nil {
		rows = []*attemptRow{r}
	}
	line := &listing.Line{Sum: h.sum}
	for _, r := range rows {
		if err := s.listedJob(ctx, q, r); err != nil {
			return nil, fmt.Errorf("job %d: %w", r.job.JobID, err)
		}
		line.Jobs = append(line.Jobs, r.job)
	}
	return line, nil
}
