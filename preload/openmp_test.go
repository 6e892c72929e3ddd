package preload

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
)

// quietThreads lets threads that wait leave the CPU to others: the machine is shared.
const quietThreads = "OMP_WAIT_POLICY=passive"

// openMPSlots are the processes of a record, and its slots of OpenMP threads.
func openMPSlots(t *testing.T, file string) (processes, openmp []*record.Slot) {
	t.Helper()
	slots := readSlots(t, file)
	for i := range slots {
		switch slots[i].Kind {
		case record.KindProcess:
			processes = append(processes, &slots[i])
		case record.KindOpenMP:
			openmp = append(openmp, &slots[i])
		}
	}
	return processes, openmp
}

// openMPOf is the OpenMP of the record's only process, which ended at its last sign of life if it
// did not say when.
func openMPOf(t *testing.T, file string) (*record.Slot, *record.OpenMP) {
	t.Helper()
	processes, openmp := openMPSlots(t, file)
	if len(processes) != 1 {
		t.Fatalf("%d processes", len(processes))
	}
	p := processes[0]
	end := p.FinishedAt.Ticks
	if p.FiniEnter != 0 {
		end = p.FiniEnter
	}
	if end == 0 {
		end = record.OpenMPOf(p, nil, openmp, 0).Last
	}
	sum := record.OpenMPOf(p, nil, openmp, end)
	if sum == nil {
		t.Fatal("no OpenMP was recorded")
	}
	return p, sum
}

// figures are times in units of work of test/apps/openmp.c, sums over threads.
type figures struct{ useful, locked, imbalance float64 }

// anyImbalance is 3 units where the runtime gives tasks to all threads at once. LLVM's may wake one late.
const anyImbalance = -1

// known are the programs of openmp.c whose figures are known. What a child does takes no time here.
var known = []struct {
	mode                   string
	want                   figures
	team                   int
	regions, nested, tasks uint64
	others                 uint64 // regions begun by other threads
	threads                int    // entries: threads at once
	code                   int
}{
	{"loads", figures{10, 0, 6}, 4, 1, 0, 0, 0, 4, 0},
	{"barrier", figures{14, 0, 6}, 4, 1, 0, 0, 0, 4, 0},
	{"critical", figures{4, 6, 6}, 4, 1, 0, 0, 0, 4, 0},
	{"ordered", figures{4, 6, 6}, 4, 1, 0, 0, 0, 4, 0},
	{"dynamic", figures{16, 0, 0}, 4, 1, 0, 0, 0, 4, 0},
	{"tasks", figures{17, 0, anyImbalance}, 4, 1, 0, 17, 0, 4, 0},
	{"taskloop", figures{17, 0, anyImbalance}, 4, 1, 0, 17, 0, 4, 0},
	{"serial", figures{4, 0, 0}, 4, 2, 0, 0, 0, 4, 0},
	{"nested", figures{4, 0, 0}, 2, 3, 2, 0, 0, 4, 0},
	{"teams", figures{13.2, 0, 0}, 4, 84, 0, 0, 0, 4, 0},
	{"threads", figures{8, 0, 0}, 2, 2, 0, 0, 1, 4, 0},
	{"forked", figures{4, 0, 0}, 4, 1, 0, 0, 0, 4, 0},
	{"exits", figures{4, 0, 0}, 4, 1, 0, 0, 0, 4, 3},
}

// unit is a unit of work of test/apps/openmp.c, ticks of the clock of onClock.
const unit = 50e6

// figuresOf runs openmp.c in a mode, and reads its process, its OpenMP and these in units of work.
func figuresOf(t *testing.T, program string, env []string, mode string, code int) (*record.Slot, *record.OpenMP, figures) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "record")
	if r := run(t, append(onClock(t, "gcc", file), env...), program, mode); r.code != code {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	p, o := openMPOf(t, file)
	return p, o, figures{float64(o.Useful) / unit, float64(o.Locked) / unit, float64(o.Imbalance) / unit}
}

// What is known by construction is what the record says. A program without MPI is rank 0 of 1.
func TestOpenMPFiguresAreKnown(t *testing.T) {
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, runtimes record.OpenMPRuntimes) {
		for _, k := range known {
			t.Run(k.mode, func(t *testing.T) {
				p, o, got := figuresOf(t, program, env, k.mode, k.code)
				if !p.WithoutMPI || p.Rank != 0 || p.Size != 1 || p.Family != "" || p.Began == 0 || p.EndingCode != k.code {
					t.Errorf("process %+v", p)
				}
				if k.want.imbalance == anyImbalance {
					k.want.imbalance = got.imbalance
				}
				if got != k.want || o.Useful+o.Locked+o.Imbalance != o.TeamTicks {
					t.Errorf("got %+v units, want %+v; %+v", got, k.want, o)
				}
				if o.TeamMost != k.team || o.Regions != k.regions || o.Nested != k.nested || o.TasksRun != k.tasks || o.OtherRegions != k.others {
					t.Errorf("got %+v", o)
				}
				most := k.threads
				if k.mode == "teams" { // a team's threads may end while the next one's begin
					most *= 2
				}
				if o.Threads < k.threads || o.Threads > most || o.Why != record.OpenMPKnown || o.Lost != 0 || o.Runtimes != runtimes {
					t.Errorf("got %+v", o)
				}
			})
		}
	})
}

// A serial part is outside of regions, so that it can be told from useful work in them.
func TestOpenMPSerialPart(t *testing.T) {
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, _ record.OpenMPRuntimes) {
		p, o, _ := figuresOf(t, program, env, "serial", 0)
		if elapsed := p.FinishedAt.Ticks - p.InitLeft; elapsed != 3*unit || o.RegionTicks != unit || o.Team != 4 {
			t.Errorf("%d of %d ticks in regions, the last team has %d threads", o.RegionTicks, elapsed, o.Team)
		}
	})
}

// On the machine's own clock, with the library as it is: work takes its time, or longer.
func TestOpenMPOnTheRealClock(t *testing.T) {
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, _ record.OpenMPRuntimes) {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, run(t, append(byHand(file), env...), program, "serial"))
		p, o := openMPOf(t, file)
		perTick := float64(p.FinishedAt.Mono-p.ClaimedAt.Mono) / float64(p.FinishedAt.Ticks-p.ClaimedAt.Ticks)
		useful, elapsed := float64(o.Useful)*perTick, float64(p.FinishedAt.Ticks-p.InitLeft)*perTick
		if useful < 3.99*unit || elapsed < 2.99*unit || useful > 4*elapsed || p.Began == 0 || p.Began > p.ClaimedAt.Mono {
			t.Errorf("useful for %.0f of %.0f ns, process %+v", useful, elapsed, p)
		}
		if sum := o.Useful + o.MPI + o.IO + o.Imbalance + o.Scheduling + o.Locked; sum != o.TeamTicks {
			t.Errorf("parts add up to %d, not to %d", sum, o.TeamTicks)
		}
	})
}

// A program that is killed inside a region keeps what it did there.
func TestOpenMPOfAKilledProgram(t *testing.T) {
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, _ record.OpenMPRuntimes) {
		file := filepath.Join(t.TempDir(), "record")
		r := run(t, append(byHand(file), env...), program, "killed")
		if r.code != -1 {
			t.Fatalf("exit code %d", r.code)
		}
		p, o := openMPOf(t, file)
		now, ok := record.Now(p.Clock)
		if !ok || p.Ending != record.EndingNone || !o.Open {
			t.Fatalf("process %+v, OpenMP %+v", p, o)
		}
		processes, openmp := openMPSlots(t, file)
		later := record.OpenMPOf(processes[0], nil, openmp, now.Ticks)
		if grown, long := later.TeamTicks-o.TeamTicks, now.Ticks-o.Last; grown != 4*long || later.Useful-o.Useful != 3*long {
			t.Errorf("in %d ticks more the team grew by %d and its useful time by %d, want 4 and 3 times as much", long, grown, later.Useful-o.Useful)
		}
	})
}

// All constructs give the same results with and without the library, whatever the number of
// threads is, and the program ends with the same code.
func TestOpenMPIsUnchanged(t *testing.T) {
	program := compile(t, "gcc", "openmptour.c", "-fopenmp", "-O2")
	for threads := 1; threads <= 8; threads++ {
		for _, cancel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d_%v", threads, cancel), func(t *testing.T) {
				env := []string{quietThreads, fmt.Sprintf("OMP_NUM_THREADS=%d", threads), fmt.Sprintf("OMP_CANCELLATION=%v", cancel)}
				file := filepath.Join(t.TempDir(), "record")
				without, with := run(t, env, program), run(t, append(env, byHand(file)...), program)
				wantSame(t, without, with)
				if _, o := openMPOf(t, file); without.code != 5 || o.Regions < 100 || o.TasksRun == 0 || o.Dispatches == 0 || o.Waits == 0 || o.Locks == 0 {
					t.Errorf("exit code %d, OpenMP %+v", without.code, o)
				}
			})
		}
	}
}

// Programs that are killed, exit or fork in a region end as ever, and so do all others.
func TestOpenMPEndsAreUnchanged(t *testing.T) {
	modes := []string{"killed", "children", "many", "none"}
	for _, k := range known {
		modes = append(modes, k.mode)
	}
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, _ record.OpenMPRuntimes) {
		for _, mode := range modes {
			t.Run(mode, func(t *testing.T) {
				t.Parallel()
				without := run(t, env, program, mode)
				wantSame(t, without, run(t, append(byHand(filepath.Join(t.TempDir(), "record")), env...), program, mode))
			})
		}
	})
}

// Where nothing can be recorded the results are the same, too.
func TestOpenMPWithoutRecord(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		program := compile(t, cc, "openmptour.c", "-fopenmp", "-O2", "-latomic")
		env := []string{quietThreads, "OMP_NUM_THREADS=3"}
		without := run(t, env, program)
		for _, more := range [][]string{
			byHand("/nonexistent/record"),
			append(byHand(filepath.Join(t.TempDir(), "record")), "JOBEFF=off"),
			{"LD_PRELOAD=" + library},
		} {
			wantSame(t, without, run(t, append(more, env...), program))
		}
	}
}

// A program that begins no region opens nothing.
func TestOpenMPWithoutRegion(t *testing.T) {
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, _ record.OpenMPRuntimes) {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, run(t, append(byHand(file), env...), program, "none"))
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("a record was made: %v", err)
		}
	})
}

// More threads than a slot holds take further slots, and wait while one of them claims it for all.
// The wait ends with the clock, and this one stands still: no thread is lost.
func TestOpenMPOfManyThreads(t *testing.T) {
	eachOpenMP(t, "openmp.c", func(t *testing.T, program string, env []string, _ record.OpenMPRuntimes) {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, run(t, append(onClock(t, "gcc", file), env...), program, "many"))
		_, openmp := openMPSlots(t, file)
		if _, o := openMPOf(t, file); o.TeamMost != 300 || o.Regions != 2 || len(openmp) != 3 || o.Threads != 300 || o.Lost != 0 || o.Useful != 600*unit {
			t.Errorf("%d slots, %+v", len(openmp), o)
		}
	})
}

// Old code is not measured, and the record says so.
func TestOpenMPOfOldCode(t *testing.T) {
	program := compile(t, "gcc", "openmpold.c", "-fopenmp")
	file := filepath.Join(t.TempDir(), "record")
	wantSame(t, run(t, nil, program), run(t, byHand(file), program))
	if _, o := openMPOf(t, file); o.Why != record.OpenMPOldCode || o.Regions != 0 || o.TeamTicks != 0 {
		t.Errorf("%+v", o)
	}
}

// renamedLibgomp is a copy of libgomp with another name, as wheels of Python bring them.
func renamedLibgomp(t *testing.T, dir, name string) string {
	t.Helper()
	library, err := os.ReadFile(libgomp(t))
	must(t, err)
	renamed := filepath.Join(dir, name)
	must(t, os.WriteFile(renamed, bytes.ReplaceAll(library, []byte("libgomp.so.1"), []byte(name)), 0o755))
	return renamed
}

// A program that looks whether it has OpenMP sees what it would see without the library. Ours would
// call into nothing.
func TestOpenMPIsNotPretended(t *testing.T) {
	program := compile(t, "gcc", "openmpweak.c")
	for want, env := range map[string][]string{
		"1\n1\n": {quietThreads},
		"4\n4\n": {quietThreads, "LD_PRELOAD=" + libgomp(t)}, // two threads add two each
	} {
		file := filepath.Join(t.TempDir(), "record")
		if without := mustRun(t, run(t, env, program)); without.stdout != want {
			t.Errorf("%v: without the library the program prints %q, want %q", env, without.stdout, want)
		}
		with := append(byHand(file), env...)
		if len(env) > 1 {
			with = append(with, "LD_PRELOAD="+library+" "+libgomp(t))
		}
		if r := mustRun(t, run(t, with, program)); r.stdout != want {
			t.Errorf("%v: with the library the program prints %q, want %q", env, r.stdout, want)
		}
	}
}

// Wheels of Python bring a copy of libgomp each, and a process may have as many as there is room for
// in the dynamic linker: ten or eleven.
func TestOpenMPOfManyRuntimes(t *testing.T) {
	host := compile(t, "gcc", "openmphost.c", "-ldl")
	dir := t.TempDir()
	var plugins []string
	for _, end := range "023456789X" {
		plugins = append(plugins, openMPPlugin(t, dir, renamedLibgomp(t, dir, "libgomp.so."+string(end))))
	}
	file := filepath.Join(t.TempDir(), "record")
	without := mustRun(t, run(t, []string{quietThreads}, host, plugins...))
	wantSame(t, without, run(t, append(byHand(file), quietThreads), host, plugins...))
	if _, o := openMPOf(t, file); o.Regions < 10*10 || o.Why != record.OpenMPKnown {
		t.Errorf("%+v", o)
	}
}

// openMPPlugin builds a plugin on this libgomp.
func openMPPlugin(t *testing.T, dir, libgomp string) string {
	t.Helper()
	object := compile(t, "gcc", "openmpplugin.c", "-fopenmp", "-fPIC", "-O2", "-c")
	plugin := filepath.Join(dir, filepath.Base(libgomp)+".plugin.so")
	for _, file := range []string{plugin, plugin + ".copy"} {
		if out, err := exec.Command("gcc", "-shared", "-o", file, object, libgomp, "-Wl,-rpath,"+dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return plugin
}

// Plugins that were opened with RTLD_LOCAL reach their own libgomp each, also where one calls the
// other inside a region, and where one stands in memory where another one stood.
func TestOpenMPOfPlugins(t *testing.T) {
	host := compile(t, "gcc", "openmphost.c", "-ldl")
	dir := t.TempDir()
	a := openMPPlugin(t, dir, renamedLibgomp(t, dir, "libgomp.so.a"))
	b := openMPPlugin(t, dir, renamedLibgomp(t, dir, "libgomp.so.b"))
	for _, plugins := range [][]string{{a}, {a, b}, {b, a, b}} {
		file := filepath.Join(t.TempDir(), "record")
		without := mustRun(t, run(t, []string{quietThreads}, host, plugins...))
		wantSame(t, without, run(t, append(byHand(file), quietThreads), host, plugins...))
		if _, o := openMPOf(t, file); o.Regions < uint64(4*len(plugins)) || o.Locks == 0 || o.Why != record.OpenMPKnown {
			t.Errorf("%d plugins: %+v", len(plugins), o)
		}
	}
}

// Many short programs give their slots back, so that a record has room for others.
func TestOpenMPSlotsAreUsedAgain(t *testing.T) {
	program := compile(t, "gcc", "openmphello.c", "-fopenmp")
	file := filepath.Join(t.TempDir(), "record")
	const runs = 150
	mustRun(t, run(t, append(byHand(file), quietThreads), "sh", "-c", fmt.Sprintf("for i in $(seq %d); do %s; done", runs, program)))
	processes, openmp := openMPSlots(t, file)
	if head := readHead(t, file); head.Used > runs {
		t.Errorf("%d programs with two slots each have used %d slots", runs, head.Used)
	}
	var regions []uint64
	for _, p := range processes {
		regions = append(regions, record.OpenMPOf(p, nil, openmp, 0).Regions)
	}
	want := make([]uint64, runs)
	for i := range want {
		want[i] = 1
	}
	if d := cmp.Diff(want, regions); d != "" {
		t.Errorf("regions of each program: %s", d)
	}
}

// OpenMP before MPI_Init and after MPI_Finalize is not part of an MPI rank. In between, the MPI
// calls of a region are not useful time.
func TestOpenMPOfMPIRanks(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "openmpmpi.c", "-fopenmp")
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, f, onClock(t, f.cc, file), 2, program))
		processes, openmp := openMPSlots(t, file)
		if len(processes) != 2 || len(openmp) != 2 {
			t.Fatalf("%d processes, %d slots of OpenMP", len(processes), len(openmp))
		}
		for _, p := range processes {
			o := record.OpenMPOf(p, nil, openmp, p.FiniEnter)
			wait := []uint64{2 * unit, 0}[p.Rank] // rank 1 comes 2 units late to the barrier in the region
			if o.MPI != wait || o.MPIMain != wait || o.Useful != 6*unit-wait || o.Regions != 2 || p.WithoutMPI || p.Size != 2 || p.Family != f.name {
				t.Errorf("rank %d of %d: %+v", p.Rank, p.Size, o)
			}
		}
	})
}
