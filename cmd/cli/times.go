package cli

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// timeForms lists the forms that ParseTime takes, for its error.
const timeForms = "-7days, -36hours, now-1week, now, today, yesterday, 2026-11-20, 2026-11-20T13:00[:00], 11/20[/26], 11/20-13:00, 13:00[:00]"

// absoluteForms are layouts with a whole date.
var absoluteForms = []string{
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02",
	"1/2/06-15:04:05", "1/2/06-15:04", "1/2/06", "1/2/2006-15:04:05", "1/2/2006-15:04", "1/2/2006", time.RFC3339,
}

// yearlessForms lack the year; clockForms have only the time of day.
var (
	yearlessForms = []string{"1/2-15:04:05", "1/2-15:04", "1/2"}
	clockForms    = []string{"15:04:05", "15:04"}
)

// relative is [now]{+|-}COUNT[UNIT]. As in sacct, a unit may be abbreviated.
const relative = `^(?:now)?([+-])(\d{1,9})([a-z]*)$`

// units are sacct's. A number without one means seconds.
var units = []struct {
	name string
	span time.Duration
}{
	{"seconds", time.Second}, {"minutes", time.Minute}, {"hours", time.Hour},
	{"days", 24 * time.Hour}, {"weeks", 7 * 24 * time.Hour},
}

// ParseTime reads a time as sacct does. Without a day it is today; without a year it is
// the last such day.
func ParseTime(s string, now time.Time) (time.Time, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return now, nil
	case "today", "midnight":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	case "tomorrow":
		return midnight.AddDate(0, 0, 1), nil
	case "noon":
		return time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, now.Location()), nil
	}
	if m := regexp.MustCompile(relative).FindStringSubmatch(text); m != nil {
		if t, ok := shifted(now, m[1], m[2], m[3]); ok && sane(t) {
			return t, nil
		}
	}
	if t, ok := written(strings.ToUpper(text), midnight); ok && sane(t) {
		return t, nil
	}
	return time.Time{}, Usagef("%q is no time: write one of %s", s, timeForms)
}

// ParsePast is ParseTime for a time in the past: 30days means -30days.
func ParsePast(s string, now time.Time) (time.Time, error) { return parseSpan("-", s, now) }

// ParseFuture is ParseTime for a time to come: 30days means +30days.
func ParseFuture(s string, now time.Time) (time.Time, error) { return parseSpan("+", s, now) }

func parseSpan(sign, s string, now time.Time) (time.Time, error) {
	if regexp.MustCompile(`^\s*\d+[A-Za-z]+\s*$`).MatchString(s) {
		s = sign + strings.TrimSpace(s)
	}
	return ParseTime(s, now)
}

// sane reports whether the server can read the time.
func sane(t time.Time) bool { return t.Year() >= 1970 && t.Year() <= 9999 }

// shifted returns the time some units before or after now. Days and weeks keep the time of day
// across a change to summer time.
func shifted(now time.Time, sign, digits, unit string) (time.Time, bool) {
	n, err := strconv.Atoi(sign + digits)
	if err != nil {
		return now, false
	}
	for _, u := range units {
		if !strings.HasPrefix(u.name, unit) {
			continue
		}
		if u.span < 24*time.Hour {
			if abs := max(n, -n); abs > math.MaxInt64/int(u.span) {
				return now, false
			}
			return now.Add(time.Duration(n) * u.span), true
		}
		return now.AddDate(0, 0, n*int(u.span/(24*time.Hour))), true
	}
	return now, false
}

// written reads a time in digits.
func written(text string, midnight time.Time) (time.Time, bool) {
	loc := midnight.Location()
	for _, form := range absoluteForms {
		if t, err := time.ParseInLocation(form, text, loc); err == nil {
			return t, true
		}
	}
	for _, form := range yearlessForms {
		// The year 2000 in front lets 29 February be read.
		t, err := time.ParseInLocation("2006 "+form, "2000 "+text, loc)
		if err != nil {
			continue
		}
		year := midnight.Year()
		if t.Month() > midnight.Month() || t.Month() == midnight.Month() && t.Day() > midnight.Day() {
			year--
		}
		return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, loc), true
	}
	for _, form := range clockForms {
		if t, err := time.Parse(form, text); err == nil {
			return time.Date(midnight.Year(), midnight.Month(), midnight.Day(), t.Hour(), t.Minute(), t.Second(), 0, loc), true
		}
	}
	return time.Time{}, false
}
