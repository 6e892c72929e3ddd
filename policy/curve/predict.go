package curve

import "math"

const (
	// timeScale and timeFloor make the interval of a next run's ln t out of the local
	// slope's standard error: METRICS 4, with tail() between its two levels.
	timeScale = 0.79
	timeFloor = 0.05
	// wider widens the intervals of erratic data, and rougher those of 2 or 3 core counts.
	wider   = 1.15
	rougher = 1.5
	// riseFrom is the overhead of the last run, as a share of its time, from which the next run may take longer
	// (METRICS 4). riseScale says how fast the upward doubt grows with it.
	riseFrom  = 0.4
	riseScale = 3.0
)

// predict predicts a run on n cores.
func (c *curve) predict(n int) Prediction {
	p := Prediction{N: n, SpeedupOf: c.result.Smallest, Note: c.tooFar(n)}
	if p.Note != "" {
		return p
	}
	x := float64(n)
	t := c.logTime(x)
	p.T = t.exp()
	p.Speedup = c.speedup(x, t)
	p.CoreHours = p.T.Times(x / 3600)
	if len(c.shares) == 0 && c.result.NoModel != "" {
		return p // neither measured nor modelled
	}
	share, low, high := c.share(x)
	p.PE = &Estimate{1 - share, 1 - high, 1 - low}
	p.Tau = overhead(p.T, share, low, high)
	return p
}

// tooFar returns why n cores get no prediction; "": they get one.
func (c *curve) tooFar(n int) string {
	switch {
	case n > furthest*c.result.Largest:
		return NoteTooFar
	case furthest*n < c.result.Smallest:
		return NoteTooNear
	}
	return ""
}

// logTime returns ln t_n of a next run with its interval. Its upper end is farther off if much of the last run
// was overhead: the time may rise there, and no model predicts where.
func (c *curve) logTime(n float64) Estimate {
	var y, slope, err float64
	if c.slopes != nil {
		slope, err = c.slopes.at(n)
	}
	model := c.timeFit.level + logShape(c.timeFit.serial(), c.timeFit.beta(), c.timeFit.c(), n)
	switch {
	case c.exact:
		y = model
	case len(c.groups) < fewestCounts, c.result.NoModel != "": // as many parameters as data, or no term for the data
		y = slope
	default:
		y = (model + slope) / 2
	}
	half := c.widened(timeScale * tail(c.settings.Level) * math.Hypot(err, timeFloor))
	return Estimate{y, y - half, y + half*c.mayRise(n)}
}

// mayRise returns how many times farther off the upper end of an interval is than the lower.
func (c *curve) mayRise(n float64) float64 {
	if len(c.shares) == 0 {
		return 1
	}
	last := c.shares[len(c.shares)-1]
	far := Clamp((math.Log(n)-last.X)/math.Ln2, 0, 1)
	return 1 + riseScale*math.Max(last.r-riseFrom, 0)*far
}

// exp turns an estimate of a logarithm into one of the figure.
func (e Estimate) exp() *Estimate {
	return &Estimate{math.Exp(e.Value), math.Exp(e.Low), math.Exp(e.High)}
}

// widened returns half an interval's width, widened for doubtful data.
func (c *curve) widened(half float64) float64 {
	if c.erratic {
		half *= wider
	}
	if len(c.groups) < fewestCounts {
		half *= rougher
	}
	return half
}

func (e *Estimate) Times(factor float64) *Estimate {
	return &Estimate{e.Value * factor, e.Low * factor, e.High * factor}
}

// speedup compares with the curve's time on the fewest cores.
func (c *curve) speedup(n float64, t Estimate) *Estimate {
	if n == c.groups[0].N {
		return &Estimate{1, 1, 1}
	}
	first := c.logTime(c.groups[0].N).Value
	return Estimate{first - t.Value, first - t.High, first - t.Low}.exp()
}

// overhead returns t times a share. Their errors are taken as independent: their logarithms add as squares.
func overhead(t *Estimate, share, low, high float64) *Estimate {
	value := t.Value * share
	if share <= 0 {
		return &Estimate{value, 0, t.High * high}
	}
	down := math.Hypot(math.Log(low/share), math.Log(t.Low/t.Value))
	up := math.Hypot(math.Log(high/share), math.Log(t.High/t.Value))
	return &Estimate{value, value * math.Exp(-down), value * math.Exp(up)}
}
