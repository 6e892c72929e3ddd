package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// serverOfCI makes in $HERE what a build server has: jobeff's tarball, an MPI, and a repository whose branch slow takes 10 % longer
// than main, and same as long. What the examples install is here. It begins with what clockIn lays out.
const serverOfCI = `
mkdir unpacked
mv bin lib unpacked
mkdir bin
for name in mpicc mpirun; do printf '#!/bin/sh\nexec %s.mpich "$@"\n' $name >bin/$name; done
printf '#!/bin/sh\n' | tee bin/sudo >bin/apt-get
chmod +x bin/*
install -D "$REPO/doc/ci/turns.sh" unpacked/doc/ci/turns.sh
tar -I 'gzip -1' -cf jobeff.tar.gz unpacked
commit() {
	printf '#include <mpi.h>\n#include <time.h>\nint main(void)\n{\n\tstruct timespec t = { 1, %s };\n\tMPI_Init(0, 0);\n\tnanosleep(&t, 0);\n\tMPI_Finalize();\n}\n' "$1" >prog.c
	git add . && git -c user.name=a -c user.email=a@b.invalid commit -qm "$1"
}
git init -qb main origin
cd origin
printf 'prog:\n\tmpicc -o prog prog.c %s/clock.so\n' "$HERE" >Makefile
commit 0
git checkout -qb same
commit '0 /* otherwise */'
git checkout -qb slow main
commit 100000000
`

// TestExamplesForCI: the shell lines of doc/ci, as a build server runs them, fail a version that takes 10 % longer, and no other one.
func TestExamplesForCI(t *testing.T) {
	makeForRun(t)
	repo, here := clockIn(t, t.TempDir())
	bash := func(script string) (said string, code int) {
		cmd := exec.Command("bash", "-ec", script)
		cmd.Dir = here
		cmd.Env = append(os.Environ(), "REPO="+repo, "HERE="+here, "PATH="+here+"/bin:"+os.Getenv("PATH"), "JOBEFF_URL=file://"+here+"/jobeff.tar.gz")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if said, code := bash(serverOfCI); code != 0 {
		t.Fatal(said)
	}
	// What each server does before the lines of its example.
	before := map[string]string{
		"github.yml": "git clone -qb main $HERE/origin base; git clone -qb $BRANCH $HERE/origin new\n",
		"gitlab.yml": "git clone -qb $BRANCH $HERE/origin .; export CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse origin/main)\n",
	}
	for file, checkOut := range before {
		for branch, want := range map[string]struct {
			code int
			says string
		}{
			"slow": {1, "The second build is surely slower, by 5 % or more (5 and 5 runs)\n"},
			"same": {0, "The second build is not surely worse by 5 % (5 and 5 runs)\n"},
		} {
			t.Run(file+" "+branch, func(t *testing.T) {
				said, code := bash("mkdir " + branch + file + "; cd " + branch + file + "; BRANCH=" + branch + "\n" + checkOut + linesForCI(t, file))
				if code != want.code || !strings.Contains(said, want.says) {
					t.Errorf("exit code %d, want %d:\n%s", code, want.code, said)
				}
			})
		}
	}
}

// linesForCI are the shell lines of an example.
func linesForCI(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../doc/ci", file))
	if err != nil {
		t.Fatal(err)
	}
	var example struct {
		Jobs struct {
			Efficiency struct{ Steps []struct{ Run string } }
		} // GitHub's
		Efficiency struct{ Script []string } // GitLab's
	}
	if err := yaml.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	lines := example.Efficiency.Script
	for _, step := range example.Jobs.Efficiency.Steps {
		lines = append(lines, step.Run)
	}
	return strings.Join(lines, "\n")
}
