package document

import (
	"time"

	"jobeff/ingest/job"
)

// Hidable is how much of the time in point-to-point calls computing could have hidden, at most.
// Times are sums over ranks.
type Hidable struct {
	P2PTime float64          `json:"p2p_time"` // s, in point-to-point calls
	Most    float64          `json:"hidable"`  // s
	Low     float64          `json:"hidable_low"`
	High    float64          `json:"hidable_high"`
	Curves  []HidableByCurve `json:"curves"`
}

// HidableByCurve names a curve of jobeff-overhead that the bound stands on.
type HidableByCurve struct {
	Partition string    `json:"partition"`
	MPI       string    `json:"mpi"`
	Direction string    `json:"direction"` // send, receive
	Nodes     int       `json:"nodes"`     // 1: inside a node; 2; 0: not known
	Measured  time.Time `json:"measured"`
}

func hidableOf(j *job.Job) *Hidable {
	h := job.HidableOf(j)
	if h == nil {
		return nil
	}
	d := &Hidable{P2PTime: h.P2P, Most: h.Most, Low: h.Low, High: h.High}
	for _, c := range h.Curves {
		d.Curves = append(d.Curves, HidableByCurve{Partition: c.Partition, MPI: c.MPI, Direction: c.Direction, Nodes: c.Nodes, Measured: c.Measured})
	}
	return d
}
