package preload

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/cmd/source"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// here is the line of a test program that is marked with a name.
func here(t *testing.T, app, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apps, app))
	must(t, err)
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "HERE "+name) {
			return i + 1
		}
	}
	t.Fatalf("%s has no %s", app, name)
	return 0
}

// placed runs a program on two ranks and a clock that only its work moves, and finds the names of its places.
func placed(t *testing.T, f family, program string, args ...string) *job.Execution {
	t.Helper()
	return placesOf(t, f, func(file string) []string { return onClock(t, f.cc, file) }, program, args...)
}

func placesOf(t *testing.T, f family, env func(file string) []string, program string, args ...string) *job.Execution {
	t.Helper()
	file := newRecord(t)
	r := mpirun(t, f, env(file), 2, program, args...)
	if !slices.Contains(args, "kill") && !slices.Contains(args, "hang") {
		mustRun(t, r)
	}
	report, err := node.FoldFile(file, node.ThisMachine())
	must(t, err)
	e := &report.Executions[0]
	if e.Places == nil {
		t.Fatalf("no places in %+v", e)
	}
	source.Find(context.Background(), &job.Job{Executions: report.Executions}, true)
	return e
}

// frameOf is what a test says of a frame: "places.c:12 exchange_halo".
func frameOf(f job.Frame) string {
	return fmt.Sprintf("%s:%d %s", filepath.Base(f.File), f.Line, f.Symbol)
}

// wantPlace checks the places of one function: they took so long, and each has the frames that are true, the
// innermost first, as many as `least` or more.
func wantPlace(t *testing.T, e *job.Execution, function string, want time.Duration, least int, frames ...string) {
	t.Helper()
	var sum time.Duration
	for _, p := range e.Places.List {
		if p.Function != function {
			continue
		}
		var got []string
		for _, f := range p.Frames {
			got = append(got, frameOf(f))
		}
		if len(got) < least || len(got) > len(frames) || !slices.Equal(got, frames[:len(got)]) {
			t.Errorf("%s at %v (%+v), want %v", function, got, p.Frames, frames)
		}
		sum += p.Time
	}
	if (sum - want).Abs() > time.Millisecond {
		t.Errorf("%s took %v at its places, want %v", function, sum, want)
	}
	if share, known := e.Places.Share(e.Classes); !known || share < .999 {
		t.Errorf("places cover %.3f of the time in MPI, known %v", share, known)
	}
}

// The costliest line of programs is known, however they are built.
func TestPlaces(t *testing.T) {
	barrier := fmt.Sprintf("places.c:%d exchange_halo", here(t, "places.c", "barrier"))
	step := fmt.Sprintf("places.c:%d step", here(t, "places.c", "step"))
	main := fmt.Sprintf("places.c:%d main", here(t, "places.c", "main"))
	own := []string{barrier, step, main}
	allreduce := fmt.Sprintf("places.c:%d main", here(t, "places.c", "allreduce"))
	library := fmt.Sprintf("places.c:%d wait_in_library", here(t, "places.c", "library"))
	linked := fmt.Sprintf("places.c:%d exchange_halo", here(t, "places.c", "linked"))
	eachFamily(t, func(t *testing.T, f family) {
		check := func(t *testing.T, e *job.Execution, least int, frames ...string) {
			t.Helper()
			wantPlace(t, e, "MPI_Barrier", 400*time.Millisecond, least, frames...)
			wantPlace(t, e, "MPI_Allreduce", 100*time.Millisecond, 1, allreduce)
		}
		for _, tt := range []struct {
			name  string
			flags []string
			least int
		}{
			{"optimised", []string{"-g", "-O2"}, 1},
			{"frame pointers", []string{"-g", "-O2", "-fno-omit-frame-pointer"}, 3},
			{"no PIE", []string{"-g", "-O2", "-no-pie", "-fno-omit-frame-pointer"}, 3},
		} {
			t.Run(tt.name, func(t *testing.T) {
				check(t, placed(t, f, compile(t, f.cc, "places.c", append(tt.flags, "-ldl")...)), tt.least, own...)
			})
		}
		t.Run("C++", func(t *testing.T) {
			check(t, placed(t, f, compile(t, f.cxx, "places.cc", "-g", "-O2", "-ldl")), 1, own...)
		})
		t.Run("killed", func(t *testing.T) {
			check(t, placed(t, f, compile(t, f.cc, "places.c", "-g", "-O2", "-ldl"), "kill"), 1, own...)
		})
		t.Run("killed in a call", func(t *testing.T) {
			e := placesOf(t, f, byHand, compile(t, f.cc, "places.c", "-g", "-O2", "-ldl"), "hang")
			want := fmt.Sprintf("places.c:%d hang", here(t, "places.c", "hang"))
			at := slices.IndexFunc(e.Places.List, func(p job.Place) bool { return p.Function == "MPI_Recv" })
			if at < 0 || e.Places.List[at].Ranks != 2 || e.Places.List[at].Calls != 2 || frameOf(e.Places.List[at].Frames[0]) != want {
				t.Errorf("MPI_Recv at %+v, want two ranks at %s", e.Places.List, want)
			}
		})
		t.Run("separate debug file", func(t *testing.T) {
			check(t, placed(t, f, separated(t, compile(t, f.cc, "places.c", "-g", "-O2", "-Wl,--build-id", "-ldl"))), 1, own...)
		})
		t.Run("rebuilt", func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "rebuilt")
			must(t, copyFile(compile(t, f.cc, "places.c", "-g", "-O2", "-Wl,--build-id", "-ldl"), program))
			file := newRecord(t)
			mustRun(t, mpirun(t, f, onClock(t, f.cc, file), 2, program))
			must(t, os.Remove(program))
			must(t, copyFile(compile(t, f.cc, "places.c", "-g", "-O1", "-Wl,--build-id", "-ldl"), program))
			report, err := node.FoldFile(file, node.ThisMachine())
			must(t, err)
			source.Find(context.Background(), &job.Job{Executions: report.Executions}, true)
			for _, p := range report.Executions[0].Places.List {
				if f := append(p.Frames, job.Frame{})[0]; len(p.Frames) != 1 || f.Line != 0 || f.Symbol != "" || !strings.Contains(f.Why, "rebuilt since") {
					t.Errorf("%s has %+v", p.Function, p.Frames)
				}
			}
		})
		for name, flag := range map[string]string{"library with frame pointers": "-fno-omit-frame-pointer", "library without": "-fomit-frame-pointer"} {
			t.Run(name, func(t *testing.T) {
				lib := compile(t, f.cc, "places.c", "-g", "-O2", "-shared", "-fPIC", "-DLIBRARY", flag)
				least := 4
				if flag == "-fomit-frame-pointer" {
					least = 1
				}
				check(t, placed(t, f, compile(t, f.cc, "places.c", "-g", "-O2", "-DLINKED", "-fno-omit-frame-pointer", lib, "-ldl")), least, library, linked, step, main)
			})
		}
		t.Run("plugins", func(t *testing.T) {
			one := compile(t, f.cc, "places.c", "-g", "-O2", "-shared", "-fPIC", "-DLIBRARY")
			two := compile(t, f.cc, "places.c", "-g", "-O1", "-shared", "-fPIC", "-DLIBRARY")
			e := placed(t, f, compile(t, f.cc, "places.c", "-g", "-O2", "-ldl"), one, two)
			check(t, e, 1, library)
			seen := map[string]time.Duration{}
			for _, p := range e.Places.List {
				if p.Function == "MPI_Barrier" && len(p.Frames) > 0 {
					seen[e.Places.Modules[p.Frames[0].Module].Path] += p.Time
				}
			}
			if seen[one] != 200*time.Millisecond || seen[two] != 200*time.Millisecond {
				t.Errorf("%v in %s and %s, want 200 ms each", seen, one, two)
			}
		})
		for _, flag := range []string{"-DHEADER", "-DMODULE", "-DF08"} {
			t.Run("Fortran "+flag, func(t *testing.T) {
				e := placesOf(t, f, byHand, compile(t, f.fc, "places.F90", "-g", "-O2", "-fno-inline", flag)) // virtualmpi.h knows C alone
				got := map[string]bool{}
				for _, p := range e.Places.List {
					for _, f := range append(p.Frames, job.Frame{})[:1] {
						got[p.Function+" "+frameOf(f)] = true
					}
				}
				want := map[string]bool{
					fmt.Sprintf("MPI_Allreduce places.F90:%d exchange_halo", here(t, "places.F90", "halo")): true,
					fmt.Sprintf("MPI_Allreduce places.F90:%d places", here(t, "places.F90", "allreduce")):   true,
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	})
}

// Of functions whose calls are all short the places are estimates, within their intervals. Of long calls between
// them none is missed. The clock moves in calls alone, so they are the same in each run.
func TestPlacesOfShortCalls(t *testing.T) {
	const calls = 12000
	program := compile(t, "gcc", "addresses.c", compile(t, "gcc", "addresses.c", "-shared", "-fPIC", "-DFAKE_MPI", "-DVIRTUAL"), "-ldl")
	file := newRecord(t)
	mustRun(t, run(t, []string{"LD_PRELOAD=" + clocked, "JOBEFF_RECORD=" + file}, program, file, fmt.Sprint(calls)))
	report, err := node.FoldFile(file, node.ThisMachine())
	must(t, err)
	places := report.Executions[0].Places
	if places == nil || len(places.List) != 3 {
		t.Fatalf("%+v", places)
	}
	for _, p := range places.List {
		if p.Function == "MPI_Waitall" {
			if p.Calls != calls || p.Time != 30*calls*time.Microsecond || p.Samples != 0 {
				t.Errorf("%s took %v in %d calls (%d samples), want 30 us in each of %d", p.Function, p.Time, p.Calls, p.Samples, calls)
			}
			continue
		}
		want := map[string]time.Duration{"MPI_Barrier": 12 * calls * time.Microsecond, "MPI_Wait": 4 * calls * time.Microsecond}[p.Function]
		half := time.Duration(1.96 * float64(p.Sampled) / math.Sqrt(float64(p.Samples)))
		if counted := float64(p.Calls) / calls; p.Sampled != p.Time || (p.Time-want).Abs() > min(half, want/10) || counted < .9 || counted > 1.1 {
			t.Errorf("%s took %v in %d calls (%d samples, ±%v), want %v in %d", p.Function, p.Time, p.Calls, p.Samples, half, want, calls)
		}
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// separated is a program without symbols, whose debug file lies beside it.
func separated(t *testing.T, program string) string {
	t.Helper()
	stripped := filepath.Join(t.TempDir(), "stripped")
	must(t, copyFile(program, stripped))
	for _, command := range [][]string{
		{"objcopy", "--only-keep-debug", program, stripped + ".debug"},
		{"strip", stripped},
		{"objcopy", "--add-gnu-debuglink=" + stripped + ".debug", stripped},
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	return stripped
}

// The address is that of the call in each row of mpi_calls.def and each binding, whichever compiler built
// the library.
func TestAddresses(t *testing.T) {
	program := compile(t, "gcc", "addresses.c", compile(t, "gcc", "addresses.c", "-shared", "-fPIC", "-DFAKE_MPI"), "-ldl")
	for _, cc := range []string{"gcc", "clang"} {
		t.Run(cc, func(t *testing.T) {
			lib := library
			if cc != "gcc" {
				lib = filepath.Join(t.TempDir(), "libjobeff.so")
				args := append([]string{"-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-shared", "-w",
					"-Wl,--version-script=lib/exports.map", "-o", lib}, librarySources()...)
				if out, err := exec.Command(cc, append(args, "-ldl")...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", cc, err, out)
				}
			}
			file := newRecord(t)
			r := mustRun(t, run(t, []string{"LD_PRELOAD=" + before + lib, "JOBEFF_RECORD=" + file}, program, file))
			if !strings.HasSuffix(r.stdout, " checked, 0 wrong\n") || strings.HasPrefix(r.stdout, "0 ") {
				t.Errorf("%s", r.stdout)
			}
		})
	}
}
