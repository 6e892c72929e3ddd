package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/wire"
	"jobeff/test/pgtest"
)

// TestOtherSchema: a database of a later release, and one from before there were migrations, are refused with a
// sentence that says what to do. Nothing in them changes.
func TestOtherSchema(t *testing.T) {
	for change, want := range map[string]error{
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)": errNewerSchema,
		"UPDATE marks SET time_us = 1 WHERE name = 'schema'":                      errOlderSchema,
		"DELETE FROM marks WHERE name = 'schema'":                                 errOlderSchema,
	} {
		database := newDatabase(t)
		s := openAt(t, database)
		if err := s.do(ctx, func(w *writer) error { return w.exec(change) }); err != nil {
			t.Fatal(err)
		}
		s.Close()
		for what, open := range map[string]func(string) (*Store, error){"open": Open, "beside": OpenBeside} {
			if _, err := open(database); !errors.Is(err, want) {
				t.Errorf("%s: %s: %v", change, what, err)
			}
		}
	}
}

// ofCommit967a4cf4 is a database that commit 967a4cf4 wrote: jobs with and without figures, dropped and trimmed ones,
// a mail and an alarm.
func ofCommit967a4cf4(t *testing.T) (database string) {
	t.Helper()
	server, end := os.Getenv(testServer), ".db.zst"
	if server != "" {
		end = ".sql.zst"
	}
	packed, err := os.ReadFile("testdata/967a4cf4" + end)
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.Decompress(packed)
	if err != nil {
		t.Fatal(err)
	}
	database = emptyDatabase(t)
	if server == "" {
		err = errors.Join(os.MkdirAll(filepath.Dir(database), 0o700), os.WriteFile(database, text, 0o600))
	} else {
		err = pgtest.Exec(database, string(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// TestMigratesWithoutLoss: a database of commit 967a4cf4, or of a commit between it and the first migration, is brought
// up to date: each value of each row is there. The sums of months are those of the rows, and are kept from then on.
func TestMigratesWithoutLoss(t *testing.T) {
	for name, then := range map[string]string{"967a4cf4": "SELECT 1",
		"between": fmt.Sprintf("CREATE TABLE comparison (id BIGINT NOT NULL PRIMARY KEY, comparison_json TEXT NOT NULL); UPDATE marks SET time_us = %d WHERE name = 'schema'", schemaBetween)} {
		t.Run(name, func(t *testing.T) {
			database := ofCommit967a4cf4(t)
			e, err := openBeside(database)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.writeDB().Exec(then); err != nil {
				t.Fatal(err)
			}
			before := content(t, e.writeDB())
			if _, err := OpenBeside(database); !errors.Is(err, errNotMigrated) {
				t.Errorf("beside: %v", err)
			}
			if err := e.close(); err != nil {
				t.Fatal(err)
			}
			if from, to, err := Migrate(database); err != nil || from != 1 || to != schemaVersion {
				t.Fatalf("from %d to %d: %v", from, to, err)
			}
			s := openAt(t, database)
			after := content(t, s.read.DB)
			for table, rows := range before {
				if len(rows) != len(after[table]) {
					t.Fatalf("%s: %d rows were %d", table, len(after[table]), len(rows))
				}
				for i, r := range rows {
					kept := maps.Clone(after[table][i])
					inNewForm(table, r)
					maps.DeleteFunc(kept, func(c string, _ any) bool { _, old := r[c]; return !old })
					if d := cmp.Diff(r, kept); d != "" {
						t.Errorf("%s: %s", table, d)
					}
				}
			}
			wantSums(t, s, "the migration")
			if err := s.do(ctx, func(w *writer) error { return w.exec("UPDATE attempts SET alloc_cpus = alloc_cpus + 1") }); err != nil {
				t.Fatal(err)
			}
			wantSums(t, s, "a change")
			if j := aJob(t, settled(t, s), root, "12", 0); j.Metrics == nil || j.Flags == nil {
				t.Errorf("judged: %+v", j)
			}
			wantSums(t, s, "the rules were asked")
			add(t, s, nodeReport(100, 1, "z", 50*oneDay))
		})
	}
}

// inNewForm makes a row of commit 967a4cf4 what it is now. What a job lost is worked out anew, and so are the sums of jobs that
// are there.
func inNewForm(table string, r row) {
	switch table {
	case "attempts":
		for _, c := range []string{"run_s", "smt_most_s", "smt_s"} {
			delete(r, c)
		}
		r["judged_by"] = min(r["judged_by"].(int64), 0)
	case "month_sums":
		for _, c := range []string{"used", "judged", "lost"} {
			if r["part"].(int64) < 0 {
				r[c+"_us"] = 1000 * r[c+"_ms"].(int64)
			}
			delete(r, c+"_ms")
		}
	}
}

// content reads all rows of all tables of a database of the first version, in an order that no migration changes.
func content(t *testing.T, db *sql.DB) map[string][]row {
	t.Helper()
	all := map[string][]row{}
	for table, key := range map[string]string{"attempts": "1, 2, 3", "month_sums": "1, 2, 3, 4, 5, 6, 7", "reports": "1, 2, 3, 4", "executions": "1, 2, 3, 4",
		"workload_runs": "1, 2, 3, 4", "rollup_months": "1, 2, 3, 4, 5", "mails": "1", "notices": "1, 2, 3, 4", "alarms": "1, 2", "marks": "1", "clusters": "1"} {
		rows, err := readRows(db.Query("SELECT * FROM " + table + " ORDER BY " + key))
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", table, len(rows), err)
		}
		all[table] = rows
	}
	return all
}

// The tables, views and indexes of a database, a line for each column. Types are PostgreSQL's words.
const (
	sqliteColumns = `SELECT m.name || '.' || c.name || CASE m.type WHEN 'view' THEN '' ELSE ' ' || lower(c.type) ||
			CASE c."notnull" WHEN 1 THEN ' not null' ELSE '' END || COALESCE(' default ' || c.dflt_value, '') || CASE WHEN c.hidden > 1 THEN ' generated' ELSE '' END END
		FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type IN ('table', 'view')`
	sqliteIndexes = `SELECT m.name || ' ' || CASE i.origin WHEN 'pk' THEN 'key' ELSE i.name || CASE i."unique" WHEN 1 THEN ' unique' ELSE '' END ||
			CASE i.partial WHEN 1 THEN ' partial' ELSE '' END END || ' ' || (SELECT group_concat(c.name) FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno) c)
		FROM sqlite_master m JOIN pragma_index_list(m.name) i WHERE m.type = 'table'`
	postgresColumns = `SELECT c.table_name || '.' || c.column_name || CASE t.table_type WHEN 'VIEW' THEN '' ELSE ' ' || c.data_type || CASE c.is_nullable WHEN 'NO' THEN ' not null' ELSE '' END ||
			COALESCE(' default ' || replace(c.column_default, '::text', ''), '') || CASE c.is_generated WHEN 'ALWAYS' THEN ' generated' ELSE '' END END
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) WHERE table_schema = 'public'`
	postgresIndexes = `SELECT c.relname || ' ' || CASE WHEN i.indisprimary THEN 'key' ELSE n.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END ||
			CASE WHEN i.indpred IS NOT NULL THEN ' partial' ELSE '' END END || ' ' ||
			(SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY k(attnum, n) JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class n ON n.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace`
)

// TestSchemasAreTheSame: SQLite and PostgreSQL have the same tables, views, columns, keys and indexes, in a new database
// and in one of commit 967a4cf4.
func TestSchemasAreTheSame(t *testing.T) {
	server := os.Getenv(testServer)
	if server == "" {
		t.Skip("it compares SQLite with PostgreSQL")
	}
	schema := func(database string, queries ...string) (all []string) {
		s := openAt(t, database)
		for _, q := range queries {
			err := s.eachRow(ctx, q, nil, func(rows *sql.Rows) error {
				var line string
				err := rows.Scan(&line)
				all = append(all, line)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return slices.Sorted(slices.Values(slices.DeleteFunc(all, func(line string) bool {
			return strings.HasPrefix(line, "goose_db_version") || strings.HasPrefix(line, "sqlite_")
		})))
	}
	want := schema(filepath.Join(t.TempDir(), "jobeff.db"), sqliteColumns, sqliteIndexes)
	if len(want) < 300 {
		t.Fatalf("%d lines: the test is empty", len(want))
	}
	for _, database := range []string{newDatabase(t), ofCommit967a4cf4(t)} {
		if d := cmp.Diff(want, schema(database, postgresColumns, postgresIndexes)); d != "" {
			t.Error(d)
		}
	}
}
