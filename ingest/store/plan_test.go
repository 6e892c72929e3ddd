package store

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jobeff/ingest/job"
)

// walks matches the plan of a scan over a whole table, or over all of a cluster.
var walks = regexp.MustCompile(`^SCAN (r|attempts|m|mutes|w|workload_runs)\b|^SEARCH r .*\(cluster=\?\)$`)

// TestPlans: neither a look-up of a job nor a statement of the ingest path scans a whole
// table.
func TestPlans(t *testing.T) {
	s := open(t)
	queries := plannedQueries(t)
	if os.Getenv(testServer) != "" {
		postgresPlans(t, s, queries)
		return
	}
	for _, query := range queries {
		rows, err := s.read.Query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			rows.Scan(&id, &parent, &unused, &detail)
			if walks.MatchString(detail) && !strings.Contains(detail, "runs_to_") && !(query == runsOfLineage && detail == "SCAN w") {
				t.Errorf("%s\n%s", query, detail)
			}
			if strings.HasPrefix(detail, "SEARCH p ") && !strings.Contains(detail, "node=?") { // else a job of N nodes costs N*N
				t.Errorf("%s\n%s", query, detail)
			}
		}
		rows.Close()
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
	if large && p.Kind != "Bitmap Heap Scan" && p.Kind != "ModifyTable" && p.Condition == "" && !strings.HasPrefix(p.Index, "runs_to_") {
		return fmt.Sprintf("%s of %s by %q", p.Kind, p.Table, p.Index)
	}
	for i := range p.Plans {
		if w := p.Plans[i].walks(); w != "" {
			return w
		}
	}
	return ""
}

// postgresPlans asks for plans that hold for any arguments. It discourages sequential scans,
// which small tables would get.
func postgresPlans(t *testing.T, s *Store, queries []string) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	must := func(query string) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	must("SET enable_seqscan = off")
	must("SET plan_cache_mode = force_generic_plan")
	walks := func(query string) string {
		must("PREPARE planned AS " + rebind(query))
		execute := "EXECUTE planned"
		if args := strings.Count(query, "?"); args > 0 {
			execute += "(NULL" + strings.Repeat(", NULL", args-1) + ")"
		}
		var text string
		if err := conn.QueryRowContext(ctx, "EXPLAIN (FORMAT JSON) "+execute).Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		must("DEALLOCATE planned")
		var plans []struct{ Plan pgPlan }
		if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		return plans[0].Plan.walks()
	}
	for _, query := range queries {
		if w := walks(query); w != "" {
			t.Errorf("%s\n%s", query, w)
		}
	}
	for _, query := range []string{"SELECT attempt FROM attempts WHERE name = ?", "SELECT attempt FROM workload_runs WHERE executable = ?"} {
		if walks(query) == "" {
			t.Errorf("%s: its walk is not seen", query)
		}
	}
}

// plannedQueries are the queries on large tables.
func plannedQueries(t *testing.T) []string {
	task, offset := uint32(1), uint32(0)
	queries := []string{
		reportsOfAttempt,
		reportsOfNodes + "(?)",
		reportsOfNodes + "(?, ?, ?, ?)",
		candidatesOfJob,
		toMerge,
		toAsk,
		heavyJob,
		changedLineages,
		dueMails,
		programHours + " GROUP BY e.executable",
		runsOfLineage,
		coreCounts,
		runsOnCores + newestRuns,
		namedWorkloads + namings[0].where,
		namedWorkloads + namings[1].where,
		toWeigh,
		asked,
		"SELECT attempt FROM attempts r WHERE r.uid = ? ORDER BY r.start_us DESC NULLS LAST LIMIT 10",
	}
	for _, ref := range []job.JobRef{{ID: 1}, {ID: 1, ArrayTask: &task}, {ID: 1, HetOffset: &offset}} {
		for _, sel := range byRef(ref) {
			queries = append(queries, "SELECT r.attempt FROM clusters c CROSS JOIN attempts r WHERE r.cluster = c.cluster AND "+sel.where+" ORDER BY "+sel.order)
		}
	}
	listed, _ := listWorkloads(job.WorkloadQuery{Muted: true}, &alice.UID, day)
	queries = append(queries, listed)
	sets, err := job.ParseJobSets("1,2_3,4_[5-6],7+0")
	if err != nil {
		t.Fatal(err)
	}
	var list conditions
	list.jobs(sets)
	queries = append(queries, "SELECT r.attempt FROM "+attemptsOfClusters+" WHERE "+list.where[0]+" ORDER BY "+newestFirst)
	return queries
}
