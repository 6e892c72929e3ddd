package node

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// ticksOf are sectionTicks in seconds of a slot's nanosecond clock.
func ticksOf(all, mpi, io float64) record.SectionTicks {
	return record.SectionTicks{All: uint64(all * 1e9), MPI: uint64(mpi * 1e9), IO: uint64(io * 1e9)}
}

// sectionsSlot is the first slot of sections of the process in slot parent.
func sectionsSlot(parent int, of record.Slot, entries ...record.Section) record.Slot {
	return record.Slot{Kind: record.KindSections, Parent: parent, Sections: &record.Sections{
		PID: of.PID, Init: of.InitEnter, Entries: append([]record.Section{{Label: record.OtherSections}}, entries...)}}
}

func entry(label string, count uint64, whole, own record.SectionTicks) record.Section {
	return record.Section{Label: label, Count: count, Whole: whole, Own: own}
}

func TestFoldOfSections(t *testing.T) {
	a, b := rankSlot(0, 2, 8, 4), rankSlot(1, 2, 6, 6)
	f := foldSlots(t, testMachine(100), nil, a, b,
		sectionsSlot(0, a, entry("step", 2, ticksOf(10, 4, 0), ticksOf(5, 0, 0)), entry("halo", 4, ticksOf(5, 4, 0), ticksOf(5, 4, 0))),
		sectionsSlot(1, b, entry("step", 2, ticksOf(9, 5, 0), ticksOf(9, 5, 0)), entry(job.MainSection, 1, ticksOf(1, 0, 0.5), ticksOf(1, 0, 0.5))))
	want := []job.Section{
		{Label: "step", Ranks: 2, Count: 4, Elapsed: 19e9, ElapsedMax: 10e9, Useful: 10e9, UsefulMax: 6e9, MPI: 9e9, Own: 14e9, OwnUseful: 9e9, OwnMPI: 5e9},
		{Label: "halo", Ranks: 1, Count: 4, Elapsed: 5e9, ElapsedMax: 5e9, Useful: 1e9, UsefulMax: 1e9, MPI: 4e9, Own: 5e9, OwnUseful: 1e9, OwnMPI: 4e9},
		{Label: "MPI_MAIN (by the program)", Ranks: 1, Count: 1, Elapsed: 1e9, ElapsedMax: 1e9, Useful: 5e8, UsefulMax: 5e8, IO: 5e8, Own: 1e9, OwnUseful: 5e8},
	}
	if d := cmp.Diff(want, f.executions[0].Sections); d != "" {
		t.Error(d)
	}
	if got := jobtest.Codes(f.executions[0].Warnings) + jobtest.Codes(f.warnings); got != "" {
		t.Errorf("warnings %s", got)
	}
	figures := job.JobSections(f.executions)
	wantMain := job.SectionFigures{Label: job.MainSection, Count: 2, Ranks: 2, Elapsed: 12, ElapsedMean: 12, Useful: 14, MPITime: 10,
		Own: 4, OwnUseful: 3.5, OwnMPI: 1, Metrics: ofMPI(14./24, 14./16, 8./12),
		Instances: 1, Imbalance: new(0.0), EntryImbalanceMean: new(0.0), EntryImbalanceVariance: new(0.0)}
	if d := cmp.Diff(wantMain, figures[0]); d != "" {
		t.Error(d)
	}
	if m := figures[1].Metrics; figures[1].Label != "step" || *m != *ofMPI(10./20, 10./12, 12./20) {
		t.Errorf("step: %+v %+v", figures[1], m)
	}
}

// ofMPI are the metrics of a section without threads.
func ofMPI(parallel, balance, communication float64) *job.Metrics {
	e := job.Efficiencies{Parallel: parallel, LoadBalance: balance, Communication: communication}
	return &job.Metrics{Efficiencies: e, MPI: e}
}

// The instances that all ranks kept are told, by one clock.
func TestFoldOfInstances(t *testing.T) {
	a, b := rankSlot(0, 2, 8, 4), rankSlot(1, 2, 6, 6)
	at := func(number uint64, in, out float64) record.Instance {
		return record.Instance{Number: number, In: seconds(in), Out: seconds(out)}
	}
	stays := func(k int, kept ...record.Instance) record.Section {
		e := entry("step", 40, ticksOf(5, 0, 0), ticksOf(5, 0, 0))
		e.Sampled = &record.Instances{K: k, Kept: kept}
		return e
	}
	slots := []record.Slot{a, b,
		sectionsSlot(0, a, stays(1, at(28, 13, 14), at(27, 11, 12.5), at(2, 10.5, 10.6))), sectionsSlot(1, b, stays(1, at(27, 11.25, 12), at(28, 13.5, 13.75)))}
	m := testMachine(100)
	m.clockError = time.Millisecond
	f := foldSlots(t, m, nil, slots...)
	s := f.executions[0].Sections[0]
	want := &job.Instances{Least: 40, Most: 40, Kept: []job.Instance{
		{Number: 27, In: int64(epoch + 11e9), Out: int64(epoch + 12.5e9), Late: 25e7, Late2: job.Square{Lo: 25e7 * 25e7}, Early: 5e8},
		{Number: 28, In: int64(epoch + 13e9), Out: int64(epoch + 14e9), Late: 5e8, Late2: job.Square{Lo: 5e8 * 5e8}, Early: 25e7}}}
	if d := cmp.Diff(want, s.Instances); d != "" || f.executions[0].Nodes[0].ClockError != time.Millisecond {
		t.Error(d)
	}
	if f = foldSlots(t, m, nil, slots[:3]...); f.executions[0].Sections[0].Instances.Least != 40 {
		t.Errorf("of the rank that entered it: %+v", f.executions[0].Sections[0])
	}
	slots[3].Sections.Entries[1].Sampled = nil
	if f = foldSlots(t, m, nil, slots...); f.executions[0].Sections[0].Instances != nil {
		t.Errorf("one rank kept none: %+v", f.executions[0].Sections[0].Instances)
	}
}

// A killed rank's open sections last to its end, with the call that it died in.
func TestFoldOfOpenSections(t *testing.T) {
	a := killed(0, 1, 2, 16) // 2 s of calls until 16 s after boot
	a.OpenCall, a.Open = 9 /* MPI_Recv */, at(17).Ticks
	s := sectionsSlot(0, a, entry("outer", 1, ticksOf(0, 0, 0), ticksOf(0, 0, 0)), entry("again", 2, ticksOf(0, 0, 0), ticksOf(0, 0, 0)))
	open := func(number int, in, mpi, inner, innerMPI float64) record.OpenSection {
		return record.OpenSection{Number: number, In: ticksOf(in, mpi, 0), Inner: ticksOf(inner, innerMPI, 0)}
	}
	s.Sections.Open = []record.OpenSection{open(1, 11, 0, 1, 0.5), open(2, 13, 1, 0, 0), open(2, 14, 1.5, 0, 0)}
	s.Sections.Last = at(14).Ticks
	facts := &attemptFacts{node: "n1", end: 30 * sec, exits: map[int][]exitEvent{100: {{step: "0", mono: 20 * sec, status: 9}}}, steps: map[string]uint64{"0": 0}}
	f := foldSlots(t, testMachine(100), facts, a, s)
	want := []job.Section{
		// 11 to 20 s; MPI 2 s of calls since, and 3 s in the one that it died in
		{Label: "outer", Ranks: 1, Open: 1, Count: 1, Elapsed: 9e9, ElapsedMax: 9e9, Useful: 4e9, UsefulMax: 4e9, MPI: 5e9, Own: 1e9, OwnUseful: 5e8, OwnMPI: 5e8},
		{Label: "again", Ranks: 1, Open: 1, Count: 2, Elapsed: 7e9, ElapsedMax: 7e9, Useful: 3e9, UsefulMax: 3e9, MPI: 4e9, Own: 7e9, OwnUseful: 3e9, OwnMPI: 4e9},
	}
	if d := cmp.Diff(want, f.executions[0].Sections); d != "" {
		t.Error(d)
	}
}

// A section is a sign of life of a process that nobody saw end.
func TestSectionsAreASignOfLife(t *testing.T) {
	a := killed(0, 1, 1, 12)
	s := sectionsSlot(0, a, entry("late", 1, ticksOf(1, 0, 0), ticksOf(1, 0, 0)))
	s.Sections.Last = at(15).Ticks
	f := foldSlots(t, testMachine(100), nil, a, s)
	if got := f.executions[0].Nodes[0].ElapsedMax; got != 5*time.Second {
		t.Errorf("its region lasted %v", got)
	}
}

// The slot of a process may be another's by now, and a slot of its sections may be lost.
func TestFoldDistrustsSections(t *testing.T) {
	a := rankSlot(0, 1, 8, 4)
	a.InitEnter = 77
	later := func(order int, of record.Slot, label string) record.Slot {
		s := sectionsSlot(0, of, entry(label, 1, ticksOf(1, 0, 0), ticksOf(1, 0, 0)))
		s.Sections.Order = order
		return s
	}
	earlier := a
	earlier.InitEnter = 33
	odd := later(0, a, "odd")
	odd.Sections.Entries[1].Whole.MPI = 1 << 61
	odd.Sections.Open = []record.OpenSection{{Number: 999}}
	tests := []struct {
		name  string
		slots []record.Slot
		want  string
		code  string
	}{
		{"an earlier process", []record.Slot{later(0, earlier, "a")}, "", ""},
		{"no first slot", []record.Slot{later(1, a, "a")}, "", ""},
		{"a gap", []record.Slot{later(2, a, "c"), later(0, a, "a")}, "a", ""},
		{"not in order", []record.Slot{later(1, a, "b"), later(0, a, "a")}, "a b", ""},
		{"numbers that cannot be", []record.Slot{odd}, "odd", doubt.WarnOdd + " " + doubt.WarnSectionsOpen},
	}
	for _, tt := range tests {
		f := foldSlots(t, testMachine(100), nil, append([]record.Slot{a}, tt.slots...)...)
		var labels []string
		for _, s := range f.executions[0].Sections {
			labels = append(labels, s.Label)
			if s.Useful < 0 || s.MPI > s.Elapsed {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
		if got := strings.Join(labels, " "); got != tt.want || jobtest.Codes(f.executions[0].Warnings) != tt.code {
			t.Errorf("%s: sections %q, warnings %q, want %q, %q", tt.name, got, jobtest.Codes(f.executions[0].Warnings), tt.want, tt.code)
		}
	}
}

// Labels that differ by rank are many in all: the shortest are put together.
func TestSectionsOfAReportAreBounded(t *testing.T) {
	sums := job.SectionSums{}
	for i := range job.MostLabels + 500 {
		addRank(sums, fmt.Sprintf("label %d", i), &rankSection{count: 1, whole: sectionTime{all: time.Duration(i)}})
	}
	sums.Cut(job.MostLabels)
	list := sums.List()
	rest := sums[record.OtherSections]
	if len(list) != job.MostLabels || rest.Count != 501 || rest.Elapsed != 500*501/2 || list[0].ElapsedMax > list[0].Elapsed {
		t.Errorf("%d sections, the rest %+v", len(list), rest)
	}
	e := job.Execution{Sections: make([]job.Section, job.MostLabels+5), Nodes: []job.NodeShare{{Node: "n"}}}
	for i := range e.Sections {
		e.Sections[i] = job.Section{Label: fmt.Sprint(i), Ranks: 1, Count: 1}
	}
	if w := assemble.CutSections(&e); len(w) != 1 || len(e.Sections) != job.MostLabels {
		t.Errorf("%d sections, %v", len(e.Sections), w)
	}
}

// A job of several executions adds up as METRICS 1 has it.
func TestSectionsOverExecutions(t *testing.T) {
	one := job.Execution{Sections: []job.Section{{Label: "s", Ranks: 2, Count: 2, Elapsed: 4e9, ElapsedMax: 3e9, Useful: 2e9, UsefulMax: 1.5e9, MPI: 2e9}}}
	two := job.Execution{Sections: []job.Section{{Label: "s", Ranks: 4, Count: 8, Elapsed: 4e9, ElapsedMax: 1e9, Useful: 4e9, UsefulMax: 1e9}, {Label: "instant", Ranks: 1, Count: 1}}}
	got := job.JobSections([]job.Execution{one, two})
	want := []job.SectionFigures{
		{Label: "s", Count: 10, Ranks: 4, Elapsed: 4, ElapsedMean: 3, Useful: 6, MPITime: 2, Metrics: ofMPI(6./10, 6./7, 7./10)},
		{Label: "instant", Count: 1, Ranks: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Whatever stands in a slot of sections, what is folded adds up.
func FuzzFoldSections(f *testing.F) {
	a := killed(0, 1, 2, 16)
	s := sectionsSlot(0, a, entry("outer", 1, ticksOf(3, 1, 0), ticksOf(1, 0, 0)), entry("inner", 2, ticksOf(2, 1, 1), ticksOf(2, 1, 1)))
	s.Sections.Open = []record.OpenSection{{Number: 1, In: ticksOf(12, 1, 0), Inner: ticksOf(1, 0, 0)}, {Number: 2, In: ticksOf(13, 1, 0)}}
	whole := recordtest.File(record.Head{BootID: testBoot, ByHand: true}, a, s, s)
	f.Add([]byte{}, []byte{4, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		file := bytes.Clone(whole)
		recordtest.EditSlot(file, 1, first)
		recordtest.EditSlot(file, 2, second)
		rec, err := record.Read(bytes.NewReader(file), int64(len(file)), record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range foldRecord(rec, testMachine(100), nil).executions {
			if err := e.Check(); err != nil {
				t.Errorf("%v: %+v", err, e)
			}
			for _, s := range e.Sections {
				if min(s.Useful, s.MPI, s.IO, s.Own, s.OwnUseful, s.OwnMPI) < 0 || s.Useful+s.MPI+s.IO != s.Elapsed || s.ElapsedMax > s.Elapsed || s.Ranks < 1 {
					t.Errorf("%+v", s)
				}
			}
			for _, s := range job.JobSections([]job.Execution{e}) {
				if e := s.Metrics; e != nil && (e.Parallel < 0 || e.Parallel > 1+1e-9 || math.Abs(e.LoadBalance*e.Communication-e.Parallel) > 1e-9) {
					t.Errorf("%+v %+v", s, e)
				}
			}
		}
	})
}

// A record that is full of different labels is folded in a time that grows as they do.
func TestFoldOfARecordFullOfLabels(t *testing.T) {
	few, all := recordOfLabels(t, 11), recordOfLabels(t, 44)
	var f folded
	jobtest.WantLinear(t, func() { foldRecord(few, testMachine(100), nil) }, func() { f = foldRecord(all, testMachine(100), nil) })
	e := f.executions[0]
	if len(e.Sections) != job.MostLabels || jobtest.Codes(e.Warnings) != doubt.WarnOversubs+" "+doubt.WarnSectionsMany && jobtest.Codes(e.Warnings) != doubt.WarnSectionsMany {
		t.Errorf("%d sections, %s", len(e.Sections), jobtest.Codes(e.Warnings))
	}
}

// recordOfLabels is a record of ranks whose every section has a label of its own.
func recordOfLabels(t *testing.T, ranks int) *record.File {
	t.Helper()
	var slots []record.Slot
	for p := range ranks {
		a := rankSlot(p, ranks, 8, 4)
		parent := len(slots)
		slots = append(slots, a)
		for order := range 46 {
			s := sectionsSlot(parent, a)
			s.Sections.Order, s.Sections.Entries = order, nil
			for i := range record.SectionsPerSlot {
				s.Sections.Entries = append(s.Sections.Entries, entry(fmt.Sprint(p, order, i), 1, ticksOf(0.001, 0, 0), ticksOf(0.001, 0, 0)))
			}
			slots = append(slots, s)
		}
	}
	return openRecord(t, slots...)
}

// TestFoldOfTheRun: MPI_MAIN has one instance. Two ranks leave MPI_Init 0 and 2 s late and enter
// MPI_Finalize 3 and 0 s early.
func TestFoldOfTheRun(t *testing.T) {
	late := rankSlot(1, 2, 9, 4)
	late.InitLeft = at(12).Ticks
	for _, c := range []struct {
		name  string
		slots []record.Slot
		known bool
	}{
		{"both came to their end", []record.Slot{rankSlot(0, 2, 6, 4), late}, true},
		{"one was killed", []record.Slot{killed(0, 2, 4, 20), late}, false},
		{"one rank", []record.Slot{rankSlot(0, 1, 6, 4)}, false},
	} {
		main := job.JobSections(foldSlots(t, testMachine(100), nil, c.slots...).executions)[0]
		if known := main.Imbalance != nil; main.Label != job.MainSection || known != c.known || known != (main.Instances == 1) {
			t.Fatalf("%s: %+v", c.name, main)
		}
		if c.known && (*main.Imbalance != 1.5 || *main.EntryImbalanceMean != 1 || *main.EntryImbalanceVariance != 1) {
			t.Errorf("%s: %v, %v, %v", c.name, *main.Imbalance, *main.EntryImbalanceMean, *main.EntryImbalanceVariance)
		}
	}
}
