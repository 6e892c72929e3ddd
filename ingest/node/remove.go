package node

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// RemoveRecord removes the record of a run directory, so that nobody tries to fold it again.
func RemoveRecord(path string) (removed bool) {
	if hide(path) != nil {
		return false
	}
	return os.Remove(filepath.Join(path, recordName)) == nil
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

// RemoveGone removes what RemoveRunDir had to leave in runDir, or what a kill left. A directory whose
// lock an epilog holds is left to that epilog.
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

// removeGone keeps the note `job` until nothing else is left: it says whose the record is.
func removeGone(dir string) error {
	record := filepath.Join(dir, recordDir)
	for _, name := range []string{"decision", "steps", "memory", "tries"} {
		os.Remove(filepath.Join(dir, name)) // what is left fails the last line
	}
	if isMount(dir, record) {
		if err := hide(dir); err != nil {
			return err
		}
		if held, err := empty(record); err != nil || held {
			return err
		}
		// lazily: a copy of the mount in a user's namespace must not keep it here
		if err := unix.Unmount(record, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &os.PathError{Op: "unmount", Path: record, Err: err}
		}
	}
	os.Remove(record)
	os.Remove(filepath.Join(dir, "job"))
	return os.RemoveAll(dir)
}

// hide detaches the mount through which the user reaches the record of a run directory, with all
// that the user mounted on it. The mount of another attempt of the job stays.
func hide(dir string) error {
	id, _, _ := strings.Cut(filepath.Base(dir)[len(donePrefix):], "-")
	path := filepath.Join(dir, recordDir)
	var record unix.Stat_t
	if !isMount(dir, path) || unix.Lstat(path, &record) != nil {
		return nil
	}
	return detach(filepath.Join(filepath.Dir(filepath.Dir(dir)), id), func(mounted *unix.Stat_t) bool { return mounted.Dev == record.Dev })
}

// HideStale detaches what an earlier attempt of a job left because its epilog did not get that far.
// A job's prolog calls it before it makes the record.
func HideStale(runDir string, jobID uint32) error {
	top := filepath.Dir(runDir)
	var outer unix.Stat_t
	if err := unix.Lstat(top, &outer); err != nil {
		return err
	}
	return detach(filepath.Join(top, strconv.FormatUint(uint64(jobID), 10)), func(mounted *unix.Stat_t) bool { return mounted.Dev != outer.Dev })
}

// detach unmounts what is mounted on path, as long as meant says so, and removes the directory. A user
// cannot mount on that directory, but on what is in it. The kernel lets go of a user's file system at
// the end of the call, and may have to wait for the user's daemon. So this is for a process with a
// limit.
func detach(path string, meant func(*unix.Stat_t) bool) error {
	for range 10 { // prolog after prolog may have been killed
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		var mounted unix.Stat_t
		if err == nil {
			err = unix.Fstat(fd, &mounted)
		}
		if err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		if !meant(&mounted) {
			unix.Close(fd)
			break
		}
		err = unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", fd), unix.MNT_DETACH) // the mount that was looked at, whatever is at path by now
		unix.Close(fd)
		if err != nil {
			return &os.PathError{Op: "unmount", Path: path, Err: err}
		}
	}
	unix.Rmdir(path) // unless another attempt's is mounted there
	return nil
}

// empty deletes the record. If a process still holds it, empty shrinks its file system to what the
// record takes.
func empty(record string) (held bool, err error) {
	if err := os.Remove(filepath.Join(record, "ranks")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(record, &fs); err != nil || fs.Files-fs.Ffree <= 1 { // only its root directory is left
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

// mount is a line of mountinfo.
type mount struct{ device, path string }

// mountsUnder reads which file systems are mounted below top, in the order in which they were mounted.
// It asks none of them: one that a user mounted may never answer.
func mountsUnder(top string) (mounts []mount, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20) // options of overlays are long
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 4 && strings.HasPrefix(words[4], top+"/") {
			mounts = append(mounts, mount{words[2], words[4]})
		}
	}
	return mounts, lines.Err()
}

// Strays are the mounts below top (RunDirPath) that belong to no run directory: nothing of jobeff's
// removes them but RemoveStrays. What a running job's user mounted on the record is no stray, as it
// goes with the record.
func Strays(top string) (paths []string, err error) {
	mounts, err := mountsUnder(top)
	notes := filepath.Join(top, notesDir) + "/"
	records := map[string]bool{} // devices
	for _, m := range mounts {
		if strings.HasPrefix(m.path, notes) && filepath.Base(m.path) == recordDir {
			records[m.device] = true
		}
	}
	var live []string
	for _, m := range mounts {
		below := func(l string) bool { return strings.HasPrefix(m.path, l+"/") }
		switch {
		case records[m.device]:
			live = append(live, m.path)
		case !slices.ContainsFunc(live, below):
			paths = append(paths, m.path)
		}
	}
	return paths, err
}

// RemoveStrays detaches the Strays, the last one first, and removes the empty folders of jobs. What a
// process holds stays in memory until that process ends.
func RemoveStrays(top string) error {
	strays, err := Strays(top)
	slices.Reverse(strays)
	for _, path := range strays {
		if e := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); e != nil && err == nil {
			err = fmt.Errorf("ingest: unmount %s: %w", path, e)
		}
	}
	for _, id := range jobsIn(top) {
		unix.Rmdir(filepath.Join(top, id)) // unless it is in use
	}
	return err
}

// jobsIn are the names in a folder that are job ids.
func jobsIn(dir string) (ids []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if _, err := strconv.ParseUint(e.Name(), 10, 32); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids
}
