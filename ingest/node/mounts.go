package node

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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
// removes them but RemoveStrays. What a running job's user mounted on their record is none, as it
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

// RemoveStrays detaches them, the last one first, and removes the empty folders of jobs. What a
// process holds stays in memory until that ends.
func RemoveStrays(top string) error {
	strays, err := Strays(top)
	slices.Reverse(strays)
	for _, path := range strays {
		if e := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); e != nil && err == nil {
			err = fmt.Errorf("ingest: unmount %s: %w", path, e)
		}
	}
	entries, _ := os.ReadDir(top)
	for _, e := range entries {
		if _, notNumber := strconv.ParseUint(e.Name(), 10, 32); notNumber == nil {
			unix.Rmdir(filepath.Join(top, e.Name())) // unless it is in use
		}
	}
	return err
}
