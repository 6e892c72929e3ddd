package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// outboxEntry is a report as the outbox holds it: a line of a batch, or a file of its own. The
// file is zstd, and goes unchanged over the wire and into the database.
type outboxEntry struct {
	name string // of the file of its own
	body []byte
	line bool
}

// outboxEntryOf makes a report an entry: a line of a batch if it is light and short, else a file.
func outboxEntryOf(r *job.NodeReport, light bool) (e outboxEntry, err error) {
	name, err := OutboxName(r)
	if err != nil {
		return e, err
	}
	text, err := wire.ReportText(r)
	if err != nil {
		return e, fmt.Errorf("ingest: report of job %d: %w", r.JobID, err)
	}
	if light && len(text) <= MostBatchLine {
		return outboxEntry{name + ReportExt, text, true}, nil
	}
	return outboxEntry{name + PackedExt, wire.Compress(text), false}, nil
}

func (e *outboxEntry) write(spool string) (path string, err error) {
	dir := OutboxDir(spool)
	if err := makePrivateDir(dir); err != nil {
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

// makePrivateDir makes dir and the folders above it. Only its owner may enter dir, even if it
// existed before.
func makePrivateDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { // #nosec G301 -- all may reach the folder above
		return fmt.Errorf("ingest: spool: %w", err)
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return closeDir(dir)
	}
	if err != nil {
		return fmt.Errorf("ingest: spool: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

// closeDir lets only its owner enter a folder. A link may lead anywhere, for example to /etc: its
// target stays as it is, and if others may enter that, nothing is written there.
func closeDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return errors.Join(err, os.Chmod(dir, 0o700)) // #nosec G302 -- only root enters the folder
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
	return syncDir(dir)
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
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
	body, err := io.ReadAll(io.LimitReader(f, wire.MaxReportBytes+1))
	if err == nil && len(body) > wire.MaxReportBytes {
		err = fmt.Errorf("%w: larger than %d MiB", ErrNoReport, wire.MaxReportBytes>>20)
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

// ErrNoReport marks a file of the outbox that is no report.
var ErrNoReport = errors.New("not a report")

// LockFile takes an exclusive lock, which the kernel drops when the process ends. nil without
// an error means that another process holds it.
func LockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- all may reach the folder above
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

// Folders of the spool, of mode 0700: for reports that wait, and for reports that were refused for
// good, each with a file for its reason (NAME.reason).
const (
	outboxDir  = "outbox"
	refusedDir = "refused"
)

// OutboxDir is the folder below spool in which reports wait.
func OutboxDir(spool string) string { return filepath.Join(spool, outboxDir) }

// RefusedDir is the folder below spool of reports that were refused.
func RefusedDir(spool string) string { return filepath.Join(spool, refusedDir) }

// How a report's file name ends: text (refused lines of a batch, and old files) or zstd.
const (
	ReportExt = ".json"
	PackedExt = ".json.zst"
)

// OutboxName is <uid>.<cluster>-<jobid>-<nonce>, without an ending. The nonce is random, so the
// rest of the name need not be unique.
func OutboxName(r *job.NodeReport) (string, error) {
	if !wire.IsHex32(r.Nonce) {
		return "", fmt.Errorf("ingest: report of job %d: nonce %q is not 32 hex digits", r.JobID, r.Nonce)
	}
	cluster := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, r.Cluster)
	if len(cluster) > 64 {
		cluster = cluster[:64]
	}
	return fmt.Sprintf("%d.%s-%d-%s", r.UID, cluster, r.JobID, r.Nonce), nil
}

// ownerOf is the uid of the job whose report a file holds; "" for a batch, and for what is no
// report.
func ownerOf(name string) string {
	uid, _, _ := strings.Cut(name, ".")
	if _, err := strconv.ParseUint(uid, 10, 32); err != nil || strings.HasSuffix(name, BatchExt) {
		return ""
	}
	return uid
}

// NextLock is the file that a waiting sender locks.
func NextLock(spool string) string { return filepath.Join(spool, ".send-next.lock") }

// How a batch's name ends, and the name of the one that lines are added to.
const (
	BatchExt  = ".jsonl"
	OpenBatch = "open" + BatchExt
)

// IsUnknownFile reports whether a file has a report's name (OutboxName) and an ending that this
// program does not know: a newer one wrote it.
func IsUnknownFile(name string) bool {
	if uid := ownerOf(name); uid != "" {
		name = name[len(uid)+1:]
	}
	stem, _, _ := strings.Cut(name, ".")
	return wire.IsHex32(stem[strings.LastIndexByte(stem, '-')+1:]) && filepath.Ext(name) != reasonExt && !IsOutboxFile(name)
}

// reasonExt is how the name of a refusal's reason ends.
const reasonExt = ".reason"

// IsOutboxFile reports by its name whether a file is a report or a batch.
func IsOutboxFile(name string) bool {
	return name[0] != '.' && (filepath.Ext(name) == ReportExt || filepath.Ext(name) == BatchExt || strings.HasSuffix(name, PackedExt))
}

// logsDir is the spool's folder for logs of windows, of mode 0700. A file there is called like its
// report, with logsExt at the end.
const (
	logsDir = "logs"
	logsExt = ".logs.zst"
)

// LogsDir is the folder below spool in which logs of windows wait.
func LogsDir(spool string) string { return filepath.Join(spool, logsDir) }

// IsLogsFile reports by its name whether a file holds logs.
func IsLogsFile(name string) bool { return name[0] != '.' && strings.HasSuffix(name, logsExt) }

// Logs of windows wait in a folder of their own. They only add to a report, so they never take its
// room: they may take an eighth of the bound, and are deleted first when a report has no room. So
// are interim reports, which are written only while half of the bound is free.

// WriteLogs writes the logs that belong to a report durably, if they have room.
func (o Outbox) WriteLogs(r *job.NodeReport, packed []byte) error {
	if len(packed) == 0 || len(packed) > wire.MaxLogsBytes {
		return nil
	}
	name, err := OutboxName(r)
	if err != nil {
		return err
	}
	dir := LogsDir(o.Spool)
	if err := makePrivateDir(dir); err != nil {
		return err
	}
	if o.Most > 0 && !o.hasRoomForLogs(ownerOf(name), onDisk(int64(len(packed)))) {
		return nil
	}
	return WriteDurable(dir, name+logsExt, packed)
}

// hasRoomForLogs reports whether there is room for so many bytes of a user's logs.
func (o Outbox) hasRoomForLogs(owner string, size int64) bool {
	logs, room := usedIn(LogsDir(o.Spool), owner), o.Most/8
	return logs.all+size <= room && logs.own+size <= room/2 && usedIn(OutboxDir(o.Spool), "").all+logs.all+size <= o.Most
}

// dropRest deletes all logs and interim reports of an owner, or of all ("").
func (o Outbox) dropRest(owner string) (dropped bool) {
	drop := func(dir, ext string) {
		_ = eachFile(dir, func(name string, _ *unix.Stat_t) {
			if strings.HasSuffix(name, ext) && (owner == "" || ownerOf(name) == owner) {
				dropped = os.Remove(filepath.Join(dir, name)) == nil || dropped
			}
		})
	}
	drop(LogsDir(o.Spool), "")
	drop(OutboxDir(o.Spool), interimExt+PackedExt)
	return dropped
}

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
		return "", errors.Join(err, f.Truncate(info.Size())) // a full disk may have taken half of the line
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
