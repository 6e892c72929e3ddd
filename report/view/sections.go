package view

import "jobeff/ingest/job"

// Section is one section of the program, by label; MPI_MAIN, from MPI_Init to
// MPI_Finalize, is the first. Its efficiencies speak of the ranks that entered it and are
// null where it took no time. What is `exclusive` leaves out the sections within it: that
// of all sections adds up to the whole run.
type Section struct {
	Label            string  `json:"label"`
	Count            uint64  `json:"count"`        // times entered, sum over ranks
	Ranks            int     `json:"ranks"`        // that entered it
	Open             int     `json:"open"`         // ranks that ended inside it
	Elapsed          float64 `json:"elapsed"`      // s, the longest of the ranks, over all its instances
	ElapsedMean      float64 `json:"elapsed_mean"` // s, mean over the ranks that entered it
	Useful           float64 `json:"useful"`       // s, sum over all threads where these are known, else over ranks
	MPITime          float64 `json:"mpi_time"`     // s, sum over ranks
	IOTime           float64 `json:"io_time"`      // s, likewise, in MPI_File_*
	Efficiencies             // null: it took no time, or, of all threads, it is not known which was the busiest
	Exclusive        float64 `json:"exclusive"`          // s, sum over ranks
	ExclusiveUseful  float64 `json:"exclusive_useful"`   // s, likewise
	ExclusiveMPITime float64 `json:"exclusive_mpi_time"` // s, likewise

	Threading // of the section's ranks; null also where it is not known which thread was the busiest

	Instances              int      `json:"instances"`                // that were sampled
	Imbalance              *float64 `json:"imbalance"`                // s, mean over them; null: not known, or below the doubt about the nodes' clocks
	EntryImbalanceMean     *float64 `json:"entry_imbalance_mean"`     // s, over them and the ranks; null likewise
	EntryImbalanceVariance *float64 `json:"entry_imbalance_variance"` // s², over the ranks, mean over them; null likewise
}

func sectionsOf(executions []job.Execution) []Section {
	out := []Section{}
	for _, s := range job.JobSections(executions) {
		d := Section{
			Label: s.Label, Count: s.Count, Ranks: s.Ranks, Open: s.Open, Elapsed: s.Elapsed, ElapsedMean: s.ElapsedMean,
			Useful: s.Useful, MPITime: s.MPITime, IOTime: s.IOTime,
			Exclusive: s.Own, ExclusiveUseful: s.OwnUseful, ExclusiveMPITime: s.OwnMPI,
			Instances: s.Instances, Imbalance: s.Imbalance, EntryImbalanceMean: s.EntryImbalanceMean, EntryImbalanceVariance: s.EntryImbalanceVariance,
		}
		if m := s.Metrics; m != nil {
			d.Efficiencies, d.Threading = efficiencies(m), threading(m)
			if m.Hybrid != nil && !s.BusiestThread {
				d.LoadBalance, d.CommunicationEfficiency = nil, nil
				d.OpenMPPOPLoadBalance, d.OpenMPPOPCommunicationEfficiency = nil, nil
			}
			if m.Hybrid != nil {
				d.Useful = m.Hybrid.Useful
			}
		}
		out = append(out, d)
	}
	return out
}

// Threading are the figures of ranks with threads (METRICS 2), null or absent where no rank has several or
// what they did is not known.
type Threading struct {
	// POP's multiplicative model: of all threads / of MPI. Each may exceed 1.
	OpenMPPOPParallelEfficiency      *float64 `json:"openmp_pop_parallel_efficiency"`
	OpenMPPOPLoadBalance             *float64 `json:"openmp_pop_load_balance"`
	OpenMPPOPCommunicationEfficiency *float64 `json:"openmp_pop_communication_efficiency"`

	// DLB's: parallel efficiency is the product of the other three.
	OpenMPParallelEfficiency      *float64 `json:"openmp_parallel_efficiency"`
	OpenMPLoadBalance             *float64 `json:"openmp_load_balance"`
	OpenMPSchedulingEfficiency    *float64 `json:"openmp_scheduling_efficiency"`
	OpenMPSerialisationEfficiency *float64 `json:"openmp_serialisation_efficiency"`

	// POP's additive model: of all threads = process + thread - 1.
	ProcessEfficiency              *float64 `json:"process_efficiency"`
	ProcessLoadBalance             *float64 `json:"process_load_balance,omitempty"`
	ProcessCommunicationEfficiency *float64 `json:"process_communication_efficiency,omitempty"`
	ThreadEfficiency               *float64 `json:"thread_efficiency"`
	OpenMPRegionEfficiency         *float64 `json:"openmp_region_efficiency,omitempty"`
	SerialRegionEfficiency         *float64 `json:"serial_region_efficiency,omitempty"`

	ThreadTimes *ThreadTimes `json:"thread_times,omitempty"`
}

// ThreadTimes are sums over the threads of all ranks, s. Together they are the threads' whole time.
type ThreadTimes struct {
	Threads    int     `json:"threads"` // of all ranks; of several executions the most that one had
	Useful     float64 `json:"useful"`
	MPITime    float64 `json:"mpi_time"`
	IOTime     float64 `json:"io_time"`
	Imbalance  float64 `json:"imbalance"`
	Scheduling float64 `json:"scheduling"`
	Serial     float64 `json:"serial"`
}

func threading(m *job.Metrics) Threading {
	h := m.Hybrid
	if h == nil {
		return Threading{}
	}
	o, a := h.OpenMP(), m.Additive()
	parallel, balance, communication := m.OpenMPQuotients()
	return Threading{
		OpenMPPOPParallelEfficiency: &parallel, OpenMPPOPLoadBalance: &balance, OpenMPPOPCommunicationEfficiency: &communication,
		OpenMPParallelEfficiency: &o.Parallel, OpenMPLoadBalance: &o.LoadBalance,
		OpenMPSchedulingEfficiency: &o.Scheduling, OpenMPSerialisationEfficiency: &o.Serialisation,
		ProcessEfficiency: &a.Process, ProcessLoadBalance: &a.ProcessLoadBalance, ProcessCommunicationEfficiency: &a.ProcessCommunication,
		ThreadEfficiency: &a.Thread, OpenMPRegionEfficiency: &a.Region, SerialRegionEfficiency: &a.Serial,
		ThreadTimes: threadTimes(h),
	}
}

func threadTimes(h *job.Hybrid) *ThreadTimes {
	return &ThreadTimes{Threads: h.Threads, Useful: h.Useful, MPITime: h.MPITime, IOTime: h.IOTime,
		Imbalance: h.Imbalance, Scheduling: h.Scheduling, Serial: h.Serial}
}
