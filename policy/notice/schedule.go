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

// Last returns the latest such time that is not after now. If clocks go forward over the hour on that day, it
// is the first moment after the gap. If they go back over it, it is the first of the two.
func (w Weekly) Last(now time.Time) time.Time {
	t := now.In(w.Zone)
	back := (int(t.Weekday()) - int(w.Day) + 7) % 7
	at := w.on(t.Year(), t.Month(), t.Day()-back)
	if at.After(now) {
		at = w.on(t.Year(), t.Month(), t.Day()-back-7)
	}
	return at
}

// Before returns the time a week before at, by the calendar: daylight saving may add or take an hour.
func (w Weekly) Before(at time.Time) time.Time {
	t := at.In(w.Zone)
	return w.on(t.Year(), t.Month(), t.Day()-7)
}

// on returns the hour on a day. time.Date promises nothing for an hour that does not exist or comes twice; on
// does what Last says.
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

// Key names the week that ends at such a time, by its last day.
func (w Weekly) Key(at time.Time) string { return at.In(w.Zone).Format(time.DateOnly) }

// Missed returns such times after last, up to now, the oldest first. It returns at most the latest `most` of
// them.
func (w Weekly) Missed(last, now time.Time, most int) (all []time.Time) {
	for at := w.Last(now); at.After(last) && len(all) < most; at = w.Before(at) {
		all = append([]time.Time{at}, all...)
	}
	return all
}

// Quiet holds the hours of the night in which no user gets mail, on a zone's clock. If From equals To, there
// are none.
type Quiet struct {
	From, To int
	Zone     *time.Location
}

// After returns t, or the end of the quiet hours if t is within them.
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

// Span returns the week that a digest of such a time covers: the seven days before the day of at.
func (w Weekly) Span(at time.Time) (from, to time.Time) {
	t := at.In(w.Zone)
	midnight := Weekly{Zone: w.Zone}
	return midnight.on(t.Year(), t.Month(), t.Day()-7), midnight.on(t.Year(), t.Month(), t.Day())
}

// SpanSince is Span, but begins no earlier than the digest of last ended. So no day is in two digests if the
// weekday was changed between them. It is empty if both are due on one day.
func (w Weekly) SpanSince(at, last time.Time) (from, to time.Time) {
	from, to = w.Span(at)
	if _, ended := w.Span(last); ended.After(from) {
		from = ended
	}
	return from, to
}

// ISOWeek returns the span of a week by its ISO number, Monday to Sunday.
func ISOWeek(year, week int, zone *time.Location) (from, to time.Time) {
	fourth := time.Date(year, 1, 4, 12, 0, 0, 0, zone) // it is always in week 1
	monday := 4 - (int(fourth.Weekday())+6)%7 + 7*(week-1)
	midnight := Weekly{Zone: zone}
	return midnight.on(year, 1, monday), midnight.on(year, 1, monday+7)
}

// Asked returns the span of a week by its ISO number, "2026-W46". For "" it returns that of the last digest
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
