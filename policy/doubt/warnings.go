package doubt

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// The codes of warnings. Programs may rely on the codes; the texts may change.
const (
	WarnTorn         = "torn"
	WarnOdd          = "odd_numbers"
	WarnAssumedEnd   = "assumed_end"
	WarnNoFinalize   = "no_finalize"
	WarnRunning      = "running"
	WarnNoTime       = "no_time"
	WarnLeft         = "call_left"
	WarnClock        = "clock"
	WarnClockDrift   = "clock_drift"
	WarnThreads      = "threads_in_mpi"
	WarnSingletons   = "singletons"
	WarnExecutables  = "executables"
	WarnOversubs     = "oversubscribed"
	WarnCoverage     = "coverage"
	WarnInitOnly     = "init_not_left"
	WarnLostFull     = "lost_full"
	WarnLostMemory   = "lost_memory"
	WarnStatic       = "static_mpi"
	WarnPreload      = "preload_changed"
	WarnUnseen       = "unseen_mpi"
	WarnStub         = "stub_mpi"
	WarnCallsCut     = "calls_cut"
	WarnStepsCut     = "steps_cut"
	WarnForeign      = "foreign_record"
	WarnUnreadable   = "unreadable_record"
	WarnNoProlog     = "no_prolog"
	WarnPrologFailed = "prolog_failed"
	WarnJobFile      = "job_file"
	WarnNodesMissing = "nodes_missing"
	WarnInterim      = "interim"
	WarnCPUOver      = "cpu_over"
	WarnMemoryOver   = "memory_over"
	WarnUsagePart    = "usage_part"
	WarnForeignNode  = "foreign_node"
	WarnOutboxFull   = "outbox_full"
	WarnRanksDropped = "ranks_dropped"
	WarnMerging      = "merging"
	WarnImpossible   = "impossible"
	WarnPart         = "part"

	WarnThreadsCounted = "threads_counted"
	WarnProgress       = "progress_thread"
	WarnContention     = "contention"
	WarnSlept          = "slept"

	WarnSectionExit     = "section_exit"
	WarnSectionsOpen    = "sections_open"
	WarnSectionsMany    = "sections_many"
	WarnSectionsDeep    = "sections_deep"
	WarnSectionsIgnored = "sections_ignored"
	WarnSectionsLost    = "sections_lost"
	WarnSectionsCut     = "sections_cut"
)

// The codes of reasons why a job has no figures, besides those of warnings.
const (
	WhyNoReport   = "no_report"    // a Kind says more
	WhyNotEnded   = "not_ended"    // its figures come when it does
	WhyPending    = "pending"      // it has not begun
	WhyMerging    = "being_merged" // reports came a moment ago
	WhyOtherTimes = "other_times"  // the reports do not fit Slurm's times
	WhyOff        = "off"          // Name says who did not want it
	WhyReplaced   = "replaced"     // another record took the place of its own
	WhyThreads    = "threads"      // Name says why the threads' work is not known
	WhyNoSign     = "no_sign"      // no rank left a sign after MPI_Init
	WhyInMPIInit  = "in_mpi_init"  // no process came back from MPI_Init
	WhyNoMemory   = "no_memory"    // there was no memory for records
	WhyNoRoom     = "no_room"      // there was no room in the records' file
	WhyNoStep     = "no_step"      // no step ran under the plugin
	WhyNoMPI      = "no_mpi"       // Kind: in a container, or one step is asked for; Name: the step; Other: why the step Names was not measured
	WhyFolded     = "folded"       // the executions of the step Name, if it had any
	WhyRemoved    = "removed"      // retention dropped the job: only its month's sums are kept
)

// NewWarning is a warning without arguments.
func NewWarning(code string, count int) Warning { return Warning{Code: code, Count: count} }

// mostWarnings bounds the warnings of one part of a report.
const mostWarnings = 64

// Warnings collects equal warnings. The zero value is empty.
type Warnings struct{ count map[Warning]int }

// Clone is a copy to which others may be added.
func (w *Warnings) Clone() Warnings { return Warnings{maps.Clone(w.count)} }

// Count returns how often a code without arguments was added, and whether it was at all.
func (w *Warnings) Count(code string) (n int, noted bool) {
	n, noted = w.count[NewWarning(code, 0)]
	return n, noted
}

// Note adds one occurrence of a code without arguments.
func (w *Warnings) Note(code string) { w.Add(NewWarning(code, 1)) }

// Add adds a warning, or its count to an equal one.
func (w *Warnings) Add(n Warning) {
	if w.count == nil {
		w.count = map[Warning]int{}
	}
	count := n.Count
	n.Count = 0
	w.count[n] += count
}

// List lists all warnings, sorted, at most mostWarnings.
func (w *Warnings) List() []Warning {
	var out []Warning
	for n, count := range w.count {
		n.Count = count
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), a.Args.compare(&b.Args))
	})
	return out[:min(len(out), mostWarnings)]
}

// MergeWarnings adds b to a.
func MergeWarnings(a, b []Warning) []Warning {
	var w Warnings
	for _, n := range a {
		w.Add(n)
	}
	for _, n := range b {
		w.Add(n)
	}
	return w.List()
}

// Warning is a doubt about a figure, or why there is none. Text has its words: what is stored is reworded, too.
type Warning struct {
	Code string    `json:"code"` // stable, for programs: one of the Warn constants
	Args Arguments `json:"args,omitzero"`
	// Count is how many ranks or processes it concerns; 0 if that says nothing. Merging adds it
	// up over warnings of the same code and arguments.
	Count int `json:"count,omitempty"`
}

// Arguments are the figures and names in a warning's text; zero where the text has none. Whole numbers
// alone, so that what no figure can be is found as in the rest of a report.
type Arguments struct {
	Kind   string        `json:"kind,omitempty"` // which of the code's texts: one of the Kind constants
	N      int           `json:"n,omitempty"`    // ranks, threads or nodes that it speaks of
	Of     int           `json:"of,omitempty"`   // of so many
	CPUs   int           `json:"cpus,omitempty"`
	Time   time.Duration `json:"time_ns,omitempty"`
	OfTime time.Duration `json:"of_time_ns,omitempty"`
	Name   string        `json:"name,omitempty"`  // of a thread, section, file, job or list of CPUs
	Other  string        `json:"other,omitempty"` // a second name, or an error's words
	Names  string        `json:"names,omitempty"` // of the first nodes or jobs, with commas between them
}

// The kinds of a warning whose code has several texts.
const (
	KindShort     = "short"      // WarnCPUOver
	KindCgroup    = "cgroup"     // WarnMemoryOver: the kernel counted it
	KindFile      = "file"       // WarnUnreadable: a file of the run directory
	KindMissing   = "missing"    // … there is no record
	KindEndsEarly = "ends_early" // … the record was cut
	KindGivenUp   = "given_up"   // … folding it failed again and again
	KindAll       = "all"        // WarnSingletons: of the job, whose ranks never met
	KindTogether  = "together"   // WarnInterim: all nodes tell of one moment; not for people
	KindHet       = "het"        // WarnPart: of a het job
	KindStep      = "step"       // … a step whose executions were folded
	KindYet       = "yet"        // WhyNoReport: it is expected
	KindFailed    = "failed"     // … Name is Slurm's state; WhyOff: measuring could not begin
	KindContainer = "container"  // WhyNoMPI
	KindJob       = "job"        // WhyOff, as Reason finds it: the job or a step of it asked for it
	KindShare     = "share"      // … the job was not drawn
	KindSite      = "site"       // … other settings of the site
	KindNode      = "node"       // … the kill switch of a node
	KindLibrary   = "library"    // … a node has no library
)

// compare orders arguments.
func (a *Arguments) compare(b *Arguments) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.N, b.N), cmp.Compare(a.Of, b.Of), cmp.Compare(a.CPUs, b.CPUs), cmp.Compare(a.Time, b.Time),
		cmp.Compare(a.OfTime, b.OfTime), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Other, b.Other), cmp.Compare(a.Names, b.Names))
}
