package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Bounds of refused/. It takes no room from the outbox, and a user's reports push out only that
// user's: reports are refused because of what one user's job did, or for the whole node.
const (
	mostRefused     = 16 << 20 // bytes
	mostRefusedOfID = 20       // reports of one user
	refusedKept     = 30 * 24 * time.Hour
)

// SetAside moves a file of the outbox to refused/, after its reason is on the disk.
func SetAside(spool, name string, reason error) error {
	if err := writeReason(spool, name, reason); err != nil {
		return err
	}
	dir := RefusedDir(spool)
	if err := os.Rename(filepath.Join(OutboxDir(spool), name), filepath.Join(dir, name)); err != nil {
		return err
	}
	return errors.Join(syncDir(dir), syncDir(OutboxDir(spool)))
}

// KeepRefused writes a report to refused/, after its reason is on the disk.
func KeepRefused(spool, name string, report []byte, reason error) error {
	if err := writeReason(spool, name, reason); err != nil {
		return err
	}
	return WriteDurable(RefusedDir(spool), name, report)
}

func writeReason(spool, name string, reason error) error {
	dir := RefusedDir(spool)
	if err := makePrivateDir(dir); err != nil {
		return err
	}
	text := fmt.Sprintf("%s %v\n", time.Now().UTC().Format(time.RFC3339), reason)
	return WriteDurable(dir, name+reasonExt, []byte(text))
}

// refusedFile is a refused report with its reason.
type refusedFile struct {
	name, owner string
	size        int64
	at          time.Time
}

// PruneRefused removes refused reports beyond their bounds: the oldest ones, and then the largest ones
// of the user with the most bytes.
func PruneRefused(spool string, now time.Time) error {
	dir := RefusedDir(spool)
	files, err := refusedIn(dir)
	keep, bytes := map[string][]refusedFile{}, int64(0) // by owner, the newest first
	remove := func(f refusedFile) {
		err = errors.Join(err, ifThere(os.Remove(filepath.Join(dir, f.name))), ifThere(os.Remove(filepath.Join(dir, f.name+reasonExt))))
	}
	for _, f := range files {
		if now.Sub(f.at) > refusedKept || len(keep[f.owner]) == mostRefusedOfID {
			remove(f)
			continue
		}
		keep[f.owner], bytes = append(keep[f.owner], f), bytes+f.size
	}
	for bytes > mostRefused {
		owner := heaviest(keep)
		slices.SortStableFunc(keep[owner], func(a, b refusedFile) int { return cmp.Compare(a.size, b.size) })
		last := len(keep[owner]) - 1
		remove(keep[owner][last])
		bytes, keep[owner] = bytes-keep[owner][last].size, keep[owner][:last]
	}
	return err
}

// refusedIn lists the refused reports, the newest first.
func refusedIn(dir string) (files []refusedFile, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || !IsOutboxFile(e.Name()) {
			continue
		}
		files = append(files, refusedFile{e.Name(), ownerOf(e.Name()), info.Size(), info.ModTime()})
	}
	slices.SortFunc(files, func(a, b refusedFile) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name)) })
	return files, ifThere(err)
}

// heaviest is the owner of the most bytes.
func heaviest(files map[string][]refusedFile) (owner string) {
	most := int64(-1)
	for o, all := range files {
		sum := int64(0)
		for _, f := range all {
			sum += f.size
		}
		if sum > most || sum == most && o < owner {
			owner, most = o, sum
		}
	}
	return owner
}

// ifThere is err, unless it says that a file does not exist.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
