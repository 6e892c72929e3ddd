package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/test/trial"
)

func TestWriteOutbox(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	path, err := Outbox{Spool: spool}.Write(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(spool, "outbox", "1001.test-7-"+jobtest.Nonce+".json.zst"); path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	if again, err := (Outbox{Spool: spool}).Write(r); err != nil || again != path {
		t.Errorf("again: %s, %v", again, err)
	}
	var got job.NodeReport
	if err := json.Unmarshal(jobtest.PackedText(t, path), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, &got); d != "" {
		t.Error(d)
	}
	entries, _ := os.ReadDir(OutboxDir(spool))
	if len(entries) != 1 {
		t.Errorf("%d files in the outbox", len(entries))
	}
	if info, _ := os.Stat(OutboxDir(spool)); info.Mode().Perm() != 0o700 {
		t.Errorf("outbox has mode %v", info.Mode())
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("report has mode %v", info.Mode())
	}
}

func TestWriteOutboxClosesAnOpenFolder(t *testing.T) {
	spool := t.TempDir()
	if err := os.Mkdir(OutboxDir(spool), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := (Outbox{Spool: spool}).Write(jobtest.Report(7, "n1", jobtest.Nonce)); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(OutboxDir(spool)); info.Mode().Perm() != 0o700 {
		t.Errorf("outbox has mode %v", info.Mode())
	}
}

func TestWriteOutboxRefuses(t *testing.T) {
	for _, run := range []string{"", "../../etc/passwd", strings.ToUpper(jobtest.Nonce), jobtest.Nonce + "0"} {
		if _, err := (Outbox{Spool: t.TempDir()}).Write(jobtest.Report(7, "n1", run)); err == nil {
			t.Errorf("run %q accepted", run)
		}
	}
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Cluster = "../e v"
	spool := t.TempDir()
	if _, err := (Outbox{Spool: spool}).Write(r); !errors.Is(err, ErrNoReport) {
		t.Errorf("a cluster's name is a path: %v", err)
	}
	if _, err := os.Stat(filepath.Join(RefusedDir(spool), "1001.___e_v-7-"+jobtest.Nonce+".json.zst")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := (Outbox{Spool: file}).Write(jobtest.Report(7, "n1", jobtest.Nonce)); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a spool that is a file: %v", err)
	}
}

// BenchmarkWriteOutbox writes reports that measured something, and such that did not.
func BenchmarkWriteOutbox(b *testing.B) {
	for _, what := range []string{"measured", "idle"} {
		b.Run(what, func(b *testing.B) {
			spool := b.TempDir()
			for i := range b.N {
				r := jobtest.Report(1, "n1", fmt.Sprintf("%032x", i))
				if what == "idle" {
					r.Executions = nil
				}
				if _, err := (Outbox{Spool: spool}).Write(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMakePrivateDirFollowsNoLink: a link in the spool closes nobody else's folder.
func TestMakePrivateDirFollowsNoLink(t *testing.T) {
	shared, link := t.TempDir(), filepath.Join(t.TempDir(), "refused")
	os.Chmod(shared, 0o755)
	if err := os.Symlink(shared, link); err != nil {
		t.Fatal(err)
	}
	err := makePrivateDir(link)
	if info, statErr := os.Stat(shared); statErr != nil || info.Mode().Perm() != 0o755 || err == nil || !strings.Contains(err.Error(), "leads to a folder that others may enter") {
		t.Errorf("%v, %v, %v", err, info.Mode(), statErr)
	}
	os.Chmod(shared, 0o700)
	if err := makePrivateDir(link); err != nil {
		t.Errorf("a folder that is private: %v", err)
	}
}

// TestReportSurvivesPowerLoss: what Outbox.Write acknowledged is on the disk. A copy of the disk's
// blocks holds what a power failure would leave.
func TestReportSurvivesPowerLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a file system")
	}
	trial.MayMount(t)
	in := func(name string) string { return filepath.Join(t.TempDir(), name) }
	disk, after := in("disk"), in("after")
	must := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	mount := func(image string) (dir string) {
		t.Helper()
		dir = t.TempDir()
		must("mount", "-o", "loop,commit=3600", image, dir) // nothing is written but what is asked for
		t.Cleanup(func() { exec.Command("umount", "-d", dir).Run() })
		return dir
	}
	must("truncate", "-s", "16M", disk)
	must("mkfs.ext4", "-q", "-F", disk)
	dir := mount(disk)
	path, err := Outbox{Spool: dir}.Write(jobtest.Report(7, "n1", jobtest.Nonce))
	if err != nil {
		t.Fatal(err)
	}
	must("cp", disk, after)
	name, err := filepath.Rel(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	if text := jobtest.PackedText(t, filepath.Join(mount(after), name)); len(text) == 0 {
		t.Error("the report is empty")
	}
}
