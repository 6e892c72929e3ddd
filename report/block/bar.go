package block

import (
	"math"

	"jobeff/report/figure"
)

// barLength is the length of a bar from 0 to 1, in its picture's units; leastBar is the shortest that is
// visible.
const barLength, leastBar = 1000, 3

// BarBegin returns where a bar from a share on begins, of 1000.
func BarBegin(from float64) int { return int(math.Round(barLength * min(max(from, 0), 1))) }

// BarLength returns the length of a bar between two shares, of 1000. It is visible unless the two are equal.
func BarLength(from, to float64) int {
	length := BarBegin(to) - BarBegin(from)
	if to > from {
		length = max(length, leastBar)
	}
	return min(length, barLength-BarBegin(from))
}

// BarCells returns how many of n cells a bar fills. Only a perfect 1 fills all.
func BarCells(share float64, n int) int {
	k := int(math.Round(min(max(share, 0), 1) * float64(n)))
	if k == n && figure.Efficiency(share) < "1" {
		k--
	}
	return k
}
