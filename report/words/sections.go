package words

import (
	"fmt"
	"math"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// sectionsPart has the sections that took the most time. It is empty if none took enough.
func sectionsPart(j *job.Job) block.Part {
	named, light, own := namedSections(j)
	if len(named) == 0 {
		return block.Part{}
	}
	threads := threadsTable(named)
	tables := slices.Concat([]block.Table{sectionsTable(named, own)}, threads, instancesTable(named))
	return block.Part{Heading: "Sections of the program", Tables: tables,
		Notes: block.Notes("elapsed: of the slowest rank; share: of the ranks' time, without inner sections; MPI: the part of that share in MPI; "+
			"PE parallel efficiency, LB load balance, CommE communication efficiency"+ofRanks(threads), threadsNote(j, named, threads), instancesNote(named),
			more(max(len(named)-listed, 0)+light, "section", "with less time"), of("never left:", openSections(named)))}
}

// sectionsTable has the first sections. whole is the time of all.
func sectionsTable(named []job.SectionFigures, whole float64) block.Table {
	t := block.Table{Heads: []string{"<section", "entered", "ranks", "elapsed", "share", "MPI", "PE", "LB", "CommE"}}
	shown := named[:min(listed, len(named))]
	seconds := alike(shown, func(s job.SectionFigures) float64 { return s.Elapsed })
	for _, s := range shown {
		t.Bar(4, s.Own/max(whole, 1e-9))
		t.Rows = append(t.Rows, sectionRow(s, whole, seconds))
	}
	return t
}

// threadsTable says how well the threads of the first sections were used, if that is known for one of them.
func threadsTable(named []job.SectionFigures) []block.Table {
	t := block.Table{Caption: "What threads do in sections",
		Heads: []string{"<threads in section", "PE", "LB", "CommE", "balance", "scheduling", "serialisation"}}
	for _, s := range named[:min(listed, len(named))] {
		m := s.Metrics
		if m == nil || m.Hybrid == nil {
			continue
		}
		o := m.Hybrid.OpenMP()
		row := []string{s.Label, figure.Efficiency(m.Parallel), "-", "-",
			figure.Efficiency(o.LoadBalance), figure.Efficiency(o.Scheduling), figure.Efficiency(o.Serialisation)}
		if s.BusiestThread {
			row[2], row[3] = figure.Efficiency(m.LoadBalance), figure.Efficiency(m.Communication)
		}
		t.Rows = append(t.Rows, row)
	}
	if t.Rows == nil {
		return nil
	}
	return []block.Table{t}
}

// ofRanks distinguishes the two tables if there are threads.
func ofRanks(threads []block.Table) string {
	if threads == nil {
		return ""
	}
	return ", of the ranks"
}

func threadsNote(j *job.Job, named []job.SectionFigures, threads []block.Table) string {
	if threads == nil {
		return ""
	}
	missing := ""
	if slices.ContainsFunc(named, func(s job.SectionFigures) bool {
		return s.Metrics != nil && s.Metrics.Hybrid != nil && !s.BusiestThread
	}) {
		missing = "-: it is not known which thread was the busiest"
	}
	return block.Joined("; ", "threads: PE, LB and CommE of all threads; balance, scheduling and serialisation efficiency of OpenMP", missing, idleThreads(j))
}

// mostly is the least part of OpenMP's lost time for which a section is named.
const mostly = 0.5

// idleThreads names the section in which OpenMP lost most of its time; of nested ones, the innermost. It
// returns "" if there is none, or if OpenMP lost hardly any.
func idleThreads(j *job.Job) string {
	if j.Metrics == nil || j.Metrics.Hybrid == nil || j.Metrics.Hybrid.OpenMPTime() < workload.LeastShare*j.Metrics.Hybrid.Span {
		return ""
	}
	all := j.Metrics.Hybrid.OpenMPTime()
	var in *job.SectionFigures
	named, _, _ := namedSections(j)
	for i := range named {
		s := &named[i]
		if s.Label != job.MainSection && s.Metrics != nil && s.Metrics.Hybrid != nil && s.Metrics.Hybrid.OpenMPTime() > mostly*all &&
			(in == nil || s.Metrics.Hybrid.Span < in.Metrics.Hybrid.Span) {
			in = s
		}
	}
	if in == nil {
		return ""
	}
	return fmt.Sprintf("%s of the time that threads lost in OpenMP was in %s", figure.Percent(min(in.Metrics.Hybrid.OpenMPTime()/all, 1)), in.Label)
}

// instancesTable says how the ranks entered and left the first sections, if that is known for one of them.
func instancesTable(named []job.SectionFigures) []block.Table {
	t := block.Table{Caption: "How ranks enter and leave sections", Heads: []string{"<section", "sampled", "enter late by", "spread", "wait for the last"}}
	var all []float64
	for _, s := range named {
		for _, v := range []*float64{s.EntryImbalanceMean, s.Imbalance} {
			if v != nil {
				all = append(all, *v)
			}
		}
	}
	seconds := figure.SecondsAlike(all...)
	for _, s := range named[:min(listed, len(named))] {
		if s.Ranks < 2 || s.Imbalance == nil && s.EntryImbalanceMean == nil {
			continue
		}
		row := []string{s.Label, figure.Count(s.Instances), "-", "-", "-"}
		if s.EntryImbalanceMean != nil {
			row[2], row[3] = seconds(*s.EntryImbalanceMean), seconds(math.Sqrt(*s.EntryImbalanceVariance))
		}
		if s.Imbalance != nil {
			row[4] = seconds(*s.Imbalance)
		}
		t.Rows = append(t.Rows, row)
	}
	if t.Rows == nil {
		return nil
	}
	return []block.Table{t}
}

func instancesNote(named []job.SectionFigures) string {
	if instancesTable(named) == nil {
		return ""
	}
	return "means over sampled instances; enter late by: after the first rank; spread: standard deviation of that over the ranks; " +
		"wait for the last: from a rank's exit to the last one's; -: less than the nodes' clocks may differ"
}

func sectionRow(s job.SectionFigures, whole float64, seconds func(float64) string) []string {
	row := []string{s.Label, figure.Count(s.Count), figure.Count(s.Ranks), seconds(s.Elapsed),
		figure.Percent(s.Own / max(whole, 1e-9)), ownMPI(s, whole)}
	if m := s.Metrics; m != nil {
		return append(row, figure.Efficiency(m.MPI.Parallel), figure.Efficiency(m.MPI.LoadBalance), figure.Efficiency(m.MPI.Communication))
	}
	return append(row, "-", "-", "-")
}

// ownMPI writes the part of a section's own time that is MPI; "-": it has no time.
func ownMPI(s job.SectionFigures, whole float64) string {
	if s.Own <= 1e-6*whole {
		return "-"
	}
	return figure.Percent(min(s.OwnMPI/s.Own, 1))
}

// openSections names the sections inside which ranks ended.
func openSections(all []job.SectionFigures) string {
	var in []string
	for _, s := range all {
		if s.Open > 0 {
			in = append(in, fmt.Sprintf("%s (%s)", s.Label, figure.Counted(s.Open, "rank")))
		}
	}
	if more := len(in) - costly; more > 0 {
		in = append(in[:costly], fmt.Sprintf("and %s more", figure.Count(more)))
	}
	return block.Joined(", ", in...)
}
