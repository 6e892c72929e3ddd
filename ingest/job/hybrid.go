package job

// Hybrid are the metrics of ranks with threads (METRICS 2), of an execution or of a whole job.
type Hybrid struct {
	ParallelEfficiency      float64 `json:"parallel_efficiency"`
	LoadBalance             float64 `json:"load_balance"`
	CommunicationEfficiency float64 `json:"communication_efficiency"`
	Threads                 int     `json:"threads"` // of all ranks; of several executions the most that one had
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

// Complete fills in LoadBalance from the other two efficiencies.
func (h *Hybrid) Complete() {
	h.LoadBalance = fraction(h.ParallelEfficiency, h.CommunicationEfficiency)
}

// fraction is a/b; if both are zero, all shares are equal, so it is 1.
func fraction(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}
