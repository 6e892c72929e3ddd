package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// Outbox is the spool of one node, with its bound.
type Outbox struct {
	Spool string
	Most  int64 // bytes of waiting reports; 0: no bound
}

// ErrOutboxFull means that there was no room even for the line which says that a report was dropped.
var ErrOutboxFull = errors.New("ingest: the outbox is full (report.spool_mib)")

// fullLog is a file of the spool that names each report that had no room: "TIME cut|lost FILE".
const fullLog = "full.log"

// maxFullLog bounds fullLog, bytes.
const maxFullLog = 1 << 20

// Write writes a report durably: when it returns without an error, the file and its name are on
// the disk. A report that is written twice is one file. A report in which nothing was measured is
// only added to a batch, without waiting for the disk. The path is the file's.
//
// A report that wire.Validate refuses is set aside in refused/, and the error is ErrNoReport. Older
// reports stay. A new report without room is cut to a line that says that it was dropped, and the
// job's page tells its owner. A line without room is not kept. fullLog notes both, `jobeff admin
// doctor` shows them, and the next report tells the server.
func (o Outbox) Write(r *job.NodeReport) (path string, err error) {
	if err := wire.Validate(r); err != nil {
		return "", o.refuse(r, err)
	}
	e, err := outboxEntryOf(r, !r.Measured())
	if err != nil {
		return "", err
	}
	if o.Most <= 0 {
		return e.write(o.Spool)
	}
	owner := ownerOf(e.name)
	used, whose := o.usage(owner), owner
	if used.all+onDisk(int64(len(e.body))) > o.Most {
		whose = "" // all
	}
	if !o.hasRoom(used, &e) && o.dropRest(whose) {
		used = o.usage(owner)
	}
	if o.hasRoom(used, &e) {
		return e.write(o.Spool)
	}
	if e, err = outboxEntryOf(short(r), true); err != nil {
		return "", err
	}
	if !o.hasRoomForLine(used, &e) {
		return "", errors.Join(fmt.Errorf("%w: nothing of job %d was kept", ErrOutboxFull, r.JobID), o.note("lost", e.name))
	}
	if err := o.note("cut", e.name); err != nil {
		return "", err
	}
	return e.write(o.Spool)
}

// short is what is kept of a report that was dropped: who ran where and when.
func short(r *job.NodeReport) *job.NodeReport {
	s := *r
	s.Steps, s.Executions = nil, nil
	s.Warnings = []doubt.Warning{doubt.NewWarning(doubt.WarnOutboxFull, 1)}
	return &s
}

// hasRoom reports whether there is room for a report. One user's files may fill half of the outbox,
// and lines a quarter: so nobody fills it for all.
func (o Outbox) hasRoom(used usage, e *outboxEntry) bool {
	more := onDisk(int64(len(e.body)))
	if e.line {
		return used.all+more <= o.Most && used.lines+more <= o.Most/4
	}
	return used.all+more <= o.Most && used.own+more <= o.Most/2
}

// hasRoomForLine reports whether there is room for the line which says that a report was dropped.
// Such lines may take an eighth more.
func (o Outbox) hasRoomForLine(used usage, e *outboxEntry) bool {
	more := int64(len(e.body))
	return used.all+more <= o.Most+o.Most/8 && used.lines+more <= o.Most/4+o.Most/8
}

// refuse sets a report aside that no server would take.
func (o Outbox) refuse(r *job.NodeReport, why error) error {
	e, err := outboxEntryOf(r, false)
	if err == nil {
		err = KeepRefused(o.Spool, e.name, e.body, why)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: job %d: %w", ErrNoReport, r.JobID, why)
}

// usage adds up the outbox and the logs.
func (o Outbox) usage(owner string) usage {
	u := usedIn(OutboxDir(o.Spool), owner)
	u.all += usedIn(LogsDir(o.Spool), owner).all
	return u
}

// usage is what an outbox takes of the disk, bytes. Lines count their own bytes, not whole blocks.
type usage struct{ all, own, lines int64 }

// block is the unit in which file systems give out room. A report of 1 KB takes 4 KB of the disk.
const block = 4 << 10

func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// usedIn adds up the files of a folder, those of one owner, and its batches.
func usedIn(dir, owner string) (u usage) {
	_ = eachFile(dir, func(name string, st *unix.Stat_t) { // what cannot be read counts nothing
		more := onDisk(st.Size)
		u.all += more
		switch ownerOf(name) {
		case "":
			u.lines += st.Size
		case owner:
			u.own += more
		}
	})
	return u
}

// eachFile calls do with each regular file of a folder, in no order. It is run at each job's end,
// and a full outbox has 65,000 files: os.ReadDir would sort them, and look for each by its path.
func eachFile(dir string, do func(name string, st *unix.Stat_t)) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				do(name, &st)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
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
func ReadOutbox(spool string) (s wire.OutboxState, err error) {
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
	err = eachFile(dir, func(name string, st *unix.Stat_t) {
		if !IsOutboxFile(name) && !IsUnknownFile(name) {
			return
		}
		holds := 1
		if filepath.Ext(name) == BatchExt {
			text, _ := ReadBounded(filepath.Join(dir, name))
			holds = len(BatchLines(text))
		}
		if at := time.Unix(st.Mtim.Unix()); holds > 0 && (n == 0 || at.Before(oldest)) {
			oldest = at
		}
		n += holds
	})
	return n, oldest, err
}
