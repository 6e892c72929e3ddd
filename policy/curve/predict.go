package curve

import "math"

const (
	// timeScale and timeFloor make the interval of a next run's ln t out of the local
	// slope's standard error: METRICS 4, with tail() between its two levels.
	timeScale = 0.79
	timeFloor = 0.05
	// wider is how much wider the intervals of erratic data are, and rougher those of
	// 2 or 3 core counts.
	wider   = 1.15
	rougher = 1.5
)

// predict says what a run on n cores would take.
func (c *curve) predict(n int) Prediction {
	p := Prediction{N: n, SpeedupOf: c.result.Smallest, Note: c.tooFar(n)}
	if p.Note != "" {
		return p
	}
	x := float64(n)
	y, half := c.logTime(x)
	p.T = &Estimate{math.Exp(y), math.Exp(y - half), math.Exp(y + half)}
	p.Speedup = c.speedup(x, y, half)
	p.CoreHours = p.T.Times(x / 3600)
	share, low, high := c.share(x)
	p.PE = &Estimate{1 - share, 1 - high, 1 - low}
	p.Tau = overhead(p.T, share, low, high)
	return p
}

// tooFar is why nothing is said of n cores, or nothing.
func (c *curve) tooFar(n int) string {
	switch {
	case n > furthest*c.result.Largest:
		return NoteTooFar
	case furthest*n < c.result.Smallest:
		return NoteTooNear
	}
	return ""
}

// logTime is ln t_n of a next run and half the width of its interval.
func (c *curve) logTime(n float64) (y, half float64) {
	model := c.timeFit.level + logShape(c.timeFit.serial(), c.timeFit.beta(), c.timeFit.c(), n)
	var slope, err float64
	if c.slopes != nil {
		slope, err = c.slopes.at(n)
	}
	switch {
	case c.exact:
		y = model
	case len(c.groups) < fewestCounts: // as many parameters as data: the model would follow every error
		y = slope
	default:
		y = (model + slope) / 2
	}
	return y, c.widened(timeScale * tail(c.settings.Level) * math.Hypot(err, timeFloor))
}

// widened is half an interval's width on doubtful data.
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

// speedup compares with the run on the fewest cores, as the curve has it.
func (c *curve) speedup(n, y, half float64) *Estimate {
	first, _ := c.logTime(c.groups[0].N)
	if n == c.groups[0].N {
		return &Estimate{1, 1, 1}
	}
	v := first - y
	return &Estimate{math.Exp(v), math.Exp(v - half), math.Exp(v + half)}
}

// overhead is t times a share, whose errors are taken as independent: their logarithms
// add as squares.
func overhead(t *Estimate, share, low, high float64) *Estimate {
	value := t.Value * share
	if share <= 0 {
		return &Estimate{value, 0, t.High * high}
	}
	down := math.Hypot(math.Log(low/share), math.Log(t.Low/t.Value))
	up := math.Hypot(math.Log(high/share), math.Log(t.High/t.Value))
	return &Estimate{value, value * math.Exp(-down), value * math.Exp(up)}
}
