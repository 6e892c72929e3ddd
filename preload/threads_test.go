package preload

import (
	"path/filepath"
	"strings"
	"testing"

	"jobeff/preload/record"
)

// Several threads in MPI at once are each counted in a slot of their own.
func TestThreadsAreCountedExactly(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "threads.c", "-pthread")
		file := filepath.Join(t.TempDir(), "record")
		r := mustRun(t, mpirun(t, f, byHand(file), 1, program, "8", "2000"))
		slots := readSlots(t, file)
		if got, want := recorded(slots), called(t, r.stdout); len(got) != 2 || got["MPI_Iprobe"] != want["MPI_Iprobe"] || got["MPI_Sendrecv"] != want["MPI_Sendrecv"] {
			t.Errorf("recorded %v, want %v", got, want)
		}
		if len(slots) != 9 || slots[0].Threads != 9 || slots[0].ThreadLevel != 3 {
			t.Errorf("%d slots, %d threads, level %d; want 9, 9, 3", len(slots), slots[0].Threads, slots[0].ThreadLevel)
		}
		for _, s := range slots[1:] {
			if s.Kind != record.KindThread || s.Parent != 0 || s.TID == s.PID || s.Calls != 4000 {
				t.Errorf("thread's slot: kind %d, parent %d, tid %d, %d calls", s.Kind, s.Parent, s.TID, s.Calls)
			}
		}
	})
}

// Eight threads in MPI at once are no data race of ours. The MPIs themselves are not
// looked at; UCX's and Open MPI's hooks of malloc do not get on with the sanitizer's, nor does PMIx's
// memory at fixed addresses.
func TestThreadSanitizerIsClean(t *testing.T) {
	const raced = 66
	runsMPI(t)
	raceFree := filepath.Join(t.TempDir(), "libjobeff.so")
	must(t, buildSanitized(raceFree, "-fsanitize=thread"))
	env := []string{"UCX_MEM_EVENTS=n", "OMPI_MCA_memory=^patcher", "PMIX_MCA_gds=hash", "TSAN_OPTIONS=ignore_noninstrumented_modules=1 exitcode=66", "LD_PRELOAD=" + runtimeOf(t, "libtsan.so") + ":" + raceFree}
	eachFamily(t, func(t *testing.T, f family) {
		racy := compile(t, f.cc, "threads.c", "-pthread", "-g", "-fsanitize=thread", "-DRACY")
		if r := mpirun(t, f, env, 1, racy, "8", "200"); r.code != raced || !strings.Contains(r.stderr, "data race") {
			t.Fatalf("a race in the program was not seen: exit code %d\n%s", r.code, r.stderr)
		}
		program := compile(t, f.cc, "threads.c", "-pthread", "-g", "-fsanitize=thread")
		file := filepath.Join(t.TempDir(), "record")
		r := mustRun(t, mpirun(t, f, append(env, "JOBEFF_RECORD="+file), 1, program, "8", "500"))
		if got := recorded(readSlots(t, file)); got["MPI_Sendrecv"].Count != 4000 {
			t.Errorf("recorded %v\n%s", got, r.stderr)
		}
	})
}
