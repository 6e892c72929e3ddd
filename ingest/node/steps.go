package node

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// mostExits bounds the exits that the fold keeps.
const mostExits = 300_000

// stepLog is the event log of the steps, the file `steps`.
type stepLog struct {
	steps       []*job.Step // in the order of their start
	byID        map[string]*job.Step
	exits       map[int][]exitEvent
	ends        map[string]uint64 // ns of CLOCK_MONOTONIC, 0: not seen
	workloads   map[string]string // --jobeff-workload by step
	first, last time.Time
	lastMono    uint64
	arrayJob    uint32
	arrayTask   *uint32
	measured    bool // a step but the extern one had measuring on
	odd         bool // some lines could not be read
	cut         bool // there were too many steps
	events      int
}

// readSteps reads the event log. It skips lines that it cannot read.
func readSteps(f *os.File) *stepLog {
	l := &stepLog{byID: map[string]*job.Step{}, exits: map[int][]exitEvent{}, ends: map[string]uint64{}, workloads: map[string]string{}}
	eachLine(f, mostStepBytes, func(line string) {
		if e, ok := parseEvent(line); ok {
			l.take(e)
		} else {
			l.odd = true
		}
	})
	sortExits(l.exits)
	settleExits(l.exits)
	return l
}

// event is one line of the log.
type event struct {
	what, step string
	mono       uint64
	real       time.Time
	values     map[string]string
}

// parseEvent reads `WHAT STEP MONO_NS REAL_NS key=value …`. The value of reason extends to the
// end of the line. If a key comes twice, the first one counts: users can choose names that
// look like one.
func parseEvent(line string) (event, bool) {
	line, reason, _ := strings.Cut(line, " reason=")
	fields := strings.Fields(line)
	if len(fields) < 4 || job.NormalStep(fields[1]) == "" {
		return event{}, false
	}
	mono, err1 := strconv.ParseUint(fields[2], 10, 62)
	real, err2 := strconv.ParseUint(fields[3], 10, 62)
	if err1 != nil || err2 != nil {
		return event{}, false
	}
	e := event{what: fields[0], step: job.NormalStep(fields[1]), mono: mono, real: realTime(real), values: map[string]string{"reason": reason}}
	for _, field := range fields[4:] {
		key, value, _ := strings.Cut(field, "=")
		if _, twice := e.values[key]; !twice {
			e.values[key] = value
		}
	}
	return e, true
}

func (e event) number(key string) int {
	n, err := strconv.ParseUint(e.values[key], 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// take adds one event.
func (l *stepLog) take(e event) {
	l.first, l.last = job.FirstTime(l.first, e.real), job.LastTime(l.last, e.real)
	l.lastMono = max(l.lastMono, e.mono)
	switch e.what {
	case "step":
		l.begin(e)
	case "exit":
		l.exit(e)
	case "end":
		l.ends[e.step] = max(l.ends[e.step], e.mono)
		if s := l.step(e.step); s != nil {
			s.End = job.LastTime(s.End, e.real)
		}
	default:
		l.odd = true
	}
}

// step is the listed step of that id, nil if there are too many.
func (l *stepLog) step(id string) *job.Step {
	if _, known := l.ends[id]; !known {
		l.ends[id] = 0
	}
	if s := l.byID[id]; s != nil {
		return s
	}
	if len(l.steps) >= job.MostSteps {
		l.cut = true
		return nil
	}
	s := &job.Step{ID: id}
	l.byID[id] = s
	l.steps = append(l.steps, s)
	return s
}

func (l *stepLog) begin(e event) {
	if task, err := strconv.ParseUint(e.values["array_task"], 10, 32); err == nil && l.arrayTask == nil {
		id := uint32(task)
		l.arrayTask = &id
		l.arrayJob = uint32(e.number("array_job"))
	}
	off := ""
	if e.number("off") == 1 {
		off = cmp.Or(strings.TrimSpace(e.values["reason"]), "measuring was off for this step")
	}
	if name := job.CleanWorkload(e.values["workload"]); name != "" {
		l.workloads[e.step] = name
	}
	l.measured = l.measured || off == "" && e.step != "extern"
	if s := l.step(e.step); s != nil {
		s.Tasks = max(s.Tasks, e.number("tasks"))
		s.Start = job.FirstTime(s.Start, e.real)
		s.Off = off
		s.Container = e.number("container") == 1
	}
}

func (l *stepLog) exit(e event) {
	status := e.number("status")
	if pid := e.number("pid"); pid > 0 && l.events < mostExits {
		l.events++
		l.exits[pid] = append(l.exits[pid], exitEvent{step: e.step, mono: e.mono, status: status})
	}
	if s := l.step(e.step); s != nil {
		if s.Exits == nil {
			s.Exits = map[string]int{}
		}
		s.Exits[stepExit(status)]++
	}
}

// stepExit is a wait status for Step.Exits: "0" is success.
func stepExit(status int) string {
	if status == 0 {
		return "0"
	}
	return StatusText(status)
}

// fill puts the steps into the report.
func (l *stepLog) fill(r *job.NodeReport, warn *job.Warnings) {
	for _, s := range l.steps {
		r.Steps = append(r.Steps, *s)
	}
	slices.SortStableFunc(r.Steps, func(a, b job.Step) int { return a.Start.Compare(b.Start) })
	if r.ArrayTaskID == nil {
		r.ArrayJobID, r.ArrayTaskID = l.arrayJob, l.arrayTask
	}
	if l.cut {
		warn.Note(job.WarnStepsCut)
	}
	if l.odd {
		warn.Note(job.WarnJobFile)
	}
}
