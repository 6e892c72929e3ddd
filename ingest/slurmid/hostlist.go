package slurmid

import (
	"cmp"
	"strings"
)

// hostlistBytes is the length from which a hostlist may have been cut: sacct keeps 1,024 bytes. It is
// then not known which hosts it names.
const hostlistBytes = 1024

// hostlistSteps bounds the work on one expression.
const hostlistSteps = 100_000

// HostlistHolds reports whether Slurm's hostlist expression, "n[1-3,08],gpu[01-04]x2", names a
// host, with its domain or without. known is false if it is no such expression ("None
// assigned"), or may have been cut.
func HostlistHolds(list, host string) (holds, known bool) {
	if list == "" || len(list) >= hostlistBytes {
		return false, false
	}
	short, _, _ := strings.Cut(host, ".")
	steps := hostlistSteps
	for rest := list; rest != ""; {
		var item string
		if item, rest = cutItem(rest); !isHostPattern(item) {
			return false, false
		}
		holds = holds || matchHost(item, host, &steps) || matchHost(item, short, &steps)
	}
	return holds, holds || steps > 0
}

// cutItem splits at the first comma outside of brackets.
func cutItem(list string) (item, rest string) {
	depth := 0
	for i, c := range list {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			return list[:i], list[i+1:]
		}
	}
	return list, ""
}

// isHostPattern recognizes letters, digits, ".-_" and brackets with ranges of digits.
func isHostPattern(item string) bool {
	name, rest, bracket := strings.Cut(item, "[")
	if !bracket {
		return item != "" && IsName("x"+name, hostlistBytes)
	}
	ranges, rest, closed := strings.Cut(rest, "]")
	if !closed || ranges == "" || strings.Trim(ranges, "0123456789,-") != "" || !IsName("x"+name, hostlistBytes) {
		return false
	}
	return rest == "" || isHostPattern(rest)
}

// matchHost compares a host with a pattern, from their beginnings on.
func matchHost(pattern, host string, steps *int) bool {
	if *steps--; *steps <= 0 {
		return false
	}
	name, rest, bracket := strings.Cut(pattern, "[")
	if !bracket {
		return name == host
	}
	ranges, after, _ := strings.Cut(rest, "]")
	host, ok := strings.CutPrefix(host, name)
	if !ok {
		return false
	}
	for r := range strings.SplitSeq(ranges, ",") {
		low, high, both := strings.Cut(r, "-")
		if !both {
			high = low
		}
		for n := len(low); n <= max(len(low), len(high)) && n <= len(host); n++ {
			if inRange(host[:n], low, high) && matchHost(after, host[n:], steps) {
				return true
			}
		}
	}
	return false
}

// inRange compares decimals. A number longer than the low end must not begin with a zero.
func inRange(digits, low, high string) bool {
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > len(low) && digits[0] == '0' {
		return false
	}
	return compareDecimals(digits, low) >= 0 && compareDecimals(digits, high) <= 0
}

func compareDecimals(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// IsName recognizes names of letters, digits and ".-_", as hosts and clusters have.
func IsName(s string, most int) bool {
	ok := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
	}
	return s != "" && len(s) <= most && s[0] != '-' && s[0] != '.' && strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
}
