package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"jobeff/ingest/job"
)

// Outbox is the spool of one node, with its bound.
type Outbox struct {
	Spool string
	Most  int64 // bytes of reports, waiting and refused; 0: no bound
}

// ErrOutboxFull means that not even the short form of a report had room.
var ErrOutboxFull = errors.New("ingest: the outbox is full (report.spool_mib)")

// fullLog is a file of the spool that names each report that had no room: "TIME cut|lost FILE".
const fullLog = "full.log"

// maxFullLog bounds fullLog, bytes.
const maxFullLog = 1 << 20

// Write writes a report durably, as WriteOutbox does, within the bound. Older reports stay. A
// new report without room is cut to its short form (who ran where, when, and whether it was
// measured), with a warning. Beyond the bound and an eighth nothing of it is kept. fullLog
// notes both, `jobeff admin doctor` shows them, and the next report tells the server.
func (o Outbox) Write(r *job.NodeReport) (path string, err error) {
	if o.Most <= 0 {
		return WriteOutbox(o.Spool, r)
	}
	light := !r.Measured()
	e, err := outboxEntryOf(r, light)
	if err != nil {
		return "", err
	}
	used := BytesIn(OutboxDir(o.Spool)) + BytesIn(RefusedDir(o.Spool))
	if used+int64(len(e.body)) > o.Most {
		if e, err = outboxEntryOf(r.Short(), light); err != nil {
			return "", err
		}
		if used+int64(len(e.body)) > o.Most+o.Most/8 {
			return "", errors.Join(fmt.Errorf("%w: nothing of job %d was kept", ErrOutboxFull, r.JobID), o.note("lost", e.name))
		}
		if err := o.note("cut", e.name); err != nil {
			return "", err
		}
	}
	return e.write(o.Spool)
}

// BytesIn adds up the files of a folder. Files that cannot be read count nothing.
func BytesIn(dir string) (sum int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// note adds a line to fullLog, up to maxFullLog.
func (o Outbox) note(what, name string) error {
	f, err := os.OpenFile(filepath.Join(o.Spool, fullLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("ingest: spool: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxFullLog {
		return nil
	}
	_, err = fmt.Fprintf(f, "%s %s %s\n", time.Now().UTC().Format(time.RFC3339), what, name)
	return err
}

// ReadOutbox counts what a spool holds.
func ReadOutbox(spool string) (s job.OutboxState, err error) {
	var oldest time.Time
	if s.Waiting, oldest, err = ReportsIn(OutboxDir(spool)); err != nil {
		return s, err
	}
	if s.Waiting > 0 {
		s.Oldest = max(time.Since(oldest), 0)
	}
	if s.Refused, _, err = ReportsIn(RefusedDir(spool)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	log, _ := os.ReadFile(filepath.Join(spool, fullLog)) // bounded by note
	s.Cut, s.Lost = bytes.Count(log, []byte(" cut ")), bytes.Count(log, []byte(" lost "))
	return s, err
}

// ReportsIn counts the reports in dir and finds when the oldest was written. A batch is as old
// as its last line.
func ReportsIn(dir string) (n int, oldest time.Time, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || !IsOutboxFile(e.Name()) && !IsUnknownFile(e.Name()) {
			continue
		}
		holds := 1
		if filepath.Ext(e.Name()) == BatchExt {
			text, _ := ReadBounded(filepath.Join(dir, e.Name()))
			holds = len(BatchLines(text))
		}
		if holds > 0 && (n == 0 || info.ModTime().Before(oldest)) {
			oldest = info.ModTime()
		}
		n += holds
	}
	return n, oldest, err
}
