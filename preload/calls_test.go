package preload

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// checkRows compiles calls_check.h for a file of rows against an MPI's own mpi.h.
func checkRows(t *testing.T, f family, rows string) string {
	t.Helper()
	out, err := exec.Command(f.cxx, "-std=c++17", "-fsyntax-only", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX",
		"-Wno-deprecated-declarations", "-DCHECK_ROWS=\""+rows+"\"", "-x", "c++", "calls_check.h").CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out)
}

// Each row has the number and the kinds of arguments that both real mpi.h say.
func TestRowsFitMPI(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		if faults := checkRows(t, f, "mpi_calls.def"); faults != "" {
			t.Error(faults)
		}
	})
}

// The check above sees what is wrong.
func TestWrongRowsAreRefused(t *testing.T) {
	send := "JE_CALL(5, Send, send, 6, 0, P2P, SIDE(PEER, 1, 2, 3), NOTHING, -1, LOG(SEND, 0))"
	cases := []struct{ name, row, fault string }{
		{"right", send, ""},
		{"arity", strings.Replace(send, " 6,", " 7,", 1), "arity of MPI_Send"},
		{"count that is a pointer", strings.Replace(send, "PEER, 1", "PEER, 0", 1), "sent by MPI_Send"},
		{"peer past the end", strings.Replace(send, "2, 3)", "2, 6)", 1), "sent by MPI_Send"},
		{"no peer", strings.Replace(send, "2, 3)", "2, -1)", 1), "sent by MPI_Send"},
		{"no datatype", strings.Replace(send, "1, 2, 3)", "1, -1, 3)", 1), "sent by MPI_Send"},
		{"vector of what is one", strings.Replace(send, "PEER, 1, 2, 3", "VEC, 1, 2, -1", 1), "sent by MPI_Send"},
		{"no communicator", strings.Replace(send, "PEER, 1, 2, 3", "ALL, 1, 2, -1", 1), "no communicator of MPI_Send"},
		{"a double", "JE_CALL(5, T, t, 1, 0, P2P, NOTHING, NOTHING, -1, LOG(NONE, 0))", "argument of MPI_T"},
	}
	eachFamily(t, func(t *testing.T, f family) {
		for _, c := range cases {
			rows := filepath.Join(t.TempDir(), "rows.def")
			if err := os.WriteFile(rows, []byte("int MPI_T(double);\n"+c.row+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			faults := checkRows(t, f, rows)
			if c.fault == "" && faults != "" || c.fault != "" && !strings.Contains(faults, c.fault) {
				t.Errorf("%s: want a fault %q, got %q", c.name, c.fault, faults)
			}
		}
	})
}

// row is a row of mpi_calls.def.
type row struct {
	number         int
	special, large bool
	newer          bool // than MPI 3
	name, lower    string
}

func readRows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("mpi_calls.def")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, m := range regexp.MustCompile(`(?m)^JE_(CALL4?1?|LARGE(?:41)?|SPECIAL4?)\((\d+), (\w+), (\w+),`).FindAllStringSubmatch(string(text), -1) {
		number, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		large := strings.HasPrefix(m[1], "LARGE")
		rows = append(rows, row{number, strings.HasPrefix(m[1], "SPECIAL"), large, large || strings.Contains(m[1], "4"), m[3], m[4]})
	}
	return rows
}

// The numbers stand in records on disk: dense, in order, each name once, within room.
func TestRowsAreNumberedInOrder(t *testing.T) {
	rows := readRows(t)
	if len(rows) < 361 || len(rows) > 448 {
		t.Fatalf("%d rows", len(rows))
	}
	names := map[string]bool{}
	for i, r := range rows {
		if r.number != i {
			t.Errorf("row %d has the number %d", i, r.number)
		}
		if names[r.name] || r.lower != strings.ToLower(r.name) {
			t.Errorf("row %d: names %s, %s", i, r.name, r.lower)
		}
		names[r.name] = true
	}
}
