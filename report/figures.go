package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// efficiency prints a fraction with two digits, never rounded over POP's line or to a
// perfect 1 that it is not.
func efficiency(v float64) string {
	r := math.Round(v*100) / 100
	if (v < popLine && r >= popLine) || (v < 1 && r >= 1) {
		r -= 0.01
	}
	return fmt.Sprintf("%.2f", r)
}

// percent prints a fraction as a share for people.
func percent(v float64) string {
	switch {
	case v > 0 && v < 0.005:
		return "under 1 %"
	case v < 1 && v >= 0.995:
		return "over 99 %"
	}
	return fmt.Sprintf("%.0f %%", v*100)
}

// seconds prints a measured time given in seconds.
func seconds(s float64) string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.3f s", s)
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	case s < 10000:
		return fmt.Sprintf("%.0f s", s)
	}
	return clock(time.Duration(s * float64(time.Second)))
}

// clock prints a duration as Slurm does: [D-]HH:MM:SS.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	hms := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if days := s / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, hms)
	}
	return hms
}

// size prints a number of bytes with binary prefixes.
func size(n uint64) string {
	v, prefix := float64(n), ""
	for _, next := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
		if v < 1024 {
			break
		}
		v, prefix = v/1024, next
	}
	if prefix == "" || v >= 100 {
		return fmt.Sprintf("%.0f %sB", v, prefix)
	}
	return fmt.Sprintf("%.1f %sB", v, prefix)
}

// number prints a count with a comma every three digits.
func number(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count prints a number and its noun: 1 rank, 4 ranks.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(uint64(max(n, 0))) + " " + noun + "s"
}

// joined puts together what is not empty.
func joined(sep string, parts ...string) string {
	var kept []string
	for _, s := range parts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, sep)
}

// span prints from and to without saying the same day twice.
func span(from, to time.Time) string {
	const day, hms = "2006-01-02", "15:04:05"
	from, to = from.Local(), to.Local()
	if from.Format(day) == to.Format(day) {
		return from.Format(day+" "+hms) + " to " + to.Format(hms)
	}
	return from.Format(day+" "+hms) + " to " + to.Format(day+" "+hms)
}
