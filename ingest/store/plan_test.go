package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
)

// walks matches the plan of a scan over a whole table, or over all of a cluster.
var walks = regexp.MustCompile(`^SCAN (r|attempts|m|mutes|w|workload_runs)\b|^SEARCH r .*\(cluster=\?\)$`)

// TestPlans: neither a look-up of a job nor a statement of the ingest path scans a whole
// table.
func TestPlans(t *testing.T) {
	s := open(t)
	queries, ofLineages := plannedQueries(t), []string{runsOfLineage, fmt.Sprintf(changedLineages, "", "")} // w is what they found
	if os.Getenv(testServer) != "" {
		postgresPlans(t, s, queries)
		return
	}
	for _, query := range queries {
		for _, detail := range sqlitePlan(t, s, query) {
			if walks.MatchString(detail) && !strings.Contains(detail, "attempts_to_") && !(detail == "SCAN w" && slices.Contains(ofLineages, query)) {
				t.Errorf("%s\n%s", query, detail)
			}
			if strings.HasPrefix(detail, "SEARCH p ") && !strings.Contains(detail, "node=?") { // else a job of N nodes costs N*N
				t.Errorf("%s\n%s", query, detail)
			}
		}
	}
}

// sqlitePlan are the lines of a query's plan.
func sqlitePlan(t *testing.T, s *Store, query string) (details []string) {
	t.Helper()
	rows, err := s.read.Query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		rows.Scan(&id, &parent, &unused, &detail)
		details = append(details, detail)
	}
	return details
}

// watch keeps the queries of a store that are of a kind.
func watch(s *Store, is func(query string) bool) *[]string {
	var asked []string
	rebind := s.read.rebind
	s.read.rebind = func(query string) string {
		if is(query) {
			asked = append(asked, query)
		}
		return rebind(query)
	}
	return &asked
}

// TestListPlans: a list that is full reads the newest jobs from an index, in order, and neither
// all jobs nor all of its span. Nor does the newest run of a workload need all runs of it.
func TestListPlans(t *testing.T) {
	s := listStore(t)
	add(t, s, runReport(50, 5, 2, named("melt")))
	onPostgres, orders := os.Getenv(testServer) != "", ordersInSQLite
	if onPostgres {
		manyRows(t, s)
		orders = ordersInPostgres
	}
	asked := watch(s, func(query string) bool { return strings.Contains(query, "LIMIT ?") })
	wantOrdered := func(what string) {
		t.Helper()
		if len(*asked) != 1 {
			t.Errorf("%s: %d queries", what, len(*asked))
		}
		for _, query := range *asked {
			for _, limit := range []string{"LIMIT 2", "LIMIT 1001"} { // SQLite looks at its value
				if plan, ok := orders(t, s, strings.Replace(query, "LIMIT ?", limit, 1)); !ok {
					t.Errorf("%s: %s, %s\n%s", what, query, limit, plan)
				}
			}
		}
		*asked = nil
	}
	coordinator := Viewer{UID: alice.UID, Accounts: []string{"chem"}}
	for _, v := range []Viewer{root, alice, coordinator} {
		for _, q := range []listing.JobQuery{{}, {Offset: 1}, {Start: day}, {Start: day, End: day.AddDate(0, 0, 1)}, {End: day.AddDate(0, 0, 1)}, {State: "COMPLETED"}} {
			if onPostgres && !q.End.IsZero() { // it takes a span of which it is not told the ends for a short one
				continue
			}
			q.Limit = 1
			if list, err := s.Jobs(ctx, v, q, nil); err != nil || !list.More {
				t.Fatalf("%+v: %+v, %v", q, list, err)
			}
			wantOrdered(fmt.Sprintf("%+v lists %+v", v, q))
		}
	}
	if err := s.summarize(ctx, root, &listing.WorkloadSummary{Key: "any"}, false); err != nil {
		t.Fatal(err)
	}
	wantOrdered("a workload")
}

// TestSpanPlans: whatever is asked of a span of the past reads what began in it, and of each length what can have run into
// it: no index from its end to the other end of the history.
func TestSpanPlans(t *testing.T) {
	s := listStore(t)
	onPostgres := os.Getenv(testServer) != ""
	if onPostgres {
		manyRows(t, s)
	}
	asked := watch(s, func(query string) bool {
		return strings.Contains(query, lengthClass) && !strings.Contains(query, "day_sums")
	})
	aDay := listing.JobQuery{Start: day, End: day.AddDate(0, 0, 1)}
	for _, change := range []func(q *listing.JobQuery){
		func(*listing.JobQuery) {},
		func(q *listing.JobQuery) { q.Sort = "lost" },
		func(q *listing.JobQuery) { q.State = "FAILED" },
		func(q *listing.JobQuery) { q.Account, q.Partition = "chem", "big" },
		func(q *listing.JobQuery) { q.Tasks = true },
	} {
		q := aDay
		change(&q)
		*asked = nil
		if _, err := s.Jobs(ctx, root, q, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.EachLine(ctx, root, q, nil, func(*listing.Line) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if len(*asked) < 2 {
			t.Fatalf("%+v: %d queries", q, len(*asked))
		}
		for _, query := range *asked {
			var reads []string
			if onPostgres {
				conn := planning(t, s)
				reads = conn.plan(query).reads()
				conn.Close()
			} else {
				reads = sqlitePlan(t, s, query)
			}
			all := strings.Join(reads, "\n")
			if strings.Contains(all, "attempts_by_array") { // the jobs of one line
				continue
			}
			if !strings.Contains(all, "attempts_by_length") {
				t.Errorf("%+v: no index of lengths\n%s\n%s", q, all, query)
			}
			if strings.Count(all, "SCAN r") > strings.Count(all, "CO-ROUTINE r") { // which is the selection
				t.Errorf("%+v: %s", q, all)
			}
			for _, read := range reads {
				if strings.Contains(read, "attempts_by_") && !strings.Contains(read, "attempts_by_length") && !strings.Contains(read, "(start_us>? AND start_us<?)") {
					t.Errorf("%+v: %s\n%s", q, read, all)
				}
			}
		}
	}
}

// TestTotalPlans: what sums up a list of any span looks all it reads up in an index.
func TestTotalPlans(t *testing.T) {
	s := listStore(t)
	onPostgres := os.Getenv(testServer) != ""
	if onPostgres {
		manyRows(t, s)
	}
	asked := watch(s, func(query string) bool { return strings.Contains(query, "ELSE 0 END AS measured, ") })
	coordinator := Viewer{UID: 1001, Accounts: []string{"chem"}}
	for _, c := range []struct {
		viewer  Viewer
		q       listing.JobQuery
		indexes []string
		uids    []uint32
	}{
		{root, listing.JobQuery{}, []string{"attempts_by_end", "attempts_to_ask", "month_sums"}, nil},
		{root, listing.JobQuery{Start: day.AddDate(-1, 0, 0).Add(time.Hour), End: day.Add(time.Hour)}, []string{"attempts_by_end", "attempts_to_ask", "attempts_by_length", "attempts_by_start (start_us=?)", "month_sums", "day_sums"}, nil},
		{root, listing.JobQuery{Start: day.AddDate(-1, 0, 0).Add(time.Hour)}, []string{"attempts_by_end", "attempts_to_ask", "month_sums", "day_sums"}, nil},
		{root, listing.JobQuery{Start: day.Add(20 * time.Hour), End: day.Add(23 * time.Hour), Account: "chem", Partition: "big", Cluster: "test"}, []string{"attempts_by_end", "attempts_to_ask", "attempts_by_length", "attempts_by_start (start_us=?)"}, nil},
		{coordinator, listing.JobQuery{Start: day.AddDate(-1, 0, 0).Add(time.Hour), End: day.Add(time.Hour)}, []string{"attempts_by_end", "attempts_to_ask", "attempts_by_length", "attempts_by_start (start_us=?)", "month_sums", "day_sums"}, nil},
		{Viewer{UID: 1001}, listing.JobQuery{Start: day.AddDate(-1, 0, 0).Add(time.Hour), End: day.Add(time.Hour)}, []string{"attempts_by_end", "attempts_to_ask", "attempts_by_length", "attempts_by_start (start_us=?)", "month_sums", "day_sums"}, nil},
		{root, listing.JobQuery{Start: day.AddDate(-1, 0, 0).Add(time.Hour), End: day.Add(time.Hour)}, []string{"attempts_by_end", "attempts_to_ask", "attempts_by_length", "attempts_by_start (start_us=?)", "month_sums", "day_sums"}, []uint32{1001, 1002}},
	} {
		*asked = nil
		if _, _, err := s.EachLine(ctx, c.viewer, c.q, c.uids, func(*listing.Line) error { return ErrEnough }); err != nil {
			t.Fatal(err)
		}
		if len(*asked) != 1 {
			t.Fatalf("%v to %v: %d queries", c.q.Start, c.q.End, len(*asked))
		}
		var reads []string
		if onPostgres {
			conn := planning(t, s)
			reads = conn.plan((*asked)[0]).reads()
			conn.Close()
		} else {
			reads = sqlitePlan(t, s, (*asked)[0])
		}
		found := map[string]bool{}
		for _, read := range reads {
			index := regexp.MustCompile(`attempts_(by_end|by_length|to_ask)|(month|day)_sums|attempts_by_start \(start_us=\?\)`).FindString(read)
			switch {
			case strings.HasPrefix(read, "SCAN r"):
				t.Errorf("%v to %v: %s", c.q.Start, c.q.End, read)
			case index != "":
				found[index] = true
			case strings.HasPrefix(read, "SEARCH o "), strings.Contains(read, "(start_us>? AND start_us<?)"): // of those that wait for Slurm, and an empty span
			case strings.Contains(read, "attempts"):
				t.Errorf("%v to %v: %s", c.q.Start, c.q.End, read)
			}
		}
		for _, index := range c.indexes {
			if !found[index] && !(onPostgres && strings.HasSuffix(index, "_sums")) { // it does not say how it reads small tables
				t.Errorf("%v to %v: no %s in\n%s", c.q.Start, c.q.End, index, strings.Join(reads, "\n"))
			}
		}
	}
}

// TestWorstPlans: of the jobs that lost most, those of a day come from an index in their order, and the sums of the days that the
// span has, not more.
func TestWorstPlans(t *testing.T) {
	s := listStore(t)
	onPostgres := os.Getenv(testServer) != ""
	if onPostgres {
		manyRows(t, s)
	}
	asked := watch(s, func(query string) bool {
		return strings.Contains(query, dayOf) || strings.Contains(query, "day_sums r")
	})
	for _, v := range []Viewer{root, {UID: 1001, Accounts: []string{"chem"}}} {
		for _, q := range []listing.JobQuery{{}, {Start: day.AddDate(-1, 0, 0), End: day.AddDate(1, 0, 0), State: "COMPLETED"}, {Tasks: true, Account: "chem"}} {
			q.Sort, q.Limit, *asked = "lost", 1, nil
			next, _, err := s.EachLine(ctx, v, q, nil, func(*listing.Line) error { return nil })
			if q.After = next; err == nil && next != "" {
				_, _, err = s.EachLine(ctx, v, q, nil, func(*listing.Line) error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
			days := 0
			for _, query := range *asked {
				if strings.Contains(query, "ELSE 0 END AS measured") { // TestTotalPlans
					continue
				}
				if strings.Contains(query, dayOf+" = ") {
					days++
				}
				if onPostgres {
					conn := planning(t, s)
					plan := conn.plan(strings.Replace(query, "LIMIT ?", "LIMIT 20", 1)) // of few jobs it would sort those of a day
					if reads := plan.reads(); strings.Contains(query, dayOf) && (!slices.Contains(reads, "attempts_by_day") || slices.Contains(reads, "SCAN r")) {
						t.Errorf("%q\n%s", reads, query)
					}
					conn.Close()
					continue
				}
				for _, read := range sqlitePlan(t, s, query) {
					if strings.Contains(read, "TEMP B-TREE FOR ORDER BY") && !strings.Contains(query, "day_sums") || strings.Contains(read, "TERMS OF ORDER BY") || strings.HasPrefix(read, "SCAN r") {
						t.Errorf("%+v: %s\n%s", q, read, query)
					}
					if strings.HasPrefix(read, "SEARCH r") && !strings.Contains(read, "attempts_by_day (<expr>") && !strings.Contains(read, "day_sums_of_arrays (cluster=? AND day>? AND day<?)") {
						t.Errorf("%+v: %s\n%s", q, read, query)
					}
				}
			}
			if days == 0 {
				t.Errorf("%+v: nothing was asked of a day", q)
			}
		}
	}
}

// TestManyNamedJobs: a list of as many jobs as may be named looks each up in an index, and has no more arguments
// than three for each. SQLite scanned all jobs from some hundred on, and took seconds to prepare an expression of
// thousands of arguments.
func TestManyNamedJobs(t *testing.T) {
	s := listStore(t)
	if os.Getenv(testServer) != "" {
		return
	}
	var asked []string
	s.read.rebind = func(query string) string {
		asked = append(asked, query)
		return query
	}
	const named = 1000
	for _, form := range []string{"%d", "%d_7", "%d_[1-5:2,7-8,10]", "%d+1"} {
		asked = nil
		if _, err := s.Jobs(ctx, root, listing.JobQuery{Jobs: upTo(named, form)}, nil); err != nil {
			t.Fatal(err)
		}
		for _, query := range asked {
			if n := strings.Count(query, "?"); n > 3*named+10 {
				t.Errorf("%s: %d arguments", form, n)
			}
			for _, detail := range sqlitePlan(t, s, query) {
				if walks.MatchString(detail) {
					t.Errorf("%s: %s", form, detail)
				}
			}
		}
	}
}

// ordersInSQLite tells whether a query reads its rows from an index in their order.
func ordersInSQLite(t *testing.T, s *Store, query string) (plan string, ok bool) {
	lines := sqlitePlan(t, s, query)
	return strings.Join(lines, "\n"), strings.Contains(lines[0], "start_us") && !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "TEMP B-TREE") })
}

// ordersInPostgres tells the same. Rows that began at the same time may be sorted, which
// PostgreSQL calls an incremental sort. It plans with what it knows of the rows, see manyRows.
func ordersInPostgres(t *testing.T, s *Store, query string) (plan string, ok bool) {
	conn := planning(t, s)
	defer conn.Close()
	top := conn.plan(query)
	return fmt.Sprintf("%+v", *top), !top.sorts()
}

// manyRows adds so many rows of attempts and of runs of one workload that no plan is right that
// reads them all for a few, and lets PostgreSQL look at them.
func manyRows(t *testing.T, s *Store) {
	t.Helper()
	for _, text := range []string{
		`INSERT INTO attempts (cluster, job_id, attempt, uid, account, state, slurm_submit_us, slurm_start_us, slurm_end_us, changed_us)
			SELECT 'test', 1000 + n, 1, 1001 + n % 3, 'chem', 'COMPLETED', 1e15 + n * 1e6, 1e15 + n * 1e6, 1e15 + (n + 100) * 1e6, 1e15 FROM generate_series(1, 50000) n`,
		`INSERT INTO workload_runs (cluster, job_id, attempt, execution, uid, workload_key, workload_name, start_us, ranks, threads, cores, nodes, ended, coverage,
			elapsed_s, useful_s, mpi_time_s, collectives, used_core_hours, lost_core_hours, executable, build_id, input_note, sections_json, counters_json, lineage, conditions_json)
			SELECT cluster, job_id, 1, 0, uid, 'any', 'any', start_us, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, '', '', '', 'null', 'null', '', 'null' FROM attempts WHERE job_id > 1000`,
		// of three states PostgreSQL takes each for a third of the rows, however few have it: too few for a list of a thousand
		"UPDATE attempts SET state = 'COMPLETED', account = 'chem' WHERE job_id <= 1000",
		"ANALYZE attempts",
		"ANALYZE workload_runs",
	} {
		if _, err := s.engine.writeDB().Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// pgPlan is a node of PostgreSQL's plans.
type pgPlan struct {
	Kind      string   `json:"Node Type"`
	Table     string   `json:"Relation Name"`
	Index     string   `json:"Index Name"`
	Condition string   `json:"Index Cond"`
	Plans     []pgPlan `json:"Plans"`
}

// walks tells whether the plan scans a whole table or index. Indexes that hold only pending
// work do not count.
func (p *pgPlan) walks() string {
	large := slices.Contains(append(slices.Clone(tablesOfAttempt), "attempts"), p.Table) || p.Kind == "Bitmap Index Scan"
	if large && p.Kind != "Bitmap Heap Scan" && p.Kind != "ModifyTable" && p.Condition == "" && !strings.HasPrefix(p.Index, "attempts_to_") {
		return fmt.Sprintf("%s of %s by %q", p.Kind, p.Table, p.Index)
	}
	for i := range p.Plans {
		if w := p.Plans[i].walks(); w != "" {
			return w
		}
	}
	return ""
}

// reads are the scans of attempts in the words of SQLite.
func (p *pgPlan) reads() (all []string) {
	if p.Table == "attempts" && p.Kind == "Seq Scan" {
		all = append(all, "SCAN r")
	}
	if strings.HasPrefix(p.Index, "attempts_by_") || p.Index == "attempts_to_ask" {
		bounds := ""
		if strings.Contains(p.Condition, "start_us IS NULL") {
			bounds = " (start_us=?)"
		} else if strings.Contains(p.Condition, "start_us >= ") && strings.Contains(p.Condition, "start_us < ") {
			bounds = " (start_us>? AND start_us<?)"
		}
		all = append(all, p.Index+bounds)
	}
	for i := range p.Plans {
		all = append(all, p.Plans[i].reads()...)
	}
	return all
}

// sorts tells whether the plan reads a large table as it lies, or sorts all that it reads.
func (p *pgPlan) sorts() bool {
	large := p.Table == "attempts" || p.Table == "workload_runs"
	return p.Kind == "Sort" || large && p.Kind == "Seq Scan" || slices.ContainsFunc(p.Plans, func(p pgPlan) bool { return p.sorts() })
}

// pgPlanner is a connection that asks for plans which hold for any arguments.
type pgPlanner struct {
	*sql.Conn
	t *testing.T
}

func planning(t *testing.T, s *Store) *pgPlanner {
	t.Helper()
	conn, err := s.read.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p := &pgPlanner{conn, t}
	p.must("SET plan_cache_mode = force_generic_plan")
	return p
}

func (p *pgPlanner) must(query string) {
	p.t.Helper()
	if _, err := p.ExecContext(ctx, query); err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
}

func (p *pgPlanner) plan(query string) *pgPlan {
	p.t.Helper()
	p.must("PREPARE planned AS " + rebind(query))
	execute := "EXECUTE planned"
	if args := strings.Count(query, "?"); args > 0 {
		execute += "(NULL" + strings.Repeat(", NULL", args-1) + ")"
	}
	var text string
	if err := p.QueryRowContext(ctx, "EXPLAIN (FORMAT JSON) "+execute).Scan(&text); err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	p.must("DEALLOCATE planned")
	var plans []struct{ Plan pgPlan }
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		p.t.Fatalf("%v: %s", err, text)
	}
	return &plans[0].Plan
}

// postgresPlans discourages sequential scans, which small tables would get.
func postgresPlans(t *testing.T, s *Store, queries []string) {
	conn := planning(t, s)
	defer conn.Close()
	conn.must("SET enable_seqscan = off")
	for _, query := range queries {
		if w := conn.plan(query).walks(); w != "" {
			t.Errorf("%s\n%s", query, w)
		}
	}
	for _, query := range []string{"SELECT attempt FROM attempts WHERE name = ?", "SELECT attempt FROM workload_runs WHERE executable = ?"} {
		if conn.plan(query).walks() == "" {
			t.Errorf("%s: its walk is not seen", query)
		}
	}
}

// plannedQueries are the queries on large tables.
func plannedQueries(t *testing.T) []string {
	task, offset := uint32(1), uint32(0)
	ran, _ := ranBetween(0, 0)
	queries := []string{
		windowsOfJob,
		ofAttempt("windows"),
		reportsToMerge,
		reportsOfNodes + "(?)",
		reportsOfNodes + "(?, ?, ?, ?)",
		candidatesOfJob,
		toMergeTold,
		toMergeShown,
		toJudge,
		executionsOfAttempt,
		fmt.Sprintf(toAsk, ""),
		fmt.Sprintf(toAsk, " AND r.cluster || '' = ?"),
		fmt.Sprintf(namesOfSlurm, ""),
		fmt.Sprintf(namesOfSlurm, " AND r.cluster || '' = ?"),
		heavyJob + heaviestFirst,
		fmt.Sprintf(changedLineages, "", ""),
		dueMails,
		ofClasses + classified + ") t GROUP BY 1, 2, 3, 4",
		lateReports,
		reportSizes,
		fmt.Sprintf(newestOfWorkloads, ""),
		heavyHours + " GROUP BY w.workload_key, w.cores",
		heavyEarly + ran + " GROUP BY w.workload_key, w.cores",
		heavyOf + " GROUP BY w.workload_key, w.cores",
		heaviest,
		fmt.Sprintf(programHours, programDays+fmt.Sprintf(programsEnded, 1)+fmt.Sprintf(programsEnded, -1)),
		runsOfLineage,
		fmt.Sprintf(busySeries, "", ""),
		runsOfSeries + " ORDER BY w.start_us DESC LIMIT ?",
		coreCounts,
		runsOnCores + newestRuns,
		runsOfAttempt,
		sumOfAllRuns,
		fmt.Sprintf(namings[0].query, ""),
		fmt.Sprintf(namings[1].query, ""),
		fmt.Sprintf(toWeigh, ""),
		fmt.Sprintf(toWeigh, " AND r.cluster || '' = ?"),
		asked,
		nodeTimes,
		"SELECT attempt FROM attempts r WHERE r.uid = ? ORDER BY r.start_us DESC NULLS LAST LIMIT 10",
	}
	for _, ref := range []slurmid.Ref{{ID: 1}, {ID: 1, ArrayTask: &task}, {ID: 1, HetOffset: &offset}} {
		for _, sel := range byRef(ref) {
			queries = append(queries, "SELECT r.attempt FROM clusters c CROSS JOIN attempts r WHERE r.cluster = c.cluster AND "+sel.where+" ORDER BY "+sel.order)
		}
	}
	queries = append(queries, listWorkloads(alice, listing.WorkloadQuery{Muted: true}, &alice.UID, day, nil)[0].where, listWorkloads(root, listing.WorkloadQuery{}, nil, day, nil)[0].where,
		listWorkloads(Viewer{Accounts: []string{"chem"}}, listing.WorkloadQuery{Lost: true}, nil, day, nil)[0].where, fmt.Sprintf(workloadsOfJobs, ", ?, ?"))
	sets, err := slurmid.ParseSets("1,2_3,4_[5-6],7+0")
	if err != nil {
		t.Fatal(err)
	}
	var list conditions
	list.jobs(sets)
	queries = append(queries, "SELECT r.attempt FROM "+attemptsOfClusters+" WHERE "+list.where[0]+" ORDER BY "+newestFirst)
	return queries
}
