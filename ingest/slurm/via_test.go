package slurm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestVia: a command runs Slurm's on another machine, with the environment that they need, as words that no shell
// there reads otherwise. A path in SLURM_CONF is the site's.
func TestVia(t *testing.T) {
	dir := t.TempDir()
	write := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/bash\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	there := filepath.Join(dir, "there")
	os.Mkdir(there, 0o755)
	for _, name := range []string{"sacct", "sacctmgr", "squeue", "scontrol"} {
		write("there/"+name, `echo "$TZ $SLURM_TIME_FORMAT $SLURM_CONF" >>`+dir+`/env; echo "ClusterName = gold"`)
	}
	via := write("via", `[ "$1" = login ] || exit 3; shift; echo "$*" >>`+dir+`/words; PATH=`+there+`:/usr/bin:/bin exec env -u TZ -u SLURM_TIME_FORMAT -u SLURM_CONF -- bash -c "$*"`)
	t.Setenv("PATH", "/nonexistent")
	c := Commands{Conf: "/etc/slurm-gold/slurm.conf", Via: []string{via, "login"}, Foreign: true}
	if !c.Installed() || (Commands{}).Installed() {
		t.Error("a sacct elsewhere is not installed, or one here is")
	}
	if name, err := c.ReadCluster(t.Context()); err != nil || name != "gold" {
		t.Errorf("%s, %v", name, err)
	}
	s := Sacct{Of: c}
	_, _ = s.Between(t.Context(), time.Now().Add(-time.Hour), time.Now())
	_, _ = s.ByID(t.Context(), []uint32{1, 2})
	_, _ = c.ReadAccess(t.Context())
	_, _, _ = c.ReadQueue(t.Context(), "gold", 10)
	_, _, _ = c.ReadRooms(t.Context())
	words, err := os.ReadFile(filepath.Join(dir, "words"))
	plain := regexp.MustCompile(`^[A-Za-z0-9 @%:,=._/+-]*$`)
	for line := range strings.Lines(string(words)) {
		if !plain.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("a shell may read this otherwise: %s", line)
		}
	}
	if strings.Contains(string(words), "--json") {
		t.Errorf("JSON is read, which has no uids: %s", words)
	}
	for _, command := range []string{"sacct --allusers", "sacctmgr", "squeue", "scontrol"} {
		if err != nil || !strings.Contains(string(words), " "+command+" ") {
			t.Errorf("%s was not asked: %s, %v", command, words, err)
		}
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	for line := range strings.Lines(string(env)) {
		if line != "UTC standard /etc/slurm-gold/slurm.conf\n" {
			t.Errorf("the environment is %q", line)
		}
	}
	if err != nil || len(env) == 0 {
		t.Error(err)
	}
}
