package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"jobeff/ingest/job"
)

// WriteOutbox writes a report durably: when it returns without an error, the file and its
// name are on the disk. A report that is written twice is one file. A report in which nothing
// was measured is only added to a batch, without waiting for the disk. The path is the
// file's.
func WriteOutbox(spool string, r *job.NodeReport) (path string, err error) {
	e, err := outboxEntryOf(r, !r.Measured())
	if err != nil {
		return "", err
	}
	return e.write(spool)
}

// outboxEntry is a report as the outbox holds it: a line of a batch, or a file of its own. The
// file is zstd, and goes unchanged over the wire and into the database.
type outboxEntry struct {
	name string // of the file of its own
	body []byte
	line bool
}

// outboxEntryOf makes a light report a line of a batch, unless it is long.
func outboxEntryOf(r *job.NodeReport, light bool) (e outboxEntry, err error) {
	name, err := OutboxName(r)
	if err != nil {
		return e, err
	}
	text, err := r.Text()
	if err != nil {
		return e, fmt.Errorf("ingest: report of job %d: %w", r.JobID, err)
	}
	if light && len(text) <= MostBatchLine {
		return outboxEntry{name + ReportExt, text, true}, nil
	}
	return outboxEntry{name + PackedExt, job.Compress(text), false}, nil
}

func (e *outboxEntry) write(spool string) (path string, err error) {
	dir := OutboxDir(spool)
	if err := MakePrivateDir(dir); err != nil {
		return "", err
	}
	if e.line {
		path, err = addToBatch(dir, e.body)
	} else {
		path, err = filepath.Join(dir, e.name), WriteDurable(dir, e.name, e.body)
	}
	if err != nil {
		return "", fmt.Errorf("ingest: report %s: %w", e.name, err)
	}
	return path, nil
}

// MakePrivateDir makes dir and the folders above it. Only its owner may enter dir, even if it
// existed before.
func MakePrivateDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("ingest: spool: %w", err)
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return closeDir(dir)
	}
	if err != nil {
		return fmt.Errorf("ingest: spool: %w", err)
	}
	return SyncDir(filepath.Dir(dir))
}

// closeDir lets only its owner enter a folder. What a link leads to may be anything, as /etc: it
// stays as it is, and if others may enter it, nothing is written there.
func closeDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return errors.Join(err, os.Chmod(dir, 0o700))
	}
	if info, err = os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("ingest: spool: %s leads to a folder that others may enter: chmod 0700 that, or remove the link", dir)
	}
	return err
}

// WriteDurable writes dir/name. Readers see all of it or nothing, even after a crash:
// temporary file, fsync, rename, fsync of the directory.
func WriteDurable(dir, name string, body []byte) error {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes the names in dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadBounded reads a regular file of at most MaxReportBytes.
func ReadBounded(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: a symbolic link", ErrNoReport)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", ErrNoReport)
	}
	body, err := io.ReadAll(io.LimitReader(f, job.MaxReportBytes+1))
	if err == nil && len(body) > job.MaxReportBytes {
		err = fmt.Errorf("%w: larger than %d MiB", ErrNoReport, job.MaxReportBytes>>20)
	}
	return body, err
}

// SenderWaits says that a sender was started and waits for its turn. It will find all that is
// in the outbox now.
func SenderWaits(spool string) bool {
	next, err := LockFile(NextLock(spool))
	if next != nil {
		next.Close()
	}
	return err == nil && next == nil
}

// ErrNoReport marks a file of the outbox that cannot be a report.
var ErrNoReport = errors.New("not a report")

// LockFile takes an exclusive lock, which the kernel drops when the process ends. nil without
// an error means that another process holds it.
func LockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("ingest: spool: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ingest: spool: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("ingest: lock %s: %w", path, err)
}
