package cli

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine")
	}
	now := time.Date(2026, 11, 20, 13, 30, 15, 0, berlin)
	for in, want := range map[string]string{
		"now":                  "2026-11-20T13:30:15+01:00",
		"today":                "2026-11-20T00:00:00+01:00",
		"Today":                "2026-11-20T00:00:00+01:00",
		"midnight":             "2026-11-20T00:00:00+01:00",
		"noon":                 "2026-11-20T12:00:00+01:00",
		"yesterday":            "2026-11-19T00:00:00+01:00",
		"tomorrow":             "2026-11-21T00:00:00+01:00",
		"-7days":               "2026-11-13T13:30:15+01:00",
		"-1day":                "2026-11-19T13:30:15+01:00",
		"-36hours":             "2026-11-19T01:30:15+01:00",
		"now-1week":            "2026-11-13T13:30:15+01:00",
		"now-90":               "2026-11-20T13:28:45+01:00",
		"now+10min":            "2026-11-20T13:40:15+01:00",
		"-30days":              "2026-10-21T13:30:15+02:00", // summer time: the same reading of the clock
		"2026-11-20":           "2026-11-20T00:00:00+01:00",
		"2026-11-20T13:00":     "2026-11-20T13:00:00+01:00",
		"2026-11-20t13:00:59":  "2026-11-20T13:00:59+01:00",
		"2026-11-20T13:00:00Z": "2026-11-20T13:00:00Z",
		"11/20":                "2026-11-20T00:00:00+01:00",
		"11/21":                "2025-11-21T00:00:00+01:00", // not yet this year
		"12/1":                 "2025-12-01T00:00:00+01:00",
		"2/28-08:15":           "2026-02-28T08:15:00+01:00",
		"11/20/25":             "2025-11-20T00:00:00+01:00",
		"11/20/2024-01:02:03":  "2024-11-20T01:02:03+01:00",
		"13:00":                "2026-11-20T13:00:00+01:00",
		"09:15:30":             "2026-11-20T09:15:30+01:00",
		" 13:00 ":              "2026-11-20T13:00:00+01:00",
	} {
		got, err := ParseTime(in, now)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("ParseTime(%q) = %s, %v, want %s", in, got.Format(time.RFC3339), err, want)
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	now := time.Date(2026, 11, 20, 13, 30, 15, 0, time.UTC)
	for _, in := range []string{
		"", "7days", "-7moons", "--7days", "-days", "now-", "soon", "25:00", "13/40", "2026-13-01", "2026-11-20T", "-9999999999days",
		"-999999999weeks", "-999999999hours", "\x1b[31m",
	} {
		got, err := ParseTime(in, now)
		if err == nil || !strings.Contains(err.Error(), "-7days") {
			t.Errorf("ParseTime(%q) = %s, %v, want an error that lists the forms", in, got, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	now := time.Date(2026, 11, 20, 13, 30, 15, 0, time.UTC)
	for _, s := range []string{"-7days", "now-1week", "2026-11-20T13:00", "11/20-13:00", "13:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := ParseTime(s, now); err == nil && (got.Year() < 1970 || got.Year() > 9999) {
			t.Errorf("ParseTime(%q) = %s, which no server reads", s, got)
		}
	})
}
