package main

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the man page and the completions")

// TestDocsAreUpToDate compares packaging/ with what the command line says now.
func TestDocsAreUpToDate(t *testing.T) {
	files, err := docs((&program{stdout: io.Discard}).command())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join("../../packaging", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "man/") {
			if said, err := exec.Command("groff", "-Kutf8", "-man", "-wall", "-z", "-Tutf8", path).CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("groff of %s: %v\n%s", path, err, said)
			}
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is old: go test ./cmd/jobeff -update writes it (-want +got)\n%s", path, diff)
		}
	}
}
