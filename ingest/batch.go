package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A batch is a file of the outbox that holds reports of jobs in which nothing was measured, a
// line each: of these a node may end a hundred a second. It is not waited for. All that a
// power failure takes is that they ran, which Slurm knows, too. One batch is open, and lines
// are added to it; the others are to be sent, each with one request.
const (
	batchExt  = ".jsonl"
	openBatch = "open" + batchExt
)

// Limits of a batch, held by client and server alike.
const (
	MaxBatchBytes = 1 << 20
	MaxBatchLines = 4096
)

const (
	fullBatch     = 256 << 10 // bytes, from which another is begun
	mostBatchLine = 16 << 10  // bytes of a report, above which it is a file of its own
)

// addToBatch adds a line to the open batch of dir. The report of who is killed meanwhile is
// folded again; the newline in front keeps half a line of his from ours.
func addToBatch(dir string, body []byte) (path string, err error) {
	unlock, err := lockBatch(dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	path = filepath.Join(dir, openBatch)
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
	if info.Size()+int64(len(body)) < fullBatch {
		return path, nil
	}
	closed, err := closeBatch(dir)
	return filepath.Join(dir, closed), err
}

// takeBatch closes the open batch, and returns its new name; "" where there is none.
func takeBatch(dir string) (name string, err error) {
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
	name = fmt.Sprintf("%016x%s", rand.Uint64(), batchExt)
	return name, os.Rename(filepath.Join(dir, openBatch), filepath.Join(dir, name))
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

// isOutboxFile tells a report or a batch by its name.
func isOutboxFile(name string) bool {
	return name[0] != '.' && (filepath.Ext(name) == reportExt || filepath.Ext(name) == batchExt || strings.HasSuffix(name, packedExt))
}

// batchLines are the reports of a batch, without what a kill or a crash left half.
func batchLines(text []byte) (lines [][]byte) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && json.Valid(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// BatchAnswer is what the server says of one line: 200, or the status that it would have
// answered to this report alone.
type BatchAnswer struct {
	Status int    `json:"status"`
	New    bool   `json:"new,omitempty"`
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// PostReports sends the JSON of several reports, none with a newline in it, as one request.
// The server decides about each by itself: nil where it has committed it, else why it has
// not, as PostReport has it. The error is that nothing is known of any.
func (c *Client) PostReports(ctx context.Context, reports [][]byte) (of []error, err error) {
	if len(reports) == 0 {
		return nil, nil
	}
	var text []byte
	err = patiently(ctx, func() (err error) {
		text, err = c.post(ctx, "/v1/reports/batch", "application/x-ndjson", bytes.Join(reports, []byte("\n")))
		return err
	})
	var answer *ServerError
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound && !answer.Foreign {
		return c.postEach(ctx, reports) // an older jobeffd
	}
	if err != nil {
		return nil, err
	}
	var said struct {
		Answers []BatchAnswer `json:"answers"`
	}
	if json.Unmarshal(text, &said) != nil || len(said.Answers) != len(reports) {
		return nil, fmt.Errorf("jobeffd at %s did not answer to each of %d reports: is it of another version?", c.addr, len(reports))
	}
	for _, a := range said.Answers {
		var e error
		if a.Status != http.StatusOK {
			e = &ServerError{Status: a.Status, Message: a.Error, Hint: a.Hint}
		}
		of = append(of, e)
	}
	return of, nil
}

// postEach is PostReports in as many requests.
func (c *Client) postEach(ctx context.Context, reports [][]byte) (of []error, err error) {
	for _, body := range reports {
		err := patiently(ctx, func() error { return c.PostReport(ctx, body) })
		if away := new(UnreachableError); errors.As(err, &away) {
			return nil, err // the others would only wait for the same time-out
		}
		of = append(of, err)
	}
	return of, nil
}
