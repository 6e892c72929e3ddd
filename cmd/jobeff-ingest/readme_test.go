package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// byHand returns README's lines that measure a program by hand, those after `make`.
func byHand(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(readme), "To measure a program by hand")
	block, _, ended := strings.Cut(block, "./sleeper 4000 3 200\n")
	_, block, made := strings.Cut(block, "    make\n")
	if !found || !ended || !made {
		t.Fatal("README has no such lines")
	}
	return block + "./sleeper 4000 3 200\n"
}

// TestReadmeByHand runs these lines as printed: with each MPI, as root and as a user, in a folder that has
// what a clone has after `make`.
func TestReadmeByHand(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs MPI programs")
	}
	run := func(t *testing.T, dir, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	clone, err := os.MkdirTemp("", "jobeff-readme") // a user cannot enter t.TempDir's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(clone) })
	run(t, "../..", "make", "build/lib/libjobeff.so", "build/lib/libjobeff_section.so", "build/jobeff")
	run(t, "../..", "cp", "--parents", "-r", "build/lib", "build/jobeff", "preload/include", "test/apps/sleeper.c", "test/apps/copylate.h", clone)
	run(t, "", "chmod", "-R", "go+rX", clone)
	lines := byHand(t)
	for _, mpi := range []string{"openmpi", "mpich"} {
		for _, user := range []string{"root", "nobody"} {
			t.Run(mpi+"/"+user, func(t *testing.T) {
				if os.Getuid() != 0 && user == "root" {
					t.Skip("needs root")
				}
				dir, err := os.MkdirTemp("", "jobeff-readme")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(dir) })
				run(t, "", "cp", "-rT", clone, dir)
				for _, tool := range []string{"mpicc", "mpirun"} {
					text := "#!/bin/sh\nexec " + tool + "." + mpi + " \"$@\"\n" // MPICH looks for its other programs beside itself
					if err := os.WriteFile(filepath.Join(dir, tool), []byte(text), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				as := []string{"env", "-C", dir, "-i", "HOME=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH")}
				if os.Getuid() == 0 && user != "root" {
					run(t, "", "chown", "-R", user, dir)
					as = append([]string{"setpriv", "--reuid", user, "--clear-groups"}, as...)
				}
				out := run(t, "", as[0], append(as[1:], "sh", "-ec", lines)...)
				if !strings.Contains(out, "Size       2 ranks on 1 node\n") {
					t.Errorf("README's lines say:\n%s", out)
				}
			})
		}
	}
}
