package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/policy/harm"
)

// TestComparison: the last one is kept, and the digest of all accounts has it.
func TestComparison(t *testing.T) {
	s := openAt(t, newDatabase(t))
	for _, want := range []*harm.Comparison{nil, {Cannot: harm.FewUsers, Users: 3}, {Users: 14, Measured: 780, Others: 770, OneIn: 20}} {
		if want != nil {
			if err := s.KeepComparison(ctx, want); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Comparison(ctx); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v, %v", got, err)
		}
		for _, accounts := range [][]string{nil, {"chem"}} {
			both, err := s.TwoWeeks(ctx, Viewer{All: true}, day, day.Add(oneDay), accounts)
			if err != nil {
				t.Fatal(err)
			}
			if got := both.This.Comparison; accounts == nil && cmp.Diff(want, got) != "" || accounts != nil && got != nil {
				t.Errorf("%v: %v", accounts, got)
			}
		}
	}
}

// TestAlarms: one alarm of a kind is up, until all are cleared; it stays known for the digest of its time.
func TestAlarms(t *testing.T) {
	s := openAt(t, newDatabase(t))
	at := func(hour int) time.Time { return time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
	alarm := func(kind string, hour int) harm.Alarm {
		return harm.Alarm{Kind: kind, From: at(0), At: at(hour), Measured: 5, MeasuredBad: 2, Others: 4, OthersBad: 1, Jobs: []uint32{7, 8}}
	}
	up := func(want ...harm.Alarm) {
		t.Helper()
		if got, err := s.AlarmsUp(ctx); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v, %v", got, err)
		}
	}
	keep := func(a harm.Alarm) {
		t.Helper()
		if err := s.KeepAlarm(ctx, &a); err != nil {
			t.Error(err)
		}
	}
	up()
	first, other, second := alarm(harm.AlarmCrashed, 1), alarm(harm.AlarmTimeout, 2), alarm(harm.AlarmCrashed, 6)
	keep(first)
	keep(alarm(harm.AlarmCrashed, 3))
	keep(other)
	up(first, other)
	if err := s.ClearAlarms(ctx, at(5)); err != nil {
		t.Fatal(err)
	}
	up()
	if since, err := s.Mark(ctx, MarkCompared); err != nil || !since.Equal(at(5)) {
		t.Errorf("compared since %v, %v", since, err)
	}
	keep(second)
	up(second)
	first.Cleared, other.Cleared = at(5), at(5)
	for _, c := range []struct {
		from, to int
		want     []harm.Alarm
	}{{0, 1, []harm.Alarm{first}}, {4, 5, []harm.Alarm{first, other}}, {5, 7, []harm.Alarm{first, other, second}}, {7, 8, []harm.Alarm{second}}} {
		if got, err := s.Alarms(ctx, at(c.from), at(c.to)); err != nil || cmp.Diff(c.want, got) != "" {
			t.Errorf("%d to %d: %v, %v", c.from, c.to, got, err)
		}
	}
}
