// Package figure writes numbers for people, each kind in one way: the same value reads the same in a text,
// on a page, in a mail, in a list and in what a rule says. It is pure and knows nothing of jobs. It comes
// before ingest/job, whose warnings hold figures, as do the reasons of policy and all that report and cmd
// write. JSON and the database's CSV hold numbers as they are.
//
// All of it is ASCII. What is no number (NaN, an infinity) is written as Go writes it.
package figure

import (
	"math"
	"strconv"
	"strings"
)

// Line is POP's recommended parallel efficiency: below it, look closer.
const Line = 0.8

// Efficiency writes an efficiency, or another fraction of 1, with two digits: "0.68". It is
// rounded to the nearest, but never up to Line or to 1 where v lies below: 0.7996 is "0.79",
// 0.997 is "0.99". 1 is "1.00" and 0.004 is "0.00".
func Efficiency(v float64) string { return Compared(v) }

// Compared is Efficiency with further limits that v is not rounded up to: 0.5996 against 0.6 is "0.59".
func Compared(v float64, limits ...float64) string {
	return fixed(hundredths(v, limits...)/100, 2)
}

// hundredths rounds as Efficiency says.
func hundredths(v float64, limits ...float64) float64 {
	n := math.Round(100 * v)
	for _, limit := range append(limits, Line, 1) {
		if v < limit && n >= 100*limit-1e-9 {
			n = math.Floor(100 * v)
		}
	}
	return n
}

// Percent writes a share, given as a fraction, in whole percent: "38 %". It shows the same
// two digits as Efficiency: 0.7996 is "79 %". At the ends it says what it is not: above 0 and
// below 0.005 "under 1 %", from 0.995 and below 1 "over 99 %". A share may exceed 1: "150 %".
func Percent(v float64) string {
	switch {
	case v > 0 && v < 0.005:
		return "under 1 %"
	case v < 1 && v >= 0.995:
		return "over 99 %"
	}
	return fixed(hundredths(v), 0) + " %"
}

// Bound writes an upper bound of shares, given as a fraction, in percent. It rounds up, and has a digit behind
// the point below 10 %: 0.0123 is "1.3 %", 0.123 "13 %".
func Bound(v float64) string {
	if tenths := math.Ceil(1000*v - 1e-9); tenths < 100 {
		return fixed(tenths/10, 1) + " %"
	}
	return fixed(math.Ceil(100*v-1e-9), 0) + " %"
}

// Small writes a share, given as a fraction, that is mostly far below 1 %, with three digits: "0.0277 %". Above 0 and
// below 0.00001 it is "under 0.001 %".
func Small(v float64) string {
	if v > 0 && v < 1e-5 {
		return "under 0.001 %"
	}
	return Number(100*v) + " %"
}

// Points writes a difference of two shares, given as a fraction, in percentage points with its sign: "+3",
// "-12". It returns "" for a difference that rounds to 0.
func Points(v float64) string {
	switch n := math.Round(100 * v); {
	case n > 0:
		return "+" + fixed(n, 0)
	case n < 0:
		return fixed(n, 0)
	}
	return ""
}

// AtMost writes a share as Percent does, which is an upper bound if isBound.
func AtMost(v float64, isBound bool) string {
	if isBound {
		return "at most " + Percent(v)
	}
	return Percent(v)
}

// Part writes part as a Percent of whole; "-" if whole is 0.
func Part(part, whole float64) string {
	if !(whole > 0) {
		return "-"
	}
	return Percent(part / whole)
}

// Limit writes a site's setting with the digits that the site gave: 0.8, 0.125.
func Limit(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Under writes a figure that is known to be below a limit. If both read the same, it is "just under 1.00".
func Under(figure, limit string) string {
	if figure == limit {
		return "just under " + limit
	}
	return figure
}

// Ratio writes a ratio that may lie on either side of 1, with two digits, rounded to the
// nearest: 0.997 and 1.003 are both "1.00".
func Ratio(v float64) string { return fixed(v, 2) }

// Number writes a measured or estimated number with three digits: "0.0203", "1.90", "25.0", "103". From 1,000
// on it has all digits before the point: "6,766". Below 1 it has no zeros at the end; 0 is "0". Only numbers
// with seven zeros or more behind the point, or 16 digits before it, have an exponent.
func Number(v float64) string {
	if a := math.Abs(v); a >= 0.9995 && a < 1e15 {
		return threeDigits(v)
	}
	if a := math.Abs(v); a >= 1e-7 && a < 1 { // 'g' would write 0.0000203 as 2.03e-05
		text, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
		return strconv.FormatFloat(text, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Hours writes core-hours, without the word. It has three digits like Number, but never more than two behind
// the point: "6,766", "12.4", "1.00", "0.05". Below 0.005 it is "0.00".
func Hours(v float64) string {
	if a := math.Abs(v); a < 0.9995 {
		return fixed(v, 2)
	}
	return Number(v)
}

// threeDigits writes a number from 1 to 1e15, or its negative.
func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a < 9.995:
		return fixed(v, 2)
	case a < 99.95:
		return fixed(v, 1)
	}
	return grouped(fixed(v, 0))
}

// fixed writes v with so many digits behind the point, and no minus before 0.
func fixed(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// grouped puts a comma before every three digits of a whole number.
func grouped(s string) string {
	first := 0
	if strings.HasPrefix(s, "-") {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
