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
// end nor the limit splits an array, and a list is sorted by what its lines have: sums, or means over the tasks.

// mostOfLines bounds the jobs in the lines of one answer; the line that reaches it is the last. At
// most so many tasks of an array are read, the newest. The array's sums are of all tasks.
const mostOfLines = maxLimit

// lineHead is a line before its jobs are read.
type lineHead struct {
	cursor
	uid, array uint32 // array 0: a job
	sum        listing.Hours
}

// singleLines selects the jobs of no array; its arguments are array, value, selection. arrayLines
// selects arrays; its arguments are value, value of a task, selection. Each is read in a pass of its
// own: grouping single jobs, too, would cost more than passing over them again.
const (
	singleLines = `SELECT r.cluster, r.job_id, r.attempt, r.start_us, r.uid, %s AS of_array, ` + valueOf + ` AS value,
	1 AS jobs, 0 AS measured, 0.0 AS used, 0.0 AS judged, 0.0 AS lost, 0.0 AS gpu, 0.0 AS gpu_known, 0.0 AS gpu_idle FROM %s`
	arrayLines = `SELECT r.cluster, max(r.job_id), max(r.attempt), max(r.start_us), r.uid, r.of_array, ROUND(1e6 * (%s)), ` + sumOfLines + ` FROM (
	SELECT r.cluster, r.job_id, r.attempt, r.start_us, r.end_us, r.state, r.uid, r.array_job_id AS of_array, CAST(%s AS DOUBLE PRECISION) AS value, ` + inSum + ` FROM %s AND r.array_job_id + 0 > 0) r
	GROUP BY r.of_array, r.uid, r.cluster`
	valueOf   = "ROUND(1e6 * CAST(%s AS DOUBLE PRECISION))"
	ofNoArray = " AND r.array_job_id = 0"

	inSum      = `r.parallel_efficiency AS pe, r.used_us, r.judged_us, r.lost_us, r.gpu_us, r.gpu_known_us, r.gpu_idle_us`
	sumOfLines = `count(*), count(pe), ` + hoursSum
)

// meanOfTasks is a value of an array: the mean of its completed tasks or, if none is, of all that ended.
const meanOfTasks = `CASE WHEN count(*) = 1 THEN max(value) WHEN count(*) FILTER (WHERE state = 'COMPLETED') > 0 THEN avg(value) FILTER (WHERE state = 'COMPLETED')
	ELSE avg(value) FILTER (WHERE end_us IS NOT NULL) END`

// lineOrder is the order of lines, from that of jobs: the value of a job, that of a line, and the ORDER BY. Values
// are whole numbers: sums in another order of the tasks would differ in their last bits, and a cursor would miss a
// line.
func lineOrder(by, order string) (ofJob, ofLine, ofLines string) {
	ofJob, later := sortedBy(order)
	ofLines = "r.value" + map[string]string{"<": " DESC", ">": ""}[later] + " NULLS LAST, " + newestFirst
	switch ofLine = meanOfTasks; strings.TrimPrefix(by, "-") {
	case "lost", "corehours":
		ofLine = "sum(value)"
	case "start":
		ofLine = "min(value)"
	}
	return ofJob, ofLine, ofLines
}

// lineList is a list of lines that somebody asks for.
type lineList struct {
	*Store
	viewer  Viewer
	q       listing.JobQuery
	uids    []uint32
	filters conditions
	c       conditions // these, and the span
	from    string
	at      *cursor // what it begins behind; nil: at its beginning
	until   *cursor // where it goes on, if it looked no further; nil: to the end
}

// EachLine calls do with each line of a query, as EachJob does with each job. The tasks on an array's
// line have their programs. all is filled in only for a list that begins at its beginning.
func (s *Store) EachLine(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32, do func(*listing.Line) error) (next string, all listing.Selected, err error) {
	here, at, err := readCursor(q.After, q.Values())
	if err != nil {
		return "", all, err
	}
	filters, from, err := chosen(q, uids)
	if err != nil {
		return "", all, err
	}
	l := &lineList{s, v, q, uids, filters, filters.within(q), from, at, nil}
	limit := defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, defaultLimit)
	}
	heads, err := l.heads(ctx, limit+1)
	if err == nil && at == nil {
		all.Sum, err = l.totals(ctx)
	}
	if err == nil && at == nil && q.Rule != "" {
		all.Unjudged, err = s.UnjudgedOf(ctx, v, q, uids)
	}
	var singles map[attemptKey]*attemptRow
	if err == nil {
		singles, err = l.singles(ctx, heads[:min(limit, len(heads))])
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
		line, err := l.line(ctx, h, singles)
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
	if l.until != nil {
		l.until.List = here.List
		return l.until.word(), all, nil
	}
	return "", all, nil
}

func listError(err error) error { return fmt.Errorf("store: list: %w", unavailable(err)) }

// array is the column with the array whose line a job is on; 0: it has a line of its own.
func (l *lineList) array() string {
	if l.q.Tasks {
		return "0"
	}
	return "r.array_job_id"
}

// heads reads so many lines, in the order of the list.
func (l *lineList) heads(ctx context.Context, most int) ([]lineHead, error) {
	order, err := orderOf(l.q.Sort)
	if err != nil {
		return nil, err
	}
	if order == newestFirst {
		return l.newest(ctx, most)
	}
	if l.q.Sort == "lost" && l.q.Jobs == "" && len(l.uids) == 0 && !l.viewer.onlyOwn() { // else other indexes find few jobs
		return l.worstOf(ctx, most)
	}
	ofJob, ofLine, order := lineOrder(l.q.Sort, order)
	selection, args := l.selection(l.viewer, l.from, l.c)
	query := fmt.Sprintf(singleLines, "0", ofJob, selection)
	if !l.q.Tasks {
		query += ofNoArray + " UNION ALL " + fmt.Sprintf(arrayLines, ofLine, ofJob, selection)
		args = append(args, args...)
	}
	query = "SELECT * FROM (" + query + ") r"
	if l.at != nil {
		var behind conditions
		l.at.behind(&behind, order)
		query, args = query+" WHERE "+behind.where[0], append(args, behind.args...)
	}
	return l.readHeads(ctx, query+" ORDER BY "+order+" LIMIT ? OFFSET ?", append(args, most, l.q.Offset))
}

// readHeads reads rows of singleLines and arrayLines.
func (l *lineList) readHeads(ctx context.Context, query string, args []any) (heads []lineHead, err error) {
	err = l.eachRow(ctx, query, args, func(rows *sql.Rows) error {
		var h lineHead
		err := rows.Scan(append([]any{&h.Cluster, &h.JobID, &h.Attempt, &h.Start, &h.uid, &h.array, &h.Value}, sumsOf(&h.sum)...)...)
		heads = append(heads, h)
		return err
	})
	return heads, err
}

// newest reads so many of the newest lines. It finds jobs as EachJob does, the lines that they are
// on, and the sums of each array among these.
func (l *lineList) newest(ctx context.Context, most int) (heads []lineHead, err error) {
	most += l.q.Offset
	l.until, err = l.lookedUntil(ctx, l.viewer, l.q, l.uids, l.at)
	for _, ran := range whichRan(l.q, newestFirst, l.at) {
		if err != nil {
			break
		}
		c := l.filters.and(ran.where, ran.args...)
		if l.until != nil {
			c.add("r.start_us > ?", *l.until.Start)
		}
		heads, err = l.newestOf(ctx, c, most)
		if len(heads) >= most {
			l.until = nil
		}
		if err != nil || len(heads) >= most || l.until != nil {
			break
		}
	}
	return heads[min(l.q.Offset, len(heads)):min(most, len(heads))], err
}

// jobsAtOnce is how many jobs are read first to find the lines that they are on; then twice as many. Tests read
// fewer.
var jobsAtOnce = 1000

// arrayKey names an array.
type arrayKey struct {
	cluster    string
	uid, array uint32
}

func (h *lineHead) key() arrayKey { return arrayKey{h.Cluster, h.uid, h.array} }

// newestOf reads at least so many of the newest lines that hold jobs of a selection, or all, sorted.
func (l *lineList) newestOf(ctx context.Context, jobs conditions, most int) (heads []lineHead, err error) {
	seen := map[arrayKey]bool{}
	rest := jobs
	for n := jobsAtOnce; ; n *= 2 {
		selection, args := l.selection(l.viewer, l.from, rest)
		rows, err := l.readHeads(ctx, fmt.Sprintf(singleLines, l.array(), "NULL", selection)+" ORDER BY "+newestFirst+" LIMIT ?", append(args, n))
		if err != nil {
			return nil, err
		}
		fresh := map[arrayKey]bool{}
		for _, h := range rows {
			if key := h.key(); h.array == 0 {
				heads = append(heads, h)
			} else if !seen[key] {
				seen[key], fresh[key] = true, true
			}
		}
		arrays, err := l.arrays(ctx, fresh, "max(value)", "NULL")
		if err != nil {
			return nil, err
		}
		if heads = append(heads, arrays...); l.at != nil {
			heads = slices.DeleteFunc(heads, func(h lineHead) bool { return newer(&h.cursor, l.at) <= 0 })
		}
		slices.SortFunc(heads, func(a, b lineHead) int { return newer(&a.cursor, &b.cursor) })
		if len(rows) < n {
			return heads, nil
		}
		last := &rows[n-1].cursor
		if len(heads) >= most && started(&heads[most-1].cursor) > started(last) { // what comes later is older
			return heads, nil
		}
		if rest = jobs.clone(); last.Start != nil { // the index on the start is entered there
			rest.add("r.start_us <= ?", *last.Start)
		}
		last.behind(&rest, newestFirst)
	}
}

// arrays reads the lines of some arrays. ofLine makes the value of an array of ofJob, its tasks'
// values.
func (l *lineList) arrays(ctx context.Context, keys map[arrayKey]bool, ofLine, ofJob string) ([]lineHead, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var ids []uint32
	for key := range keys {
		ids = append(ids, key.array)
	}
	c := l.c.clone()
	in(&c, ofArray, ids)
	selection, args := l.selection(l.viewer, attemptsOfClusters, c)
	heads, err := l.readHeads(ctx, fmt.Sprintf(arrayLines, ofLine, ofJob, selection), args)
	return slices.DeleteFunc(heads, func(h lineHead) bool { return !keys[h.key()] }), err
}

// singles reads the jobs of the lines that are of no array.
func (l *lineList) singles(ctx context.Context, heads []lineHead) (map[attemptKey]*attemptRow, error) {
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
	in(&c, ofJob, ids) // this also finds jobs with these numbers of other clusters or attempts
	rows, err := l.readAttempts(ctx, l.viewer, attemptsOfClusters, c.where[0], "r.job_id", c.args)
	for _, r := range rows {
		all[r.attemptKey] = r
	}
	return all, err
}

// line reads the jobs of a line.
func (l *lineList) line(ctx context.Context, h *lineHead, singles map[attemptKey]*attemptRow) (*listing.Line, error) {
	var rows []*attemptRow
	if h.array > 0 {
		c := l.c.and(ofArrayOf+" AND r.uid + 0 = ?", h.Cluster, h.array, h.uid)
		var err error
		if rows, err = l.readAttempts(ctx, l.viewer, l.from, strings.Join(c.where, " AND "), newestFirst+" LIMIT ?", c.args, mostOfLines); err != nil {
			return nil, err
		}
		if err := l.addPrograms(ctx, rows); err != nil {
			return nil, err
		}
	} else if r := singles[attemptKey{h.Cluster, h.JobID, h.Attempt}]; r != nil {
		rows = []*attemptRow{r}
	}
	line := &listing.Line{Sum: h.sum}
	for _, r := range rows {
		if err := l.listedJob(ctx, l.q, r); err != nil {
			return nil, fmt.Errorf("job %d: %w", r.job.JobID, err)
		}
		line.Jobs = append(line.Jobs, r.job)
	}
	return line, nil
}
