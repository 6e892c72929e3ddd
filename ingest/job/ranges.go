package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FormatRanges writes numbers as the kernel and Slurm do: "0-3,8". It sorts them in place.
func FormatRanges(numbers []int) string {
	slices.Sort(numbers)
	var b strings.Builder
	for i := 0; i < len(numbers); {
		j := i + 1
		for j < len(numbers) && numbers[j] <= numbers[j-1]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[i]))
		if last := numbers[j-1]; last > numbers[i] {
			b.WriteString("-" + strconv.Itoa(last))
		}
		i = j
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
