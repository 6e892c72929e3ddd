package job

import "time"

// Windows is what the sampled windows of an execution tell of why its ranks wait: for each
// other's work, or for the network (METRICS 1).
type Windows struct {
	// Why says why nothing is determined, as the end of "not determined: …"; "": it is.
	Why     string       `json:"why,omitempty"`
	Logged  int          `json:"logged"`  // windows that were sampled
	Matched int          `json:"matched"` // … and replayed
	Dropped int          `json:"dropped"` // … and not
	Share   float64      `json:"share"`   // of the sampled windows' time, how much is in replayed ones
	Drops   []WindowDrop `json:"drops,omitempty"`

	// The rest is zero if nothing is determined.
	Serialisation Estimate      `json:"serialisation,omitzero"` // SerE
	Transfer      Estimate      `json:"transfer,omitzero"`      // TE
	Elapsed       time.Duration `json:"elapsed_ns,omitzero"`    // E of the replayed windows
	Ideal         time.Duration `json:"ideal_ns,omitzero"`      // I, on the ideal network
	WhatIf        *WhatIf       `json:"what_if,omitempty"`      // nil: the replay does not show the run as it was
	Path          *WaitPath     `json:"path,omitempty"`
}

// WindowDrop is how many windows were dropped for one reason, as the end of "dropped: …".
type WindowDrop struct {
	Reason string        `json:"reason"`
	Count  int           `json:"count"`
	Time   time.Duration `json:"time_ns"` // mean over the ranks, summed up
}

// Estimate is a fraction with its interval, 95 %.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// WhatIf is how long the windows would take, as a share of what they took. A program may not gain
// all of it: these are bounds of the gain.
type WhatIf struct {
	FasterNetwork float64 `json:"faster_network"` // twice as fast
	FreeNetwork   float64 `json:"free_network"`   // that takes no time
	Balanced      float64 `json:"balanced"`       // each rank works as long as the mean of the ranks
}

// WaitPath is the critical path of the windows on the ideal network.
type WaitPath struct {
	Ranks []PathShare `json:"ranks,omitempty"` // on which most of it runs
	Calls []PathShare `json:"calls,omitempty"` // in which its ranks wait for each other
	// Chain are the ranks through which most of the time was lost, in their order. ChainShare is
	// its part of what waits for each other cost.
	Chain      []int   `json:"chain,omitempty"`
	ChainShare float64 `json:"chain_share,omitempty"`
}

// PathShare is a rank's or a call's share of a path.
type PathShare struct {
	Rank  int     `json:"rank"`
	Call  string  `json:"call,omitempty"` // "": Rank counts
	Share float64 `json:"share"`
}

// Determined tells whether the efficiencies are known.
func (w *Windows) Determined() bool { return w != nil && w.Why == "" }

// mostInWindows bounds each list of Windows.
const mostInWindows = 64

// checkWindows leaves out windows whose figures cannot be.
func (x *Execution) checkWindows() {
	if x.Windows != nil && !x.Windows.possible(x.Size) {
		x.Windows = nil
	}
}

func (w *Windows) possible(size int) bool {
	ok := isShare(w.Share) && min(w.Logged, w.Matched, w.Dropped) >= 0 && w.Matched+w.Dropped == w.Logged &&
		len(w.Drops) <= mostInWindows && min(w.Elapsed, w.Ideal) >= 0 && w.Serialisation.possible() && w.Transfer.possible()
	if w.WhatIf != nil {
		ok = ok && isShare(w.WhatIf.FasterNetwork) && isShare(w.WhatIf.FreeNetwork) && isShare(w.WhatIf.Balanced)
	}
	return ok && (w.Path == nil || w.Path.possible(size))
}

func (e Estimate) possible() bool {
	return isShare(e.Value) && isShare(e.Low) && isShare(e.High) && e.Low <= e.Value+Tolerance && e.Value <= e.High+Tolerance
}

func (p *WaitPath) possible(size int) bool {
	if max(len(p.Ranks), len(p.Calls), len(p.Chain)) > mostInWindows || !isShare(p.ChainShare) {
		return false
	}
	for _, rank := range p.Chain {
		if rank < 0 || rank >= size {
			return false
		}
	}
	for _, list := range [][]PathShare{p.Ranks, p.Calls} {
		for _, s := range list {
			if !isShare(s.Share) || s.Rank < 0 || s.Rank >= size {
				return false
			}
		}
	}
	return true
}

func isShare(f float64) bool { return f >= 0 && f <= 1+Tolerance }
