package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Outbox is the spool of one node, with what it may take.
type Outbox struct {
	Spool string
	Most  int64 // bytes of reports, waiting and refused ones; 0: any number
}

// ErrOutboxFull is that not even the short form of a report had room.
var ErrOutboxFull = errors.New("ingest: the outbox is full (report.spool_mib)")

// fullLog names in the spool what had no room, a line each: "TIME cut|lost FILE".
const fullLog = "full.log"

// maxFullLog bounds it, bytes.
const maxFullLog = 1 << 20

// Write makes a report durable as WriteOutbox does, within the bound. The reports that
// wait are older and stay; of this one only who ran where, when and how it was decided is
// kept where it has no room, with a warning, and nothing where even an eighth more than
// the bound is taken. Both are noted in the spool, shown by `jobeff admin doctor` and told
// to the server with the next report.
func (o Outbox) Write(r *NodeReport) (path string, err error) {
	if o.Most <= 0 {
		return WriteOutbox(o.Spool, r)
	}
	light := !r.Measured()
	e, err := outboxEntryOf(r, light)
	if err != nil {
		return "", err
	}
	used := bytesIn(OutboxDir(o.Spool)) + bytesIn(RefusedDir(o.Spool))
	if used+int64(len(e.body)) > o.Most {
		if e, err = outboxEntryOf(r.short(), light); err != nil {
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

// short is the report without what was measured.
func (r *NodeReport) short() *NodeReport {
	s := *r
	s.Steps, s.Executions = nil, nil
	s.Warnings = []Warning{NewWarning(WarnOutboxFull, 1)}
	return &s
}

// bytesIn adds up the files of a folder; what cannot be seen counts nothing.
func bytesIn(dir string) (sum int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// note adds a line to the log, as long as that is not too long itself.
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

// OutboxState is what a node's spool holds. The sender tells it to the server.
type OutboxState struct {
	Waiting int           `json:"waiting"`
	Oldest  time.Duration `json:"oldest_ns"` // age of the report that waits longest; 0: none does
	Refused int           `json:"refused"`   // set aside for good
	Cut     int           `json:"cut"`       // reports of which only the short form had room, since full.log was begun
	Lost    int           `json:"lost"`      // … and of which nothing was kept
}

// ReadOutbox looks at a spool.
func ReadOutbox(spool string) (s OutboxState, err error) {
	var oldest time.Time
	if s.Waiting, oldest, err = reportsIn(OutboxDir(spool)); err != nil {
		return s, err
	}
	if s.Waiting > 0 {
		s.Oldest = max(time.Since(oldest), 0)
	}
	if s.Refused, _, err = reportsIn(RefusedDir(spool)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	log, _ := os.ReadFile(filepath.Join(spool, fullLog)) // bounded by note
	s.Cut, s.Lost = bytes.Count(log, []byte(" cut ")), bytes.Count(log, []byte(" lost "))
	return s, err
}

// reportsIn counts the reports in dir and finds when the oldest was written; a batch is as
// old as its last line.
func reportsIn(dir string) (n int, oldest time.Time, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || !isOutboxFile(e.Name()) {
			continue
		}
		holds := 1
		if filepath.Ext(e.Name()) == batchExt {
			text, _ := readBounded(filepath.Join(dir, e.Name()))
			holds = len(batchLines(text))
		}
		if holds > 0 && (n == 0 || info.ModTime().Before(oldest)) {
			oldest = info.ModTime()
		}
		n += holds
	}
	return n, oldest, err
}

// OutboxHeader is the request header in which OutboxState travels beside a report.
const OutboxHeader = "Jobeff-Outbox"

const outboxForm = "waiting=%d oldest=%d refused=%d cut=%d lost=%d"

// String is the header's value; the age is in seconds.
func (s OutboxState) String() string {
	return fmt.Sprintf(outboxForm, s.Waiting, int64(s.Oldest.Seconds()), s.Refused, s.Cut, s.Lost)
}

// ParseOutboxState reads what String wrote; ok is false for anything else.
func ParseOutboxState(text string) (s OutboxState, ok bool) {
	var seconds int64
	n, err := fmt.Sscanf(text, outboxForm, &s.Waiting, &seconds, &s.Refused, &s.Cut, &s.Lost)
	const decade = 10 * 366 * 24 * 3600
	if err != nil || n != 5 || s.Waiting < 0 || seconds < 0 || seconds > decade || s.Refused < 0 || s.Cut < 0 || s.Lost < 0 {
		return OutboxState{}, false
	}
	s.Oldest = time.Duration(seconds) * time.Second
	return s, true
}
