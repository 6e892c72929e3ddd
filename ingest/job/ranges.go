package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FormatRanges writes numbers as the kernel and Slurm do: "0-3,8".
func FormatRanges(numbers []int) string {
	all := make([]numberRange, 0, len(numbers))
	for _, n := range numbers {
		all = append(all, numberRange{n, n})
	}
	return formatRanges(joinRanges(all))
}

// numberRange is all numbers from lo to hi.
type numberRange struct{ lo, hi int }

// joinRanges sorts ranges in place, and joins those that overlap or touch.
func joinRanges(all []numberRange) (joined []numberRange) {
	slices.SortFunc(all, func(a, b numberRange) int { return cmp.Compare(a.lo, b.lo) })
	for _, r := range all {
		if last := len(joined) - 1; last >= 0 && r.lo <= joined[last].hi+1 {
			joined[last].hi = max(joined[last].hi, r.hi)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

func formatRanges(all []numberRange) string {
	var b strings.Builder
	for i, r := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.lo))
		if r.hi > r.lo {
			b.WriteString("-" + strconv.Itoa(r.hi))
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
