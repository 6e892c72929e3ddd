package node

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// RunDir holds the open files of a job's run directory, /run/jobeff/notes/.done-JOB-NONCE.
// A file that is missing, or that root did not make, is nil. Opening needs root. Folding
// needs only the open files.
type RunDir struct {
	name                       string
	decision, job, steps, rank *os.File
	empty                      bool // rank holds nothing, see LeaveRecord
	problems                   []job.Warning
	crossing                   *crossing // after Fold
}

// OpenDir opens the files of a run directory, never through a link. It fails only if the
// directory itself cannot be opened.
func OpenDir(path string) (*RunDir, error) {
	dir, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", &os.PathError{Op: "open", Path: path, Err: err})
	}
	defer unix.Close(dir)
	d := &RunDir{name: filepath.Base(path)}
	d.decision = d.open(dir, "decision", true)
	d.job = d.open(dir, "job", true)
	d.steps = d.open(dir, "steps", true)
	d.rank = d.open(dir, recordName, false)
	return d, nil
}

// open opens one file of the directory. A file that root writes must belong to root (or to us,
// if we are not root).
func (d *RunDir) open(dir int, name string, roots bool) *os.File {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = errors.New("not a regular file")
	case st.Nlink > 1:
		err = errors.New("it has several names")
	case roots && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		err = errors.New("not root's")
	}
	if err == nil {
		return os.NewFile(uintptr(fd), name)
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	d.problems = append(d.problems, job.Warning{Code: job.WarnUnreadable, Args: job.Args{Kind: job.KindFile, Name: name, Other: err.Error()}})
	return nil
}

// Close closes the files, so that the record's file system can be unmounted.
func (d *RunDir) Close() {
	for _, f := range []*os.File{d.decision, d.job, d.steps, d.rank} {
		f.Close() // of nil, too
	}
}

// LeaveRecord makes Fold read only root's own files: no process left anything in the record.
func (d *RunDir) LeaveRecord() { d.empty = true }

// Fold makes the node's report of the job. Missing or damaged parts give a warning in it, and so
// do figures that cannot be, which are left out. The only error is a directory that does not say
// which job it was. Without the job file, Cluster and Node are empty; the caller may know them.
func (d *RunDir) Fold(m Machine) (*job.NodeReport, error) {
	r := &job.NodeReport{Version: job.ReportVersion, Sequence: 1, OnlineCPUs: m.OnlineCPUs}
	warn := job.Warnings{}
	for _, p := range d.problems {
		warn.Add(p)
	}
	own := readJob(d.job, r)
	if !own.whole {
		warn.Note(job.WarnJobFile)
	}
	if err := d.identify(r); err != nil {
		return nil, err
	}
	if own.whole && !r.Prolog {
		warn.Note(job.WarnNoProlog)
	}
	r.Decision = readDecision(d.decision)
	log := readSteps(d.steps)
	log.fill(r, &warn)
	d.foldRanks(r, m, own, log, &warn)
	r.Start = job.FirstTime(r.Start, log.first)
	if r.End = log.last; r.End.IsZero() {
		r.End = time.Now().UTC()
	}
	r.Warnings = warn.List()
	r.DropImpossible()
	return r, nil
}

// identify takes the job and the nonce from the directory's name if the job file has lost
// them.
func (d *RunDir) identify(r *job.NodeReport) error {
	number, run, ok := strings.Cut(strings.TrimPrefix(d.name, donePrefix), "-")
	if id, err := strconv.ParseUint(number, 10, 32); r.JobID == 0 && err == nil {
		r.JobID = uint32(id)
	}
	if b, err := hex.DecodeString(run); r.Nonce == "" && ok && err == nil && len(b) == 16 {
		r.Nonce = run
	}
	if r.JobID == 0 || r.Nonce == "" {
		return fmt.Errorf("ingest: %q tells neither in its job file nor in its name which attempt of which job it was", d.name)
	}
	return nil
}

// Logs are those of windows that travel beside the report that Fold made of this directory; nil:
// none do.
func (d *RunDir) Logs(r *job.NodeReport) []byte { return d.crossing.pack(r) }

// foldRanks folds the record into the report.
func (d *RunDir) foldRanks(r *job.NodeReport, m Machine, own jobFile, log *stepLog, warn *job.Warnings) {
	if d.rank != nil && d.empty {
		return
	}
	if d.rank == nil {
		if strings.HasPrefix(r.Decision, "on") && log.measured && len(d.problems) == 0 {
			warn.Add(job.Warning{Code: job.WarnUnreadable, Args: job.Args{Kind: job.KindMissing}})
		}
		return
	}
	st, err := d.rank.Stat()
	if err != nil {
		warn.Add(job.Warning{Code: job.WarnUnreadable, Args: job.Args{Other: err.Error()}})
		return
	}
	rec, err := record.Read(d.rank, st.Size(), record.Options{Nonce: own.nonce, MaxBytes: own.recordBytes})
	switch {
	case errors.Is(err, record.ErrForeign):
		warn.Add(job.Warning{Code: job.WarnForeign})
		return
	case err != nil:
		warn.Add(job.Warning{Code: job.WarnUnreadable, Args: job.Args{Other: err.Error()}})
		return
	}
	facts := &attemptFacts{node: r.Node, end: log.lastMono, exits: log.exits, steps: log.ends, workloads: log.workloads}
	if facts.end == 0 {
		facts.end = 1 << 62
	}
	m.Alive = nil
	f := foldRecord(rec, m, facts)
	r.Executions, r.Processes = f.executions, f.processes
	r.LostFull, r.LostMemory = int(rec.Head.LostFull), int(rec.Head.LostMemory)
	d.crossing = f.crossing
	for _, w := range f.warnings {
		warn.Add(w)
	}
}

// RunDirPath is where the users of a node's jobs find their records, each in a folder with the job's
// id. It is the second mount of a record: NotesPath has the first.
const RunDirPath = "/run/jobeff"

// NotesPath is where the plugin makes the run directories of a node. Only root may enter it.
const NotesPath = RunDirPath + "/" + notesDir

const notesDir = "notes"

// Run directories of ended jobs are called by a prefix and JOB-NONCE.
const (
	donePrefix = ".done-" // it waits to be folded
	gonePrefix = ".gone-" // its report is in the outbox: it need only be removed
)

// recordDir is the part of a run directory on which the record's own file system is mounted for
// root. No user can reach this mount, so nothing of theirs is on it but the file itself.
const (
	recordDir  = "record"
	recordName = recordDir + "/ranks"
)

// isMount says whether a file system is mounted on sub, which lies in dir.
func isMount(dir, sub string) bool {
	var outer, inner unix.Stat_t
	return unix.Lstat(dir, &outer) == nil && unix.Lstat(sub, &inner) == nil && outer.Dev != inner.Dev
}

// ReadRunDirs looks how full a node's run directories are; top is RunDirPath.
func ReadRunDirs(top string) (s job.RunDirState, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(top, &fs); err != nil {
		return s, err
	}
	s.Notes = max(percent(fs.Blocks-fs.Bfree, fs.Blocks), percent(fs.Files-fs.Ffree, fs.Files))
	records, err := filepath.Glob(filepath.Join(top, notesDir, "*", recordDir))
	for _, mounted := range records {
		dir := filepath.Dir(mounted)
		if !isMount(dir, mounted) || unix.Statfs(mounted, &fs) != nil {
			continue
		}
		s.Records++
		switch {
		case strings.HasPrefix(filepath.Base(dir), gonePrefix):
			s.Held += int64(fs.Blocks-fs.Bfree) * fs.Bsize
		case fs.Bfree == 0:
			s.Full++
		}
	}
	return s, err
}

// percent of a whole; 0 of none.
func percent(part, whole uint64) int { return int(100 * part / max(whole, 1)) }
