package report

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// DocumentSection is one section of the program, by label; MPI_MAIN, from MPI_Init to
// MPI_Finalize, is the first. Its efficiencies speak of the ranks that entered it and are
// null where it took no time. What is `exclusive` leaves out the sections within it: that
// of all sections adds up to the whole run.
type DocumentSection struct {
	Label                   string   `json:"label"`
	Count                   uint64   `json:"count"`        // times entered, sum over ranks
	Ranks                   int      `json:"ranks"`        // that entered it
	Open                    int      `json:"open"`         // ranks that ended inside it
	Elapsed                 float64  `json:"elapsed"`      // s, the longest of the ranks, over all its instances
	ElapsedMean             float64  `json:"elapsed_mean"` // s, mean over the ranks that entered it
	Useful                  float64  `json:"useful"`       // s, sum over ranks
	MPITime                 float64  `json:"mpi_time"`     // s, sum over ranks
	IOTime                  float64  `json:"io_time"`      // s, likewise, in MPI_File_*
	ParallelEfficiency      *float64 `json:"parallel_efficiency"`
	LoadBalance             *float64 `json:"load_balance"`
	CommunicationEfficiency *float64 `json:"communication_efficiency"`
	Exclusive               float64  `json:"exclusive"`          // s, sum over ranks
	ExclusiveUseful         float64  `json:"exclusive_useful"`   // s, likewise
	ExclusiveMPITime        float64  `json:"exclusive_mpi_time"` // s, likewise
}

func documentSections(executions []job.Execution) []DocumentSection {
	out := []DocumentSection{}
	for _, s := range job.JobSections(executions) {
		d := DocumentSection{
			Label: s.Label, Count: s.Count, Ranks: s.Ranks, Open: s.Open, Elapsed: s.Elapsed, ElapsedMean: s.ElapsedMean,
			Useful: s.Useful, MPITime: s.MPITime, IOTime: s.IOTime,
			Exclusive: s.Own, ExclusiveUseful: s.OwnUseful, ExclusiveMPITime: s.OwnMPI,
		}
		if e := s.Efficiencies; e != nil {
			d.ParallelEfficiency, d.LoadBalance, d.CommunicationEfficiency = &e.Parallel, &e.LoadBalance, &e.Communication
		}
		out = append(out, d)
	}
	return out
}

// sectionsPart has the sections that took the most time; nothing of a program that has
// none.
func sectionsPart(j *job.Job) Part {
	all := namedSections(j)
	if len(all) == 0 {
		return Part{}
	}
	t := sectionsTable(all)
	b := Part{Heading: "Sections of the program", Tables: []table{t},
		Notes: []string{"elapsed: of the longest rank; share: of the ranks' time, without the sections within, and what of it is MPI; " +
			"PE parallel efficiency, LB load balance, CommE communication efficiency"}}
	if more := len(all) - len(t.rows); more > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("and %s with less time; --json has them", figure.Counted(more, "other section")))
	}
	if s := openSections(all); s != "" {
		b.Notes = append(b.Notes, "never left: "+s)
	}
	return b
}

// namedSections are the job's sections, none where the program named none.
func namedSections(j *job.Job) []job.SectionFigures {
	all := job.JobSections(j.Executions)
	if len(all) == 1 && all[0].Label == job.MainSection {
		return nil
	}
	return all
}

// sectionsTable has the sections that took the most time.
func sectionsTable(all []job.SectionFigures) table {
	whole := 0.0
	for _, s := range all {
		whole += s.Own
	}
	t := table{heads: []string{"<section", "entered", "ranks", "elapsed", "share", "MPI", "PE", "LB", "CommE"}}
	for _, s := range all[:min(listed, len(all))] {
		t.rows = append(t.rows, sectionRow(s, whole))
	}
	return t
}

func sectionRow(s job.SectionFigures, whole float64) []string {
	row := []string{s.Label, figure.Count(s.Count), figure.Count(s.Ranks), figure.Seconds(s.Elapsed),
		figure.Percent(s.Own / max(whole, 1e-9)), ownMPI(s, whole)}
	if e := s.Efficiencies; e != nil {
		return append(row, figure.Efficiency(e.Parallel), figure.Efficiency(e.LoadBalance), figure.Efficiency(e.Communication))
	}
	return append(row, "-", "-", "-")
}

// ownMPI is what of a section's own time is MPI; nothing of one that has no time.
func ownMPI(s job.SectionFigures, whole float64) string {
	if s.Own <= 1e-6*whole {
		return "-"
	}
	return figure.Percent(min(s.OwnMPI/s.Own, 1))
}

// openSections says where ranks were that ended inside a section.
func openSections(all []job.SectionFigures) string {
	var in []string
	for _, s := range all {
		if s.Open > 0 {
			in = append(in, fmt.Sprintf("%s (%s)", s.Label, figure.Counted(s.Open, "rank")))
		}
	}
	if more := len(in) - costly; more > 0 {
		in = append(in[:costly], fmt.Sprintf("and %d more", more))
	}
	return joined(", ", in...)
}
