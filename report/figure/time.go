package figure

import (
	"fmt"
	"math"
	"time"
)

// Seconds writes a measured time, given in seconds: "0.012 s", "12.3 s", "1,234 s", and from
// 10,000 s on as Clock does. Below 0.0005 s it is "0.000 s".
func Seconds(s float64) string {
	switch {
	case s < 0.9995:
		return fixed(s, 3) + " s"
	case s < 99.95:
		return fixed(s, 1) + " s"
	case s < 9999.5:
		return grouped(fixed(s, 0)) + " s"
	}
	return Clock(Duration(s))
}

// SecondsAlike returns how to write the times of a column, given in seconds, in one unit. It is Seconds, but
// all times have hours, minutes and seconds, or all have seconds. They have hours if one is 10,000 s or more
// and none is so short that a second matters.
func SecondsAlike(all ...float64) func(float64) string {
	shortest, most := math.Inf(1), 0.0
	for _, v := range all {
		if most = max(most, v); v > 0 {
			shortest = min(shortest, v)
		}
	}
	switch {
	case most < 9999.5:
		return Seconds
	case shortest < 99.95:
		return func(s float64) string {
			if s < 9999.5 {
				return Seconds(s)
			}
			return grouped(fixed(s, 0)) + " s"
		}
	}
	return func(s float64) string { return Clock(Duration(s)) }
}

// Duration makes a time of seconds, at most the longest that a Duration holds.
func Duration(s float64) time.Duration {
	return time.Duration(math.Round(min(s, longest.Seconds()) * float64(time.Second)))
}

const longest = 290 * 365 * 24 * time.Hour

// Clock writes how long something took as Slurm does: [D-]HH:MM:SS, rounded to seconds.
func Clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	hms := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if days := s / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, hms)
	}
	return hms
}

// Age writes how long ago something was, in whole units, rounded down: "12 minutes",
// "3 hours", "2 days".
func Age(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return Counted(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return Counted(int(d.Hours()), "hour")
	}
	return Counted(int(d.Hours()/24), "day")
}

// Tick writes a round time, given in seconds, for an axis: "0.5 s", "20 s", "5 min", "2 h",
// "3 d".
func Tick(s float64) string {
	for _, unit := range []struct {
		from, seconds float64
		name          string
	}{{2 * 86400, 86400, "d"}, {3600, 3600, "h"}, {60, 60, "min"}} {
		if s >= unit.from {
			return fmt.Sprintf("%.3g %s", s/unit.seconds, unit.name)
		}
	}
	return fmt.Sprintf("%.3g s", s)
}

// Minute writes a moment in the reader's zone, to the minute: "2026-11-20 21:14".
func Minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// Span writes two moments in the reader's zone, to the second. If both are on one day, it writes that once.
func Span(from, to time.Time) string {
	from, to = from.Local(), to.Local()
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return from.Format(time.DateTime) + " to " + to.Format(time.TimeOnly)
	}
	return from.Format(time.DateTime) + " to " + to.Format(time.DateTime)
}

// Beside writes a time of day in the reader's zone. It adds the date if that differs from the reference's.
func Beside(t, reference time.Time) string {
	t, reference = t.Local(), reference.Local()
	if t.Format(time.DateOnly) == reference.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
