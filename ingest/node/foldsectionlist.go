package node

import (
	"cmp"
	"fmt"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// mostSections bounds the rows in all Execution.Sections of a report.
const mostSections = 40_000

// addRank adds one rank's time in a label.
func addRank(sums job.SectionSums, label string, r *rankSection) {
	one := job.Section{Label: label, Ranks: 1, Count: r.count, Elapsed: r.whole.all, ElapsedMax: r.whole.all,
		Useful: r.whole.useful(), UsefulMax: r.whole.useful(), MPI: r.whole.mpi, IO: r.whole.io,
		Own: r.own.all, OwnUseful: r.own.useful(), OwnMPI: r.own.mpi, Instances: r.instances, Threads: r.share}
	if r.open {
		one.Open = 1
	}
	sums.At(label).Add(&one)
}

// listSections folds the sections of a world's ranks.
func (f *folder) listSections(e *job.Execution, w *world) {
	sums := job.SectionSums{}
	var warn job.Warnings
	for _, p := range w.procs {
		own := f.sections.of(p)
		if len(own) == 0 {
			continue
		}
		for label, r := range sectionsOf(p, own) {
			r.instances, r.share = w.instances(p, r.count, r.sampled), p.sectionThreads(r)
			addRank(sums, label, r)
		}
		sectionDoubts(&warn, p, own[0])
	}
	if sums[record.OtherSections] != nil || len(sums) > job.MostLabels {
		warn.Note(job.WarnSectionsMany)
	}
	sums.Cut(job.MostLabels)
	if f.rows += len(sums); f.rows > mostSections {
		f.warn.Note(job.WarnSectionsCut)
	} else {
		e.Sections = sums.List()
		f.boundInstances(e.Sections)
	}
	e.Warnings = job.MergeWarnings(e.Warnings, warn.List())
}

// sectionDoubts are the warnings about the sections of one rank.
func sectionDoubts(warn *job.Warnings, p *process, first *record.Sections) {
	kept := uint64(0)
	for _, w := range first.Wrongs {
		kept = job.AddCount(kept, w.Count)
		warn.Add(job.Warning{Code: job.WarnSectionExit, Text: wrongExit(w), Count: countOf(w.Count)})
	}
	if first.Wrong > kept {
		warn.Add(job.Warning{Code: job.WarnSectionExit, Text: job.WarningText[job.WarnSectionExit], Count: countOf(first.Wrong - kept)})
	}
	if first.Deep > 0 {
		warn.Add(job.Warning{Code: job.WarnSectionsDeep, Text: job.WarningText[job.WarnSectionsDeep], Count: countOf(first.Deep)})
	}
	if first.Ignored > 0 {
		warn.Add(job.Warning{Code: job.WarnSectionsIgnored, Text: job.WarningText[job.WarnSectionsIgnored], Count: countOf(first.Ignored)})
	}
	if len(first.Open) > 0 && p.ending == job.EndingFinalized {
		warn.Note(job.WarnSectionsOpen)
	}
}

func wrongExit(w record.WrongExit) string {
	return fmt.Sprintf("a section was left that is not the innermost: %s was left, %s was open", w.Exited, cmp.Or(w.Open, job.MainSection))
}

// countOf bounds a count, so that thousands of them can be added without overflow.
func countOf(n uint64) int { return int(min(n, 1<<40)) }
