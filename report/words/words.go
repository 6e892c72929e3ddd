package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// of puts a word before a value; "" if there is no value.
func of(word, value string) string {
	if value == "" {
		return ""
	}
	return word + " " + value
}

// counted writes how often each text was seen, the most frequent first.
func counted(sum map[string]int) string {
	keys := make([]string, 0, len(sum))
	for k := range sum {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if sum[a] != sum[b] {
			return sum[b] - sum[a]
		}
		return strings.Compare(a, b)
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s %s", figure.Count(sum[k]), k)
	}
	return strings.Join(keys, ", ")
}

// distinct lists the different values of the executions, at most three.
func distinct(executions []job.Execution, value func(job.Execution) string) string {
	var seen []string
	for _, e := range executions {
		if v := value(e); v != "" && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	if more := len(seen) - 3; more > 0 {
		seen = append(seen[:3], figure.Count(more)+" more")
	}
	return strings.Join(seen, ", ")
}

func lowerFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[size:]
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// alike returns how to write the times of some columns of a table: in one unit.
func alike[T any](rows []T, columns ...func(T) float64) func(float64) string {
	var all []float64
	for _, r := range rows {
		for _, of := range columns {
			all = append(all, of(r))
		}
	}
	return figure.SecondsAlike(all...)
}

// nodesText lists on how many nodes a core count ran.
func nodesText(nodes []int) string {
	var all []string
	for _, n := range nodes {
		all = append(all, strconv.Itoa(n))
	}
	if len(all) > 3 {
		return all[0] + "-" + all[len(all)-1]
	}
	return strings.Join(all, ",")
}

// someOf names the first few jobs.
func someOf(ids []string) string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > costly {
		ids = append(ids[:costly:costly], "...")
	}
	what := "job "
	if len(ids) > 1 {
		what = "jobs "
	}
	return what + strings.Join(ids, ", ")
}

// idsText names the jobs of some runs.
func idsText(runs []job.Run) string {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.DisplayID)
	}
	return someOf(ids)
}

// mutedText says how long a workload is muted; it follows the word "muted".
func mutedText(until *time.Time) string {
	if until == nil {
		return ""
	}
	return "until " + figure.Minute(*until)
}

// more says how many rows a table leaves out; "": none.
func more(n int, noun, which string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("and %s %s; --json has them all", figure.Counted(n, noun), which)
}

// listed bounds the lines of a list in a text; the JSON document has all.
const listed = 10

// costly bounds how many MPI calls and nodes are named.
const costly = 5
