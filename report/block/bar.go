package block

import (
	"math"

	"jobeff/report/figure"
)

// barLength is that of a bar from 0 to 1, in its picture's units; leastBar can still be seen.
const barLength, leastBar = 1000, 3

// BarBegin is where a bar from a share on begins, of 1000.
func BarBegin(from float64) int { return int(math.Round(barLength * min(max(from, 0), 1))) }

// BarLength is how long a bar between two shares is, of 1000. One of any length can always be seen.
func BarLength(from, to float64) int {
	length := BarBegin(to) - BarBegin(from)
	if to > from {
		length = max(length, leastBar)
	}
	return min(length, barLength-BarBegin(from))
}

// BarCells is how many of n cells a bar of a share fills. Only that of a perfect 1 fills all.
func BarCells(share float64, n int) int {
	k := int(math.Round(min(max(share, 0), 1) * float64(n)))
	if k == n && figure.Efficiency(share) < "1" {
		k--
	}
	return k
}
