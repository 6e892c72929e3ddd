package preload

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"jobeff/test/trial"
)

// Without a free inode no record can be made, and one that may not be read is none: the
// program runs as ever.
func TestNoRoomForARecord(t *testing.T) {
	trial.MayMount(t)
	program := compile(t, mpich.cc, "surroundings.c", "-DWITH_MPI")
	t.Run("no inodes", func(t *testing.T) {
		folder := t.TempDir()
		must(t, syscall.Mount("tmpfs", folder, "tmpfs", 0, "nr_inodes=1")) // its root's
		defer syscall.Unmount(folder, 0)
		file := filepath.Join(folder, "record")
		wantSame(t, mpirun(t, mpich, nil, 1, program), mpirun(t, mpich, byHand(file), 1, program))
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("a record was made: %v", err)
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		const nobody = 65534
		folder, err := os.MkdirTemp("/run", "jobeff-preload-test")
		must(t, err)
		defer os.RemoveAll(folder)
		must(t, os.Chmod(folder, 0o711))
		file := filepath.Join(folder, "ranks")
		ending(t, mpich, file, 1) // root's own
		as := func(env ...string) ran {
			args := []string{"--reuid", fmt.Sprint(nobody), "--clear-groups", "env", "HOME=/tmp"}
			return run(t, nil, "setpriv", append(append(args, env...), program)...)
		}
		wantSame(t, as(), as("LD_PRELOAD="+library, "JOBEFF_RECORD_FILE="+file))
		if head := readHead(t, file); head.Used != 1 || head.LostMemory != 0 {
			t.Errorf("%d slots, %d lost for memory", head.Used, head.LostMemory)
		}
	})
}
