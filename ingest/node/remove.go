package node

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// RemoveRecord removes the record of a run directory, so that nobody tries to fold it again.
func RemoveRecord(path string) (removed bool) {
	for _, name := range recordNames {
		removed = os.Remove(filepath.Join(path, name)) == nil || removed
	}
	return removed
}

// RemoveRunDir removes runDir/name, whose report is in the outbox. It renames it first: half a
// directory must not be folded again. If a process of the user still holds the record, the
// directory stays, so that the next prolog can count it.
func RemoveRunDir(runDir, name string) error {
	gone := filepath.Join(runDir, gonePrefix+name[len(donePrefix):])
	if err := os.Rename(filepath.Join(runDir, name), gone); err != nil {
		return err
	}
	return removeGone(gone)
}

// RemoveGone removes what RemoveRunDir had to leave in runDir, or what a kill left. It leaves a
// directory to the epilog that is at it: that one holds its lock.
func RemoveGone(runDir string) {
	gone, _ := filepath.Glob(filepath.Join(runDir, gonePrefix+"*"))
	for _, dir := range gone {
		if d, err := os.Open(dir); err == nil {
			if unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				removeGone(dir)
			}
			d.Close()
		}
	}
}

func removeGone(dir string) error {
	record := filepath.Join(dir, recordDir)
	if isMount(dir, record) {
		if held, err := empty(record); err != nil || held {
			return err
		}
		// lazily: a copy of the mount in a user's namespace must not keep it here
		if err := unix.Unmount(record, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &os.PathError{Op: "unmount", Path: record, Err: err}
		}
	}
	return os.RemoveAll(dir)
}

// empty deletes what is on a record's file system. It first takes its root directory from the
// user, so that no process adds to it any more. If a process, wherever it is, still holds a file,
// the file system is shrunk to what that takes.
func empty(record string) (held bool, err error) {
	if err := os.Lchown(record, 0, -1); err != nil {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(record, "*"))
	for _, file := range files {
		err = errors.Join(err, os.RemoveAll(file))
	}
	var fs unix.Statfs_t
	if err = errors.Join(err, unix.Statfs(record, &fs)); err != nil || fs.Files-fs.Ffree <= 1 { // its root directory
		return false, err
	}
	shrink(record)
	return true, nil
}

// shrink tries again while the process that holds the file adds to it. If it gets nowhere, the next
// prolog counts what the file could still become.
func shrink(record string) {
	const flags = unix.MS_REMOUNT | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for range 10 {
		var fs unix.Statfs_t
		if unix.Statfs(record, &fs) != nil {
			return
		}
		used := max(fs.Blocks-fs.Bfree, 1) * uint64(fs.Bsize)
		if unix.Mount("", record, "", flags, "size="+strconv.FormatUint(used, 10)) == nil {
			return
		}
	}
}
