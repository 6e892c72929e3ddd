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

// A batch is a file of the outbox with a line for each report of a job in which nothing was
// measured. A node may end a hundred such jobs a second, so nobody waits for the disk. A power
// failure loses only the fact that these jobs ran, and Slurm knows that. One batch is open:
// lines are added to it. The others wait to be sent, each in one request.
const (
	FullBatch     = 256 << 10 // bytes; a larger batch is closed
	MostBatchLine = 16 << 10  // bytes; a larger report is a file of its own
)

// addToBatch adds a line to the open batch of dir. A writer that is killed here folds its
// report again. The leading newline separates ours from a partial line it may have left.
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
		return "", errors.Join(err, f.Truncate(info.Size())) // on a full disk half a line may stand there
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

// closeBatch renames the open batch, so that nothing is added to it. The caller has the lock.
func closeBatch(dir string) (name string, err error) {
	name = fmt.Sprintf("%016x%s", rand.Uint64(), BatchExt) // #nosec G404 -- a name needs no secret
	return name, os.Rename(filepath.Join(dir, OpenBatch), filepath.Join(dir, name))
}

// lockBatch waits for the lock of dir. It is held only for a write or a rename.
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

// BatchLines are the reports of a batch, without lines that a kill or a crash cut short.
func BatchLines(text []byte) (lines [][]byte) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && json.Valid(line) {
			lines = append(lines, line)
		}
	}
	return lines
}
