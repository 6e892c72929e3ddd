package view

import "jobeff/ingest/job"

// Waiting tells why ranks wait (METRICS 1): the parts of communication efficiency, of sampled
// windows of the run. Null: not determined.
type Waiting struct {
	SerialisationEfficiency     *float64 `json:"serialisation_efficiency"`
	SerialisationEfficiencyLow  *float64 `json:"serialisation_efficiency_low"` // 95 %
	SerialisationEfficiencyHigh *float64 `json:"serialisation_efficiency_high"`
	TransferEfficiency          *float64 `json:"transfer_efficiency"`
	TransferEfficiencyLow       *float64 `json:"transfer_efficiency_low"`
	TransferEfficiencyHigh      *float64 `json:"transfer_efficiency_high"`
	Windows                     *Windows `json:"windows"` // null: none were sampled
}

// Windows are the windows behind Waiting.
type Windows struct {
	Logged        int          `json:"logged"`
	Matched       int          `json:"matched"`
	WithMessages  int          `json:"with_messages"` // of the matched ones: those with messages between two ranks
	Dropped       int          `json:"dropped"`
	Share         float64      `json:"share"`                    // of the logged windows' time, how much is in matched ones
	LoadBalance   *float64     `json:"load_balance"`             // of the matched ones; null: there are none
	CommE         *float64     `json:"communication_efficiency"` // likewise
	NotDetermined string       `json:"not_determined,omitempty"` // why
	Drops         []WindowDrop `json:"drops"`
	WhatIf        *WhatIf      `json:"what_if"` // null: not determined
	Path          *WaitPath    `json:"path"`    // likewise
}

// WindowDrop is how many windows were dropped for a reason.
type WindowDrop struct {
	Reason string  `json:"reason"`
	Count  int     `json:"count"`
	Time   float64 `json:"time"` // s, mean over the ranks
}

// WhatIf is how long the windows would take, as a share of what they took.
type WhatIf struct {
	FasterNetwork float64 `json:"faster_network"` // twice as fast
	FreeNetwork   float64 `json:"free_network"`   // that takes no time
	Balanced      float64 `json:"balanced"`       // each rank with the mean useful time
}

// WaitPath is the critical path of the windows on a network that takes no time.
type WaitPath struct {
	Ranks        []PathShare `json:"ranks"`
	Calls        []PathShare `json:"calls"` // in which its ranks wait for each other, by time
	Inside       float64     `json:"inside"`
	Chain        []int       `json:"chain"` // its first ranks
	ChainLength  int         `json:"chain_length"`
	ChainReturns bool        `json:"chain_returns"` // the ranks wait for each other by turns
	ChainShare   float64     `json:"chain_share"`
	Links        []WaitLink  `json:"links"` // the waits that make others late, by where in the code they stand, most time first
}

// WaitLink is a call that waits, and the call of another rank for which it does.
type WaitLink struct {
	Waits     CallAt  `json:"waits"`
	For       CallAt  `json:"for"`
	Share     float64 `json:"share"`     // of the time that ranks of the path wait
	ShareLow  float64 `json:"share_low"` // 95 %
	ShareHigh float64 `json:"share_high"`
}

// CallAt is a call and where in the code it stands.
type CallAt struct {
	Function string `json:"function"` // C name
	Code
}

// PathShare is a rank's or a call's share of the path.
type PathShare struct {
	Rank  *int    `json:"rank,omitempty"`
	Call  string  `json:"call,omitempty"`
	Share float64 `json:"share"`
}

func waiting(executions []job.Execution) Waiting {
	w := job.JobWindows(executions)
	if w == nil {
		return Waiting{}
	}
	out := Waiting{Windows: &Windows{Logged: w.Logged, Matched: w.Matched, WithMessages: w.Talking, Dropped: w.Dropped, Share: w.Share, NotDetermined: w.Why,
		Drops: []WindowDrop{}, Path: waitPath(w.Path)}}
	for _, d := range w.Drops {
		out.Windows.Drops = append(out.Windows.Drops, WindowDrop{d.Reason, d.Count, d.Time.Seconds()})
	}
	if w.Matched > 0 {
		out.Windows.LoadBalance, out.Windows.CommE = &w.LoadBalance, &w.Communication
	}
	if w.WhatIf != nil {
		what := WhatIf(*w.WhatIf)
		out.Windows.WhatIf = &what
	}
	if w.Determined() {
		s, t := w.Serialisation, w.Transfer
		out.SerialisationEfficiency, out.SerialisationEfficiencyLow, out.SerialisationEfficiencyHigh = &s.Value, &s.Low, &s.High
		out.TransferEfficiency, out.TransferEfficiencyLow, out.TransferEfficiencyHigh = &t.Value, &t.Low, &t.High
	}
	return out
}

func waitPath(p *job.WaitPath) *WaitPath {
	if p == nil {
		return nil
	}
	out := &WaitPath{Ranks: []PathShare{}, Calls: []PathShare{}, Inside: p.Inside, Chain: append([]int{}, p.Chain...),
		ChainLength: p.ChainLength, ChainReturns: p.ChainReturns, ChainShare: p.ChainShare, Links: waitLinks(p)}
	for _, s := range p.Ranks {
		out.Ranks = append(out.Ranks, PathShare{Rank: &s.Rank, Share: s.Share})
	}
	for _, s := range p.Calls {
		out.Calls = append(out.Calls, PathShare{Call: s.Call, Share: s.Share})
	}
	return out
}

func waitLinks(p *job.WaitPath) []WaitLink {
	out := []WaitLink{}
	for i := range p.Links {
		l := &p.Links[i]
		out = append(out, WaitLink{callAt(p, &l.Waits), callAt(p, &l.For), l.Share.Value, l.Share.Low, l.Share.High})
	}
	return out
}

func callAt(p *job.WaitPath, c *job.CallAt) CallAt {
	out := CallAt{Function: c.Function}
	for _, f := range c.Frames {
		out.Code = codeAt(p.Modules, f)
	}
	return out
}
