package node

import (
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/when"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// folded is the result of a fold.
type folded struct {
	executions []job.Execution
	since      []job.Execution // see Live: what they did since it last read
	processes  int             // slots of processes, measured or not
	crossing   *crossing       // with the logs of windows that jobeffd replays; nil: none
	warnings   []doubt.Warning
	asOf       time.Time // of figures of ranks that run; zero: there are none
	torn       bool      // such ranks changed the record while it was read
	progress   *hang.Progress
}

// foldRecord folds the ranks of one record into its executions. A file that ends early gives what
// could be read, and a warning.
func foldRecord(rec *record.File, m Machine, facts *attemptFacts) folded {
	boot := hex.EncodeToString(rec.Head.BootID[:])
	f := &folder{machine: m, facts: facts, sameBoot: boot == m.BootID, claims: map[string][]uint64{}, lives: map[[2]int][]uint64{}, sections: sectionSlots{}, openmp: openMPSlots{},
		windowLogs: windowSlots{of: map[int][]*record.WindowSlot{}}}
	f.clocks = newClocks()
	slots, threads := f.readSlots(rec)
	if f.sameBoot {
		f.clocks.read(m)
	}
	f.now = f.clocks.nowMono()
	var procs []*process
	for _, s := range slots {
		p := f.place(s, threads[s.Index])
		if p != nil {
			procs = append(procs, p)
		}
	}
	for _, c := range f.claims {
		slices.Sort(c)
	}
	for _, l := range f.lives {
		slices.Sort(l)
	}
	out := folded{processes: len(slots)}
	worlds := groupWorlds(procs)
	for _, w := range worlds {
		if !f.finishWorld(w) {
			continue
		}
		out.executions = append(out.executions, f.execution(w, boot))
		if part := f.facts.since(w); part != nil {
			out.since = append(out.since, f.execution(part, boot))
		}
		if len(out.executions) >= max(f.foldAt, foldFirst) {
			out.executions = f.foldMany(out.executions)
		}
	}
	out.executions = assemble.FoldWhole(out.executions)
	job.KeepTimelines(out.executions, mostTimelines, mostTimelines)
	out.warnings, out.crossing, out.asOf, out.torn = f.warn.List(), f.crossing, f.asOf, f.torn
	if f.isLive() {
		out.progress = f.progress(rec, slots, worlds)
	}
	return out
}

// foldFirst is the number of executions at which those of one program are first folded. So the report
// of any number of them fits into the epilog's memory.
const foldFirst = 400

// mostTimelines bounds the executions of a report that keep a timeline, and those that keep places.
const mostTimelines = 16

// foldMany folds what it can by program, and recounts the rows that are listed.
func (f *folder) foldMany(all []job.Execution) []job.Execution {
	all = assemble.FoldWhole(all)
	f.calls, f.rows, f.instances, f.foldAt = 0, 0, 0, 2*len(all)
	for i := range all {
		f.calls += len(all[i].Calls)
		f.rows += len(all[i].Sections)
		for j := range all[i].Sections {
			if s := all[i].Sections[j].Instances; s != nil {
				f.instances += len(s.Kept)
			}
		}
		if all[i].Folded != nil {
			f.rows += len(all[i].Folded.Sections)
		}
	}
	return all
}

// readSlots reads the record's processes. threads has their other threads, by the index of the
// process's slot.
func (f *folder) readSlots(rec *record.File) (procs []*record.Slot, threads map[int][]*record.Slot) {
	threads = map[int][]*record.Slot{}
	err := rec.Each(func(s *record.Slot) error {
		f.clocks.learn(s)
		switch s.Kind {
		case record.KindProcess:
			procs = append(procs, s)
		case record.KindThread:
			if f.isLive() {
				f.others = append(f.others, s)
				return nil
			}
			threads[s.Parent] = append(threads[s.Parent], s)
		case record.KindSections:
			f.sections.add(s)
		case record.KindOpenMP:
			f.openmp.add(s)
		case record.KindWindows:
			f.windowLogs.add(s)
		default:
			f.warn.Note(doubt.WarnOdd)
		}
		return nil
	})
	if n := rec.Head.LostSections; n > 0 {
		f.warn.Add(doubt.Warning{Code: doubt.WarnSectionsLost, Count: int(n)})
	}
	for code, n := range map[string]uint32{doubt.WarnStatic: rec.Head.LostStatic, doubt.WarnPreload: rec.Head.LostPreload,
		doubt.WarnUnseen: rec.Head.LostUnseen, doubt.WarnStub: rec.Head.LostStub} {
		if n > 0 {
			f.warn.Add(doubt.NewWarning(code, int(n)))
		}
	}
	f.torn = errors.Is(err, record.ErrTorn)
	if err != nil {
		f.warn.Add(doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: doubt.KindEndsEarly}})
	}
	return procs, threads
}

// place makes a process of a slot, with times on the node's clock; nil: they cannot be converted,
// or it was not measured.
func (f *folder) place(s *record.Slot, threads []*record.Slot) *process {
	line, drift, ok := f.clocks.timeline(s)
	if !ok {
		f.warn.Note(doubt.WarnClock)
		return nil
	}
	p := newProcess(s, line, f.now)
	p.threads, p.drift = threads, drift
	f.sections.signOfLife(p, f.now)
	f.openmp.signOfLife(p, f.now)
	p.node, p.step = s.Host, f.stepOf(p)
	if f.facts != nil {
		p.node = f.facts.node
	}
	f.claims[p.step] = append(f.claims[p.step], p.claimed)
	f.lives[lifeOf(s)] = append(f.lives[lifeOf(s)], p.claimed)
	if !p.measured() {
		f.warn.Note(doubt.WarnInitOnly)
		return nil
	}
	return p
}

// Slurm's ids of the steps that have names, slurm.h.
const (
	stepExtern      = 0xfffffffc
	stepBatch       = 0xfffffffb
	stepInteractive = 0xfffffffa
)

// stepOf returns the step of a process. Without root's notes it is the one that the process's
// environment claims. With them, it is the one in which root saw the process exit, else the claimed
// one if root knows that, else the only step of the job.
func (f *folder) stepOf(p *process) string {
	claimed := stepName(p.slot.Claims.Step)
	if f.facts == nil || f.facts.live != nil {
		return claimed
	}
	if e, ok := f.facts.exitOf(p.slot.PID, p.claimed); ok {
		return e.step
	}
	if claimed == "" {
		claimed = "batch"
	}
	if _, ok := f.facts.steps[claimed]; ok {
		return claimed
	}
	if len(f.facts.steps) == 1 {
		for id := range f.facts.steps {
			return id
		}
	}
	return ""
}

func stepName(id int64) string {
	switch id {
	case -1:
		return ""
	case stepBatch:
		return "batch"
	case stepExtern:
		return "extern"
	case stepInteractive:
		return "interactive"
	}
	return strconv.FormatInt(id, 10)
}

// FoldFile folds a record that was made by hand, without Slurm: JOBEFF_RECORD=path.
func FoldFile(path string, m Machine) (*job.NodeReport, error) {
	rec, file, err := record.Open(path, record.Options{})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return foldByHand(rec, m), nil
}

func foldByHand(rec *record.File, m Machine) *job.NodeReport {
	f := foldRecord(rec, m, nil)
	r := &job.NodeReport{
		Version: job.ReportVersion, Sequence: 1, UID: rec.Head.UID, BootID: hex.EncodeToString(rec.Head.BootID[:]), Decision: "on",
		Executions: f.executions, Warnings: f.warnings, Processes: f.processes,
		LostFull: int(rec.Head.LostFull), LostMemory: int(rec.Head.LostMemory),
	}
	if r.BootID == m.BootID {
		r.OnlineCPUs = m.OnlineCPUs
	}
	for _, e := range f.executions {
		r.Start, r.End = when.First(r.Start, e.Start), when.Last(r.End, e.End)
		r.Node = e.Nodes[0].Node
	}
	wire.DropImpossible(r)
	return r
}

// folder is the state of one fold: of the record of one node.
type folder struct {
	machine    Machine
	facts      *attemptFacts // nil: made by hand
	sameBoot   bool
	clocks     *clocks
	now        uint64 // ns of CLOCK_MONOTONIC; not known: latestMono
	warn       doubt.Warnings
	claims     map[string][]uint64 // by step: when processes claimed their slots, ascending
	lives      map[[2]int][]uint64 // by pid and parent's pid: likewise
	calls      int                 // rows of calls so far
	sections   sectionSlots
	openmp     openMPSlots
	windowLogs windowSlots
	crossing   *crossing      // nil: none
	rows       int            // rows of sections so far
	instances  int            // sampled instances so far
	foldAt     int            // number of executions at which they are folded again
	others     []*record.Slot // of further threads of ranks that run
	asOf       time.Time      // see folded, also for torn
	torn       bool
}

func lifeOf(s *record.Slot) [2]int { return [2]int{s.PID, s.PPID} }
