package store

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOtherSchema: a database of a later release, and those from before 0.1.0, are refused with a sentence that says what
// to do. Nothing in them changes.
func TestOtherSchema(t *testing.T) {
	for change, want := range map[string]error{
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)": errNewerSchema,
		"INSERT INTO marks (name, time_us) VALUES ('schema', 2788539471)":         errOlderSchema,
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

// TestSchemasAreTheSame: SQLite and PostgreSQL have the same tables, views, columns, keys and indexes.
func TestSchemasAreTheSame(t *testing.T) {
	server := os.Getenv(testServer)
	if server == "" {
		t.Skip("it compares SQLite with PostgreSQL")
	}
	schema := func(database string, queries ...string) []string {
		return slices.Sorted(slices.Values(slices.DeleteFunc(linesOf(t, openAt(t, database), queries...), func(line string) bool {
			return strings.HasPrefix(line, "goose_db_version") || strings.HasPrefix(line, "sqlite_")
		})))
	}
	want := schema(filepath.Join(t.TempDir(), "jobeff.db"), sqliteColumns, sqliteIndexes)
	if len(want) < 300 {
		t.Fatalf("%d lines: the test is empty", len(want))
	}
	if d := cmp.Diff(want, schema(newDatabase(t), postgresColumns, postgresIndexes)); d != "" {
		t.Error(d)
	}
}

// linesOf are the rows of queries for one text.
func linesOf(t *testing.T, s *Store, queries ...string) (all []string) {
	t.Helper()
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
	return all
}
