package document

import "jobeff/ingest/job"

// Section is one section of the program, by label; MPI_MAIN, from MPI_Init to
// MPI_Finalize, is the first. Its efficiencies speak of the ranks that entered it and are
// null where it took no time. What is `exclusive` leaves out the sections within it: that
// of all sections adds up to the whole run.
type Section struct {
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

	Threading // of the section's ranks; null also where it is not known which thread was the busiest

	Instances              int      `json:"instances"`                // that were sampled
	Imbalance              *float64 `json:"imbalance"`                // s, mean over them; null: not known, or below the doubt about the nodes' clocks
	EntryImbalanceMean     *float64 `json:"entry_imbalance_mean"`     // s, over them and the ranks; null likewise
	EntryImbalanceVariance *float64 `json:"entry_imbalance_variance"` // s², over the ranks, mean over them; null likewise
}

func documentSections(executions []job.Execution) []Section {
	out := []Section{}
	for _, s := range job.JobSections(executions) {
		d := Section{
			Label: s.Label, Count: s.Count, Ranks: s.Ranks, Open: s.Open, Elapsed: s.Elapsed, ElapsedMean: s.ElapsedMean,
			Useful: s.Useful, MPITime: s.MPITime, IOTime: s.IOTime,
			Exclusive: s.Own, ExclusiveUseful: s.OwnUseful, ExclusiveMPITime: s.OwnMPI,
			Instances: s.Instances, Imbalance: s.Imbalance, EntryImbalanceMean: s.EntryImbalanceMean, EntryImbalanceVariance: s.EntryImbalanceVariance,
			Threading: sectionThreading(&s),
		}
		if e := s.Efficiencies; e != nil {
			d.ParallelEfficiency, d.LoadBalance, d.CommunicationEfficiency = &e.Parallel, &e.LoadBalance, &e.Communication
		}
		out = append(out, d)
	}
	return out
}
