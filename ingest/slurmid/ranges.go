package slurmid

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FormatRanges writes numbers as the kernel and Slurm do: "0-3,8".
func FormatRanges(numbers []int) string {
	all := make([]Range, 0, len(numbers))
	for _, n := range numbers {
		all = append(all, Range{n, n})
	}
	return RangesText(JoinRanges(all))
}

// Range is all numbers from First to Last.
type Range struct{ First, Last int }

// JoinRanges sorts ranges in place, and joins those that overlap or touch.
func JoinRanges(all []Range) (joined []Range) {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	for _, r := range all {
		if last := len(joined) - 1; last >= 0 && r.First <= joined[last].Last+1 {
			joined[last].Last = max(joined[last].Last, r.Last)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// RangesText writes ranges as FormatRanges does.
func RangesText(all []Range) string {
	var b strings.Builder
	for i, r := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.First))
		if r.Last > r.First {
			b.WriteString("-" + strconv.Itoa(r.Last))
		}
	}
	return b.String()
}

// EachRange calls do with the ends of every range in text. The ranges must ascend without
// overlap.
func EachRange(text string, do func(lo, hi int)) error {
	next := 0
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			return nil
		}
		first, last, both := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if both && err == nil {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < next || hi < lo {
			return fmt.Errorf("ingest: %.40q is no ascending list like 0-3,8", text)
		}
		do(lo, hi)
		next = hi + 1
	}
	return nil
}

// RankList lists the ranks in text ("0-3,8"), at most the first n.
func RankList(text string, n int) ([]int, error) {
	var ranks []int
	err := EachRange(text, func(lo, hi int) {
		for r := lo; r <= hi && len(ranks) < n; r++ {
			ranks = append(ranks, r)
		}
	})
	return ranks, err
}
