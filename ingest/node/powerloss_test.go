package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"jobeff/ingest/job/jobtest"
)

// TestReportSurvivesPowerLoss: what Outbox.Write acknowledged is on the disk. A copy of the disk's
// blocks holds what a power failure would leave.
func TestReportSurvivesPowerLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a file system")
	}
	if os.Getuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
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
