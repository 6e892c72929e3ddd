package slow

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// bets lists what is bet on. A node may be slower by shift standard deviations of alike jobs: 1.25 is 5 % where these differ by
// 4 %. On it, alike jobs may differ scale times as much as on others. weight is a bet's part of those of its scale.
var bets = [...]struct{ shift, scale, weight float64 }{
	{0.5, 1, 0.2}, {1.25, 1, 0.6}, {3, 1, 0.2},
	{0.5, 2, 0.2}, {1.25, 2, 0.6}, {3, 2, 0.2},
}

// bet holds a figure for each of bets.
type bet [len(bets)]float64

// pays is paysOf the largest blocks.
var pays = sync.OnceValue(func() [][]bet { return paysOf(mostCells) })

// paysOf returns ln of what each bet pays in blocks of up to so many cells, by cells and rank. The mean over the ranks of
// what it multiplies by is at most 1. In the largest block, it is the likelihood ratio of a shift of normal values, at Blom's
// normal scores, divided by scale. Tests by normal scores lose nothing where values are normal, and gain where they are not
// (Chernoff and Savage 1958).
// In smaller ones, it is the mean of what it becomes with one more cell, which falls with the same chance into each
// gap between the others. So a bet on a block that fills is fair at every moment.
func paysOf(most int) [][]bet {
	all := make([][]bet, most+1)
	all[most] = make([]bet, most)
	for k, b := range bets {
		sum := 0.0
		for r := range most {
			score := distuv.UnitNormal.Quantile((float64(r) + 0.625) / (float64(most) + 0.25))
			all[most][r][k] = math.Exp(b.shift * score / b.scale)
			sum += math.Exp(b.shift * score)
		}
		for r := range most {
			all[most][r][k] *= float64(most) / sum
		}
	}
	for m := most - 1; m > 0; m-- {
		all[m] = make([]bet, m)
		for r := range m {
			below := float64(r+1) / float64(m+1) // the chance that the next cell is faster
			for k := range bets {
				all[m][r][k] = below*all[m+1][r+1][k] + (1-below)*all[m+1][r][k]
			}
		}
	}
	for m := range all {
		for r := range all[m] {
			for k, times := range all[m][r] {
				all[m][r][k] = math.Log(times)
			}
		}
	}
	return all
}

// shared returns the pays of sorted values. Equal values share theirs: each is multiplied by the mean.
func shared(pays []bet, sorted []float64) []bet {
	all := slices.Clone(pays)
	for from, to := 0, 0; from < len(sorted); from = to {
		for to = from + 1; to < len(sorted) && sorted[to] == sorted[from]; to++ {
		}
		for k := range bets {
			if to == from+1 {
				break
			}
			sum := 0.0
			for r := from; r < to; r++ {
				sum += math.Exp(pays[r][k])
			}
			for r := from; r < to; r++ {
				all[r][k] = math.Log(sum / float64(to-from))
			}
		}
	}
	return all
}

// medianWithout returns the median of sorted values without the one at i.
func medianWithout(sorted []float64, i int) float64 {
	at := func(k int) float64 {
		if k >= i {
			k++
		}
		return sorted[k]
	}
	m := len(sorted) - 1
	return (at((m-1)/2) + at(m/2)) / 2
}
