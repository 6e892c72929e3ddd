package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/assemble"
	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/preload/record"
)

// DecodeReport reads one report's JSON. It refuses a report that identifies no job on a node,
// and makes the rest harmless: text printable, numbers not negative.
func DecodeReport(body []byte) (*job.NodeReport, error) {
	if len(body) > MaxReportBytes {
		return nil, ErrTooLarge
	}
	r := new(job.NodeReport)
	if err := unmarshalReport(body, r); err != nil {
		return nil, fmt.Errorf("the report is not JSON of the expected form: %s", CleanText(err.Error(), 200))
	}
	if r.Version > job.ReportVersion && r.Sequence > 0 {
		return nil, ErrNewer
	}
	if err := Validate(r); err != nil {
		return nil, err
	}
	r.Executions = assemble.FoldWhole(r.Executions) // a made-up report may not have done it
	return r, nil
}

// DecodeHead is DecodeReport without the report's lists. It needs little memory.
func DecodeHead(body []byte) (*job.NodeReport, error) {
	var r struct {
		job.NodeReport
		Steps      skipped `json:"steps"`
		Executions skipped `json:"executions"`
		GPUs       skipped `json:"gpus"`
		Warnings   skipped `json:"warnings"`
	}
	if err := UnmarshalFast(body, &r); err != nil {
		return nil, err
	}
	return &r.NodeReport, Validate(&r.NodeReport)
}

// skipped is a part that is not read.
type skipped struct{}

// UnmarshalJSONFrom passes over any value.
func (*skipped) UnmarshalJSONFrom(in *jsontext.Decoder) error { return in.SkipValue() }

// Validate refuses a report that does not name its job and node. It leaves out impossible executions,
// and cleans the rest in place: control, format and broken characters become '?', long text is cut,
// numbers are bounded, and an end before its start becomes the start. Node and server both call it,
// so the server accepts whatever a node keeps.
func Validate(r *job.NodeReport) error {
	switch {
	case r.Version != job.ReportVersion || r.Sequence < 1:
		return errors.New("the report is of another version of jobeff, from before its first release: delete it, or let a jobeffd of that version take it")
	case r.JobID == 0:
		return errors.New("the report has no job id")
	case !IsHex32(r.Nonce):
		return errors.New("the report's nonce is not 32 hex digits")
	case r.BootID != "" && !IsHex32(r.BootID):
		return errors.New("the report's boot id is not 32 hex digits")
	case !slurmid.IsName(r.Node, job.MostName):
		return errors.New("the report has no valid node name")
	case !slurmid.IsName(r.Cluster, 64):
		return errors.New("the report has no valid cluster name")
	}
	if len(r.Steps) > maxSteps || len(r.Warnings) > maxNamed {
		return fmt.Errorf("the report has %d steps and %d warnings", len(r.Steps), len(r.Warnings))
	}
	if len(r.GPUs) > job.MostGPUs {
		return fmt.Errorf("the report has %d GPUs", len(r.GPUs))
	}
	DropImpossible(r)
	scrubReport(reflect.ValueOf(r).Elem())
	for _, name := range []*string{&r.User, &r.Account, &r.Partition} {
		*name = CleanText(*name, job.MostName)
	}
	if r.NNodes > job.MostListed {
		return fmt.Errorf("the report's job has %d nodes", r.NNodes)
	}
	r.Start, r.End = cleanSpan(r.Start, r.End)
	r.AsOf = cleanTime(r.AsOf)
	if r.Progress != nil && !cleanProgress(r.Progress, r.Node) {
		r.Progress = nil
	}
	if r.Cgroup != nil && !r.Cgroup.Possible() {
		r.Cgroup = nil
	}
	for i := range r.GPUs {
		if g := &r.GPUs[i]; !g.Possible() {
			*g = job.GPU{Why: job.GPUFailed}
		} else {
			g.Why = CleanText(g.Why, job.MostName)
		}
	}
	if r.End.IsZero() {
		r.End = r.Start
	}
	exits := 0
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Start, s.End = cleanSpan(s.Start, s.End)
		if exits += len(s.Exits); exits > maxExits {
			s.Exits = nil
		}
	}
	for i := range r.Executions {
		CleanExecution(&r.Executions[i], r.Node)
	}
	return nil
}

// asToday accepts the same texts, with the same values, as encoding/json. But it stops at the
// first wrong value, so a list of millions of them is never made. It also reads each text once,
// not once for the syntax and once for the values, which saves a quarter of the time.
var asToday = json.JoinOptions(v1.DefaultOptionsV1(), v1.ReportErrorsWithLegacySemantics(false))

// UnmarshalFast is encoding/json's Unmarshal, more than twice as fast on a report: it is the
// coming release of that package. After an error, v holds what was read so far. Generated code
// (easyjson) is not faster if it keeps Go's memory safety, which data from the network needs.
func UnmarshalFast(text []byte, v any) error { return json.Unmarshal(text, v, asToday) }

// unmarshalReport is UnmarshalFast for hostile text, which could fill the memory: an empty object is
// two bytes of text, but an Execution is a thousand bytes in memory.
func unmarshalReport(text []byte, r *job.NodeReport) error {
	const textOfObject = 24 // bytes: a report has more on average
	most := 1000 + len(text)/textOfObject
	// The quick count includes what strings hold, but nearly always suffices. Each null has two l,
	// and one byte is counted 20 times as fast as four.
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("l"))/2
	if objects > most && countObjects(text) > most {
		return errors.New("it holds too many empty objects or lists")
	}
	if objects <= job.MostExecutions { // so they cannot be too many
		return UnmarshalFast(text, r)
	}
	return json.Unmarshal(text, r, asToday, fewExecutions)
}

// countObjects counts the objects, lists and nulls of valid JSON.
func countObjects(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '{' || c == '[' || c == 'n'):
			n++
		}
	}
	return n
}

// fewExecutions checks for each value of a report whether it is a list of executions. That costs a
// tenth of the time.
var fewExecutions = json.WithUnmarshalers(json.UnmarshalFromFunc(readExecutions))

// readExecutions stops at the most executions that a report may have.
func readExecutions(in *jsontext.Decoder, list *[]job.Execution) error {
	if in.PeekKind() != '[' {
		return json.SkipFunc // the usual way handles null and errors
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	if len(*list) > 0 {
		return errors.New("it has its executions twice")
	}
	for *list = []job.Execution{}; in.PeekKind() != ']'; {
		if len(*list) == job.MostExecutions {
			return fmt.Errorf("it has more than %d executions", job.MostExecutions)
		}
		*list = append(*list, job.Execution{})
		if err := json.UnmarshalDecode(in, &(*list)[len(*list)-1]); err != nil {
			return err
		}
	}
	_, err := in.ReadToken()
	return err
}

// Limits of a report's parts, in addition to those of package job. A node's fold stays far below
// them: larger parts come from another program.
const (
	maxSteps    = 100_000
	maxExits    = 4 * maxSteps // different ones, over all steps; those beyond are left out
	maxText     = 4 << 10      // bytes of a path or warning
	mostInterim = 24 * time.Hour
	maxCalls    = 4096
	maxSections = 2 * job.MostLabels

	maxSharesOfNode = 64
	maxHistogram    = 65
	maxNamed        = 1000 // different endings or warnings: there are a few hundred
)

// CleanExecution makes one node's part of an execution consistent with the node that reports it.
func CleanExecution(x *job.Execution, node string) {
	x.Key = CleanText(x.Key, job.MostName)
	x.Start, x.End = cleanSpan(x.Start, x.End)
	for i := range x.Nodes {
		n := &x.Nodes[i]
		n.Node = node
		if n.Counters != nil && !n.Counters.Possible(n.Ranks) {
			n.Counters = nil
		}
		if n.Load != nil && !n.Load.Possible(n.Ranks) {
			n.Load = nil
		}
		if n.Course != nil && !n.Course.Possible() {
			n.Course = nil
		}
	}
	if x.Windows != nil && !x.Windows.Possible(x.Size) {
		x.Windows = nil
	}
	if x.Timeline != nil && !x.Timeline.Possible(x.Recorded()) {
		x.Timeline = nil
	}
	if x.Places != nil && !x.Places.Possible(x.Recorded()) {
		x.Places = nil
	}
	cleanWorkload(x)
	if x.Folded != nil {
		x.Folded.Clean()
	}
	x.Metrics, x.RankIDs = nil, "" // jobeffd computes these from the other fields
	if len(x.Slowest) > job.SlowestKept {
		x.Slowest = x.Slowest[:job.SlowestKept]
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

// scrubReport makes everything in a report harmless: text printable and at most maxText long,
// negative integers 0, counts at most MostNumber.
var scrubReport = scrubOf(reflect.TypeFor[job.NodeReport]())

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
	if n := v.Int(); n < 0 {
		v.SetInt(0)
	} else if n > job.MostNumber && v.Kind() == reflect.Int {
		v.SetInt(job.MostNumber)
	}
}

// scrubStruct leaves out times, the sequence number, and RankIDs, which checkRanks reads.
func scrubStruct(t reflect.Type) func(reflect.Value) {
	type field struct {
		at    int
		scrub func(reflect.Value)
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[job.NodeShare]() && f.Name == "RankIDs" || t == reflect.TypeFor[job.NodeReport]() && f.Name == "Sequence" {
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
		if clean := CleanText(name, 64); clean != name || n < 0 || n > job.MostNumber {
			delete(m, name)
			m[clean] = min(m[clean]+min(max(n, 0), job.MostNumber), job.MostNumber)
		}
	}
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
func cleanWorkload(x *job.Execution) {
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

// IsHex32 recognizes 32 lower-case hex digits, which a nonce and a boot id have.
func IsHex32(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// The times that SQL and JSON can hold in every unit that jobeff uses.
var (
	earliest = time.Unix(0, 0).UTC()
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// cleanProgress bounds what a node says of its ranks; false: no node of ours writes such a thing.
func cleanProgress(p *hang.Progress, node string) bool {
	if p.Moment.IsZero() || len(p.Mark) > 64 || len(p.Doubts) > 16 || len(p.Calls) > hang.MostOpenCalls {
		return false
	}
	if p.Every < 0 || p.Every > mostInterim {
		p.Every = 0
	}
	p.Moment, p.At, p.Read = cleanTime(p.Moment), cleanTime(p.At), cleanTime(p.Read)
	for i := range p.Calls {
		c := &p.Calls[i]
		c.Since, c.Until = cleanSpan(c.Since, c.Until)
		c.Execution, c.Some = CleanText(c.Execution, job.MostName), c.Some[:min(len(c.Some), hang.MostSome)]
		for k := range c.Some {
			c.Some[k].Node, c.Some[k].State = node, CleanText(c.Some[k].State, 1)
		}
	}
	return true
}
