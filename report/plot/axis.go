package plot

import (
	"fmt"
	"math"
	"strconv"
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

// clip is at, held inside the axis.
func (a axis) clip(v float64) float64 { return a.at(math.Min(math.Max(v, a.low), a.high)) }

// tick is a value with a name.
type tick struct {
	v    float64
	text string
}

// coreTicks are powers of two, every one or every few.
func coreTicks(low, high float64, most int) (ticks []tick) {
	first, last := math.Ceil(math.Log2(low)-1e-9), math.Floor(math.Log2(high)+1e-9)
	step := math.Max(1, math.Ceil((last-first+1)/float64(most)))
	for e := first; e <= last; e += step {
		ticks = append(ticks, tick{math.Exp2(e), cores(math.Exp2(e))})
	}
	return ticks
}

// cores writes a core count short: 512, 4Ki is nobody's word for 4096.
func cores(n float64) string { return strconv.FormatFloat(math.Round(n), 'f', 0, 64) }

// timeTicks are round times.
func timeTicks(low, high float64, most int) (ticks []tick) {
	for _, v := range roundTimes {
		if v >= low*0.999 && v <= high*1.001 {
			ticks = append(ticks, tick{v, Seconds(v)})
		}
	}
	for len(ticks) > most {
		kept := ticks[:0]
		for i := 0; i < len(ticks); i += 2 {
			kept = append(kept, ticks[i])
		}
		ticks = kept
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

// Seconds writes a time short: 0.5 s, 20 s, 5 min, 2 h, 3 d.
func Seconds(s float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
		if s >= unit.seconds && (unit.seconds > 60 || s >= 60) && (unit.name != "d" || s >= 2*86400) {
			return fmt.Sprintf("%.3g %s", s/unit.seconds, unit.name)
		}
	}
	return fmt.Sprintf("%.3g s", s)
}
