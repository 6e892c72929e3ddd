package curve

import (
	"math"
	"testing"
)

// TestMeasuredShare holds METRICS 4's rules for tau/t: 0.2 on 4 cores, where t is 100, and 0.5 on 16, where t is 50.
func TestMeasuredShare(t *testing.T) {
	at := func(n, seconds, share float64) Group {
		return Group{N: n, X: math.Log(n), Y: math.Log(seconds), r: share, Runs: 1}
	}
	odds := func(v float64) float64 { return v / (1 + v) } // a share from its odds
	c := &curve{settings: Settings{Level: 0.8}.WithDefaults(), shares: []Group{at(4, 100, 0.2), at(16, 50, 0.5)}, groups: make([]Group, 4)}
	step := math.Ln2 // of ln n
	tau := -0.35 + 0.3*(math.Log(25./20)/(2*step)+0.35)
	useful := -1 + 0.3*(math.Log(25./80)/(2*step)+1)
	beyond := func(far float64) float64 { return (odds(math.Exp(far*(tau-useful))) + 0.5 + 0.13*far) / 2 }
	for _, v := range []struct{ n, share, err float64 }{
		{8, 1. / 3, 0.033 + 0.115*2*step}, {4 * math.Pow(4, 0.25), odds(math.Pow(0.25, 0.75)), 0.033 + 0.115*2*step*0.75}, {4, 0.2, 0.033}, {16, 0.5, 0.033},
		{2, (0.2 - 0.13*step + odds(0.25*math.Pow(2, -0.75))) / 2, 0.033 + 0.35*step},
		{32, beyond(step), 0.033 + 0.35*step}, {24, beyond(math.Log(1.5)), 0.033 + 0.35*math.Log(1.5)},
	} {
		share, err := c.measuredShare(v.n)
		wantClose(t, "share", share, v.share, 1e-9)
		wantClose(t, "error", err, v.err, 1e-9)
		value, low, high := c.share(v.n)
		for _, end := range [][2]float64{{low, -1}, {high, 1}} {
			wantClose(t, "end", end[0], odds(value/(1-value)*math.Exp(end[1]*usualTail*v.err)), 1e-9)
		}
	}
	// The model's own share counts for half of it from twice the cores on, and what it is off by fades till then.
	c.ending = &Amdahl{B: 6, C: 9, Serial: 0.01, T1: 1}
	wantClose(t, "with a model", c.shareBeyond(math.Log(32)), (beyond(step)+c.ending.Share(32))/2, 1e-9)
	wantClose(t, "half way", c.shareBeyond(math.Log(16)+step/2), (beyond(step/2)+c.ending.Share(16*math.Sqrt2)+(0.5-c.ending.Share(16))/2)/2, 1e-9)
	c.ending = nil
	// The last slopes that were measured count no more than an all-to-all's, and useful time does not rise.
	c.shares = []Group{at(8, 10, 0.1), at(16, 90, 0.5)}
	wantClose(t, "steep", c.shareBeyond(math.Log(32)), (odds(math.Exp(step*((-0.35+0.3*1.35)-(-1+0.3))))+0.5+0.13*step)/2, 1e-9)
	c.shares = []Group{at(16, 50, 0.5)}
	wantClose(t, "alone", c.shareBeyond(math.Log(32)), (odds(math.Exp(step*0.65))+0.5+0.13*step)/2, 1e-9)
	for share, atNothing := range map[float64]bool{0.001: true, 0.004: false} { // what is less is rounding
		c.shares = []Group{at(4, 100, share), at(16, 50, share)}
		if _, low, _ := c.share(16); (low == 0) != atNothing {
			t.Errorf("%v of the time: from %v", share, low)
		}
	}
	// Without a measured overhead only the likely models know it, and 0.25 in the logit beyond them.
	m := Amdahl{Serial: 0.01, B: 6, C: 9, T1: 1}
	c.shares, c.model, c.likely = nil, m, []Amdahl{m, m}
	value, low, high := c.share(16) // 0.6 15/25
	wantClose(t, "share", value, 0.36, 1e-9)
	wantClose(t, "low", low, odds(0.36/0.64*math.Exp(-0.25*usualTail)), 1e-9)
	wantClose(t, "high", high, odds(0.36/0.64*math.Exp(0.25*usualTail)), 1e-9)
}

// TestEfficientIntervals: the ends of n_eff are where the measured share, moved by its error, comes to the line;
// where it does not, they are the smallest n and twice the largest.
func TestEfficientIntervals(t *testing.T) {
	of := func(shares ...float64) *curve {
		c := &curve{settings: Settings{Level: 0.8}.WithDefaults(), result: &Result{Smallest: 1, Largest: 1 << (len(shares) - 1)}}
		for i, share := range shares {
			n := float64(int(1) << i)
			c.groups = append(c.groups, Group{N: n, X: math.Log(n), Y: -float64(i) / 2, r: share, Runs: 1})
		}
		c.shares = c.groups
		return c
	}
	c := of(0.02, 0.05, 0.1, 0.4, 0.7)
	e := c.efficient().Estimate
	for n, sign := range map[float64]float64{e.Low: 1, e.Value: 0, e.High: -1} {
		share, err := c.measuredShare(n)
		wantClose(t, "moved share", logit(share)+sign*usualTail*err, math.Log(0.25), 1e-6)
	}
	if e.Low >= e.Value || e.High <= e.Value {
		t.Errorf("%+v", e)
	}
	if e := of(0.195, 0.198, 0.1995, 0.205).efficient().Estimate; e.Low != 1 || e.High != 16 || e.Value <= 4 || e.Value >= 8 {
		t.Errorf("near the line everywhere: %+v", e)
	}
	if got := of(0.05, 0.08, 0.12, 0.15).efficient(); got.Note != NoteBeyond || math.Abs(got.Estimate.Value-8*math.Exp(0.5)) > 1e-9 || got.Estimate.Low != 8 || got.Estimate.High != 16 {
		t.Errorf("beyond the data: %+v", got)
	}
}

// TestEfficientByModel: without a measured overhead n_eff is the likely models', with 0.25 in the logit of the
// share beyond them. It is stated where they agree within a factor of 3, and as far as the data reach.
func TestEfficientByModel(t *testing.T) {
	m := Amdahl{Serial: 0.01, B: 80.8, C: 100, T1: 1} // beta 0.8: 0.2 of the time are lost on 34.7 cores
	for _, c := range []struct {
		level             float64
		smallest, largest int
		exact             bool
		note              string
		low, high         float64
	}{
		{0.8, 1, 64, false, "", 21.5, 57.2}, {0.8, 1, 64, true, "", 34.667, 34.667}, {0.8, 1, 20, false, NoteNotReached, 0, 0}, {0.8, 1, 25, false, "", 21.5, 50},
		{0.95, 1, 15, false, NoteNotDetermined, 0, 0}, {0.8, 60, 240, false, NoteBelowSmallest, 0, 0}, {0.8, 40, 160, false, NoteNotDetermined, 0, 0},
		{0.95, 1, 64, false, NoteNotDetermined, 0, 0}, {0.8, 34, 64, false, "", 21.5, 57.2},
	} {
		k := &curve{settings: Settings{Level: c.level}.WithDefaults(), model: m, likely: []Amdahl{m, m}, exact: c.exact, groups: make([]Group, 4), result: &Result{Smallest: c.smallest, Largest: c.largest}}
		got := k.efficient()
		if got.Note != c.note || (got.Estimate == nil) != (c.note != "") {
			t.Errorf("%+v: %+v", c, got)
		} else if e := got.Estimate; e != nil {
			wantClose(t, "n_eff", e.Value, 20.8/0.6, 1e-9)
			wantClose(t, "low", e.Low, c.low, 2e-3)
			wantClose(t, "high", e.High, c.high, 2e-3)
		}
	}
}

// TestPrediction: errors of a time and of a share are independent; the upper end of a time is farther off where
// more than 0.4 of the last run was overhead, up to twice the cores.
func TestPrediction(t *testing.T) {
	tau := overhead(&Estimate{100, 80, 150}, 0.2, 0.1, 0.3)
	wantClose(t, "tau", tau.Value, 20, 1e-12)
	wantClose(t, "low", tau.Low, 20*math.Exp(-math.Hypot(math.Ln2, math.Log(1.25))), 1e-12)
	wantClose(t, "high", tau.High, 20*math.Exp(math.Hypot(math.Log(1.5), math.Log(1.5))), 1e-12)
	if got := overhead(&Estimate{100, 80, 150}, 0, 0, 0.1); *got != (Estimate{0, 0, 15}) {
		t.Errorf("no overhead: %+v", got)
	}
	m := known[0]
	k := &curve{settings: Settings{Level: 0.8}.WithDefaults(), exact: true, groups: make([]Group, 4), timeFit: fitted{shape: shapeOf(m), level: math.Log(m.T1)}}
	for _, c := range []struct{ last, n, rises float64 }{{0.6, 32, 1.6}, {0.6, 16 * math.Sqrt2, 1.3}, {0.6, 64, 1.6}, {0.6, 8, 1}, {0.4, 32, 1}, {0.3, 32, 1}, {math.NaN(), 32, 1}} {
		if k.shares = nil; c.last > 0 {
			k.shares = []Group{{N: 16, X: math.Log(16), r: c.last}}
		}
		e, half := k.logTime(c.n), 0.79*usualTail*0.05
		wantClose(t, "ln t", e.Value, math.Log(m.Time(c.n)), 1e-9)
		wantClose(t, "down", e.Value-e.Low, half, 1e-9)
		wantClose(t, "up", e.High-e.Value, half*c.rises, 1e-9)
	}
	four := Fit(noisyTimes(m, 1, 2, 4, 8), Settings{Level: 0.8}).curve
	slope, _ := four.slopes.at(16)
	wantClose(t, "half the model, half the slope", four.logTime(16).Value, (math.Log(four.timeFit.model(four.timeFit.level).Time(16))+slope)/2, 1e-9)
	r := Fit(made(m, true, 1, 2, 4, 8), Settings{Level: 0.8, Predict: []int{16}})
	value, low, high := r.curve.share(16)
	if pe := *r.Predicted[0].PE; pe != (Estimate{1 - value, 1 - high, 1 - low}) {
		t.Errorf("PE %+v, shares %v, %v to %v", pe, value, low, high)
	}
}
