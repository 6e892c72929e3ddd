package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// A batch is a file of the outbox that holds reports of jobs in which nothing was measured, a
// line each: of these a node may end a hundred a second. It is not waited for. All that a
// power failure takes is that they ran, which Slurm knows, too. One batch is open, and lines
// are added to it; the others are to be sent, each with one request.
const (
	FullBatch     = 256 << 10 // bytes, from which another is begun
	MostBatchLine = 16 << 10  // bytes of a report, above which it is a file of its own
)

// addToBatch adds a line to the open batch of dir. The report of who is killed meanwhile is
// folded again; the newline in front keeps half a line of his from ours.
func addToBatch(dir string, body []byte) (path string, err error) {
	unlock, err := lockBatch(dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	path = filepath.Join(dir, OpenBatch)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if _, err := f.Write(append([]byte("\n"), body...)); err != nil {
		return "", errors.Join(err, f.Truncate(info.Size())) // a full disk takes half of it
	}
	if info.Size()+int64(len(body)) < FullBatch {
		return path, nil
	}
	closed, err := closeBatch(dir)
	return filepath.Join(dir, closed), err
}

// TakeBatch closes the open batch, and returns its new name; "" where there is none.
func TakeBatch(dir string) (name string, err error) {
	unlock, err := lockBatch(dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	name, err = closeBatch(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, err
}

// closeBatch is for who has the lock: nobody adds to a batch that has another name.
func closeBatch(dir string) (name string, err error) {
	name = fmt.Sprintf("%016x%s", rand.Uint64(), BatchExt)
	return name, os.Rename(filepath.Join(dir, OpenBatch), filepath.Join(dir, name))
}

// lockBatch waits for the lock of dir, which is held for one write or one rename.
func lockBatch(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		d.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { d.Close() }, nil
}

// BatchLines are the reports of a batch, without what a kill or a crash left half.
func BatchLines(text []byte) (lines [][]byte) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && json.Valid(line) {
			lines = append(lines, line)
		}
	}
	return lines
}
