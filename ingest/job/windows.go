package job

import (
	"time"
)

// Windows is what the sampled windows of an execution show of why its ranks wait: for each other's
// work, or for the network (METRICS 1).
type Windows struct {
	// Why says why nothing is determined, as the end of "not determined: …"; "": it is.
	Why     string       `json:"why,omitempty"`
	Logged  int          `json:"logged"`  // windows that were sampled
	Matched int          `json:"matched"` // … and replayed
	Talking int          `json:"talking"` // … and replayed, with messages between two ranks
	Dropped int          `json:"dropped"` // … and not
	Share   float64      `json:"share"`   // of the sampled windows' time, how much is in replayed ones
	Drops   []WindowDrop `json:"drops,omitempty"`

	// As in METRICS 1, of the replayed windows, whether or not these stand for the run; 0: none was replayed.
	LoadBalance   float64 `json:"load_balance,omitzero"`
	Communication float64 `json:"communication,omitzero"`

	// The rest is zero if nothing is determined.
	Serialisation Estimate      `json:"serialisation,omitzero"` // SerE
	Transfer      Estimate      `json:"transfer,omitzero"`      // TE
	Elapsed       time.Duration `json:"elapsed_ns,omitzero"`    // E of the replayed windows
	Ideal         time.Duration `json:"ideal_ns,omitzero"`      // I, on the ideal network
	WhatIf        *WhatIf       `json:"what_if,omitempty"`      // nil: the replay does not show the run as it was
	Path          *WaitPath     `json:"path,omitempty"`
}

// WindowDrop is how many windows were dropped for one reason, in words.
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
	// Inside is how much of what ranks lose by waiting for each other's work is lost inside windows.
	// The rest is lost because the busiest rank changes from window to window.
	Inside float64 `json:"inside"`
	// Chain are the ranks through which most of the time inside windows was lost: the first
	// ones in their order. ChainLength is how many they are, and ChainShare their part of that time.
	Chain       []int `json:"chain,omitempty"`
	ChainLength int   `json:"chain_length,omitempty"`
	// The path comes back to ranks that it left, so they have no order: they wait for each other
	// by turns.
	ChainReturns bool    `json:"chain_returns,omitempty"`
	ChainShare   float64 `json:"chain_share,omitempty"`

	// Links are the waits that make others late, by where in the code they stand, most time first.
	Modules []Module   `json:"modules,omitempty"`
	Links   []WaitLink `json:"links,omitempty"`
	Looked  bool       `json:"-"` // as Places.Looked
}

// WaitLink is a call that waits and the call that it waits for, which another rank makes, summed over ranks.
type WaitLink struct {
	Waits CallAt   `json:"waits"`
	For   CallAt   `json:"for"`
	Share Estimate `json:"share"` // of the time that ranks of the path wait
}

// CallAt is a call and where in the code it stands.
type CallAt struct {
	Function string  `json:"function"`         // C name
	Frames   []Frame `json:"frames,omitempty"` // one, in WaitPath.Modules; none: it is not known
}

// CallText names a call: "MPI_Recv at solver.f90:212 in exchange_halo".
func (p *WaitPath) CallText(c *CallAt) string {
	if len(c.Frames) == 0 {
		return c.Function
	}
	return c.Function + " at " + c.Frames[0].text(p.Modules)
}

// Varies reports whether most of the waiting is for work that changes from window to window.
func (p *WaitPath) Varies() bool { return p.Inside < 0.5 }

// PathShare is a rank's or a call's share of a path.
type PathShare struct {
	Rank  int     `json:"rank"`
	Call  string  `json:"call,omitempty"` // "": Rank counts
	Share float64 `json:"share"`
}

// Determined reports whether the efficiencies are known.
func (w *Windows) Determined() bool { return w != nil && w.Why == "" }
