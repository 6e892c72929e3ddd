package ingest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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
	maxSections   = 2 * mostLabels

	maxSharesOfNode = 64
	maxHistogram    = 65
)

// ErrNewer marks a report of a later version than this build's: it is no fault
// of the report, so it must be kept until the server is upgraded.
var ErrNewer = errors.New("the report is of a later version of jobeff: upgrade jobeffd first")

// DecodeReport reads one report's JSON, refuses what identifies no job on a node
// and makes the rest harmless: text printable, numbers not negative.
func DecodeReport(body []byte) (*NodeReport, error) {
	if len(body) > MaxReportBytes {
		return nil, ErrTooLarge
	}
	r := new(NodeReport)
	if err := unmarshalReport(body, r); err != nil {
		return nil, fmt.Errorf("the report is not JSON of the known form: %s", CleanText(err.Error(), 200))
	}
	if r.Version > ReportVersion {
		return nil, ErrNewer
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// Validate refuses a report whose identity or size cannot be, and cleans the
// rest in place: control, format and broken characters become '?', long text is
// cut, negative numbers become 0, an end before its start becomes the start.
func (r *NodeReport) Validate() error {
	switch {
	case r.Version < 1:
		return errors.New("the report has no version")
	case r.JobID == 0:
		return errors.New("the report has no job id")
	case !isHex32(r.Run):
		return errors.New("the report's run is not 32 hex digits")
	case r.BootID != "" && !isHex32(r.BootID):
		return errors.New("the report's boot id is not 32 hex digits")
	case !isName(r.Node, 255):
		return errors.New("the report has no valid node name")
	case !isName(r.Cluster, 64):
		return errors.New("the report has no valid cluster name")
	}
	if err := r.checkSizes(); err != nil {
		return err
	}
	scrubReport(reflect.ValueOf(r).Elem())
	if r.NNodes > maxListed {
		return fmt.Errorf("the report's job has %d nodes", r.NNodes)
	}
	r.Start, r.End = cleanSpan(r.Start, r.End)
	if r.End.IsZero() {
		r.End = r.Start
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Start, s.End = cleanSpan(s.Start, s.End)
	}
	for i := range r.Executions {
		r.Executions[i].clean(r.Node)
	}
	return nil
}

// checkSizes bounds the lists before anything walks them.
func (r *NodeReport) checkSizes() error {
	if len(r.Executions) > maxExecutions || len(r.Steps) > maxSteps || len(r.Warnings) > maxListed {
		return fmt.Errorf("the report has %d executions, %d steps and %d warnings", len(r.Executions), len(r.Steps), len(r.Warnings))
	}
	for i := range r.Executions {
		x := &r.Executions[i]
		if x.Key == "" || len(x.Nodes) == 0 || len(x.Nodes) > maxSharesOfNode {
			return fmt.Errorf("execution %d of the report has no key or not one node", i)
		}
		if len(x.HistP2P) > maxHistogram || len(x.HistCol) > maxHistogram || len(x.Calls) > maxCalls || len(x.Classes) > maxCalls {
			return fmt.Errorf("execution %d of the report has a list that is too long", i)
		}
		if len(x.Args) > mostArgs {
			return fmt.Errorf("execution %d of the report has %d arguments", i, len(x.Args))
		}
		if len(x.Sections) > maxSections {
			return fmt.Errorf("execution %d of the report has %d sections", i, len(x.Sections))
		}
		for _, n := range x.Nodes {
			if err := n.checkRanks(); err != nil {
				return fmt.Errorf("execution %d of the report: %w", i, err)
			}
		}
	}
	return nil
}

// checkRanks bounds what the list of ranks unfolds to.
func (n *NodeShare) checkRanks() error {
	if len(n.UsefulShare) > maxListed || len(n.MPIShare) > maxListed || len(n.RankIDs) > maxRankIDs {
		return errors.New("a list of ranks is too long")
	}
	count := 0
	err := eachRange(n.RankIDs, func(lo, hi int) {
		count += min(hi, maxRank+1) - min(lo, maxRank) + 1
		if hi > maxRank {
			count += maxListed
		}
	})
	if err == nil && count > maxListed {
		err = errors.New("rank_ids lists more ranks than a node has")
	}
	return err
}

// clean makes one node's part of an execution consistent with its reporter.
func (x *Execution) clean(node string) {
	x.Start, x.End = cleanSpan(x.Start, x.End)
	for i := range x.Nodes {
		x.Nodes[i].Node = node
		x.Nodes[i].checkCounters()
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

// The times that SQL and JSON can hold in every unit that is used.
var (
	earliest = time.Unix(0, 0).UTC()
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

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
