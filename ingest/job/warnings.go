package job

import (
	"cmp"
	"fmt"
	"slices"

	"jobeff/report/figure"
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
	WarnCallsCut     = "calls_cut"
	WarnStepsCut     = "steps_cut"
	WarnForeign      = "foreign_record"
	WarnUnreadable   = "unreadable_record"
	WarnNoProlog     = "no_prolog"
	WarnJobFile      = "job_file"
	WarnNodesMissing = "nodes_missing"
	WarnCPUOver      = "cpu_over"
	WarnMemoryOver   = "memory_over"
	WarnUsagePart    = "usage_part"
	WarnForeignNode  = "foreign_node"
	WarnOutboxFull   = "outbox_full"
	WarnRanksDropped = "ranks_dropped"
	WarnMerging      = "merging"
	WarnImpossible   = "impossible"

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

// WarningText says what each code means.
var WarningText = map[string]string{
	WarnTorn:            "the counters of a process were being changed when it died: they may be off by one call",
	WarnOdd:             "a record held impossible numbers: they were cut to the nearest possible ones",
	WarnAssumedEnd:      "a rank's end is assumed: it left no stamp and Slurm did not see it exit",
	WarnNoFinalize:      "a rank ended without MPI_Finalize: its time is counted up to its end",
	WarnRunning:         "a rank is still running: its time is counted up to now",
	WarnLeft:            "the program left an MPI call by an exception or a longjmp: a rank was measured only until that call",
	WarnNoTime:          "a rank left no sign after MPI_Init: it ended before its first MPI call, and how long it ran is not known",
	WarnClock:           "a process's clock cannot be converted to seconds (other boot, or a damaged record): it is left out",
	WarnClockDrift:      "a process's clock ran unevenly: times may be off by more than 0.1 %",
	WarnThreads:         "several threads of a rank called MPI: useful time is that of the thread that called MPI_Init, calls are summed over threads",
	WarnSingletons:      "a process is an MPI world of its own although its step has several tasks: MPI did not connect with the launcher; try srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)",
	WarnExecutables:     "the ranks run different programs: the first rank's is named",
	WarnInitOnly:        "a process ended inside MPI_Init: it is not counted",
	WarnLostFull:        "a process or thread found no free slot in the record (raise measure.record_mib): it is not counted",
	WarnLostMemory:      "a process or thread got no memory for its record (job's memory limit, or the record was filled): it is not counted",
	WarnStatic:          "a rank's program has its MPI linked in statically: it cannot be measured (link the shared MPI)",
	WarnPreload:         "LD_PRELOAD keeps MPI calls from libjobeff.so: the job puts another tool before it, or tells mpirun to leave it out; these ranks are not measured (put libjobeff.so first)",
	WarnCallsCut:        "too many functions to list them for every execution: only the classes of the later ones are there",
	WarnStepsCut:        "too many steps to list: the later ones are left out",
	WarnForeign:         "the record is not the one that was made for this job: it was refused",
	WarnNoProlog:        "no prolog made the job's directory (it failed, or slurmd was not restarted after the install): the facts about the job come from its first step",
	WarnSectionExit:     "a section was left before the section inside it",
	WarnSectionsOpen:    "a section was never left: it is counted up to MPI_Finalize",
	WarnSectionsMany:    "the program has more section labels than are kept: the rest are summed up as (other sections)",
	WarnSectionsDeep:    "a section was entered inside 64 others: its time counts for the one around it",
	WarnSectionsIgnored: "a section was entered or left by a thread that did not call MPI_Init, or inside of MPI: it is not counted",
	WarnSectionsLost:    "the record had no room for the sections of a process (raise measure.record_mib, or the job's memory limit)",
	WarnSectionsCut:     "too many sections to list them for every execution: those of the later ones are left out",
	WarnCPUOver:         "Slurm counted more CPU time than the job's cores have",
	WarnMemoryOver:      "Slurm counted more memory than the job was given: memory that tasks share counts in each of them, their peaks may lie at different times, and the site may set no limit",
	WarnUsagePart:       "Slurm counted on only some of the job's nodes: if processes ran on the others without Slurm, as over ssh, the CPU and memory efficiency are too low",
	WarnForeignNode:     "a node sent a report, but Slurm says that the job did not run there: the report is left out",
	WarnOutboxFull:      "the report was dropped on a node: its spool was full",
	WarnRanksDropped:    "the figures of single ranks were dropped after retention.ranks: those of the job and of its nodes stay",
	WarnImpossible:      "figures of an MPI program were refused, since they cannot be",
	WarnMerging:         "reports of its nodes are being merged: its figures may change within seconds",
	WarnJobFile:         "the job's file is damaged: facts about the job may be missing",
}

// NewWarning is a warning with the text of its code.
func NewWarning(code string, count int) Warning {
	return Warning{Code: code, Text: WarningText[code], Count: count}
}

// mostWarnings bounds the warnings of one part of a report.
const mostWarnings = 64

// Warnings collects warnings of equal text. The zero value is empty.
type Warnings struct{ count map[Warning]int }

// Note adds one occurrence of a code, with its standard text.
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
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Text, b.Text))
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

// Warning is a doubt about a figure. Every renderer shows it.
type Warning struct {
	Code string `json:"code"` // stable, for programs: one of the Warn constants
	Text string `json:"text"` // for people, without the count
	// Count is how many ranks or processes it concerns; 0 if that says nothing. Merging adds it
	// up over warnings of the same code and text.
	Count int `json:"count,omitempty"`
}

// String is the warning for people: "3 x its end is not known".
func (w Warning) String() string {
	if w.Count < 2 {
		return w.Text
	}
	return fmt.Sprintf("%s (%s times)", w.Text, figure.Count(w.Count))
}
