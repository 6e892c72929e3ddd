package curve

import "math"

const (
	// leastShare is the smallest tau/t that counts: less is rounding.
	leastShare = 0.003
	// overheadSlope and usefulSlope are the slopes of ln tau and ln(t - tau) over ln n beyond the data. ownSlope
	// is the weight of the last measured slope, and steepest bounds that slope: the overhead of an all-to-all
	// doubles with the cores.
	overheadSlope, usefulSlope = -0.35, -1.0
	ownSlope                   = 0.3
	steepest                   = 1.0
	// shareDrift and logitDrift say how tau/t falls with ln n under the smallest n: by 0.13
	// (METRICS 4), and in its logit by 0.75, which lies between the 1/3 of a surface to
	// a volume and the 1 of a cost that does not shrink.
	shareDrift = 0.13
	logitDrift = 0.75
	// shareNoise and shareScatter make the standard error of logit tau/t of a next run. The first always counts,
	// the second for each step of ln n beyond the data. BenchmarkBacktest prints how often the intervals made of
	// them and of bridge hold the next point.
	shareNoise   = 0.033
	shareScatter = 0.35
	// bridge is the scatter of logit tau/t half way between two core counts, for each
	// step of ln n that lies between them.
	bridge = 0.115
	// guessScatter is the scatter of logit tau/t about the likely models if the overhead was not measured.
	guessScatter = 0.25
	// effScale is the slope of tau/t over ln n with which it reaches the line beyond the data, METRICS 4.
	effScale = 0.10
)

func logitShare(r float64) float64 { return logit(Clamp(r, leastShare, 1-leastShare)) }

// share returns tau_n/t_n of a next run with its interval.
func (c *curve) share(n float64) (value, low, high float64) {
	if len(c.shares) == 0 {
		e := c.over(c.model.Share(n), func(m Amdahl) float64 { return m.Share(n) })
		half := c.widened(guessScatter * tail(c.settings.Level))
		return e.Value, math.Min(logistic(logitShare(e.Low)-half), e.Low), math.Max(logistic(logitShare(e.High)+half), e.High)
	}
	value, half := c.measuredShare(n)
	if c.exact {
		value = Clamp(c.model.Share(n), 0, 1)
	}
	half = c.widened(half * tail(c.settings.Level))
	l := logitShare(value)
	low, high = math.Min(logistic(l-half), value), math.Max(logistic(l+half), value)
	if value <= leastShare {
		low = 0
	}
	return value, low, high
}

// measuredShare returns tau_n/t_n as the measured ones suggest: interpolated between them, and continued beyond
// them by the constants above. err is that of its logit.
func (c *curve) measuredShare(n float64) (value, err float64) {
	x, s := math.Log(n), c.shares
	first, last := s[0], s[len(s)-1]
	switch {
	case x >= last.X:
		return c.shareBeyond(x), shareNoise + shareScatter*(x-last.X)
	case x <= first.X:
		far := x - first.X
		grown := Clamp(first.r+shareDrift*far, 0, 0.99)
		return (grown + logistic(logitShare(first.r)+logitDrift*far)) / 2, shareNoise - shareScatter*far
	}
	i := 1
	for s[i].X < x {
		i++
	}
	gap := s[i].X - s[i-1].X
	at := (x - s[i-1].X) / gap
	l := logitShare(s[i-1].r)*(1-at) + logitShare(s[i].r)*at
	return logistic(l), shareNoise + 4*bridge*gap*at*(1-at)
}

// shareBeyond returns tau/t beyond the largest n, the mean of two continuations. One is the model through the
// run times and the last overhead: it begins at the last measured value, and is the model's own from twice the
// cores on. The other continues overhead and useful time separately. It alone counts if the model has no term
// for the data.
func (c *curve) shareBeyond(x float64) float64 {
	s := c.shares
	last := s[len(s)-1]
	far := x - last.X
	tau, useful := overheadSlope, usefulSlope
	if len(s) > 1 {
		before := s[len(s)-2]
		gap := last.X - before.X
		own := (lnTau(last) - lnTau(before)) / gap
		tau += ownSlope * (Clamp(own, -steepest, steepest) - overheadSlope)
		own = (lnUseful(last) - lnUseful(before)) / gap
		useful += ownSlope * (Clamp(own, 2*usefulSlope, 0) - usefulSlope)
	}
	apart := logistic(logitShare(last.r) + far*(tau-useful))
	apart = (apart + Clamp(last.r+shareDrift*far, 0, 0.99)) / 2
	if c.ending == nil {
		return apart
	}
	off := (last.r - c.ending.Share(last.N)) * math.Max(1-far/math.Ln2, 0)
	return (apart + Clamp(c.ending.Share(math.Exp(x))+off, 0, 1)) / 2
}

// lnTau and lnUseful are ln tau_n and ln(t_n - tau_n) of a group, give or take a constant.
func lnTau(g Group) float64    { return g.Y + math.Log(Clamp(g.r, leastShare, 1-leastShare)) }
func lnUseful(g Group) float64 { return g.Y + math.Log1p(-Clamp(g.r, leastShare, 1-leastShare)) }

// efficient finds n_eff, the largest n whose parallel efficiency keeps the line.
func (c *curve) efficient() CoreCount {
	switch {
	case len(c.shares) == 0 && c.result.NoModel != "":
		return CoreCount{Note: NoteNotDetermined}
	case len(c.shares) == 0:
		return c.efficientByModel()
	}
	lost := 1 - c.settings.Line
	last := c.shares[len(c.shares)-1]
	at, note := c.crossing(lost, 0)
	switch note {
	case NoteBelowSmallest:
		return CoreCount{Note: note}
	case NoteNotReached:
		at = last.N * math.Exp((lost-last.r)/effScale)
		if c.exact {
			at = c.model.Efficient(c.settings.Line)
		}
		if at > furthest*float64(c.result.Largest) {
			return CoreCount{Note: note}
		}
		return CoreCount{&Estimate{at, last.N, furthest * float64(c.result.Largest)}, NoteBeyond}
	}
	if c.exact {
		at = c.model.Efficient(c.settings.Line)
	}
	half := c.widened(tail(c.settings.Level))
	low, noteLow := c.crossing(lost, half)
	high, noteHigh := c.crossing(lost, -half)
	if noteLow != "" {
		low = c.shares[0].N
	}
	if noteHigh != "" {
		high = furthest * float64(c.result.Largest)
	}
	return CoreCount{Estimate: &Estimate{at, math.Min(low, at), math.Max(high, at)}}
}

// efficientByModel is n_eff if no overhead was measured. Only the likely models know it then, and mostly they
// do not agree.
func (c *curve) efficientByModel() CoreCount {
	lost, half := logit(1-c.settings.Line), c.widened(guessScatter*tail(c.settings.Level))
	if c.exact {
		half = 0
	}
	at := func(shift float64) Estimate {
		of := func(m Amdahl) float64 { return m.Efficient(1 - logistic(lost+shift)) }
		return c.over(of(c.model), of)
	}
	e := Estimate{at(0).Value, at(-half).Low, at(half).High}
	limit := furthest * float64(c.result.Largest)
	switch {
	case e.Low > float64(c.result.Largest):
		return CoreCount{Note: NoteNotReached}
	case e.High < float64(c.result.Smallest):
		return CoreCount{Note: NoteBelowSmallest}
	case e.Value > limit || e.Value < float64(c.result.Smallest) || math.Min(e.High, limit) > 3*e.Low:
		return CoreCount{Note: NoteNotDetermined}
	}
	e.High = math.Max(math.Min(e.High, limit), e.Value)
	return CoreCount{Estimate: &e}
}

// crossing returns the largest n at which the measured tau/t, its logit moved by shift standard errors, reaches
// the share that may be lost. If there is none, the note says why: the smallest n exceeds the share, or the
// largest does not reach it.
func (c *curve) crossing(lost, shift float64) (float64, string) {
	const parts = 16
	target := logit(lost)
	moved := func(x float64) float64 {
		value, err := c.measuredShare(math.Exp(x))
		return logitShare(value) + shift*err
	}
	last := len(c.shares) - 1
	high := c.shares[last].X
	if moved(high) <= target {
		return 0, NoteNotReached
	}
	for i := last; i > 0; i-- {
		from, to := c.shares[i-1].X, c.shares[i].X
		for j := parts - 1; j >= 0; j-- {
			low := from + (to-from)*float64(j)/parts
			if moved(low) <= target {
				return math.Exp(bisect(moved, target, low, high)), ""
			}
			high = low
		}
	}
	return 0, NoteBelowSmallest
}

// bisect finds where f reaches target: f is at or below it at low, and above it at high.
func bisect(f func(float64) float64, target, low, high float64) float64 {
	for range 40 {
		middle := (low + high) / 2
		if f(middle) <= target {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
