package view

import (
	"cmp"
	"fmt"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/report/figure"
	"jobeff/report/words"
)

// TALP is what TALP writes of a run, in the form of DLB 3.6, as far as TALP-Pages reads it. doc/MEASURED.md says
// what stands for what.
type TALP struct {
	Version   string                `json:"dlbVersion"`
	Time      string                `json:"timestamp"`
	Resources talpResources         `json:"resources"`
	Regions   map[string]talpRegion `json:"Application"`
	Of        talpOf                `json:"jobeff"` // TALP has no such thing, and TALP-Pages leaves it out
}

type talpResources struct {
	CPUs  int `json:"numCpus"`
	Nodes int `json:"numNodes"`
	Ranks int `json:"numMpiRanks"`
	GPUs  int `json:"numGpus"`
}

// talpOf names the run.
type talpOf struct {
	Cluster    string `json:"cluster,omitempty"`
	Job        string `json:"id,omitempty"`
	State      string `json:"state,omitempty"`
	Executable string `json:"executable,omitempty"`
}

// talpRegion is a region. Times are ns, sums over threads but for the elapsed one.
type talpRegion struct {
	CPUs          int      `json:"numCpus"`
	Ranks         int      `json:"numMpiRanks"`
	Nodes         *int     `json:"numNodes,omitempty"` // absent: not known
	AverageCPUs   float64  `json:"avgCpus"`
	GPUs          int      `json:"numGpus"`
	Cycles        uint64   `json:"cycles"` // 0: not counted
	Instructions  uint64   `json:"instructions"`
	Measurements  uint64   `json:"numMeasurements"`
	MPICalls      *uint64  `json:"numMpiCalls,omitempty"`
	Elapsed       int64    `json:"elapsedTime"`
	Useful        int64    `json:"usefulTime"`
	MPI           int64    `json:"mpiTime"`
	Imbalance     int64    `json:"ompLoadImbalanceTime"`
	Scheduling    int64    `json:"ompSchedulingTime"`
	Serialisation int64    `json:"ompSerializationTime"`
	Parallel      float64  `json:"parallelEfficiency"`
	OfMPI         float64  `json:"mpiParallelEfficiency"`
	Communication float64  `json:"mpiCommunicationEfficiency"`
	LoadBalance   float64  `json:"mpiLoadBalance"`
	Inside        *float64 `json:"mpiLoadBalanceIn,omitempty"`
	Between       *float64 `json:"mpiLoadBalanceOut,omitempty"`
	OfOpenMP      float64  `json:"ompParallelEfficiency"`
	OpenMPBalance float64  `json:"ompLoadBalance"`
	Scheduled     float64  `json:"ompSchedulingEfficiency"`
	Parallelised  float64  `json:"ompSerializationEfficiency"`
}

// talpGlobal is TALP's name of the region that is the whole run.
const talpGlobal = "Global"

// NewTALP returns the largest run of an ended job as TALP would have written it. That form has no way to say
// that something is missing, so a run that is not whole is an error.
func NewTALP(j *job.Job) (*TALP, error) {
	e, _ := words.Biggest(j)
	var m *job.Metrics
	if e != nil {
		m = job.ExecutionMetrics(e)
	}
	switch {
	case m == nil:
		return nil, fmt.Errorf("job %s has no figures that TALP's form could hold", j.DisplayID)
	case !j.AsOf.IsZero() || j.IsRunning():
		return nil, fmt.Errorf("job %s has only figures so far: TALP's form is of runs that ended", j.DisplayID)
	case e.Folded != nil:
		return nil, fmt.Errorf("the runs of job %s are kept as sums over many: TALP's form is of one", j.DisplayID)
	case m.Coverage < 1:
		return nil, fmt.Errorf("job %s lacks ranks (coverage %v), and TALP's form cannot say so", j.DisplayID, m.Coverage)
	}
	withMPI := job.WithMPI(j.Executions)
	whole := talpRegionOf(m, m.Ranks, withMPI)
	whole.Nodes, whole.Inside, whole.Between, whole.Measurements = &m.Nodes, &m.LoadBalanceIn, &m.LoadBalanceOut, uint64(m.Ranks)
	if c := job.UsefulCounters([]job.Execution{*e}); c != nil {
		whole.Cycles, whole.Instructions = c.Cycles, c.Instructions
	}
	calls := uint64(0)
	for _, c := range e.Calls {
		calls = job.AddCount(calls, c.Count)
	}
	whole.MPICalls = &calls
	f := &TALP{Version: "3.6 (jobeff " + etc.Version + ")", Resources: talpResources{CPUs: whole.CPUs, Nodes: m.Nodes, Ranks: whole.Ranks},
		Regions: map[string]talpRegion{talpGlobal: whole}, Of: talpOf{j.Cluster, j.DisplayID, j.State, e.Executable}}
	end := cmp.Or(e.End, j.End)
	f.Time = end.Local().Format("2006-01-02T15:04:05")
	for i, s := range job.JobSections([]job.Execution{*e}) {
		if i == 0 || s.Metrics == nil { // the first is the whole run
			continue
		}
		if s.Label == talpGlobal {
			s.Label += " (section)"
		}
		s.Metrics.Elapsed, s.Metrics.Useful, s.Metrics.MPITime, s.Metrics.IOTime = s.Elapsed, s.Useful, s.MPITime, s.IOTime
		r := talpRegionOf(s.Metrics, s.Ranks, withMPI)
		r.Measurements = s.Count
		f.Regions[s.Label] = r
	}
	return f, nil
}

// talpRegionOf makes a region of so many ranks. If no rank has several threads, OpenMP's efficiencies are 1, as
// in TALP.
func talpRegionOf(m *job.Metrics, ranks int, withMPI bool) talpRegion {
	ns := func(s float64) int64 { return int64(figure.Duration(s)) }
	r := talpRegion{CPUs: ranks, Ranks: ranks, Elapsed: ns(m.Elapsed), Useful: ns(m.Useful), MPI: ns(m.MPITime + m.IOTime), Parallel: m.Parallel,
		OfMPI: m.MPI.Parallel, Communication: m.MPI.Communication, LoadBalance: m.MPI.LoadBalance, OfOpenMP: 1, OpenMPBalance: 1, Scheduled: 1, Parallelised: 1}
	if h := m.Hybrid; h != nil {
		o := h.OpenMP()
		r.CPUs, r.Useful, r.MPI = h.Threads, ns(h.Useful), ns(h.MPITime+h.IOTime)
		r.Imbalance, r.Scheduling, r.Serialisation = ns(h.Imbalance), ns(h.Scheduling), ns(h.Serial)
		r.OfOpenMP, r.OpenMPBalance, r.Scheduled, r.Parallelised = o.Parallel, o.LoadBalance, o.Scheduling, o.Serialisation
	}
	if !withMPI {
		r.Ranks = 0
	}
	r.AverageCPUs = float64(r.CPUs)
	return r
}
