package node

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/when"
	"jobeff/policy/doubt"
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
	watchers    map[string]bool // steps of jobeff live, which only read
	measured    bool            // a step but the extern one had measuring on
	odd         bool            // some lines could not be read
	cut         bool            // there were too many steps
	events      int
	cgroup      cgroupLog
}

// readSteps reads the event log. It skips lines that it cannot read.
func readSteps(f *os.File) *stepLog {
	l := &stepLog{byID: map[string]*job.Step{}, exits: map[int][]exitEvent{}, ends: map[string]uint64{}, workloads: map[string]string{}, watchers: map[string]bool{}}
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
	if len(fields) < 4 || slurmid.NormalStep(fields[1]) == "" {
		return event{}, false
	}
	mono, err1 := strconv.ParseUint(fields[2], 10, 62)
	real, err2 := strconv.ParseUint(fields[3], 10, 62)
	if err1 != nil || err2 != nil {
		return event{}, false
	}
	e := event{what: fields[0], step: slurmid.NormalStep(fields[1]), mono: mono, real: realTime(real), values: map[string]string{"reason": reason}}
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

// watching is the reason that spank/step.c notes for the steps of jobeff live. Such a step is none of the job's own.
const watching = "it is jobeff live"

// take adds one event.
func (l *stepLog) take(e event) {
	if e.what == "step" && e.values["reason"] == watching {
		l.watchers[e.step] = true
	}
	if l.watchers[e.step] {
		return
	}
	l.first, l.last = when.First(l.first, e.real), when.Last(l.last, e.real)
	l.lastMono = max(l.lastMono, e.mono)
	switch e.what {
	case "step":
		l.begin(e)
	case "exit":
		l.exit(e)
	case "end":
		l.ends[e.step] = max(l.ends[e.step], e.mono)
		if s := l.step(e.step); s != nil {
			s.End = when.Last(s.End, e.real)
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
	if name := cleanWorkload(e.values["workload"]); name != "" {
		l.workloads[e.step] = name
	}
	l.measured = l.measured || off == "" && e.step != "extern"
	if s := l.step(e.step); s != nil {
		s.Tasks = max(s.Tasks, e.number("tasks"))
		s.Start = when.First(s.Start, e.real)
		s.Off = off
		s.Container, s.Args, s.Asked = e.number("container") == 1, e.values["args"], max(e.number("asked"), 0)
	}
}

func (l *stepLog) exit(e event) {
	status := e.number("status")
	l.cgroup.exit(e)
	if pid := e.number("pid"); pid > 0 && l.events < mostExits {
		l.events++
		l.exits[pid] = append(l.exits[pid], exitEvent{step: e.step, mono: e.mono, status: status})
	}
	if s := l.step(e.step); s != nil {
		s.Peak, s.Kills = max(s.Peak, e.bytes("step_peak")), max(s.Kills, int(e.bytes("step_kills")))
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
	return statusText(status)
}

// fill puts the steps into the report.
func (l *stepLog) fill(r *job.NodeReport, warn *doubt.Warnings) {
	for _, s := range l.steps {
		r.Steps = append(r.Steps, *s)
		l.cgroup.kills += s.Kills
	}
	r.Cgroup = l.cgroup.report()
	slices.SortStableFunc(r.Steps, func(a, b job.Step) int { return a.Start.Compare(b.Start) })
	if r.ArrayTaskID == nil {
		r.ArrayJobID, r.ArrayTaskID = l.arrayJob, l.arrayTask
	}
	if l.cut {
		warn.Note(doubt.WarnStepsCut)
	}
	if l.odd {
		warn.Note(doubt.WarnJobFile)
	}
}

// exitEvent is a task's exit as root saw it.
type exitEvent struct {
	step   string
	mono   uint64 // ns, when slurmstepd noted it
	status int    // wait status
	late   uint64 // ns, how late the note was, see settleExits
}

// gone is when the task ended.
func (e exitEvent) gone() uint64 { return e.mono - e.late }

// attemptFacts are what root noted of a job's processes on a node; nil for a record made by
// hand.
type attemptFacts struct {
	node  string
	end   uint64 // of the job on this node, ns of CLOCK_MONOTONIC
	exits map[int][]exitEvent
	steps map[string]uint64 // end of each step, 0: not seen

	workloads map[string]string // --jobeff-workload of the steps that had one
	moment    time.Time         // see FoldLive; zero: the job has ended
	seen      *seen             // nil: nobody looked
	live      *Live             // it reads as the job's user, without root's notes; nil: with them
}

// exitOf is the first exit of pid at or after the moment mono.
func (r *attemptFacts) exitOf(pid int, mono uint64) (exitEvent, bool) {
	if r == nil {
		return exitEvent{}, false
	}
	for _, e := range r.exits[pid] {
		if e.mono >= mono {
			return e, true
		}
	}
	return exitEvent{}, false
}

// statusText is a wait status for people: "exit 3", "signal 9 (SIGKILL)".
func statusText(status int) string {
	w := syscall.WaitStatus(status)
	if w.Signaled() {
		name := unix.SignalName(w.Signal())
		if name == "" {
			return fmt.Sprintf("signal %d", int(w.Signal()))
		}
		return fmt.Sprintf("signal %d (%s)", int(w.Signal()), name)
	}
	return fmt.Sprintf("exit %d", w.ExitStatus())
}

// sortExits sorts each pid's exits by time.
func sortExits(exits map[int][]exitEvent) {
	for _, list := range exits {
		slices.SortStableFunc(list, func(a, b exitEvent) int {
			if a.mono < b.mono {
				return -1
			}
			return int(min(a.mono-b.mono, 1))
		})
	}
}

// slurmstepd waits for one task to end and sleeps 100 ms, so that one message can tell of
// several tasks. Then it takes the other tasks that have ended, some milliseconds each. So it
// notes the first exit at once and the others late. Killed ranks are mostly killed together:
// tasks that were taken after a sleep count as gone when the sleep began. That is too early
// by at most the sleep.
const (
	stepdSleep    = 90 * time.Millisecond
	stepdSleepMax = 160 * time.Millisecond // with the first exit's own work, on a busy node
)

// settleExits fills in exitEvent.late.
func settleExits(exits map[int][]exitEvent) {
	bySteps := map[string][]*exitEvent{}
	for _, ofPID := range exits {
		for i := range ofPID {
			bySteps[ofPID[i].step] = append(bySteps[ofPID[i].step], &ofPID[i])
		}
	}
	for _, step := range bySteps {
		slices.SortFunc(step, func(a, b *exitEvent) int { return cmp.Compare(a.mono, b.mono) })
		settleStep(step)
	}
}

// settleStep sets late for the exits of one step, in the order of their notes. If a sleep
// follows an exit, slurmstepd had waited for that one and noted it at once.
func settleStep(exits []*exitEvent) {
	sleptAfter := func(i int) bool {
		if i < 0 || i+1 >= len(exits) {
			return false
		}
		gap := time.Duration(exits[i+1].mono - exits[i].mono)
		return gap >= stepdSleep && gap <= stepdSleepMax
	}
	var slept uint64 // when the sleep before the present exits began
	for i, e := range exits {
		switch {
		case sleptAfter(i - 1):
			slept = exits[i-1].mono
		case i > 0 && time.Duration(e.mono-exits[i-1].mono) > stepdSleepMax:
			slept = 0
		}
		if slept != 0 && !sleptAfter(i) {
			e.late = e.mono - slept
		}
	}
}
