// Package node makes a node's report of what the processes of a job recorded. It runs at the
// job's end, as root or as nobody, and links neither net/http nor a database:
//
//  1. OpenDir opens the job's run directory as root. RunDir.Fold folds it without
//     privileges: slots of package record become ranks, and ranks become the node's parts
//     of executions. Root's own notes say who ran, when, and how it ended.
//  2. Outbox.Write writes the report durably into the outbox. A report in which nothing was
//     measured becomes a line of a batch there.
//  3. RemoveRunDir removes the run directory and unmounts its record.
//
// FoldFile folds a record that was made by hand, without Slurm. Before this package stand
// preload/record and ingest/job, after it ingest/client, whose Sender empties the outbox.
package node

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/when"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// RunDir holds the open files of a job's run directory, /run/jobeff/notes/.done-JOB-NONCE.
// A file that is missing, or that root did not make, is nil. Opening needs root. Folding
// needs only the open files.
type RunDir struct {
	name                       string
	decision, job, steps, rank *os.File
	memory                     *os.File
	empty                      bool // rank holds nothing, see LeaveRecord
	problems                   []doubt.Warning
	crossing                   *crossing    // after Fold
	question                   *GPUQuestion // after Fold
	seen                       *seen        // after See
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
	d.memory = d.open(dir, memoryName, true)
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
	d.problems = append(d.problems, doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: doubt.KindFile, Name: name, Other: err.Error()}})
	return nil
}

// Close closes the files, so that the record's file system can be unmounted.
func (d *RunDir) Close() {
	for _, f := range []*os.File{d.decision, d.job, d.steps, d.memory, d.rank} {
		f.Close() // of nil, too
	}
}

// LeaveRecord makes Fold read only root's own files: no process left anything in the record.
func (d *RunDir) LeaveRecord() { d.empty = true }

// Fold makes the node's report of the job. Missing or damaged parts give a warning in it, and so do
// impossible figures, which are left out. The only error is a directory that does not say which job
// it was. Without the job file, Cluster and Node are empty; the caller may know them.
func (d *RunDir) Fold(m Machine) (*job.NodeReport, error) { return d.fold(m, time.Time{}) }

// fold does the work of Fold or, with a moment, of FoldLive.
func (d *RunDir) fold(m Machine, moment time.Time) (*job.NodeReport, error) {
	r := &job.NodeReport{Version: job.ReportVersion, Sequence: job.FinalSequence, OnlineCPUs: m.OnlineCPUs}
	warn := doubt.Warnings{}
	for _, p := range d.problems {
		warn.Add(p)
	}
	own := readJob(d.job, r)
	if !own.whole {
		warn.Note(doubt.WarnJobFile)
	}
	if err := d.identify(r); err != nil {
		return nil, err
	}
	switch {
	case own.prologFailed:
		warn.Note(doubt.WarnPrologFailed)
	case own.whole && !r.Prolog:
		warn.Note(doubt.WarnNoProlog)
	}
	r.Decision = readDecision(d.decision)
	log := readSteps(d.steps)
	log.cgroup.readings(d.memory)
	if log.fill(r, &warn); r.Cgroup != nil {
		r.Cgroup.CPUs, r.Cgroup.Cores = m.OnlineCPUs, m.OnlineCPUs/max(m.ThreadsPerCore, 1)
	}
	if moment.IsZero() {
		d.gpus(r, own, log)
	}
	if err := d.foldRanks(r, m, own, log, moment, &warn); err != nil {
		return nil, err
	}
	r.Start = when.First(r.Start, log.first)
	if r.End = log.last; r.End.IsZero() || !moment.IsZero() {
		r.End = time.Now().UTC()
	}
	r.Warnings = warn.List()
	wire.DropImpossible(r)
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

// Logs returns the logs of windows that travel with the report that Fold made of this directory;
// nil: there are none.
func (d *RunDir) Logs(r *job.NodeReport) []byte { return d.crossing.pack(r) }

// foldRanks folds the record into the report. The only error is record.ErrTorn.
func (d *RunDir) foldRanks(r *job.NodeReport, m Machine, own jobFile, log *stepLog, moment time.Time, warn *doubt.Warnings) error {
	if d.rank != nil && d.empty {
		return nil
	}
	if d.rank == nil {
		if strings.HasPrefix(r.Decision, "on") && log.measured && len(d.problems) == 0 {
			warn.Add(doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: doubt.KindMissing}})
		}
		return nil
	}
	st, err := d.rank.Stat()
	if err != nil {
		warn.Add(doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Other: err.Error()}})
		return nil
	}
	rec, err := record.Read(d.rank, st.Size(), record.Options{Nonce: own.nonce, MaxBytes: own.recordBytes, Live: !moment.IsZero()})
	switch {
	case errors.Is(err, record.ErrForeign):
		warn.Add(doubt.Warning{Code: doubt.WarnForeign})
		return nil
	case err != nil:
		warn.Add(doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Other: err.Error()}})
		return nil
	}
	facts := &attemptFacts{node: r.Node, end: log.lastMono, exits: log.exits, steps: log.ends, workloads: log.workloads, moment: moment, seen: d.seen}
	if facts.end == 0 || !moment.IsZero() {
		facts.end = 1 << 62
	}
	m.alive = nil
	f := foldRecord(rec, m, facts)
	if f.torn {
		return record.ErrTorn
	}
	if !moment.IsZero() {
		now, _ := m.Now(record.ClockMonotonic)
		r.Sequence, r.AsOf, r.Progress = int(now.Mono/1e6)+1, cmp.Or(f.asOf, moment), f.progress
	}
	r.Executions, r.Processes = f.executions, f.processes
	r.LostFull, r.LostMemory = int(rec.Head.LostFull), int(rec.Head.LostMemory)
	d.crossing = f.crossing
	for _, w := range f.warnings {
		warn.Add(w)
	}
	return nil
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

// RunDirState is how full a node's /run/jobeff is. Reports carry it to jobeffd.
type RunDirState struct {
	Notes   int   `json:"notes_percent"` // of the room for root's notes, bytes or inodes, 0 to 100
	Records int   `json:"records"`       // mounted: of running jobs, and of ended ones that are not removed yet
	Full    int   `json:"full"`          // … records that take all that measure.record_mib allowed
	Held    int64 `json:"held_bytes"`    // taken by records that processes of ended jobs still hold
}

// RunDirHeader is the request header in which RunDirState travels with a report.
const RunDirHeader = "Jobeff-Run-Dir"

const runDirForm = "notes=%d records=%d full=%d held=%d"

// String is the header's value.
func (s RunDirState) String() string {
	return fmt.Sprintf(runDirForm, s.Notes, s.Records, s.Full, s.Held)
}

// ParseRunDirState reads what String wrote; ok is false for anything else.
func ParseRunDirState(text string) (s RunDirState, ok bool) {
	n, err := fmt.Sscanf(text, runDirForm, &s.Notes, &s.Records, &s.Full, &s.Held)
	if err != nil || n != 4 || s.Notes < 0 || s.Notes > 100 || s.Records < 0 || s.Full < 0 || s.Full > s.Records || s.Held < 0 || s.Held > 1<<50 {
		return RunDirState{}, false
	}
	return s, true
}

// ReadRunDirs looks how full a node's run directories are; top is RunDirPath.
func ReadRunDirs(top string) (s RunDirState, err error) {
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

// FailedPrologs says how many jobs of this node, since its boot, had a prolog in which jobeff's part
// failed or was too slow; top is RunDirPath.
func FailedPrologs(top string) int64 {
	info, err := os.Lstat(filepath.Join(top, notesDir, "failed"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// percent is part in percent of whole; 0 if both are 0.
func percent(part, whole uint64) int { return int(100 * part / max(whole, 1)) }

// readDecision is the first line of the decision file. Without one, measuring is on.
func readDecision(f *os.File) string {
	decision := ""
	eachLine(f, mostJobBytes, func(line string) {
		if decision == "" {
			decision = line
		}
	})
	if word, _, _ := strings.Cut(decision, " "); word != "off" {
		return "on"
	}
	return decision
}

// What a job file says of the prolog; 0: none ran.
const (
	prologRan    = 1
	prologFailed = 2 // or was too slow: the plugin's C went on without it
)

// jobFile is what the fold itself needs of the job file.
type jobFile struct {
	nonce        *[16]byte
	whole        bool  // it identifies the job
	prologFailed bool  // or was too slow
	recordBytes  int64 // measure.record_mib of the job's start, 0: not known
	gpus         []string
	gpusShared   bool
}

// readJob fills the report from the job file.
func readJob(f *os.File, r *job.NodeReport) jobFile {
	values := map[string]string{}
	eachLine(f, mostJobBytes, func(line string) {
		key, value, _ := strings.Cut(line, " ")
		values[key] = value
	})
	number := func(key string, bits int) uint64 {
		n, err := strconv.ParseUint(values[key], 10, bits)
		if err != nil {
			return 0
		}
		return n
	}
	r.Cluster, r.Node, r.User = values["cluster"], values["node"], values["user"]
	r.Account, r.Partition, r.NodeList = values["account"], values["partition"], values["nodelist"]
	r.SLUID = values["sluid"]
	r.Nonce, r.BootID = hex16(values["run"]), hex16(values["boot_id"])
	r.JobID, r.ArrayJobID, r.HetJobID = uint32(number("job_id", 32)), uint32(number("array_job_id", 32)), uint32(number("het_job_id", 32))
	r.UID, r.GID = uint32(number("uid", 32)), uint32(number("gid", 32))
	r.NNodes = int(number("nnodes", 31))
	prolog := number("prolog", 8)
	r.Prolog = prolog == prologRan
	r.Start = realTime(number("start_real_ns", 64))
	if id, err := strconv.ParseUint(values["array_task_id"], 10, 32); err == nil {
		task := uint32(id)
		r.ArrayTaskID = &task
	}
	own := jobFile{whole: r.JobID != 0 && r.Nonce != "" && values["uid"] != "", prologFailed: prolog == prologFailed, recordBytes: int64(number("record_bytes", 63))}
	own.gpus, own.gpusShared = gpuNames(values["gpus"], values["gpu_ids"]), values["gpus_shared"] != ""
	if b, err := hex.DecodeString(values["nonce"]); err == nil && len(b) == 16 {
		own.nonce = (*[16]byte)(b)
	} else {
		own.whole = false
	}
	return own
}

// The most bytes that are read of root's files, and of one line.
const (
	mostJobBytes  = 64 << 10
	mostStepBytes = 32 << 20
	mostLine      = 64 << 10 // a job's list of scattered nodes
)

// eachLine calls do with every line of f that is not longer than mostLine. It skips a last line
// without its end: the node died while writing it.
func eachLine(f *os.File, limit int64, do func(line string)) {
	if f == nil {
		return
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, limit), mostLine)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			do(record.Text(line[:len(line)-1]))
		case errors.Is(err, bufio.ErrBufferFull):
			if !skipLine(r) {
				return
			}
		default:
			return
		}
	}
}

// hex16 is text if it is 16 bytes in hex, else "".
func hex16(text string) string {
	if b, err := hex.DecodeString(text); err != nil || len(b) != 16 {
		return ""
	}
	return strings.ToLower(text)
}

// realTime is a moment of CLOCK_REALTIME in ns, or zero if ns is out of range.
func realTime(ns uint64) time.Time {
	if ns == 0 || ns > 1<<62 {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

// skipLine skips to the end of the line; false at the end of the file.
func skipLine(r *bufio.Reader) bool {
	for {
		_, err := r.ReadSlice('\n')
		if err == nil {
			return true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return false
		}
	}
}
