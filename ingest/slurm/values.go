package slurm

import (
	"strconv"
	"strings"
	"time"
)

func parse32(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// parseCount reads a number that sacct may shorten (1K, 2M) or leave empty.
func parseCount(s string) (int, bool) {
	n, ok := parseBytes(s, 1)
	return int(n), ok && n < 1<<31
}

// parseBytes reads a number with a unit, as 187.50G or 4036K, or a plain number times unit;
// empty is 0.
func parseBytes(s string, unit float64) (int64, bool) {
	if s == "" {
		return 0, true
	}
	if i := strings.IndexByte("KMGTPE", s[len(s)-1]); i >= 0 {
		unit = float64(int64(1) << (10 * (i + 1)))
		s = s[:len(s)-1]
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v*unit < 1<<62) {
		return 0, false
	}
	return int64(v * unit), true
}

func parseSeconds(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	n, ok := parse32(s)
	return time.Duration(n) * time.Second, ok
}

// noLimit is the limit that Slurm's backfill writes for a job that it starts without one: a year, in
// minutes (seen with 22.05).
const noLimit = 365 * 24 * 60

// parseLimit reads minutes. Words, as UNLIMITED and Partition_Limit, mean no limit.
func parseLimit(s string) time.Duration {
	n, _ := parse32(s)
	return limitOf(int64(n))
}

// limitOf is a time limit of so many minutes; 0: there is none.
func limitOf(minutes int64) time.Duration {
	if minutes >= noLimit {
		return 0
	}
	return time.Duration(minutes) * time.Minute
}

// parseCPUTime reads [[DAYS-]HOURS:]MINUTES:SECONDS[.FRACTION].
func parseCPUTime(s string) (time.Duration, bool) {
	if s == "" || s == "INVALID" { // what sacct says when counters ran backwards
		return 0, true
	}
	days, clock, is := strings.Cut(s, "-")
	if !is {
		days, clock = "0", s
	}
	d, ok := parse32(days)
	parts := strings.Split(clock, ":")
	if !ok || len(parts) > 3 || d > 100_000 {
		return 0, false
	}
	var whole uint64
	for _, p := range parts[:len(parts)-1] {
		n, ok := parse32(p)
		if !ok {
			return 0, false
		}
		whole = whole*60 + uint64(n)
	}
	seconds, err := strconv.ParseFloat(parts[len(parts)-1], 64)
	if err != nil || !(seconds >= 0 && seconds < 1e6) || whole > 1e9 {
		return 0, false
	}
	return time.Duration(d)*24*time.Hour + time.Duration(whole)*time.Minute + time.Duration(seconds*float64(time.Second)+0.5), true
}

// parseTime reads a time in UTC; sacct's word for an unknown time becomes zero.
func parseTime(s string) (time.Time, bool) {
	switch s {
	case "Unknown", "None", "N/A", "":
		return time.Time{}, true
	}
	t, err := time.Parse(sacctTime, s)
	return t, err == nil
}

// sacctTime is how sacct writes and reads times, in the zone of TZ.
const sacctTime = "2006-01-02T15:04:05"
