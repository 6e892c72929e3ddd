package store

import (
	"regexp"
	"strings"
	"testing"

	"jobeff/ingest"
)

// walks is the plan of a whole table, by its name or alias, or of a whole cluster's part.
var walks = regexp.MustCompile(`^SCAN (r|runs|m|mutes|w|workload_runs)\b|^SEARCH r .*\(cluster=\?\)$`)

// TestPlans: no look-up of a job, and no question of the ingest path, walks a
// whole table.
func TestPlans(t *testing.T) {
	onlySQLite(t, "PostgreSQL explains its plans otherwise")
	s := open(t)
	task, offset := uint32(1), uint32(0)
	queries := map[string]int{
		reportsOfRun:                      3,
		reportsOfNodes + "(?)":            3,
		reportsOfNodes + "(?, ?, ?, ?)":   6,
		candidatesOfJob:                   2,
		toMerge:                           1,
		toAsk:                             2,
		heavyJob:                          6,
		changedLineages:                   4,
		dueMails:                          4,
		programHours:                      2,
		runsOfLineage:                     5,
		coreCounts:                        4,
		runsOnCores + newestRuns:          3,
		namedWorkloads + namings[0].where: 1,
		namedWorkloads + namings[1].where: 1,
		toWeigh:                           2,
		asked:                             2,
		"SELECT run FROM runs r WHERE r.uid = ? ORDER BY r.start_us DESC NULLS LAST LIMIT 10": 1,
	}
	for _, ref := range []ingest.JobRef{{ID: 1}, {ID: 1, ArrayTask: &task}, {ID: 1, HetOffset: &offset}} {
		for _, sel := range byRef(ref) {
			queries["SELECT r.run FROM clusters c CROSS JOIN runs r WHERE r.cluster = c.cluster AND "+sel.where+" ORDER BY "+sel.order] = len(sel.args)
		}
	}
	listed, args := listWorkloads(ingest.WorkloadQuery{Muted: true}, &alice.UID, day)
	queries[listed] = len(args) + 2
	sets, err := ingest.ParseJobSets("1,2_3,4_[5-6],7+0")
	if err != nil {
		t.Fatal(err)
	}
	var list conditions
	list.jobs(sets)
	queries["SELECT r.run FROM "+runsOfClusters+" WHERE "+list.where[0]+" ORDER BY "+newestFirst] = len(list.args)
	for query, args := range queries {
		rows, err := s.read.Query("EXPLAIN QUERY PLAN "+query, make([]any, args)...)
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
