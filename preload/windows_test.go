package preload

import (
	"syscall"
	"testing"

	"jobeff/ingest/replay"
	"jobeff/preload/record"
)

// TestWindowsOfCalls: which calls the log understands, and what it says of those that it does not.
// Each program has 4 ranks and 6 rounds, and a window for each border.
func TestWindowsOfCalls(t *testing.T) {
	for _, p := range []struct {
		name             string
		matched, dropped int
		reason           replay.Reason // of windows after the first
	}{
		{"replace", 6, 0, ""},
		{"testsome", 6, 0, ""},
		{"testany", 6, 0, ""},
		{"testall", 6, 0, ""},
		{"cart", 12, 0, ""},
		{"dup", 12, 0, ""},
		{"split", 6, 0, ""},
		{"probe", 6, 0, ""},
		{"nonblocking", 6, 0, ""},
		{"rooted", 6, 0, ""},
		{"forks", 6, 0, ""},
		{"barrier", 12, 0, ""},
		{"large", 12, 0, ""}, // with counts of 64 bits where MPI has them
		{"error", 5, 1, replay.ReasonOther},
		{"much", 3, 3, replay.ReasonTooLong},
		{"wildcard", 0, 6, replay.ReasonWildcard},
		{"mprobe", 0, 6, replay.ReasonMprobe},
		{"inter", 0, 6, replay.ReasonInter},
		{"rma", 0, 6, replay.ReasonRMA},
		{"cancel", 0, 6, replay.ReasonSends},
		{"neighbour", 0, 6, replay.ReasonNeighbour},
		{"open", 2, 4, replay.ReasonOpen},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachFamily(t, func(t *testing.T, f family) {
				e := waited(t, f, nil, 4, compile(t, f.cc, "windows.c", "-pthread"), p.name)
				if e.Windows == nil {
					t.Fatalf("%s: no windows", p.name)
				}
				if w := e.Windows; w.Matched != p.matched || w.Dropped != p.dropped {
					t.Errorf("%s: %+v, want %d matched and %d dropped", p.name, w, p.matched, p.dropped)
				}
				for _, d := range e.Windows.Drops {
					if d.Reason != p.reason && d.Count != 1 {
						t.Errorf("%s: %d windows dropped for %q, want %q", p.name, d.Count, d.Reason, p.reason)
					}
				}
			})
		})
	}
}

// TestWindowsOfFortran: all bindings, with statuses and without.
func TestWindowsOfFortran(t *testing.T) {
	for name, flags := range map[string][]string{"mpif.h": nil, "use mpi": {"-DUSE_MPI"}, "mpi_f08": {"-DUSE_F08"}} {
		t.Run(name, func(t *testing.T) {
			eachFamily(t, func(t *testing.T, f family) {
				file := newRecord(t)
				mustRun(t, mpirun(t, f, logs(file), 4, compile(t, f.fc, "windows.F90", append(flags, "-g")...)))
				wantSites(t, file, "windows.F90", "MPI_Barrier") // of few arguments, gfortran 12 has the line after it
				e := foldedWindows(t, file)
				if w := e.Windows; w == nil || w.Matched != 12 || w.Dropped != 0 {
					t.Errorf("%+v, want 12 matched windows", w)
				}
			})
		})
	}
}

// TestWindowsOfThreads: with several threads in MPI nothing is determined.
func TestWindowsOfThreads(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		e := waited(t, f, nil, 2, compile(t, f.cc, "windows.c", "-pthread"), "threads")
		if w := e.Windows; w == nil || w.Why != replay.WhyThreads || w.Matched != 0 {
			t.Errorf("%+v, want %q", w, replay.WhyThreads)
		}
	})
}

// TestWindowsOfFreedCommunicators: a communicator may be freed while a receive on it is under way.
func TestWindowsOfFreedCommunicators(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		e := waited(t, f, nil, 4, compile(t, f.cc, "freedcomm.c"), "")
		if w := e.Windows; w == nil || w.Matched != 20 || w.Dropped != 0 {
			t.Errorf("%+v, want 20 matched windows", w)
		}
	})
}

// TestWindowsOfKilledRank: the windows that ended before a rank was killed are whole.
func TestWindowsOfKilledRank(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := newRecord(t)
		if r := mpirun(t, f, logs(file), 4, compile(t, f.cc, "windows.c", "-pthread", "-g"), "killed", "8"); r.code == 0 {
			t.Fatal("the program ended well")
		}
		wantSites(t, file, "windows.c")
		e := foldedWindows(t, file)
		if w := e.Windows; w == nil || w.Matched != 5 || w.Dropped != 0 {
			t.Errorf("%+v, want 5 matched windows", w)
		}
	})
}

// TestWindowsOfForks: what forked children call is not logged, nor a program that they run. An
// entry that the parent wrote over would leave an empty one at the end.
func TestWindowsOfForks(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := newRecord(t)
		mustRun(t, mpirun(t, f, logs(file), 2, compile(t, f.cc, "windows.c", "-pthread"), "forks", "6"))
		processes, entries := 0, 0
		for _, s := range readSlots(t, file) {
			if s.Windows == nil {
				processes++
				continue
			}
			for _, entry := range s.Windows.Entries {
				entries++
				if name := record.FuncName(int(entry.Call)); name == "MPI_Barrier" || entry.Op == uint8(replay.OpUnsupported) {
					t.Errorf("a child's call is logged: %s, %+v", name, entry)
				}
			}
		}
		if processes != 2 || entries == 0 {
			t.Errorf("%d slots of processes and %d entries, want 2 and some", processes, entries)
		}
	})
}

// TestWindowsTakePagesWhenUsed: a log takes one slot of memory at first, and a further one only
// when that is full.
func TestWindowsTakePagesWhenUsed(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "windows.c", "-pthread")
		backed := func(windows, rounds string) int64 {
			file := newRecord(t)
			mustRun(t, mpirun(t, f, append(logs(file), "JOBEFF_WINDOWS="+windows), 2, program, "replace", rounds))
			var stat syscall.Stat_t
			must(t, syscall.Stat(file, &stat))
			return stat.Blocks * 512
		}
		without := backed("0", "6")
		for rounds, slots := range map[string]int64{"6": 1, "300": 2, "3000": 8} {
			if more := backed("1", rounds) - without; more <= 0 || more > 2*slots*32768 {
				t.Errorf("%s rounds: 2 ranks take %d bytes more with windows, want at most %d slots each", rounds, more, slots)
			}
		}
	})
}

// TestManyWindows: the windows of a long run are thinned. Two kinds of collectives in turn are both
// kept, about as often.
func TestManyWindows(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := newRecord(t)
		mustRun(t, mpirun(t, f, logs(file), 2, compile(t, f.cc, "windows.c", "-pthread", "-g"), "barrier", "8000"))
		wantSites(t, file, "windows.c")
		const k = 4 // 1,000 windows of 16,000
		kinds := map[string]int{}
		for _, s := range readSlots(t, file) {
			if s.Windows == nil {
				continue
			}
			if s.Windows.Order == 0 && s.Windows.K != k {
				t.Errorf("k = %d, want %d", s.Windows.K, k)
			}
			for _, entry := range s.Windows.Entries {
				if entry.Op == uint8(replay.OpWindow) {
					kinds[record.FuncName(int(entry.Call))]++
					if !replay.Kept(entry.Request, k) {
						t.Errorf("window %d is kept with k = %d", entry.Request, k)
					}
				}
			}
		}
		allreduce, barrier := kinds["MPI_Allreduce"], kinds["MPI_Barrier"]
		if len(kinds) != 2 || allreduce < barrier*4/5 || barrier < allreduce*4/5 {
			t.Errorf("windows begin with %v, want as many of each", kinds)
		}
		if e := foldedWindows(t, file); e.Windows == nil || e.Windows.Matched != e.Windows.Logged || 2*e.Windows.Logged != allreduce+barrier || e.Windows.Logged < 900 {
			t.Errorf("%+v", e.Windows)
		}
	})
}

// TestWindowsOfSlurmsTasks: where no launcher says how many ranks a node has, Slurm's list does.
func TestWindowsOfSlurmsTasks(t *testing.T) {
	f := families[1]
	program := compile(t, f.cc, "windows.c", "-pthread")
	for tasks, want := range map[string]int{"4": 7, "2(x500),1": 7, "2(x3),16,1(x2)": 2, "33": 0} { // 1,024 windows need 7
		file := newRecord(t)
		mustRun(t, run(t, append(logs(file), "SLURM_STEP_TASKS_PER_NODE="+tasks), program, "replace", "3000"))
		if slots := windowSlots(t, file); slots != want {
			t.Errorf("%s tasks on the nodes: %d slots of windows in 1 MiB, want %d", tasks, slots, want)
		}
	}
}

// TestWindowsOfManyPrograms: all programs that a job runs on a node share its room.
func TestWindowsOfManyPrograms(t *testing.T) {
	f := families[1]
	program := compile(t, f.cc, "windows.c", "-pthread")
	file := newRecord(t)
	for range 6 {
		mustRun(t, run(t, logs(file), program, "replace", "3000"))
	}
	if slots := windowSlots(t, file); slots != 32 {
		t.Errorf("six programs have %d slots of windows, want the 32 of 1 MiB", slots)
	}
}

// windowSlots is how many slots of windows a record has.
func windowSlots(t *testing.T, file string) (slots int) {
	for _, s := range readSlots(t, file) {
		if s.Windows != nil {
			slots++
		}
	}
	return slots
}

// TestWindowsMayCost: what a run logs is bounded, in calls and in time. Each run is of one rank on a clock that
// its work moves.
func TestWindowsMayCost(t *testing.T) {
	for _, c := range []struct {
		name          string
		rounds        string
		least, most   int    // windows that are kept
		looks, logged uint64 // of all windows together
	}{
		{"looks", "16", 3, 12, 3000, 11800},   // one call in 100 us of 80 ms, and those of a second more
		{"spins", "16", 17, 17, 16000, 16000}, // the last one has only begun
		{"slow", "60", 4, 11, 0, 0},           // 10 s, 1 % of the others, and half a second
	} {
		t.Run(c.name, func(t *testing.T) {
			eachFamily(t, func(t *testing.T, f family) {
				file := newRecord(t)
				mustRun(t, mpirun(t, f, append(onClock(t, f.cc, file), "JOBEFF_WINDOWS=1"), 1, compile(t, f.cc, "windows.c", "-pthread"), c.name, c.rounds))
				windows, looks := 0, uint64(0)
				for _, s := range readSlots(t, file) {
					if s.Windows == nil {
						continue
					}
					for _, entry := range s.Windows.Entries {
						switch entry.Op {
						case uint8(replay.OpWindow):
							if replay.Flags(entry.Flags)&replay.TooLong == 0 {
								windows++
							}
						case uint8(replay.OpPoll):
							looks += entry.Request
						}
					}
				}
				if windows < c.least || windows > c.most || looks < c.looks || looks > c.logged {
					t.Errorf("%d windows with %d looks, want %d to %d with %d to %d", windows, looks, c.least, c.most, c.looks, c.logged)
				}
			})
		})
	}
}

// TestBordersAreCounted: all ranks number the windows alike, whatever way a collective takes through the library.
func TestBordersAreCounted(t *testing.T) {
	round := []string{"MPI_Allreduce", "MPI_Barrier", "MPI_Allgatherv", "MPI_Reduce_scatter", "MPI_Alltoall", "MPI_Allreduce"}
	eachFamily(t, func(t *testing.T, f family) {
		file := newRecord(t)
		mustRun(t, mpirun(t, f, logs(file), 4, compile(t, f.cc, "windows.c", "-pthread", "-g"), "kinds", "600"))
		wantSites(t, file, "windows.c")
		seen := map[string]int{}
		for _, s := range readSlots(t, file) {
			if s.Windows == nil {
				continue
			}
			for _, entry := range s.Windows.Entries {
				if entry.Op != uint8(replay.OpWindow) || entry.Request == 0 {
					continue
				}
				name := record.FuncName(int(entry.Call))
				if want := round[(entry.Request-1)%6]; name != want {
					t.Fatalf("window %d begins with %s, want %s", entry.Request, name, want)
				}
				seen[name]++
			}
		}
		if len(seen) != 5 {
			t.Errorf("windows begin with %v", seen)
		}
		if w := foldedWindows(t, file).Windows; w == nil || w.Matched != w.Logged || w.Logged < 100 {
			t.Errorf("%+v", w)
		}
	})
}

// TestWindowsShareTheNode: the ranks of a node share 512 slots. Beyond them nothing is logged.
func TestWindowsShareTheNode(t *testing.T) {
	f := families[1]
	for ranks, want := range map[string]int{"2": 8, "128": 4, "512": 1, "513": 0} {
		file := newRecord(t)
		env := append(logs(file), "JOBEFF_WINDOWS=16", "OMPI_COMM_WORLD_LOCAL_SIZE="+ranks) // the library asks for it first; MPICH does not
		mustRun(t, mpirun(t, f, env, 2, compile(t, f.cc, "windows.c", "-pthread"), "replace", "3000"))
		if slots := windowSlots(t, file); slots > 2*want || slots < min(2*want, 2) {
			t.Errorf("%s ranks on the node: 2 of them have %d slots of windows, want at most %d", ranks, slots, 2*want)
		}
	}
}
