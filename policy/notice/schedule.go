package notice

import (
	"fmt"
	"time"
)

// Weekly is a time of the week on a zone's clock.
type Weekly struct {
	Day  time.Weekday
	Hour int
	Zone *time.Location
}

// Last is the latest such time that is not after now. On the day that clocks go forward
// over the hour it is the first moment after the gap; where they go back over it, the
// first of the two.
func (w Weekly) Last(now time.Time) time.Time {
	t := now.In(w.Zone)
	back := (int(t.Weekday()) - int(w.Day) + 7) % 7
	at := w.on(t.Year(), t.Month(), t.Day()-back)
	if at.After(now) {
		at = w.on(t.Year(), t.Month(), t.Day()-back-7)
	}
	return at
}

// Before is the one a week before at, by the calendar: an hour of daylight saving more
// or less.
func (w Weekly) Before(at time.Time) time.Time {
	t := at.In(w.Zone)
	return w.on(t.Year(), t.Month(), t.Day()-7)
}

// on is the hour on a day. What time.Date makes of an hour that does not exist or comes
// twice is not promised: this is.
func (w Weekly) on(year int, month time.Month, day int) time.Time {
	at := time.Date(year, month, day, w.Hour, 0, 0, 0, w.Zone)
	if earlier := at.Add(-time.Hour); earlier.Hour() == w.Hour && earlier.Day() == at.Day() {
		return earlier // the hour comes twice
	}
	if at.Hour() < w.Hour { // it does not exist, and at is before the gap
		at = at.Add(time.Hour)
	}
	return at
}

// Key names the week that ends at such a time, by the day it ends on.
func (w Weekly) Key(at time.Time) string { return at.In(w.Zone).Format(time.DateOnly) }

// Missed are the times after last, up to now, at most the latest most of them, oldest first.
func (w Weekly) Missed(last, now time.Time, most int) (all []time.Time) {
	for at := w.Last(now); at.After(last) && len(all) < most; at = w.Before(at) {
		all = append([]time.Time{at}, all...)
	}
	return all
}

// Quiet are the hours of the night in which nobody is written to, on a zone's clock. From and To
// the same: never.
type Quiet struct {
	From, To int
	Zone     *time.Location
}

// After is t, or the end of the quiet hours that t lies in.
func (q Quiet) After(t time.Time) time.Time {
	hour := t.In(q.Zone).Hour()
	in := hour >= q.From && hour < q.To
	if q.From > q.To {
		in = hour >= q.From || hour < q.To
	}
	if !in {
		return t
	}
	local := t.In(q.Zone)
	day := local.Day()
	if hour >= q.To { // the night ends tomorrow
		day++
	}
	return Weekly{Hour: q.To, Zone: q.Zone}.on(local.Year(), local.Month(), day)
}

// Span is the week that a digest of such a time is about: the seven days before the one
// that it falls on.
func (w Weekly) Span(at time.Time) (from, to time.Time) {
	t := at.In(w.Zone)
	midnight := Weekly{Zone: w.Zone}
	return midnight.on(t.Year(), t.Month(), t.Day()-7), midnight.on(t.Year(), t.Month(), t.Day())
}

// SpanSince is Span, but begins no earlier than the digest of last ended: no day is in two digests
// where the weekday was changed between them. It is empty where both fall on one day.
func (w Weekly) SpanSince(at, last time.Time) (from, to time.Time) {
	from, to = w.Span(at)
	if _, ended := w.Span(last); ended.After(from) {
		from = ended
	}
	return from, to
}

// ISOWeek is the span of a week by its ISO number, Monday to Sunday.
func ISOWeek(year, week int, zone *time.Location) (from, to time.Time) {
	fourth := time.Date(year, 1, 4, 12, 0, 0, 0, zone) // it lies in week 1
	monday := 4 - (int(fourth.Weekday())+6)%7 + 7*(week-1)
	midnight := Weekly{Zone: zone}
	return midnight.on(year, 1, monday), midnight.on(year, 1, monday+7)
}

// Asked is the span of a week by its ISO number, "2026-W46"; of "" that of the last digest
// that was due.
func (w Weekly) Asked(week string, now time.Time) (from, to time.Time, err error) {
	if week == "" {
		from, to = w.Span(w.Last(now))
		return from, to, nil
	}
	var year, number int
	if n, err := fmt.Sscanf(week, "%4d-W%2d", &year, &number); err != nil || n != 2 || number < 1 || number > 53 || year < 1970 {
		return from, to, fmt.Errorf("%.40q is no week: write it like 2026-W46", week)
	}
	if from, to = ISOWeek(year, number, w.Zone); from.After(now) {
		return from, to, fmt.Errorf("%s has not begun yet", week)
	}
	return from, to, nil
}
