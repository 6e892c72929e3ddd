package figure

import "math"

// A change is the quotient of two run times, minus 1: 0.09 is 9 % longer, -0.31 is 31 % less time, 1 is twice
// as long.

// Change writes a change: "9 % longer", "2.3 times as long", "31 % less time". Less than half a percent either
// way is "as long".
func Change(change float64) string {
	switch {
	case change >= 0.005:
		return Longer(change)
	case change <= -0.005:
		return Percent(-change) + " less time"
	}
	return "as long"
}

// Longer writes by how much a run takes longer: "9 % longer", and from twice the time on "2.3 times as long".
func Longer(change float64) string {
	if !Twice(change) {
		return fixed(100*change, 0) + " % longer"
	}
	return Times(change) + " times as long"
}

// LongerBetween writes by how much longer, and the interval of that, rounded outwards, so that it is never narrower than
// it is: "5.1 % longer" and "3.8 to 6.2 %", without the digit behind the point if it goes beyond 10 %. From twice the
// time on, "2.3 times as long" and "1.8 to 3.4 times".
func LongerBetween(change, low, high float64) (longer, between string) {
	digits, factor, unit, longer := 0, 100.0, " %", " % longer"
	if high <= 0.1 {
		digits = 1
	}
	if Twice(change) {
		digits, factor, unit, longer = 1, 1, " times", " times as long"
		change, low, high = 1+change, 1+low, 1+high
	}
	least := math.Pow(10, -float64(digits)) / factor
	low, high = math.Floor(low/least+1e-9)*least, math.Ceil(high/least-1e-9)*least
	return fixed(factor*change, digits) + longer, fixed(factor*low, digits) + " to " + fixed(factor*high, digits) + unit
}

// Twice reports whether Longer writes "times as long".
func Twice(change float64) bool { return math.Round(100*change) >= 100 }

// Times writes a ratio of times, given as a change, with one digit behind the point below 10: "2.3", "33".
func Times(change float64) string {
	if change < 8.95 {
		return fixed(1+change, 1)
	}
	return fixed(1+change, 0)
}

// ChangeInterval writes the interval of a change in the unit of the change. In whole percent, that is "5 to 14
// %", or "12 % less to 3 % more" if it may go either way. From twice the time on it is "1.8 to 3.4 times as
// long".
func ChangeInterval(change, low, high float64) string {
	least, most := fixed(math.Abs(100*low), 0), fixed(math.Abs(100*high), 0)
	below, above := math.Round(100*low) < 0, math.Round(100*high) > 0
	switch {
	case Twice(change):
		return Times(low) + " to " + Longer(high)
	case below && above:
		return least + " % less to " + most + " % more"
	case change < 0:
		return most + " to " + least + " %"
	}
	return least + " to " + most + " %"
}

// Signed writes a change with its sign, in percent, with a digit behind the point below 10 %: "+3.2 %", "-12 %",
// and "0.0 %".
func Signed(change float64) string {
	digits, sign := 0, "+"
	if math.Abs(change) < 0.0995 {
		digits = 1
	}
	switch {
	case math.Abs(change) < 0.0005:
		sign = ""
	case change < 0:
		sign = "-"
	}
	return sign + fixed(100*math.Abs(change), digits) + " %"
}

// Between writes the interval of a change with signs, in percent, rounded outwards, so that it is never narrower than
// it is: "between -0.93 % and +1.08 %". It has two digits behind the point where both ends are within 1 %, one within
// 10 %.
func Between(low, high float64) string {
	digits, widest := 2, 100*max(math.Abs(low), math.Abs(high))
	for limit := 1.0; digits > 0 && widest > limit; limit *= 10 {
		digits--
	}
	unit := 100 * math.Pow(10, float64(digits))
	end := func(v float64) string {
		sign := ""
		if v > 0 {
			sign = "+"
		}
		return sign + fixed(100*v/unit, digits) + " %"
	}
	return "between " + end(math.Floor(low*unit+1e-9)) + " and " + end(math.Ceil(high*unit-1e-9))
}
