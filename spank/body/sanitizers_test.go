package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sanitizedVariable is set where TestSanitizersFindNothing runs this program again: the plugin's C
// is then built with sanitizers.
const sanitizedVariable = "JOBEFF_TEST_SANITIZED"

func sanitized() bool { return os.Getenv(sanitizedVariable) != "" }

// hasFinding tells whether a sanitizer says something in a program's errors.
func hasFinding(stderr string) bool {
	return strings.Contains(stderr, "AddressSanitizer") || strings.Contains(stderr, "runtime error: ")
}

// AddressSanitizer and UndefinedBehaviorSanitizer find nothing in the plugin's C, and it does with
// them what it does without. A finding in a child of the plugin ends the child, and so fails a test.
func TestSanitizersFindNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the plugin with sanitizers, and runs its tests again")
	}
	if sanitized() {
		t.Skip("these are the tests with sanitizers")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^Test(PreloadList|Options|TaskEnvironment|Events|StepsAtOnce|RecordBytes|SitesWishes|ForeignDirectories|FullRunDirectory|"+
		"Prolog|EpilogReports|Decisions|TwoJobsOfAUser|EpilogKilled|Sanitizers)", "-test.timeout=0")
	cmd.Env = append(os.Environ(), sanitizedVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The sanitizers are at work in the plugin's C: they see that it reads behind a text's end.
func TestSanitizersSee(t *testing.T) {
	if !sanitized() {
		t.Skip("the plugin has no sanitizers here; TestSanitizersFindNothing runs this again")
	}
	dir, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(dir+"/preload_list", "/a.so:/b.so", "/opt/je/libjobeff.so", "endless").CombinedOutput()
	if text := string(out); err == nil || !hasFinding(text) || !strings.Contains(text, "je_preload_strip") {
		t.Errorf("%v\n%s", err, text)
	}
}
