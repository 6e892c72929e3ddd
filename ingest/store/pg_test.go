package store

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"jobeff/test/pgtest"
)

// testServer names the PostgreSQL that the tests use. Without it they use SQLite.
const testServer = "JOBEFF_STORE_TEST_SERVER"

// TestOnPostgres runs every test of this package again, against PostgreSQL: with -run TestOnPostgres/NAME, those of a name.
func TestOnPostgres(t *testing.T) {
	onlySQLite(t, "it would run itself")
	// ANALYZE looks at all rows of the tests' tables. Of a sample it sees a rare state now and then, and plans change with it.
	server := pgtest.Start(t, append([]string{"-c", "default_statistics_target=1000"}, pgtest.Quick...)...)
	limit := time.Duration(0) // none
	if deadline, is := t.Deadline(); is {
		limit = time.Until(deadline)
	}
	_, named, some := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	cmd := exec.Command("/proc/self/exe", "-test.v", fmt.Sprint("-test.timeout=", limit), "-test.run="+named, "-test.skip=^(TestOnPostgres|Fuzz.*)$")
	cmd.Env = append(os.Environ(), testServer+"="+server.Dir())
	out, err := cmd.CombinedOutput()
	passed, all := 0, true
	for _, r := range results(out) {
		t.Run(r.name, func(t *testing.T) {
			switch r.verdict {
			case "SKIP":
				t.Skip(r.said)
			case "FAIL":
				all = false
				t.Error(r.said)
			}
			passed++
		})
	}
	if err != nil && all || passed < 10 && !some {
		t.Errorf("%v, %d passed: %s", err, passed, out)
	}
}

// result is what go test said of one test.
type result struct{ name, verdict, said string }

// results reads the output of a test program run with -test.v.
func results(out []byte) (all []result) {
	var said strings.Builder
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "=== "):
		case strings.HasPrefix(line, "--- ") && len(words) > 2:
			all = append(all, result{words[2], strings.TrimSuffix(words[1], ":"), said.String()})
			said.Reset()
		default:
			said.WriteString(line + "\n")
		}
	}
	return all
}

// TestName: a password never reaches a log, however it is written.
func TestName(t *testing.T) {
	for database, want := range map[string]string{
		"/var/lib/jobeff/jobeff.db":                       "/var/lib/jobeff/jobeff.db",
		"postgres://ann:s3cret@db:5432/jobeff?sslmode=x":  "postgres://ann@db:5432/jobeff",
		"postgres://db/jobeff?password=s3cret":            "postgres://db/jobeff",
		"postgres:///jobeff?host=/run/pg&password=s3cret": "postgres:///run/pg/jobeff",
		"postgres://ann:s3%zzcret@db/x":                   "postgres://(an address that cannot be read)",
	} {
		if got := Name(database); got != want {
			t.Errorf("%s: %s", database, got)
		}
	}
	for _, database := range []string{"postgres://ann:s3cret@127.0.0.1:1/x?connect_timeout=1", "postgres://ann:s3cret@/x?host=/none",
		"postgres://ann:s3cret@h:port/x", "postgres://ann:s3cret@h/x?sslmode=s3cret", "postgres://h/x?password=s3cret&sslmode=no", "postgres://ann:s3cret%zz@h/x"} {
		s, err := Open(database)
		if err == nil {
			s.Close()
			t.Fatal("opened", database)
		}
		if strings.Contains(err.Error(), "s3cret") || !strings.HasPrefix(err.Error(), "store: postgres://") || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "cannot take this now") != strings.Contains(err.Error(), "is PostgreSQL running there") {
			t.Errorf("%s: %v", database, err)
		}
	}
}

func TestRebind(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1": "SELECT 1", "a = ? AND b = '?' AND c IN (?, ?)": "a = $1 AND b = '?' AND c IN ($2, $3)", "x = 'it''s ?' OR ?": "x = 'it''s ?' OR $1",
	} {
		if got := rebind(query); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}
