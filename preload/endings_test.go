package preload

import (
	"path/filepath"
	"testing"

	"jobeff/preload/record"
)

// However a process ends, the record is valid and says what can be known.
func TestEndings(t *testing.T) {
	cases := []struct {
		way      string
		state    record.State
		ending   record.Ending
		code     int
		openCall string // "" computing
	}{
		{"finalize", record.StateDone, record.EndingFinalize, 0, ""},
		{"return", record.StateRunning, record.EndingExit, 0, ""},
		{"exit", record.StateRunning, record.EndingExit, 3, ""},
		{"_exit", record.StateRunning, record.EndingNone, 0, ""},
		{"abort", record.StateRunning, record.EndingNone, 0, ""},
		{"segv", record.StateRunning, record.EndingNone, 0, ""},
		{"term", record.StateRunning, record.EndingNone, 0, ""},
		{"kill", record.StateRunning, record.EndingNone, 0, ""},
		{"mpi_abort", record.StateRunning, record.EndingAbort, 5, ""},
		{"exec", record.StateRunning, record.EndingNone, 0, ""},
		{"in_recv", record.StateRunning, record.EndingNone, 0, "MPI_Recv"},
		{"in_computing", record.StateRunning, record.EndingNone, 0, ""},
		{"fork", record.StateDone, record.EndingFinalize, 0, ""},
		{"clone_return", record.StateRunning, record.EndingExit, 0, ""},
		{"finalize_clone", record.StateFinalized, record.EndingFinalize, 0, ""}, // the child's exit does not give the slot away
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "ending.c")
		for _, c := range cases {
			t.Run(c.way, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "record")
				mpirun(t, f, byHand(file), 1, program, c.way)
				slots := readSlots(t, file)
				if len(slots) != 1 {
					t.Fatalf("%d slots", len(slots))
				}
				s := slots[0]
				openCall := ""
				if s.OpenCall >= 0 {
					openCall = record.FuncName(s.OpenCall)
				}
				if s.Ending == record.EndingAbort && s.State == record.StateFinalized {
					s.State = c.state // from 4.2 on MPICH's MPI_Abort returns, and ending.c goes on
				}
				if s.State != c.state || s.Ending != c.ending || s.EndingCode != c.code || openCall != c.openCall {
					t.Errorf("state %d, ending %d, code %d, open call %q, want %+v", s.State, s.Ending, s.EndingCode, openCall, c)
				}
				if s.FinishedAt.IsZero() != (c.ending == record.EndingNone) {
					t.Errorf("finished at %v with ending %d", s.FinishedAt, s.Ending)
				}
				if got := recorded(slots)["MPI_Barrier"].Count; got != 3 || s.Torn || s.Odd {
					t.Errorf("%d barriers, want 3; torn %v, odd %v", got, s.Torn, s.Odd)
				}
			})
		}
	})
}

// A plugin opened with RTLD_LOCAL has its MPI in a scope of its own, and is unloaded when it is
// closed.
func TestLocalPlugin(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		plugin := compile(t, f.cc, "plugin.c", "-shared", "-fPIC")
		host := compile(t, "gcc", "host.c", "-ldl")
		without := mpirun(t, f, nil, 1, host, plugin)
		if without.code != 0 {
			t.Skipf("does not run without us either: %s", without.stderr)
		}
		file := filepath.Join(t.TempDir(), "record")
		r := mustRun(t, mpirun(t, f, byHand(file), 1, host, plugin))
		if r.stderr != without.stderr {
			t.Errorf("with the library it says %q, without it %q", r.stderr, without.stderr)
		}
		if got, want := recorded(readSlots(t, file)), called(t, r.stdout); got["MPI_Barrier"] != want["MPI_Barrier"] {
			t.Errorf("recorded %v, want %v", got, want)
		}
	})
}
