package preload

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// beforeVariable is set where TestSanitizersFindNothing runs this program again: what stands before
// the library in LD_PRELOAD.
const beforeVariable = "JOBEFF_TEST_BEFORE"

// buildSanitized builds the library with sanitizers. Where variables lie, which would be a third of gcc's work, nobody
// looks up.
func buildSanitized(target string, flags ...string) error {
	args := slices.Concat([]string{"-std=gnu11", "-O1", "-g", "-fno-var-tracking", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE", "-shared",
		"-Wl,--version-script=lib/exports.map", "-o", target}, flags, librarySources())
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc %s: %w\n%s", strings.Join(flags, " "), err, out)
	}
	return nil
}

// runtimeOf is the path of a sanitizer's shared runtime.
func runtimeOf(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("gcc", "-print-file-name="+name).Output()
	must(t, err)
	path, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	must(t, err)
	return path
}

// sanitizerOptions are for programs whose library has sanitizers. Programs that are killed on
// purpose die as they do without, and what an MPI never frees is its own affair. Open MPI patches
// mprotect's code, which in gcc 16's runtime is too short for that.
var sanitizerOptions = []string{"ASAN_OPTIONS=detect_leaks=0:handle_segv=0", "UBSAN_OPTIONS=print_stacktrace=1", "OMPI_MCA_memory=^patcher"}

// noFinding fails where a sanitizer found something. What is found ends a process, but some
// programs are to end early.
func noFinding(t *testing.T, stderr string) {
	t.Helper()
	if before != "" && (strings.Contains(stderr, "AddressSanitizer") || strings.Contains(stderr, "runtime error: ")) {
		t.Errorf("a sanitizer says: %s", stderr)
	}
}

// sanitized are the tests that run again with sanitizers in the library.
const sanitized = "^Test(CountsAreExact|Endings|SectionsOfOddPrograms|SectionsOfFortran|Fingerprint|ArgumentsText|ThreadsAreCountedExactly|NoSlotLeft|" +
	"FailedCallsWithoutIerror|OpenMPOnTheRealClock|OpenMPEndsAreUnchanged|WindowsOfFortran|ManyWindows|WindowsOfKilledRank|OpenMPIsUnchanged|OpenMPOfPlugins|RewrittenRecordIsHarmless|SanitizersSee)$"

// AddressSanitizer and UndefinedBehaviorSanitizer find nothing in the library, and what it records
// is as exact with them.
func TestSanitizersFindNothing(t *testing.T) {
	runsMPI(t)
	if before != "" {
		t.Skip("these are the tests with sanitizers")
	}
	cmd := exec.Command(os.Args[0], "-test.run="+sanitized, "-test.timeout=0")
	cmd.Env = append(os.Environ(), beforeVariable+"="+runtimeOf(t, "libasan.so")+":"+runtimeOf(t, "libubsan.so")+":")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The sanitizers are at work in the library: it reads the counts of MPI_Alltoallv, and here they lie
// behind a block of memory, or at an odd address.
func TestSanitizersSee(t *testing.T) {
	runsMPI(t)
	if before == "" {
		t.Skip("the library has no sanitizers here; TestSanitizersFindNothing runs this again")
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "wrongcounts.c")
		for how, want := range map[string]string{"behind": "heap-buffer-overflow", "odd": "runtime error: load of misaligned address"} {
			cmd := exec.Command(program, how)
			cmd.Env = append(plainEnvironment(), byHand(filepath.Join(t.TempDir(), "record"))...)
			out, err := cmd.CombinedOutput()
			if text := string(out); err == nil || !strings.Contains(text, want) || !strings.Contains(text, "count_at") {
				t.Errorf("%s: %v %s", how, err, text)
			}
		}
	})
}
