package job

import (
	"encoding/hex"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jobeff/preload/record"
)

// Limits of a report's parts. A node's fold stays far below them; what is above
// was made by something else.
const (
	maxExecutions = 20_000 // of one node and job
	maxSteps      = 100_000
	maxListed     = 1 << 20 // of any other list
	maxText       = 4 << 10 // bytes of a name, path or warning
	maxRankIDs    = 1 << 20 // bytes of NodeShare.RankIDs
	maxRank       = 1 << 26
	maxCalls      = 4096
	maxSections   = 2 * MostLabels

	maxSharesOfNode = 64
	maxHistogram    = 65
)

// Clean makes one node's part of an execution consistent with its reporter.
func (x *Execution) Clean(node string) {
	x.Start, x.End = cleanSpan(x.Start, x.End)
	for i := range x.Nodes {
		x.Nodes[i].Node = node
		x.Nodes[i].checkCounters()
		x.Nodes[i].checkLoad()
	}
	x.cleanWorkload()
	x.Metrics, x.RankIDs = nil, "" // computed here, from what is below
	if len(x.Slowest) > SlowestKept {
		x.Slowest = x.Slowest[:SlowestKept]
	}
	for i := range x.Slowest {
		x.Slowest[i].Node = node
	}
}

// cleanSpan clamps a span; a zero time stays zero.
func cleanSpan(start, end time.Time) (time.Time, time.Time) {
	start, end = cleanTime(start), cleanTime(end)
	if !end.IsZero() && end.Before(start) {
		end = start
	}
	return start, end
}

func cleanTime(t time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t.UTC()
}

// scrubReport makes everything in a report harmless: text printable and at most maxText
// long, negative integers 0.
var scrubReport = scrubOf(reflect.TypeFor[NodeReport]())

// scrubOf is what scrubs a value of type t with all that is below it, nil where there is
// nothing to do. It is made once: to ask for a struct's fields at each report takes six
// times as long.
func scrubOf(t reflect.Type) func(reflect.Value) {
	switch t.Kind() {
	case reflect.String:
		return scrubText
	case reflect.Int, reflect.Int64:
		return scrubNumber
	case reflect.Struct:
		return scrubStruct(t)
	case reflect.Map:
		return func(v reflect.Value) { scrubCounts(v.Interface().(map[string]int)) }
	case reflect.Pointer:
		if scrub := scrubOf(t.Elem()); scrub != nil {
			return func(v reflect.Value) {
				if !v.IsNil() {
					scrub(v.Elem())
				}
			}
		}
	case reflect.Slice:
		if scrub := scrubOf(t.Elem()); scrub != nil {
			return func(v reflect.Value) {
				for i := range v.Len() {
					scrub(v.Index(i))
				}
			}
		}
	}
	return nil
}

func scrubText(v reflect.Value) {
	s := v.String()
	if clean := CleanText(s, maxText); clean != s {
		v.SetString(clean)
	}
}

func scrubNumber(v reflect.Value) {
	if v.Int() < 0 {
		v.SetInt(0)
	}
}

// scrubStruct leaves out times, and RankIDs, which checkRanks has read.
func scrubStruct(t reflect.Type) func(reflect.Value) {
	type field struct {
		at    int
		scrub func(reflect.Value)
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[NodeShare]() && f.Name == "RankIDs" {
			continue
		}
		if scrub := scrubOf(f.Type); scrub != nil {
			fields = append(fields, field{i, scrub})
		}
	}
	return func(v reflect.Value) {
		for _, f := range fields {
			f.scrub(v.Field(f.at))
		}
	}
}

// scrubCounts cleans a count by name; names that become the same are added.
func scrubCounts(m map[string]int) {
	for name, n := range m {
		if clean := CleanText(name, 64); clean != name || n < 0 {
			delete(m, name)
			m[clean] = max(m[clean]+max(n, 0), 0)
		}
	}
}

// isName tells a name of letters, digits and ".-_", as hosts and clusters have.
func isName(s string, most int) bool {
	ok := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
	}
	return s != "" && len(s) <= most && s[0] != '-' && s[0] != '.' && strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
}

// isPlain tells printable ASCII, which nearly all text is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// CleanText makes text that came from a user printable: what controls a
// terminal, the direction of writing or a line's end becomes '?', and so does
// what is not UTF-8. It is cut at limit bytes, between characters.
func CleanText(s string, limit int) string {
	if len(s) <= limit && isPlain(s) {
		return s
	}
	s = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
			return '?'
		}
		return c
	}, s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Bounds of what tells a workload.
const (
	MostArgs     = 1025 // 1 KiB of text, and the mark that there is more
	MostWorkload = 64   // bytes of a name, as the plugin takes it
	MostNote     = 200
)

// cleanWorkload makes what tells the workload what it can be, whoever wrote it.
func (x *Execution) cleanWorkload() {
	for _, hash := range []*string{&x.ExecutableHash, &x.ArgsHash, &x.InputHash} {
		if b, err := hex.DecodeString(*hash); err != nil || len(b) != 16 {
			*hash = ""
		}
	}
	x.Args = x.Args[:min(len(x.Args), MostArgs)]
	x.Workload = CleanText(x.Workload, MostWorkload)
	x.Inputs = min(x.Inputs, record.InputsMost)
	x.InputNote = CleanText(x.InputNote, MostNote)
	if x.InputHash == "" {
		x.Inputs = 0
	} else {
		x.InputNote = ""
	}
}

// CleanWorkload is a workload's name as the plugin takes one, else "".
func CleanWorkload(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+:@/-"
	if len(name) > MostWorkload || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(allowed, c) }) {
		return ""
	}
	return name
}

// IsHex32 tells 32 lower-case hex digits, as a run, a nonce and a boot id are.
func IsHex32(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// The times that SQL and JSON can hold in every unit that is used.
var (
	earliest = time.Unix(0, 0).UTC()
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)
