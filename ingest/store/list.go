package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
)

// How many jobs a list holds.
const (
	defaultLimit = 1000
	maxLimit     = 10_000
	MaxDetail    = 1000 // with executions
)

// Jobs lists the jobs of a query, as EachJob finds them.
func (s *Store) Jobs(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32) (*listing.JobList, error) {
	list := &listing.JobList{Jobs: []job.Job{}}
	next, err := s.EachJob(ctx, v, q, uids, func(j *job.Job) error {
		list.Jobs = append(list.Jobs, *j)
		return nil
	})
	list.More = next != ""
	if err != nil {
		return nil, err
	}
	return list, nil
}

// EachJob calls do with each job of a query that the viewer may see, without steps. Executions
// come only with q.Detail, and those of one job are in memory at a time. next is q.After for those that
// are left, by the query's limit or because do returned ErrEnough. uids limits the list to these
// users; empty means all. If q does not select jobs, the error is a *SelectionError, and do was
// not called.
func (s *Store) EachJob(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32, do func(*job.Job) error) (next string, err error) {
	here, at, err := readCursor(q.After, q.Values())
	if err != nil {
		return "", err
	}
	rows, limit, order, until, err := s.listed(ctx, v, q, uids, at)
	if err != nil {
		return "", err
	}
	if q.Stored {
		if err := s.addPrograms(ctx, rows); err != nil {
			return "", fmt.Errorf("store: list: %w", unavailable(err))
		}
	}
	for i, r := range rows[:min(limit, len(rows))] {
		rows[i] = nil
		if err := s.listedJob(ctx, q, r); err != nil {
			return "", fmt.Errorf("store: list: job %d: %w", r.job.JobID, unavailable(err))
		}
		enough := do(&r.job)
		if enough != nil && !errors.Is(enough, ErrEnough) {
			return "", enough
		}
		if enough != nil && i+1 < len(rows) || i+1 == limit && limit < len(rows) {
			return s.cursorOf(ctx, order, here, r)
		}
	}
	if until != nil {
		until.List = here.List
		return until.word(), nil
	}
	return "", nil
}

// cursorOf is the word for the place behind a row of a list in an order.
func (s *Store) cursorOf(ctx context.Context, order string, c cursor, r *attemptRow) (string, error) {
	c.Cluster, c.JobID, c.Attempt = r.cluster, r.jobID, r.attempt
	if !r.job.Start.IsZero() {
		us := r.job.Start.UnixMicro()
		c.Start = &us
	}
	if value, _ := sortedBy(order); value != "" {
		err := s.read.QueryRowContext(ctx, "SELECT "+value+" FROM attempts r WHERE r.cluster = ? AND r.job_id = ? AND r.attempt = ?", r.args()...).Scan(&c.Value)
		if err != nil {
			return "", fmt.Errorf("store: list: %w", unavailable(err))
		}
	}
	return c.word(), nil
}

// listedJob completes a job for a list.
func (s *Store) listedJob(ctx context.Context, q listing.JobQuery, r *attemptRow) error {
	if q.Detail {
		if err := s.fill(ctx, r); err != nil {
			return err
		}
	}
	r.job.Steps = nil
	r.job.Warnings = append(r.job.Warnings, assemble.UsageWarnings(&r.job)...)
	return nil
}

// listed reads the rows of a query behind at, if it is not nil, one more than its limit. until is where it goes on,
// if it looked no further.
func (s *Store) listed(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32, at *cursor) (rows []*attemptRow, limit int, order string, until *cursor, err error) {
	c, from, err := chosen(q, uids)
	if err != nil {
		return nil, 0, "", nil, err
	}
	order, err = orderOf(q.Sort)
	if err != nil {
		return nil, 0, "", nil, err
	}
	if order == newestFirst {
		until, err = s.lookedUntil(ctx, v, q, uids, at)
	}
	limit = defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	if q.Detail {
		limit = min(limit, MaxDetail)
	}
	for _, ran := range whichRan(q, order, at) {
		if err != nil {
			return nil, 0, "", nil, listError(err)
		}
		c := c.and(ran.where, ran.args...)
		if until != nil {
			c.add("r.start_us > ?", *until.Start)
		}
		if at != nil {
			at.behind(&c, ran.order)
		}
		rows, err = s.readAttempts(ctx, v, from, strings.Join(c.where, " AND "), ran.order+" LIMIT ? OFFSET ?", c.args, limit+1, q.Offset)
		if err != nil {
			return nil, 0, "", nil, listError(err)
		}
		if order = ran.order; len(rows) > limit {
			return rows, limit, order, nil, nil
		}
		if until != nil {
			break
		}
	}
	return rows, limit, order, until, nil
}

// chosen are the conditions of a query, but for its span, and the tables that they read.
func chosen(q listing.JobQuery, uids []uint32) (c conditions, from string, err error) {
	from = "attempts r"
	if len(uids) > 0 && q.Jobs == "" {
		in(&c, "r.uid", uids)
	} else if len(uids) > 0 {
		in(&c, "r.uid + 0", uids) // keys select fewer rows than the index on users would
	}
	// The || keeps SQLite from the keys. They begin with the cluster, and it would read the whole cluster.
	for column, list := range map[string]string{"r.account": q.Account, "r.partition_name": q.Partition, "r.qos": q.QOS,
		"r.cluster || ''": q.Cluster} {
		if list != "" {
			in(&c, column, strings.Split(list, ","))
		}
	}
	if q.State != "" {
		states := strings.Split(q.State, ",")
		in(&c, "r.state", states)
		if slices.Contains(states, "OUT_OF_MEMORY") { // a step may have run out of memory though its job's state does not say so
			last := &c.where[len(c.where)-1]
			*last = "(" + *last + " OR r.oom_steps <> '')"
		}
	}
	if q.Name != "" {
		c.named(q.Name)
	}
	if q.Rule != "" {
		c.flagged(strings.Split(q.Rule, ","))
	}
	if q.Program != "" {
		c.ran(append(strings.Split(q.Program, ","), q.Program)) // a name may hold commas
	}
	for _, b := range []struct {
		than  string
		bound int64
	}{{"r.alloc_cpus >= ?", int64(q.LeastCores)}, {"r.alloc_cpus <= ?", int64(q.MostCores)},
		{elapsedSeconds + " >= ?", int64(q.LeastElapsed.Seconds())}, {elapsedSeconds + " <= ?", int64(q.MostElapsed.Seconds())}} {
		if b.bound > 0 {
			c.add(b.than, b.bound)
		}
	}
	if q.Jobs != "" {
		sets, err := slurmid.ParseSets(q.Jobs)
		if err != nil {
			return c, "", &SelectionError{err}
		}
		if of := slurmid.ClusterOf(sets); of != "" {
			in(&c, "r.cluster || ''", []string{of})
		}
		c.jobs(sets)
		from = attemptsOfClusters
	}
	return c, from, nil
}

// flagged requires that one of the rules flags the attempt. No flags have three commas together, so an empty
// name is no rule's.
func (c *conditions) flagged(rules []string) {
	names := slices.Clone(rules)
	for i := range names {
		names[i] = cmp.Or(names[i], ",")
	}
	c.lists(presentFlags, names)
}

// lists requires that a column, names with commas between, has one of these.
func (c *conditions) lists(column string, names []string) {
	all := "',' || " + column + " || ','"
	var either conditions
	for _, name := range names {
		either.add("replace("+all+", ?, '') <> "+all, ","+name+",")
	}
	c.add(anyOf(either.where), either.args...)
}

// named requires that the job's name holds a text.
func (c *conditions) named(text string) {
	c.add("replace(lower(r.name), lower(?), '') <> lower(r.name)", text)
}

// ran requires that the attempt has an execution of one of the programs, by their files' names.
func (c *conditions) ran(programs []string) {
	var either conditions
	for _, name := range programs {
		either.add("(e.executable = ? OR substr(e.executable, length(e.executable) - ?) = ?)", name, len([]rune(name)), "/"+name)
	}
	c.add("(SELECT 1 FROM executions e WHERE e.cluster = r.cluster AND e.job_id = r.job_id AND e.attempt = r.attempt AND "+anyOf(either.where)+" LIMIT 1) IS NOT NULL", either.args...)
}

const elapsedSeconds = `COALESCE(r.slurm_elapsed_s, (r.end_us - r.start_us) / 1000000.0)`

// orders are what a list can be sorted by: listing.Sorts. Attempts whose value is not known come last.
var orders = map[string]string{
	"lost": "CAST(r.lost_us AS DOUBLE PRECISION)", "corehours": "CAST(r.used_us AS DOUBLE PRECISION)", "elapsed": elapsedSeconds, "start": "r.start_us",
	"alloccpus": "NULLIF(r.alloc_cpus, 0)", "nnodes": "NULLIF(r.nodes, 0)", "ranks": "r.ranks",
	"pe": "r.parallel_efficiency", "lb": "r.load_balance", "comme": "r.communication_efficiency",
}

// orderOf is the order of a list.
func orderOf(by string) (string, error) {
	name, least := strings.CutPrefix(by, "-")
	key, known := orders[name]
	switch {
	case by == "" || by == "start":
		return newestFirst, nil
	case !known:
		return "", &SelectionError{fmt.Errorf("sort=%.40q is not one of %s; -FIELD puts the smallest first", by, strings.Join(listing.Sorts, ", "))}
	case least:
		return key + " NULLS LAST, " + newestFirst, nil
	}
	return key + " DESC NULLS LAST, " + newestFirst, nil
}

// keysFirst makes a query sort keys alone, and read only the rows that it lists. No index has the
// jobs by loss or size, and PostgreSQL would unpack all columns of each row that it sorts.
func keysFirst(query, by string) string {
	return " FROM attempts r WHERE (r.cluster, r.job_id, r.attempt) IN (SELECT r.cluster, r.job_id, r.attempt" + query + ") ORDER BY " + by
}

// whichRan selects the jobs that ran in the query's span. The first selection that fills the list is the list.
//
// The newest jobs of all began in the span, too, and an index has them in order. Only if they do
// not fill the list, all that ran in it are read and sorted, to find those that began earlier and
// those whose start is not known.
func whichRan(q listing.JobQuery, order string, at *cursor) []selection {
	newest := selection{"r.start_us >= ?", []any{0}, newestFirst}
	all := selection{"1 = 1", nil, order}
	if !q.Start.IsZero() {
		start := q.Start.UnixMicro()
		all.where, all.args = "(r.end_us IS NULL OR r.end_us >= ?)", []any{start}
		// + 0 keeps SQLite from the index on the end, which has the span in another order
		newest.where, newest.args = "r.start_us >= ? AND (r.end_us IS NULL OR r.end_us + 0 >= ?)", []any{start, start}
	}
	if !q.End.IsZero() {
		end := q.End.UnixMicro()
		newest.where, newest.args = newest.where+" AND r.start_us < ?", append(newest.args, end)
		if all.where, all.args = "r.start_us < ?", []any{end}; !q.Start.IsZero() {
			all.where, all.args = ranBetween(q.Start.UnixMicro(), end)
		}
	}
	if order != newestFirst || q.Jobs != "" || at != nil && at.Start == nil {
		return []selection{all}
	}
	if at != nil { // the index on the start is entered there
		newest.where, newest.args = newest.where+" AND r.start_us <= ?", append(newest.args, *at.Start)
	}
	return []selection{newest, all}
}

// lengths bound the classes of attempts_by_length, us: an attempt of a class is shorter. Two further
// classes follow: that of longer attempts, and that of attempts that have not ended.
var lengths = [...]int64{3600e6, 14400e6, 57600e6, 230400e6, 921600e6, 3686400e6}

const (
	longerClass = len(lengths)
	openClass   = longerClass + 1
)

// lengthClass is the class of an attempt, in the words of the migration that made the index.
var lengthClass = func() string {
	text := fmt.Sprintf("CASE WHEN r.end_us IS NULL THEN %d", openClass)
	for class, most := range lengths {
		text += fmt.Sprintf(" WHEN r.end_us - r.start_us < %d THEN %d", most, class)
	}
	return fmt.Sprintf("%s ELSE %d END", text, longerClass)
}()

// ranBetween selects the jobs that ran in a span: those that began in it, and those of each length
// that began so shortly before it that they may have run then. No index has both ends of a job in
// order.
func ranBetween(start, end int64) (where string, args []any) {
	var either conditions
	either.add("r.start_us >= ? AND r.start_us < ? AND (r.end_us IS NULL OR r.end_us + 0 >= ?)", start, end, start)
	for class, most := range lengths {
		either.add(fmt.Sprintf("%s = %d AND r.start_us >= ? AND r.start_us < ? AND r.end_us + 0 >= ?", lengthClass, class), start-most, min(start, end), start)
	}
	either.add(fmt.Sprintf("%s = %d AND r.start_us < ? AND r.end_us + 0 >= ?", lengthClass, longerClass), min(start, end), start)
	either.add(fmt.Sprintf("%s = %d AND r.start_us < ?", lengthClass, openClass), min(start, end))
	return anyOf(either.where), either.args
}

// SelectionError says why a query does not select jobs; its text is for people.
type SelectionError struct{ error }

// Each condition repeats all that its index needs. With the cluster outside the OR, SQLite
// would read the whole cluster.
const (
	ofJob   = "r.cluster = c.cluster AND r.job_id"
	ofArray = "r.cluster = c.cluster AND r.array_job_id > 0 AND r.array_job_id"
	ofHet   = "r.cluster = c.cluster AND r.het_job_id > 0 AND r.het_job_id"
)

// jobs requires that an attempt is in one of the sets. Each index is asked for a list of ids: with an OR of
// hundreds of them, SQLite takes reading all jobs for cheaper. Tasks are written as numbers: thousands of
// arguments in an expression, unlike those of a list, take SQLite seconds to prepare.
func (c *conditions) jobs(sets []slurmid.Set) {
	var whole []uint32
	arrays, hets := map[uint32][]string{}, map[uint32][]string{}
	for _, set := range sets {
		for _, t := range set.Tasks {
			arrays[set.ID] = append(arrays[set.ID], fmt.Sprintf("r.array_task_id BETWEEN %d AND %d AND (r.array_task_id - %[1]d) %% %[3]d = 0", t.First, t.Last, t.Step))
		}
		switch {
		case len(set.Tasks) > 0:
		case set.ArrayTask != nil:
			arrays[set.ID] = append(arrays[set.ID], fmt.Sprint("r.array_task_id = ", *set.ArrayTask))
		case set.HetOffset != nil:
			hets[set.ID] = append(hets[set.ID], fmt.Sprint("COALESCE(r.het_offset, r.job_id - r.het_job_id) = ", *set.HetOffset))
		default:
			whole = append(whole, set.ID)
		}
	}
	var either conditions
	if len(whole) > 0 {
		in(&either, ofJob, whole)
		in(&either, ofArray, whole)
		in(&either, ofHet, whole)
	}
	either.parts(ofArray, "r.array_job_id", arrays)
	either.parts(ofHet, "r.het_job_id", hets)
	c.add(anyOf(either.where), either.args...)
}

// parts adds a condition for parts of arrays or het jobs.
func (c *conditions) parts(index, column string, of map[uint32][]string) {
	if len(of) > 0 {
		ids := slices.Sorted(maps.Keys(of))
		in(c, index, ids)
		c.where[len(c.where)-1] += " AND " + search(column, ids, of)
	}
}

// search finds the conditions for a row's id by halves: a row looks at few of them.
func search(column string, ids []uint32, of map[uint32][]string) string {
	if len(ids) == 1 {
		return anyOf(of[ids[0]])
	}
	half := len(ids) / 2
	return fmt.Sprintf("CASE WHEN %s < %d THEN %s ELSE %s END", column, ids[half], search(column, ids[:half], of), search(column, ids[half:], of))
}

// anyOf is true if one of the conditions is. For conditions written one after the other SQLite
// would nest as many levels, and it allows 1,000.
func anyOf(some []string) string {
	if len(some) == 1 {
		return "(" + some[0] + ")"
	}
	half := len(some) / 2
	return "(" + anyOf(some[:half]) + " OR " + anyOf(some[half:]) + ")"
}

// conditions are the conditions of a WHERE that all must hold, with their arguments.
type conditions struct {
	where []string
	args  []any
}

func (c *conditions) add(condition string, args ...any) {
	c.where, c.args = append(c.where, condition), append(c.args, args...)
}

func (c conditions) clone() conditions {
	return conditions{slices.Clone(c.where), slices.Clone(c.args)}
}

// and are the conditions, and one more.
func (c conditions) and(condition string, args ...any) conditions {
	c = c.clone()
	c.add(condition, args...)
	return c
}

// within are the conditions, and the span of a query.
func (c conditions) within(q listing.JobQuery) conditions {
	all := whichRan(q, "", nil)[0]
	return c.and(all.where, all.args...)
}

// spanned is within for queries whose jobs another index finds: + 0 keeps SQLite from the indexes on
// the span.
func (c conditions) spanned(q listing.JobQuery) conditions {
	start, end := spanOf(q)
	if c = c.and("(r.end_us + 0 IS NULL OR r.end_us + 0 >= ?)", start); !q.End.IsZero() {
		c.add("r.start_us + 0 < ?", end)
	}
	return c
}

// in requires that a column has one of the values.
func in[T any](c *conditions, column string, values []T) {
	for _, v := range values {
		c.args = append(c.args, v)
	}
	c.where = append(c.where, column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")")
}

// namesOfSlurm finds each user's newest name in Slurm's accounting. It jumps from one user to the
// next in the index.
const namesOfSlurm = `WITH RECURSIVE users(uid) AS (
		SELECT min(uid) FROM attempts
		UNION ALL
		SELECT (SELECT min(r.uid) FROM attempts r WHERE r.uid > u.uid) FROM users u WHERE u.uid IS NOT NULL)
	SELECT u.uid, COALESCE((SELECT r.user_name FROM attempts r WHERE r.uid = u.uid AND r.slurm_submit_us IS NOT NULL AND r.user_name <> ''%s
		ORDER BY r.start_us DESC NULLS LAST LIMIT 1), '') FROM users u WHERE u.uid IS NOT NULL`

// NamesOfSlurm are the users' newest names in the accounting of a cluster's Slurm, by uid; "": of any.
func (s *Store) NamesOfSlurm(ctx context.Context, cluster string) (map[uint32]string, error) {
	of, args := ofCluster("r", cluster)
	names := map[uint32]string{}
	err := s.eachRow(ctx, fmt.Sprintf(namesOfSlurm, of), args, func(rows *sql.Rows) error {
		var uid uint32
		var name string
		err := rows.Scan(&uid, &name)
		if name != "" {
			names[uid] = name
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: users: %w", unavailable(err))
	}
	return names, nil
}

// UsersOfSlurm are the uids of the users whose newest name there is one of these.
func (s *Store) UsersOfSlurm(ctx context.Context, cluster string, names []string) (uids []uint32, err error) {
	all, err := s.NamesOfSlurm(ctx, cluster)
	for _, uid := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(names, all[uid]) {
			uids = append(uids, uid)
		}
	}
	return uids, err
}
