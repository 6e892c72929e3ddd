package workload

import (
	"fmt"
	"math"
)

// TwoDecimals writes an efficiency, never rounded over POP's line or to a perfect 1.
func TwoDecimals(f float64) string {
	r := math.Round(f*100) / 100
	if f < 0.8 && r >= 0.8 || f < 1 && r >= 1 {
		r -= 0.01
	}
	return fmt.Sprintf("%.2f", r)
}

// HoursText writes core-hours with three digits.
func HoursText(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
