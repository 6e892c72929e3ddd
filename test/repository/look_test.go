package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLook: test/look.sh says what a machine lacks, in one sentence with the remedy, before anything is
// installed. Of the machine's programs, each row takes some away (without) and puts others in place.
func TestLook(t *testing.T) {
	const user, noMounts = "echo 1000", "exit 1"
	root := map[string]string{"id": "echo 0", "unshare": "exit 0", "dpkg-query": `sed -n 's/^\([a-z0-9.+-]*\).*/\1 installed/p' test/*packages`,
		"go": `[ "$2" = GOVERSION ] && echo go1.99.0 || echo auto`, "gcc": "exit 0", "apt-get": `sed -n "s,^VERSION_CODENAME=\(.*\),'http://mirror/dists/\1/InRelease',p" /etc/os-release`, "df": "echo 99999M", "cat": "exit 1"}
	for name, c := range map[string]struct {
		target  string
		without string
		fakes   map[string]string
		want    string // of what is said; "": nothing
		way     string // "": the target cannot begin
	}{
		"a build":           {"build", "", nil, "", "\n"},
		"no Go":             {"build", "go", nil, "There is no Go. Take 1.26.0 or newer from go.dev/dl (Debian 12's golang is too old)", ""},
		"old Go":            {"build", "", map[string]string{"go": `[ "$2" = GOVERSION ] && echo go1.19.8 || echo auto`}, "Go 1.19.8 is too old. Take 1.26.0 or newer", ""},
		"Go that updates":   {"build", "", map[string]string{"go": `[ "$2" = GOVERSION ] && echo go1.21.0 || echo auto`}, "", "\n"},
		"Go that may not":   {"build", "", map[string]string{"go": `[ "$2" = GOVERSION ] && echo go1.21.0 || echo local`}, "Go 1.21.0 is too old", ""},
		"no compiler":       {"build", "gcc", nil, "There is no C compiler (gcc): apt install gcc libc6-dev, or dnf install gcc.", ""},
		"no headers":        {"build", "", map[string]string{"gcc": "exit 1"}, "The C compiler lacks libc's headers: apt install libc6-dev", ""},
		"no Slurm":          {"build", "", map[string]string{"gcc": "! grep -q spank"}, "so Slurm's plugin is not built: apt install libslurm-dev", "\n"},
		"packages need it":  {"packages", "", map[string]string{"gcc": "! grep -q spank"}, "so Slurm's plugin is not built: apt install libslurm-dev", ""},
		"a demo":            {"demo", "", nil, "", "cluster\n"},
		"a user's demo":     {"demo", "", map[string]string{"id": user}, "Only root can start the throwaway Slurm, so this goes on without it.", "hand\n"},
		"a container":       {"demo", "", map[string]string{"unshare": noMounts}, "In a container: docker run --privileged", "hand\n"},
		"a user's packages": {"demo", "", map[string]string{"id": user, "dpkg-query": "echo gcc installed"}, "sudo apt-get install --no-install-recommends libc6-dev make", ""},
		"no source":         {"demo", "", map[string]string{"apt-get": "exit 0", "dpkg-query": "echo gcc installed"}, "apt has no source of packages: name a mirror in /etc/apt/sources.list, then apt update.", ""},
		"another Linux":     {"demo", "apt-get mpicc mpirun", nil, "dnf install gcc make git openmpi-devel", ""},
		"no apt for tests":  {"test", "apt-get", nil, "make quick needs none", ""},
		"a full disk":       {"demo", "", map[string]string{"df": "echo 900M", "dpkg-query": "echo gcc installed"}, "/ has 900 MB free: make room there", ""},
		"little memory":     {"demo", "", map[string]string{"cat": "echo 1048576000"}, "1000 MB are free: end other programs, or give the container more", ""},
		"tests":             {"test", "", nil, "minutes on", "cluster\n"},
		"a user's deps":     {"test", "", map[string]string{"id": user, "dpkg-query": "echo gcc installed"}, "only root can install them. As root: make deps", ""},
		"a user's tests":    {"test", "", map[string]string{"id": user}, "goes on without it", "hand\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			for _, tool := range []string{"bash", "sh", "dirname", "sed", "sort", "head", "tail", "tr", "grep", "awk", "nproc", "wc", "mpicc", "mpirun"} {
				if found, err := exec.LookPath(tool); err == nil && !strings.Contains(c.without, tool) {
					os.Symlink(found, filepath.Join(bin, tool))
				}
			}
			for _, fakes := range []map[string]string{root, c.fakes} {
				for tool, does := range fakes {
					if !strings.Contains(c.without, tool) {
						os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"+does+"\n"), 0o755)
					}
				}
			}
			cmd := exec.Command("bash", "../look.sh", c.target)
			cmd.Env = []string{"PATH=" + bin}
			var said strings.Builder
			cmd.Stderr = &said
			way, err := cmd.Output()
			if (err == nil) != (c.way != "") || strings.TrimSpace(string(way)) != strings.TrimSpace(c.way) {
				t.Errorf("%v, way %q, said %q", err, way, &said)
			}
			if !strings.Contains(said.String(), c.want) || c.want == "" && said.Len() > 0 || strings.Count(said.String(), "\n") > 2 {
				t.Errorf("said %q, want %q", &said, c.want)
			}
		})
	}
}
