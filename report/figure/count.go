package figure

import (
	"fmt"
	"math"
	"strings"
)

// Count writes a whole number: "1,234".
func Count[N int | uint64](n N) string { return grouped(fmt.Sprint(n)) }

// Counted writes a whole number and its noun: "1 rank", "0 ranks", "1,234 ranks". Numbers below 0 are written
// as 0.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(max(n, 0)) + " " + noun + "s"
}

// Cores writes an estimated number of cores, rounded to the nearest: "305". One below 10 that
// is not whole has one digit behind the point, rounded down: "8.7".
func Cores(n float64) string {
	if n < 10 && n != math.Round(n) {
		return fixed(math.Floor(10*n)/10, 1)
	}
	if n >= 1e15 {
		return Number(n)
	}
	return grouped(fixed(n, 0))
}

// prefixes are the binary ones.
var prefixes = []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}

// Bytes writes a number of bytes with binary prefixes, one digit behind the point below
// 100: "1.5 KiB", "256 GiB", "1,023 B".
func Bytes(n uint64) string {
	v, i := float64(n), 0
	for ; math.Round(v) >= 1024 && i < len(prefixes)-1; i++ {
		v /= 1024
	}
	return bytesIn(v, i)
}

func bytesIn(v float64, prefix int) string {
	if prefix == 0 || v >= 99.95 {
		return grouped(fixed(v, 0)) + " " + prefixes[prefix] + "B"
	}
	return fixed(v, 1) + " " + prefixes[prefix] + "B"
}

// BytesAlike returns how to write the sizes of a column: like Bytes, but all with the prefix of the least.
func BytesAlike(all ...float64) func(float64) string {
	least := math.Inf(1)
	for _, v := range all {
		if v > 0 {
			least = min(least, v)
		}
	}
	unit, i := 1.0, 0
	for ; math.Round(least/unit) >= 1024 && i < len(prefixes)-1 && !math.IsInf(least, 1); i++ {
		unit *= 1024
	}
	return func(v float64) string { return bytesIn(v/unit, i) }
}

// Bare takes the commas out of a figure, for a program that reads it.
func Bare(s string) string { return strings.ReplaceAll(s, ",", "") }

// Interval writes an interval, each end with write: "0.25 to 0.54".
func Interval(low, high float64, write func(float64) string) string {
	return write(low) + " to " + write(high)
}

// Estimate writes a value with its interval: "12.4 (11.9 to 13.0)".
func Estimate(v, low, high float64, write func(float64) string) string {
	return write(v) + " (" + Interval(low, high, write) + ")"
}

// And enumerates: "0, 1 and 2".
func And(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
