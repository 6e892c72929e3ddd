package node

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

const s = time.Second

// nanoseconds is the timeline of a clock whose ticks are ns since boot, which was at epoch.
var nanoseconds = timeline{at(9), rate{1, 1}}

// What threads did in a section: the parts of two threads, of 20 s with MPI and IO in a region and outside.
func TestSectionThreads(t *testing.T) {
	known := record.SectionThreads{Region: seconds(10), RegionMPI: seconds(2), RegionIO: seconds(1), Team: seconds(20), Useful: seconds(9), MPI: seconds(3), IO: seconds(2),
		Scheduling: seconds(2), Locked: seconds(1), UsefulMain: seconds(5), UsefulMost: seconds(4), Busiest: true, Whole: true}
	p := process{hybrid: true, line: nanoseconds, openmp: &openMP{OpenMP: job.OpenMP{Threads: 2}}}
	r := rankSection{whole: sectionTime{all: 20 * s, mpi: 5 * s, io: 3 * s}, threads: &known}
	want := &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: 14 * s, UsefulMax: 10 * s, Busiest: 1, MPI: 9 * s, IO: 6 * s,
		Imbalance: 3 * s, Scheduling: 3 * s, Serial: 5 * s}
	if d := cmp.Diff(want, p.sectionThreads(&r)); d != "" {
		t.Error(d)
	}
	one := &job.ThreadShare{Threads: 1, ThreadsMax: 1, Useful: 12 * s, UsefulMax: 12 * s, MPI: 5 * s, IO: 3 * s, Busiest: 1}
	if d := cmp.Diff(one, (&process{hybrid: true}).sectionThreads(&r)); d != "" {
		t.Errorf("a rank without OpenMP: %s", d)
	}
	if got := (&process{openmp: p.openmp}).sectionThreads(&r); got != nil {
		t.Errorf("no rank used OpenMP: %+v", got)
	}
	for name, change := range map[string]func(p *process, r *rankSection){
		"not known":             func(_ *process, r *rankSection) { r.threads = nil },
		"not whole":             func(_ *process, r *rankSection) { part := known; part.Whole, r.threads = false, &part },
		"not left":              func(_ *process, r *rankSection) { r.open = true },
		"regions of others too": func(p *process, _ *rankSection) { p.openmp = &openMP{OpenMP: job.OpenMP{Threads: 2, Others: 1}} },
	} {
		p, r := p, r
		if change(&p, &r); p.sectionThreads(&r).Why != notWhole {
			t.Errorf("%s: %+v", name, p.sectionThreads(&r))
		}
	}
}

// The CPU time that OpenMP explains: other threads in regions, and as long as they stay awake after each.
func TestExplained(t *testing.T) {
	for _, c := range []struct {
		regions uint64
		awake   time.Duration
		want    time.Duration
	}{
		{100, 5 * time.Millisecond, 3*s + 2*s/2}, {1999, 5 * time.Millisecond, 3*s + 2*1999*5*time.Millisecond}, {5000, 5 * time.Millisecond, 23 * s},
		{100, 250 * time.Millisecond, 23 * s}, {0, time.Millisecond, 3 * s},
	} {
		p := process{elapsed: 12 * s, openmp: &openMP{awake: c.awake, OpenMP: job.OpenMP{Threads: 3, InRegions: 2 * s, Team: 5 * s, Regions: c.regions}}}
		if got := p.explained(); got != c.want {
			t.Errorf("%d regions: %v, want %v", c.regions, got, c.want)
		}
	}
	a := rankSlot(0, 1, 12, 0)
	slot := openMPSlotOf(a, record.OpenMPThread{TID: a.TID, Regions: 1, Team: 2, TeamMost: 2})
	for runtime, want := range map[record.OpenMPRuntimes]time.Duration{record.OpenMPLibgomp: awakeLibgomp, record.OpenMPOMPT: awakeOMPT, record.OpenMPLibgomp | record.OpenMPOMPT: awakeOMPT} {
		slot.OpenMP.Runtimes = runtime
		if got := (openMPSlots{{a.PID, a.ClaimedAt.Ticks}: {&slot}}).of(&process{slot: &a, line: nanoseconds, end: 22 * sec}); got == nil || got.awake != want {
			t.Errorf("runtimes %d: %+v", runtime, got)
		}
	}
}

// What the kernel counted of a rank of 10 s: 6 s of its own thread, 5 s of two others, of which one calls MPI until 14 s.
func TestLoadOfARank(t *testing.T) {
	slot := rankSlot(0, 2, 6, 3)
	slot.TID, slot.IOTicks = 100, seconds(1)
	slot.FiniEnter = at(20).Ticks
	slot.Kernel = record.Kernel{At: at(20).Ticks, Process: seconds(11), Thread: seconds(4), MPIThreads: seconds(2), TasksKnown: true, Queue: seconds(1),
		Tasks: 3, Busy: 2, GPU: record.GPUOpen, BusiestTID: 102, BusiestName: "helper",
		UsageKnown: true, System: seconds(2), Faults: 3, Waits: 4, Preempted: 5, MaxRSS: 6, IOKnown: true, Read: 7, Written: 8}
	caller := record.Slot{TID: 101, InitLeft: at(11).Ticks, Last: at(14).Ticks, Kernel: record.Kernel{At: at(13).Ticks, Thread: seconds(1)}}
	p := &process{slot: &slot, line: nanoseconds, start: 10 * sec, threads: []*record.Slot{&caller}}
	p.close(20*sec, job.EndingFinalized, false)
	got, ok := p.load(2)
	want := job.Load{Ranks: 1, Span: 10 * s, CPU: 11 * s, Other: 5 * s, MPIThreads: 2 * s, Threads: 3, Threaded: 1, BusyName: "helper", GPURanks: 1,
		Whole: 1, Busy: 2, Queue: s, ThreadSpan: 20 * s, Slept: s, OffLeast: 2 * s, OffMost: 6 * s,
		Used: 1, System: 2 * s, Faults: 3, Waits: 4, Preempted: 5, MaxRSS: 6, Files: 1, Read: 7, Written: 8}
	if d := cmp.Diff(want, got); d != "" || !ok {
		t.Errorf("%v %s", ok, d)
	}
	slot.Kernel.BusiestTID, slot.Kernel.GPU = 101, record.GPUNone
	if got, _ := p.load(2); got.BusyName != "" || got.GPURanks != 0 {
		t.Errorf("its busiest thread calls MPI: %+v", got)
	}
	slot.Kernel.Process = seconds(21)
	if _, ok := p.load(2); !ok {
		t.Error("two CPUs give 20 s in 10 s, and a second for the readings")
	}
	slot.Kernel.Process++
	if _, ok := p.load(2); ok {
		t.Error("more CPU time than the CPUs can give")
	}
	two := []*process{p, p}
	slot.Kernel.Process, slot.Kernel.Mask[0] = seconds(11), 7
	if l := loadOf(two, 2); l.CrowdRanks != 2 || l.CrowdBusy != 4 || l.CrowdCPUs != "0-2" || l.CPUList != "0-2" {
		t.Errorf("%+v", l)
	}
}

// A moment or a time beyond the region is bounded; only a large difference is told.
func TestBounded(t *testing.T) {
	for _, c := range []struct {
		ticks, want uint64
		odd         bool
	}{
		{0, 0, false}, {12 * sec, 12 * sec, false}, {20*sec + 1_000_000, 20 * sec, false}, {20*sec + 1_000_001, 20 * sec, true},
		{10*sec - 1_000_000, 10 * sec, false}, {10*sec - 1_000_001, 10 * sec, true},
	} {
		p := process{line: nanoseconds}
		if got := p.when(c.ticks, 10*sec, 20*sec); got != c.want || p.odd != c.odd {
			t.Errorf("%d: %d, odd %v", c.ticks, got, p.odd)
		}
	}
	for over, odd := range map[uint64]bool{0: false, 11_000_000: false, 11_000_001: true} {
		p := process{elapsed: 10 * s}
		if got := p.bound(10*sec + over); got != 10*s || p.odd != odd {
			t.Errorf("%d ns too many: %v, odd %v", over, got, p.odd)
		}
	}
	a, b := sectionTime{10 * s, 4 * s, 3 * s}, sectionTime{2 * s, s, s}
	if got := a.minus(b); got != (sectionTime{8 * s, 3 * s, 2 * s}) || b.minus(a) != (sectionTime{}) {
		t.Errorf("%+v, %+v", got, b.minus(a))
	}
	if got := (sectionTime{5 * s, 4 * s, 3 * s}).within(); got != (sectionTime{5 * s, 4 * s, s}) || got.useful() != 0 {
		t.Errorf("%+v", got)
	}
	slot := rankSlot(0, 1, 6, 3)
	slot.IOTicks = seconds(2)
	p := process{slot: &slot, line: nanoseconds, start: 10 * sec, end: 22 * sec, elapsed: 12 * s}
	if got := p.openSection(&record.OpenSection{In: record.SectionTicks{All: at(14).Ticks, MPI: seconds(1), IO: seconds(0.5)}}); got != (sectionTime{8 * s, 2 * s, 3 * s / 2}) {
		t.Errorf("%+v", got)
	}
}

// Times of a log's entries are of the nodes' real time; those of calls without a time stay 0.
func TestEntryOf(t *testing.T) {
	line := timeline{at(9), rate{ns: 2, ticks: 1}}
	real := func(sec float64) int64 { return int64(epoch) + int64(sec*1e9) }
	for i, c := range []struct {
		in   record.LogEntry
		want replay.Entry
	}{
		{record.LogEntry{Op: uint8(replay.OpSend), Enter: at(10).Ticks, Leave: at(11).Ticks, Bytes: 8, Peer: 1, Tag: 2, Comm: 3, Call: 4, Request: 5, Flags: 6},
			replay.Entry{Op: replay.OpSend, Enter: real(11), Leave: real(13), Bytes: 8, Peer: 1, Tag: 2, Comm: 3, Call: 4, Request: 5, Flags: 6}},
		{record.LogEntry{Op: uint8(replay.OpComm), Bytes: 8}, replay.Entry{Op: replay.OpComm, Bytes: 8}},
		{record.LogEntry{Op: uint8(replay.OpPoll), Enter: at(9).Ticks, Leave: at(9).Ticks, Bytes: 8}, replay.Entry{Op: replay.OpPoll, Enter: real(9), Leave: real(9), Bytes: 16}},
		{record.LogEntry{Op: uint8(replay.OpWindow), Leave: at(9).Ticks, Bytes: 8}, replay.Entry{Op: replay.OpWindow, Leave: real(9), Enter: line.realNs(0), Bytes: 16}},
	} {
		if d := cmp.Diff(c.want, entryOf(&c.in, line)); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
}

// Ranks of one clock are converted by the first one's reading of it, so that they lie on one line; another
// clock has its own. The second rank read its clock 3 s later than the first one says.
func TestOneClockOneLine(t *testing.T) {
	first := &process{slot: &record.Slot{Clock: record.ClockTSC}, line: timeline{at(9), rate{ns: 1, ticks: 1}}, end: math.MaxInt64}
	for clock, late := range map[record.Clock]int64{record.ClockTSC: 0, record.ClockTSC + 1: int64(3 * s)} {
		p := &process{slot: &record.Slot{Clock: clock, Index: 1, PID: 5}, line: first.line, end: math.MaxInt64}
		p.line.at.Mono += uint64(3 * s)
		p.line.at.Real += uint64(3 * s)
		w := &world{procs: []*process{first, p}}
		kept := w.instances(p, 1, &record.Instances{Kept: []record.Instance{{Number: 1, In: at(10).Ticks, Out: at(11).Ticks}}}).Kept[0]
		if want := int64(at(10).Real) + late; kept.In != want || kept.Out != want+int64(s) {
			t.Errorf("clock %v: %+v, want %d", clock, kept, want)
		}
		f := folder{windowLogs: windowSlots{of: map[int][]*record.WindowSlot{1: {{PID: 5, Entries: []record.LogEntry{{Op: uint8(replay.OpSend), Enter: at(10).Ticks, Leave: at(11).Ticks}}}}}}}
		if e := f.logs(w)[0].Entries[0]; e.Enter != int64(at(10).Real)+late {
			t.Errorf("clock %v: %+v", clock, e)
		}
	}
}

// A process belongs to the step in which root saw it exit, else to the one that it claims, if that is known.
func TestStepOf(t *testing.T) {
	steps := func(names ...string) *attemptFacts {
		f := &attemptFacts{steps: map[string]uint64{}, exits: map[int][]exitEvent{7: {{step: "3", mono: 10}}}}
		for _, name := range names {
			f.steps[name] = 0
		}
		return f
	}
	for i, c := range []struct {
		facts *attemptFacts
		pid   int
		claim int64
		want  string
	}{
		{nil, 5, 0, "0"}, {nil, 5, -1, ""}, {steps("0", "1"), 7, 0, "3"}, {steps("0", "1"), 5, 1, "1"}, {steps("0", "1"), 5, 2, ""}, {steps("0"), 5, 2, "0"},
		{steps("batch", "0"), 5, -1, "batch"}, {steps("batch", "0"), 5, 0, "0"}, {steps("0", "1"), 5, -1, ""},
	} {
		f := folder{facts: c.facts}
		if got := f.stepOf(&process{slot: &record.Slot{PID: c.pid, Claims: record.Claims{Step: c.claim}}}); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

// A slot that was torn is no doubt while its rank runs; wrong exits are told apart as far as they were kept.
func TestDoubts(t *testing.T) {
	for ending, want := range map[string]string{job.EndingRunning: doubt.WarnRunning, job.EndingFinalized: doubt.WarnTorn} {
		p := &process{slot: &record.Slot{Torn: true}, ending: ending, elapsed: s}
		if all := doubts(&world{procs: []*process{p}}); len(all) != 1 || all[0].Code != want {
			t.Errorf("%s: %+v", ending, all)
		}
	}
	for wrong, want := range map[uint64][]int{5: {3, 2}, 3: {3}} {
		var warn doubt.Warnings
		sectionDoubts(&warn, &process{}, &record.Sections{Wrong: wrong, Wrongs: []record.WrongExit{{Exited: "a", Count: 3}}})
		var counts []int
		for _, w := range warn.List() {
			counts = append(counts, w.Count)
		}
		slices.SortFunc(counts, func(a, b int) int { return b - a })
		if !slices.Equal(counts, want) {
			t.Errorf("%d wrong exits: %v, want %v", wrong, counts, want)
		}
	}
}

// Of executions on several nodes, the longest is replayed by the server; one that is whole here is not.
func TestCrossing(t *testing.T) {
	of := func(key string, size int, span time.Duration) *job.Execution {
		return &job.Execution{Key: key, Size: size, Start: time.Unix(0, 0), End: time.Unix(0, int64(span))}
	}
	var f folder
	logs := make([]replay.Log, 2)
	if f.noteCrossing(of("whole", 2, 9*s), logs); f.crossing != nil {
		t.Errorf("%+v", f.crossing)
	}
	for _, c := range []struct {
		key  string
		span time.Duration
		want string
	}{{"first", 3 * s, "first"}, {"shorter", 2 * s, "first"}, {"as long", 3 * s, "first"}, {"longer", 4 * s, "longer"}} {
		f.noteCrossing(of(c.key, 4, c.span), logs)
		if got := f.crossing.about; got.Key != c.want || got.Size != 4 || got.Ranks != 2 {
			t.Errorf("%s: %+v", c.key, got)
		}
	}
}

// The instances of a report are bounded: the later sections go without.
func TestInstancesOfAReportAreBounded(t *testing.T) {
	of := func(n int) job.Section { return job.Section{Instances: &job.Instances{Kept: make([]job.Instance, n)}} }
	sections := []job.Section{of(mostInstances - 10), {}, of(11), of(10), of(0), of(1)}
	var f folder
	f.boundInstances(sections)
	for i, kept := range []bool{true, false, false, true, false, false} {
		if (sections[i].Instances != nil) != kept {
			t.Errorf("section %d is kept: %v", i, !kept)
		}
	}
	if f.instances != mostInstances {
		t.Errorf("%d instances", f.instances)
	}
	f.foldMany([]job.Execution{{Calls: make([]job.Call, 3), Sections: []job.Section{of(2), {}, of(3)}}, {Folded: &job.Folded{Sections: make([]job.SectionSum, 4)}}})
	if f.calls != 3 || f.rows != 7 || f.instances != 5 || f.foldAt != 4 {
		t.Errorf("%d calls, %d rows, %d instances, folded at %d", f.calls, f.rows, f.instances, f.foldAt)
	}
}

// A rank joins the latest world that lacks it, of its own parent if there is one, and within the window.
func TestPickWorld(t *testing.T) {
	old, first, full, last := &world{start: 1 * sec}, &world{start: 10 * sec}, &world{start: 11 * sec}, &world{start: 12 * sec}
	lists := map[string]*worldList{}
	same := listOf(lists, "same")
	for _, w := range []*world{old, first, full} {
		same.add(w)
		listOf(lists, "7").add(w)
	}
	same.add(last)
	listOf(lists, "8").add(last)
	for _, place := range full.places {
		place.list.takes(place.at, 0)
	}
	for range 2 { // the second time, the way past full is short
		for ppid, want := range map[string]*world{"7": first, "8": last, "9": last} {
			if got := pickWorld(listOf(lists, ppid), same, &process{start: 15 * sec, slot: &record.Slot{}}, 5*s); got != want {
				t.Errorf("of parent %s: %+v", ppid, got)
			}
		}
		if got := pickWorld(listOf(lists, "7"), same, &process{start: 15*sec + 1, slot: &record.Slot{}}, 5*s); got != last {
			t.Errorf("beyond the window: %+v", got)
		}
	}
}

// Exits that are noted 90 to 160 ms after one another were noted after slurmstepd's sleep.
func TestSleepOfStepd(t *testing.T) {
	for gap, late := range map[time.Duration]time.Duration{stepdSleep - 1: 0, stepdSleep: stepdSleep, stepdSleepMax: stepdSleepMax, stepdSleepMax + 1: 0} {
		exits := []*exitEvent{{mono: sec}, {mono: sec + uint64(gap)}}
		if settleStep(exits); exits[0].late != 0 || exits[1].late != uint64(late) {
			t.Errorf("%v later: %d and %d ns late", gap, exits[0].late, exits[1].late)
		}
	}
}

// Where nobody saw a process end, what was last known of it and of its world decides.
func TestGuessEnd(t *testing.T) {
	slot := rankSlot(0, 1, 6, 3)
	slot.Family = "MPICH"
	p, w := &process{slot: &slot, step: "0", claimed: 9 * sec, lastSign: 15 * sec}, &world{lastSign: 20 * sec}
	f := folder{facts: &attemptFacts{end: 100 * sec}, claims: map[string][]uint64{"0": {20 * sec}}, lives: map[[2]int][]uint64{lifeOf(&slot): {9 * sec, 30 * sec, 40 * sec}}}
	if got := f.guessEnd(p, w); got != 100*sec {
		t.Errorf("the step's end: %d", got)
	}
	f.claims["0"] = []uint64{20 * sec, 50 * sec, 60 * sec}
	if got := f.guessEnd(p, w); got != 50*sec {
		t.Errorf("the next world's begin: %d", got)
	}
	if next, ok := f.becameAnother(p); !ok || next != 30*sec {
		t.Errorf("the next program's begin: %d, %v", next, ok)
	}
	slot.Gone = 15 * sec
	if got := f.guessEnd(p, w); got != 15*sec {
		t.Errorf("its daemon's end: %d", got)
	}
	f.sameBoot, f.machine.alive = true, func(int, uint64) bool { return true }
	if !f.alive(slot.PID, p) {
		t.Error("it runs")
	}
	if slot.PID = 0; f.alive(slot.PID, p) {
		t.Error("process 0 is no rank's")
	}
}

// A rank that never left its call was in it to its end, also in the first row's.
func TestCallThatWasNotLeft(t *testing.T) {
	slot := killed(0, 1, 3, 20)
	slot.OpenCall, slot.Open = 0, at(18).Ticks
	p := newProcess(&slot, nanoseconds, 100*sec)
	p.close(22*sec, "killed", true)
	if p.openTime() != 4*s || p.countedTime() != p.useful || p.useful != 5*s {
		t.Errorf("%v in the call, %v counted of %v", p.openTime(), p.countedTime(), p.useful)
	}
	if got := p.openSection(&record.OpenSection{In: record.SectionTicks{All: at(14).Ticks, MPI: seconds(3)}}); got != (sectionTime{all: 8 * s, mpi: 4 * s}) {
		t.Errorf("a section around it: %+v", got)
	}
	slot.Last, slot.FinishedAt = at(11).Ticks, record.Pair{}
	if q := newProcess(&slot, nanoseconds, 100*sec); q.lastSign != 18*sec {
		t.Errorf("its last sign of life was at %d", q.lastSign)
	}
	if slot.Size = 0; p.measured() {
		t.Error("a rank of no world")
	}
	alone := rankSlot(0, 1, 1, 0)
	alone.Claims.Step, alone.Claims.NTasks = 0, 1
	if singleton(&alone) {
		t.Error("a step of one task")
	}
	if alone.Claims.NTasks = 2; !singleton(&alone) {
		t.Error("one of two tasks, alone in its world")
	}
	now := newClocks()
	now.read(testMachine(10))
	if _, _, ok := now.timeline(&record.Slot{Clock: record.ClockMonotonic, ClaimedAt: at(10)}); !ok {
		t.Error("a slot of this moment has no timeline")
	}
}

// Of ranks that may run on the same CPUs, the fullest group is told.
func TestCrowds(t *testing.T) {
	var procs []*process
	for _, mask := range []byte{1, 1, 0xfe} {
		slot := loaded(0, 3, 5, 0, 0, 2, mask)
		p := &process{slot: &slot, line: nanoseconds, start: 10 * sec}
		p.close(20*sec, job.EndingFinalized, false)
		procs = append(procs, p)
	}
	if l := loadOf(procs, 8); l.CrowdRanks != 2 || l.CrowdBusy != 4 || l.CrowdCPUs != "0" || l.CPUList != "0-7" || l.Busy != 6 {
		t.Errorf("%+v", l)
	}
}
