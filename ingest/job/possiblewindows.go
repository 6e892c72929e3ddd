package job

// mostInWindows bounds each list of Windows.
const mostInWindows = 64

// possible tells whether the figures of a world of size can be.
func (w *Windows) possible(size int) bool {
	ok := isShare(w.Share) && min(w.Logged, w.Matched, w.Talking, w.Dropped) >= 0 && w.Talking <= w.Matched && w.Matched+w.Dropped == w.Logged &&
		len(w.Drops) <= mostInWindows && min(w.Elapsed, w.Ideal) >= 0 && isShare(w.LoadBalance) && isShare(w.Communication) && w.Serialisation.possible() && w.Transfer.possible()
	if w.WhatIf != nil {
		ok = ok && isShare(w.WhatIf.FasterNetwork) && isShare(w.WhatIf.FreeNetwork) && isShare(w.WhatIf.Balanced)
	}
	return ok && (w.Path == nil || w.Path.possible(size))
}

func (e Estimate) possible() bool {
	return isShare(e.Value) && isShare(e.Low) && isShare(e.High) && e.Low <= e.Value+Tolerance && e.Value <= e.High+Tolerance
}

func (p *WaitPath) possible(size int) bool {
	if max(len(p.Ranks), len(p.Calls), len(p.Chain)) > mostInWindows || !isShare(p.ChainShare) || !isShare(p.Inside) ||
		p.ChainLength < len(p.Chain) || p.ChainLength > size || len(p.Chain) == 1 {
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
