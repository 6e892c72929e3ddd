package node

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
)

// Live reads the record of a job that runs, again and again, as the job's user. The user may not read
// root's notes, so /proc shows which processes still run, and the ranks' environment names the steps.
// An interim report is of a moment that all nodes share. This one is of the moment of the reading,
// and includes calls. A rank that goes on while it is read is less than a millisecond off.
type Live struct {
	Path                string // of the record; LivePath
	Cluster, Node, Step string
	JobID               uint32

	before, now map[processKey]*process // by the last reading, and by this one
	asOf        time.Time               // of the last reading
}

// LivePath is where the user of a job finds its record.
func LivePath(jobID uint32) string {
	return filepath.Join(RunDirPath, strconv.FormatUint(uint64(jobID), 10), filepath.Base(recordName))
}

// processKey identifies a process of a record.
type processKey struct {
	pid     int
	claimed uint64
}

// Read makes the report of the job so far, and one of what it did since the last reading, which is nil
// at the first. The error tells the job's user why there is no report.
func (l *Live) Read(m Machine) (soFar, last *job.NodeReport, err error) {
	for range tornTries {
		soFar, last, err = l.read(m)
		if !errors.Is(err, record.ErrTorn) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no record of this job: it is not measured here, or no step of it has begun")
	}
	return soFar, last, err
}

func (l *Live) read(m Machine) (soFar, last *job.NodeReport, err error) {
	rec, file, err := record.Open(l.Path, record.Options{Live: true})
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	now, _ := record.Now(record.ClockMonotonic)
	l.now = map[processKey]*process{}
	moment := realTime(now.Real)
	f := foldRecord(rec, m, &attemptFacts{node: l.Node, end: 1 << 62, moment: moment, live: l})
	if f.torn {
		return nil, nil, record.ErrTorn
	}
	report := func(from time.Time, executions []job.Execution) *job.NodeReport {
		r := &job.NodeReport{
			Version: job.ReportVersion, Sequence: int(now.Mono/1e6) + 1, Cluster: l.Cluster, JobID: l.JobID, Nonce: hex.EncodeToString(rec.Head.Nonce[:]),
			UID: rec.Head.UID, Node: l.Node, BootID: hex.EncodeToString(rec.Head.BootID[:]), OnlineCPUs: m.OnlineCPUs, Start: from, End: moment, AsOf: moment,
			Decision: "on", Executions: executions, Processes: f.processes, LostFull: int(rec.Head.LostFull), LostMemory: int(rec.Head.LostMemory), Warnings: f.warnings,
		}
		wire.DropImpossible(r)
		return r
	}
	soFar = report(realTime(rec.Head.MadeReal), f.executions)
	if l.before != nil {
		last = report(l.asOf, f.since)
	}
	l.before, l.asOf = l.now, moment
	return soFar, last, nil
}

// upToNow ends each running rank of a world at the moment when it was read.
func (f *folder) upToNow(running []*process) (any bool) {
	for _, p := range running {
		f.torn = f.torn || !p.slot.Nearly
		p.live, p.now = true, true
		p.close(min(p.slot.ReadAt, f.now), job.EndingRunning, false)
		p.slot.Kernel, p.slot.Counted = record.Kernel{}, false
		any = any || p.elapsed > 0
	}
	return any
}

// since is what the processes of a world did since the last reading; nil: they did nothing, or this is the
// first reading.
func (r *attemptFacts) since(w *world) *world {
	if r == nil || r.live == nil {
		return nil
	}
	part, any := *w, false
	part.procs = nil
	for _, p := range w.procs {
		key := processKey{p.slot.PID, p.claimed}
		r.live.now[key] = p
		q := p.since(r.live.before[key])
		part.procs, any = append(part.procs, q), any || q.elapsed > 0
	}
	if r.live.before == nil || !any {
		return nil
	}
	return &part
}

// since is what the process did since an earlier reading of it; all that it did if before is nil.
func (p *process) since(before *process) *process {
	q, s := *p, *p.slot
	s.Timeline, s.Kernel, s.Counted = nil, record.Kernel{}, false // these cover all of its time
	q.slot = &s
	if before == nil {
		return &q
	}
	q.whole, q.before, q.start = p, before, min(before.end, p.end)
	q.elapsed = time.Duration(q.end - q.start)
	q.spend(uint64(max(p.mpi-before.mpi, 0)), uint64(max(p.io-before.io, 0)))
	return &q
}

// LiveLine is what one node reports of a running job at one moment.
type LiveLine struct {
	Step  string          `json:"step"`          // that of jobeff live itself, as 123.4
	Node  string          `json:"node"`          // Slurm's name
	CPU   time.Duration   `json:"cpu_ns"`        // that its readings took so far
	Why   string          `json:"why,omitempty"` // why there is no report
	SoFar json.RawMessage `json:"so_far,omitempty"`
	Last  json.RawMessage `json:"last,omitempty"` // since the line before
}

// Slurm forwards what a task prints in pieces of a KiB, and srun mixes those of all tasks. So a LiveLine is
// written in smaller pieces. Each is a line, and its first character says whether more follow.
const (
	pieceBytes = 900
	pieceMore  = '+'
	pieceEnd   = '.'
)

// mostLive bounds a line. A report may be far larger, but a terminal shows little of it.
const mostLive = 8 << 20

// Write writes the line.
func (l *LiveLine) Write(w io.Writer) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if len(text) > mostLive {
		return fmt.Errorf("ingest: what is known of this job takes %d bytes", len(text))
	}
	var out []byte
	for len(text) > pieceBytes {
		out = append(append(append(out, pieceMore), text[:pieceBytes]...), '\n')
		text = text[pieceBytes:]
	}
	_, err = w.Write(append(append(append(out, pieceEnd), text...), '\n'))
	return err
}

// LivePieces puts the lines of tasks together.
type LivePieces map[int][]byte

// errNoLine says that a line is not one of jobeff-ingest's.
var errNoLine = errors.New("ingest: a node printed something else than a report")

// Add takes one line that `srun --label` printed for a step of so many tasks. It returns the task, and
// the task's line once it is whole, else nil.
func (p LivePieces) Add(text []byte, tasks int) (task int, line *LiveLine, err error) {
	label, piece, _ := bytes.Cut(text, []byte(": "))
	task, err = strconv.Atoi(string(bytes.TrimSpace(label)))
	if err != nil || task < 0 || task >= tasks || len(piece) == 0 || len(p[task])+len(piece) > mostLive || piece[0] != pieceMore && piece[0] != pieceEnd {
		return 0, nil, errNoLine
	}
	if p[task] = append(p[task], piece[1:]...); piece[0] == pieceMore {
		return task, nil, nil
	}
	whole := p[task]
	delete(p, task)
	line = new(LiveLine)
	if wire.UnmarshalFast(whole, line) != nil {
		return task, nil, errNoLine
	}
	return task, line, nil
}
