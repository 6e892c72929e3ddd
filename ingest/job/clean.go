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

// Limits of a report's parts, see also possible.go. A node's fold stays far below them: larger
// parts come from another program.
const (
	maxExecutions = 20_000 // of one node and job
	maxSteps      = 100_000
	maxExits      = 4 * maxSteps // different ones, over all steps; those beyond are left out
	maxText       = 4 << 10      // bytes of a name, path or warning
)

// Clean makes one node's part of an execution consistent with the node that reports it.
func (x *Execution) Clean(node string) {
	x.Start, x.End = cleanSpan(x.Start, x.End)
	for i := range x.Nodes {
		x.Nodes[i].Node = node
		x.Nodes[i].checkCounters()
		x.Nodes[i].checkLoad()
	}
	x.checkWindows()
	x.cleanWorkload()
	if x.Folded != nil {
		x.Folded.clean()
	}
	x.Metrics, x.RankIDs = nil, "" // jobeffd computes these from the fields below
	if len(x.Slowest) > SlowestKept {
		x.Slowest = x.Slowest[:SlowestKept]
	}
	for i := range x.Slowest {
		x.Slowest[i].Node = node
	}
}

// checkWindows leaves out windows whose figures cannot be.
func (x *Execution) checkWindows() {
	if x.Windows != nil && !x.Windows.possible(x.Size) {
		x.Windows = nil
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

// scrubReport makes everything in a report harmless: text printable and at most maxText long,
// negative integers 0.
var scrubReport = scrubOf(reflect.TypeFor[NodeReport]())

// scrubOf is the function that scrubs a value of type t and all below it; nil if there is
// nothing to scrub. It is made once: looking at a struct's fields for each report takes six
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

// scrubStruct leaves out times, and RankIDs, which checkRanks reads.
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

// scrubCounts cleans the names of counts. If two names become the same, their counts add up.
func scrubCounts(m map[string]int) {
	for name, n := range m {
		if clean := CleanText(name, 64); clean != name || n < 0 {
			delete(m, name)
			m[clean] = max(m[clean]+max(n, 0), 0)
		}
	}
}

// isName recognizes names of letters, digits and ".-_", as hosts and clusters have.
func isName(s string, most int) bool {
	ok := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
	}
	return s != "" && len(s) <= most && s[0] != '-' && s[0] != '.' && strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
}

// isPlain recognizes printable ASCII, which most text is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// CleanText makes a user's text printable. Characters that control a terminal, change the
// direction of writing or end a line become '?', and so do bytes that are not UTF-8. The text
// is cut at limit bytes, between characters.
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

// Bounds of what names a workload.
const (
	MostArgs     = 1025 // 1 KiB of text, and the mark for more
	MostWorkload = 64   // bytes of a name, as the plugin accepts it
	MostNote     = 200
)

// cleanWorkload bounds and cleans what names the workload.
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

// CleanWorkload returns a workload's name if the plugin would accept it, else "".
func CleanWorkload(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+:@/-"
	if len(name) > MostWorkload || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(allowed, c) }) {
		return ""
	}
	return name
}

// IsHex32 recognizes 32 lower-case hex digits, which a nonce and a boot id have.
func IsHex32(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// The times that SQL and JSON can hold in every unit that jobeff uses.
var (
	earliest = time.Unix(0, 0).UTC()
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)
