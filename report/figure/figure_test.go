package figure

import (
	"math"
	"testing"
	"time"
)

// TestFigures holds every kind of number at its edges.
func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		write func(float64) string
		want  map[float64]string
	}{
		"Efficiency": {Efficiency, map[float64]string{0: "0.00", 0.004: "0.00", 0.685: "0.69", 0.794: "0.79", 0.795: "0.79", 0.7996: "0.79", 0.8: "0.80", 0.897: "0.90",
			0.994: "0.99", 0.997: "0.99", 1: "1.00", 1.006: "1.01", 0.29: "0.29", 0.58: "0.58"}},
		"Percent": {Percent, map[float64]string{0: "0 %", 1e-9: "under 1 %", 0.0049: "under 1 %", 0.006: "1 %", 0.385: "39 %", 0.7996: "79 %", 0.8: "80 %", 0.994: "99 %",
			0.997: "over 99 %", 1: "100 %", 1.5: "150 %"}},
		"Bound":  {Bound, map[float64]string{0: "0.0 %", 1e-6: "0.1 %", 0.01: "1.0 %", 0.0101: "1.1 %", 0.012: "1.2 %", 0.0992: "10 %", 0.099: "9.9 %", 0.1: "10 %", 0.123: "13 %", 1.5: "150 %"}},
		"Small":  {Small, map[float64]string{0: "0 %", 1e-9: "under 0.001 %", 1e-5: "0.001 %", 2.77e-4: "0.0277 %", 0.0123: "1.23 %", 0.5: "50.0 %"}},
		"Points": {Points, map[float64]string{0: "", 0.004: "", -0.004: "", 0.03: "+3", -0.12: "-12"}},
		"Limit":  {Limit, map[float64]string{0.8: "0.8", 0.125: "0.125", 1: "1", 0.805: "0.805"}},
		"Ratio":  {Ratio, map[float64]string{0: "0.00", -0.001: "0.00", 0.7996: "0.80", 0.997: "1.00", 1.003: "1.00", 2.345: "2.35"}},
		"Number": {Number, map[float64]string{0: "0", 1.04e-4: "0.000104", 0.0203: "0.0203", 0.5: "0.5", 0.9996: "1.00", 1.9: "1.90", 9.994: "9.99", 9.996: "10.0", 12.44: "12.4",
			25: "25.0", 99.94: "99.9", 99.96: "100", 999.6: "1,000", 6766.4: "6,766", -1234.6: "-1,235", -0.5: "-0.5", 1e-9: "1e-09", 1e300: "1e+300"}},
		"Hours": {Hours, map[float64]string{0: "0.00", 0.0049: "0.00", 0.006: "0.01", 0.168: "0.17", 0.9996: "1.00", 3.44: "3.44", 12.44: "12.4", 100.4: "100", 6766.4: "6,766",
			6766.5: "6,766", 6766.6: "6,767", -0.001: "0.00", -12.44: "-12.4"}},
		"Cores":   {Cores, map[float64]string{1: "1", 8.79: "8.7", 9: "9", 9.99: "9.9", 10.5: "10", 304.6: "305", 1024: "1,024", 1e16: "1e+16"}},
		"Seconds": {Seconds, map[float64]string{0: "0.000 s", 1e-9: "0.000 s", 0.0123: "0.012 s", 0.9996: "1.0 s", 12.34: "12.3 s", 99.96: "100 s", 1234.4: "1,234 s", 9999.6: "02:46:40", 90061: "1-01:01:01"}},
		"Tick":    {Tick, map[float64]string{0.5: "0.5 s", 20: "20 s", 300: "5 min", 7200: "2 h", 86400: "24 h", 3 * 86400: "3 d", 0.005: "0.005 s", 90: "1.5 min", 59: "59 s"}},
		"Change":  {Change, map[float64]string{0.09: "9 % longer", 0.006: "1 % longer", -0.006: "1 % less time", 0.797: "80 % longer", 1.3: "2.3 times as long", 32.29: "33 times as long", 0.996: "2.0 times as long", -0.31: "31 % less time", -0.997: "over 99 % less time", 0.004: "as long", -0.004: "as long"}},
	} {
		for v, want := range c.want {
			if got := c.write(v); got != want {
				t.Errorf("%s(%g) = %q, want %q", name, v, got, want)
			}
		}
	}
}

func TestWholeFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Compared(0.5996, 0.6), "0.59"}, {Compared(0.5996), "0.60"}, {Compared(0.069996, 0.07), "0.06"}, {Compared(0.8049, 0.805), "0.80"}, {Compared(0.9796, 0.98), "0.97"},
		{Part(1, 0), "-"}, {Part(1, 3), "33 %"}, {Part(0, 3), "0 %"},
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(uint64(1<<64 - 1)), "18,446,744,073,709,551,615"}, {Count(-1000), "-1,000"},
		{Counted(1, "rank"), "1 rank"}, {Counted(0, "rank"), "0 ranks"}, {Counted(1000, "rank"), "1,000 ranks"}, {Counted(-1, "rank"), "0 ranks"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1,023 B"}, {Bytes(1536), "1.5 KiB"}, {Bytes(1<<20 - 1), "1.0 MiB"}, {Bytes(1 << 20), "1.0 MiB"}, {Bytes(1000 << 10), "1,000 KiB"}, {Bytes(1<<64 - 1), "16.0 EiB"},
		{Under(Hours(0.9997), Hours(1)), "just under 1.00"}, {Under(Hours(0.5), Hours(1)), "0.50"},
		{Bare("1,234 KiB"), "1234 KiB"},
		{Interval(1, 12.34, Number), "1.00 to 12.3"}, {Estimate(0.7996, 0.7, 0.9, Efficiency), "0.79 (0.70 to 0.90)"},
		{Clock(107 * time.Second), "00:01:47"}, {Clock(25*time.Hour + 500*time.Millisecond), "1-01:00:01"}, {Clock(0), "00:00:00"},
		{Age(119 * time.Minute), "119 minutes"}, {Age(time.Minute), "1 minute"}, {Age(47 * time.Hour), "47 hours"}, {Age(50 * time.Hour), "2 days"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{-0.00931, 0.0099, "between -0.94 % and +0.99 %"},
		{-0.009, 0.0108, "between -0.9 % and +1.1 %"},
		{0.0012, 0.0034, "between +0.12 % and +0.34 %"},
		{-0.00341, -0.00121, "between -0.35 % and -0.12 %"},
		{-0.00001, 0, "between -0.01 % and 0.00 %"},
		{-0.05, 0.1, "between -5.0 % and +10.0 %"},
		{-0.05, 0.101, "between -5 % and +11 %"},
		{-0.5, 3, "between -50 % and +300 %"},
	} {
		if got := Between(c.low, c.high); got != c.want {
			t.Errorf("%v: %q, want %q", c, got, c.want)
		}
	}
}

// TestLongerBetween: the interval holds the figure, and is never narrower than it is.
func TestLongerBetween(t *testing.T) {
	for _, c := range []struct {
		change, low, high float64
		longer, between   string
	}{
		{0.051, 0.038, 0.0613, "5.1 % longer", "3.8 to 6.2 %"},
		{0.0449, 0.0449, 0.0449, "4.5 % longer", "4.4 to 4.5 %"},
		{0.02, 0.01, 0.1, "2.0 % longer", "1.0 to 10.0 %"},
		{0.02, 0.0199, 0.1001, "2 % longer", "1 to 11 %"},
		{0.096, 0.0951, 0.0999, "9.6 % longer", "9.5 to 10.0 %"},
		{0.9949, 0.5, 1.5, "99 % longer", "50 to 150 %"},
		{0.995, 0.99, 1.01, "2.0 times as long", "1.9 to 2.1 times"},
		{0.995, 0.99, 0.9951, "2.0 times as long", "1.9 to 2.0 times"},
		{32.29, 20.41, 40, "33.3 times as long", "21.4 to 41.0 times"},
	} {
		if longer, between := LongerBetween(c.change, c.low, c.high); longer != c.longer || between != c.between {
			t.Errorf("%v: %q, %q", c, longer, between)
		}
	}
}

func TestChangeInterval(t *testing.T) {
	for _, c := range []struct {
		change, low, high float64
		want              string
	}{
		{0.09, 0.05, 0.14, "5 to 14 %"},
		{-0.05, -0.12, 0.03, "12 % less to 3 % more"},
		{-0.31, -0.41, -0.19, "19 to 41 %"},
		{0.58, -0.09, 1.75, "9 % less to 175 % more"},
		{0.77, 0.02, 2.08, "2 to 208 %"},
		{32.29, 20.4, 40, "21 to 41 times as long"},
		{0.996, 0.99, 1.2, "2.0 to 2.2 times as long"},
	} {
		if got := ChangeInterval(c.change, c.low, c.high); got != c.want {
			t.Errorf("%v: %q, want %q", c, got, c.want)
		}
	}
}

// TestNoNumber: what is no number does not fail and is not taken for one.
func TestNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308} {
		for _, write := range []func(float64) string{Efficiency, Percent, Bound, Points, Limit, Ratio, Number, Hours, Cores, Seconds, Tick, Change, Longer, Times} {
			if write(v) == "0" {
				t.Errorf("%g is written as 0", v)
			}
		}
	}
}

func TestSigned(t *testing.T) {
	for change, want := range map[float64]string{0: "0.0 %", 0.0004: "0.0 %", -0.0004: "0.0 %", 0.0006: "+0.1 %", 0.032: "+3.2 %", -0.021: "-2.1 %", 0.0994: "+9.9 %", 0.0996: "+10 %", -0.12: "-12 %", 1.5: "+150 %"} {
		if got := Signed(change); got != want {
			t.Errorf("%g: %s, want %s", change, got, want)
		}
	}
}
