package block

import (
	"math"

	"jobeff/report/figure"
)

// axis maps values to places on the picture.
type axis struct {
	low, high float64 // values
	from, to  float64 // places
	log       bool
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// clip is at for v, or for the end of the axis that v lies beyond.
func (a axis) clip(v float64) float64 { return a.at(math.Min(math.Max(v, a.low), a.high)) }

// tick is a value of an axis with its label.
type tick struct {
	v    float64
	text string
}

// coreTicks returns powers of two from 1 on: every one, or every few.
func coreTicks(low, high float64, most int) []tick {
	return powers(math.Max(1, low), high, most, figure.Cores)
}

// powers returns powers of two: every one, or every few.
func powers(low, high float64, most int, write func(float64) string) (ticks []tick) {
	first, last := math.Ceil(math.Log2(low)-1e-9), math.Floor(math.Log2(high)+1e-9)
	step := math.Max(1, math.Ceil((last-first+1)/float64(most)))
	for e := first; e <= last; e += step {
		ticks = append(ticks, tick{math.Exp2(e), write(math.Exp2(e))})
	}
	return ticks
}

// timeTicks returns round times; the ends, where none lies between them.
func timeTicks(low, high float64, most int) (ticks []tick) {
	for _, v := range roundTimes {
		if v >= low*0.999 && v <= high*1.001 {
			ticks = append(ticks, tick{v, figure.Tick(v)})
		}
	}
	for len(ticks) > most {
		kept := ticks[:0]
		for i := 0; i < len(ticks); i += 2 {
			kept = append(kept, ticks[i])
		}
		ticks = kept
	}
	if len(ticks) == 0 { // all times are nearly alike
		return []tick{{low, figure.Seconds(low)}, {high, figure.Seconds(high)}}
	}
	return ticks
}

// roundTimes are the times that people think in, s.
var roundTimes = func() (all []float64) {
	for e := -6.0; e < 1; e++ {
		for _, m := range []float64{1, 2, 5} {
			all = append(all, m*math.Pow(10, e))
		}
	}
	all = append(all, 10, 20, 30)
	for _, m := range []float64{1, 2, 5, 10, 20, 30} {
		all = append(all, 60*m)
	}
	for _, h := range []float64{1, 2, 6, 12, 24, 48, 7 * 24, 14 * 24, 30 * 24, 60 * 24, 365 * 24} {
		all = append(all, 3600*h)
	}
	return all
}()
