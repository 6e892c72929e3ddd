package job

import "time"

// Hybrid is what the threads of ranks did (METRICS 2), of an execution or of a whole job.
type Hybrid struct {
	Threads int `json:"threads"` // of all ranks; of several executions the most that one had
	// The rest are s, sums over threads. Span is threads x E: the time that the others are of.
	Span       float64 `json:"span"`
	Useful     float64 `json:"useful"`
	MPITime    float64 `json:"mpi_time"`
	IOTime     float64 `json:"io_time"`
	Imbalance  float64 `json:"imbalance"`
	Scheduling float64 `json:"scheduling"`
	Serial     float64 `json:"serial"`
}

// OpenMPEfficiencies are DLB's, see METRICS 2. Parallel is the product of the others.
type OpenMPEfficiencies struct{ Parallel, LoadBalance, Scheduling, Serialisation float64 }

// OpenMP is how well threads were used outside of MPI.
func (h *Hybrid) OpenMP() OpenMPEfficiencies {
	computed := h.Useful + h.MPITime
	serial, balanced := computed+h.Serial, computed+h.Serial+h.Imbalance
	return OpenMPEfficiencies{
		Parallel:    fraction(computed, balanced+h.Scheduling),
		LoadBalance: fraction(serial, balanced), Scheduling: fraction(balanced, balanced+h.Scheduling),
		Serialisation: fraction(computed, serial),
	}
}

// OpenMPTime is what OpenMP lost, s.
func (h *Hybrid) OpenMPTime() float64 { return h.Imbalance + h.Scheduling + h.Serial }

// Additive is POP's additive model: parallel efficiency = process + thread - 1, and thread =
// region + serial - 1.
type Additive struct{ Process, ProcessLoadBalance, ProcessCommunication, Thread, Region, Serial float64 }

// fraction is a/b; if both are zero, all shares are equal, so it is 1.
func fraction(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// OpenMP is what one rank's threads did in its parallel regions (METRICS 2). Times are sums over
// the threads unless they say else.
//
// Team = Useful + MPI + IO + Imbalance + Scheduling + Locked.
type OpenMP struct {
	Threads int    `json:"threads"`           // of its largest region; all that it had at once, if others began some or some were nested
	Why     string `json:"why,omitempty"`     // why times are missing; "": they are whole
	Regions uint64 `json:"regions,omitempty"` // parallel regions
	Nested  uint64 `json:"nested,omitempty"`  // … inside another one
	Others  uint64 `json:"others,omitempty"`  // … begun by other threads than the main one
	Tasks   uint64 `json:"tasks,omitempty"`   // that were run

	InRegions  time.Duration `json:"in_regions_ns,omitempty"` // elapsed, in regions of the main thread
	Team       time.Duration `json:"team_ns,omitempty"`       // the time of each region, times its threads
	Useful     time.Duration `json:"useful_ns,omitempty"`
	UsefulMain time.Duration `json:"useful_main_ns,omitempty"` // of the main thread alone
	UsefulMost time.Duration `json:"useful_most_ns,omitempty"` // of the busiest other thread alone
	MPI        time.Duration `json:"mpi_ns,omitempty"`
	MPIMain    time.Duration `json:"mpi_main_ns,omitempty"` // of the main thread alone
	IO         time.Duration `json:"io_ns,omitempty"`
	IOMain     time.Duration `json:"io_main_ns,omitempty"`    // of the main thread alone
	Imbalance  time.Duration `json:"imbalance_ns,omitempty"`  // waiting in barriers, for tasks and at the end of regions
	Scheduling time.Duration `json:"scheduling_ns,omitempty"` // begins of regions, loops' dispatch, making tasks
	Locked     time.Duration `json:"locked_ns,omitempty"`     // waiting to enter critical, ordered and atomic
}
