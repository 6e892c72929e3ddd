package notice

import (
	"math/rand/v2"
	"testing"
	"time"
)

func clockAt(t *testing.T, zone *time.Location, s string) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04"} {
		if v, err := time.ParseInLocation(layout, s, zone); err == nil {
			return v
		}
	}
	t.Fatal(s)
	return time.Time{}
}

// TestWeekly: one moment a week, whatever clocks do. In 2026 Berlin's go forward on 29
// March at 02:00 and back on 25 October at 03:00, both Sundays.
func TestWeekly(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine (tzdata)")
	}
	for _, c := range []struct {
		day          time.Weekday
		hour         int
		now, want    string
		weekBefore   string
		nextMomentTo string // until then it stays the last one
	}{
		{time.Monday, 7, "2026-11-18 12:00", "2026-11-16T07:00:00+01:00", "2026-11-09T07:00:00+01:00", "2026-11-23T06:59:59+01:00"},
		{time.Monday, 7, "2026-11-16 06:59", "2026-11-09T07:00:00+01:00", "2026-11-02T07:00:00+01:00", "2026-11-16T06:59:59+01:00"},
		{time.Monday, 7, "2026-11-16 07:00", "2026-11-16T07:00:00+01:00", "2026-11-09T07:00:00+01:00", "2026-11-23T06:59:59+01:00"},
		{time.Monday, 7, "2026-10-26 07:00", "2026-10-26T07:00:00+01:00", "2026-10-19T07:00:00+02:00", "2026-11-02T06:59:59+01:00"},
		// 02:00 does not exist: the first moment after the gap
		{time.Sunday, 2, "2026-03-29 12:00", "2026-03-29T03:00:00+02:00", "2026-03-22T02:00:00+01:00", "2026-04-05T01:59:59+02:00"},
		{time.Sunday, 2, "2026-03-29T01:59:59+01:00", "2026-03-22T02:00:00+01:00", "2026-03-15T02:00:00+01:00", "2026-03-29T01:59:59+01:00"},
		// 02:00 comes twice: the first of the two, and not again
		{time.Sunday, 2, "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-18T02:00:00+02:00", "2026-11-01T01:59:59+01:00"},
		{time.Sunday, 2, "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+02:00", "2026-10-18T02:00:00+02:00", "2026-11-01T01:59:59+01:00"},
		{time.Sunday, 3, "2026-10-25 12:00", "2026-10-25T03:00:00+01:00", "2026-10-18T03:00:00+02:00", "2026-11-01T02:59:59+01:00"},
	} {
		w := Weekly{c.day, c.hour, berlin}
		want := clockAt(t, berlin, c.want)
		for now := clockAt(t, berlin, c.now); !now.After(clockAt(t, berlin, c.nextMomentTo)); now = now.Add(37 * time.Minute) {
			if got := w.Last(now); !got.Equal(want) {
				t.Fatalf("%v %d at %v: %v, want %v", c.day, c.hour, now, got, want)
			}
		}
		if got := w.Before(want); !got.Equal(clockAt(t, berlin, c.weekBefore)) {
			t.Errorf("%v %d: the week before %v is %v, want %s", c.day, c.hour, want, got, c.weekBefore)
		}
	}
}

// TestWeeklyOnce walks through five years minute by minute and counts: a key comes up
// once, every week has one.
func TestWeeklyOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip("no time zones on this machine (tzdata)")
		}
		for hour := range 4 {
			w := Weekly{time.Sunday, hour, zone}
			keys := map[string]time.Time{}
			from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			for now := from; now.Before(from.AddDate(2, 0, 0)); now = now.Add(17 * time.Minute) {
				last := w.Last(now)
				if was, known := keys[w.Key(last)]; known && !was.Equal(last) {
					t.Fatalf("%s %d: %s is %v and %v", name, hour, w.Key(last), was, last)
				}
				keys[w.Key(last)] = last
			}
			if len(keys) != 105 {
				t.Errorf("%s %d: %d weeks", name, hour, len(keys))
			}
		}
	}
}

func TestMissed(t *testing.T) {
	t.Parallel()
	w := Weekly{time.Monday, 7, time.UTC}
	now := clockAt(t, time.UTC, "2026-11-18 12:00")
	for _, c := range []struct {
		last string
		want int
		most int
	}{{"2026-11-16 07:00", 0, 4}, {"2026-11-16 06:59", 1, 4}, {"2026-11-02 07:00", 2, 4}, {"2025-01-01 00:00", 4, 4}} {
		got := w.Missed(clockAt(t, time.UTC, c.last), now, c.most)
		if len(got) != c.want || len(got) > 0 && !got[len(got)-1].Equal(clockAt(t, time.UTC, "2026-11-16 07:00")) {
			t.Errorf("since %s: %v", c.last, got)
		}
	}
}

// TestSpanSince: however often the day and the hour are changed, each digest begins where
// the one before it ended.
func TestSpanSince(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine (tzdata)")
	}
	random := rand.New(rand.NewPCG(1, 2))
	w := Weekly{time.Monday, 7, zone}
	last := w.Last(clockAt(t, zone, "2026-01-07 12:00"))
	now, ended, short := last, last, 0
	_, ended = w.Span(last)
	for range 2000 {
		if random.IntN(3) == 0 {
			w.Day, w.Hour = time.Weekday(random.IntN(7)), random.IntN(24)
		}
		now = now.Add(time.Duration(random.IntN(15*24)) * time.Hour)
		for _, at := range w.Missed(last, now, 4) {
			from, to := w.SpanSince(at, last)
			if !from.Equal(ended) || to.Before(from) || to.Sub(from) > 7*24*time.Hour+time.Hour {
				t.Fatalf("%v %d at %v after %v: %v to %v", w.Day, w.Hour, at, last, from, to)
			}
			if to.Sub(from) < 6*24*time.Hour {
				short++
			}
			last, ended = at, to
		}
	}
	if short < 100 {
		t.Errorf("only %d spans are shorter than a week", short)
	}
	if from, to := w.SpanSince(now, time.Time{}); !to.Equal(from.AddDate(0, 0, 7)) {
		t.Errorf("the first: %v to %v", from, to)
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to  int
		now, want string
	}{
		{20, 7, "2026-11-18 12:00", "2026-11-18 12:00"},
		{20, 7, "2026-11-18 20:00", "2026-11-19 07:00"},
		{20, 7, "2026-11-30 23:59", "2026-12-01 07:00"},
		{20, 7, "2026-11-18 03:10", "2026-11-18 07:00"},
		{20, 7, "2026-11-18 07:00", "2026-11-18 07:00"},
		{1, 5, "2026-11-18 00:59", "2026-11-18 00:59"},
		{1, 5, "2026-11-18 02:00", "2026-11-18 05:00"},
		{0, 0, "2026-11-18 00:00", "2026-11-18 00:00"},
		{9, 9, "2026-11-18 09:30", "2026-11-18 09:30"},
	} {
		q := Quiet{c.from, c.to, time.UTC}
		if got := q.After(clockAt(t, time.UTC, c.now)); !got.Equal(clockAt(t, time.UTC, c.want)) {
			t.Errorf("quiet %d to %d at %s: %v, want %s", c.from, c.to, c.now, got, c.want)
		}
	}
}
