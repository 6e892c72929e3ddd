package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

func TestDecodeKeepsAGoodReport(t *testing.T) {
	want := jobtest.Report(7, "n1", jobtest.Nonce)
	body, _ := json.Marshal(want)
	got, err := wire.DecodeReport(body)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestDecodeBounds: a few megabytes that would fill the memory are refused in time. Strings that
// look like them are not.
func TestDecodeBounds(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Executions = nil
	good, _ := json.Marshal(r)
	with := func(field string) []byte { return append(good[:len(good)-1:len(good)-1], ","+field+"}"...) }
	spaced := "{" + strings.Repeat(" ", 40) + "}"
	for name, c := range map[string]struct{ body, want string }{
		"objects":    {string(with(`"executions":[` + strings.Repeat("{},", 1e6) + `{}]`)), "too many empty objects"},
		"nulls":      {string(with(`"executions":[{"nodes":[` + strings.Repeat("null,", 1e6) + `null]}]`)), "too many empty objects"},
		"lists":      {string(with(`"executions":[{"timeline":{"most_ns":[` + strings.Repeat("[],", 4e6) + `[]]}}]`)), "too many empty objects"},
		"numbers":    {string(with(`"steps":[` + strings.Repeat("1,", 4e6) + `1]`)), "unmarshal JSON number into"},
		"twice":      {string(with(`"executions":[` + strings.Repeat(spaced+",", job.MostExecutions/2) + spaced + `],"executions":[` + strings.Repeat(spaced+",", job.MostExecutions/2) + spaced + `]`)), "it has its executions twice"},
		"executions": {string(with(`"executions":[` + strings.Repeat(spaced+",", job.MostExecutions) + spaced + `]`)), "it has more than 20000 executions"},
		"string":     {string(with(`"account":"` + strings.Repeat(`\"{null`, 1e5) + `"`)), ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := wire.DecodeReport([]byte(c.body))
		runtime.ReadMemStats(&after)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
			t.Errorf("%s: took %d MiB", name, took)
		}
	}
}

// TestDecodeRefuses: what cannot be a node's report.
func TestDecodeRefuses(t *testing.T) {
	const otherVersion = "the report is of another version of jobeff, from before its first release: delete it, or let a jobeffd of that version take it"
	for name, c := range map[string]struct {
		spoil func(r *job.NodeReport)
		want  string
	}{
		"version":     {func(r *job.NodeReport) { r.Version = 0 }, otherVersion},
		"sequence":    {func(r *job.NodeReport) { r.Sequence = 0 }, otherVersion},
		"job":         {func(r *job.NodeReport) { r.JobID = 0 }, "the report has no job id"},
		"run":         {func(r *job.NodeReport) { r.Nonce = "xyz" }, "the report's nonce is not 32 hex digits"},
		"boot":        {func(r *job.NodeReport) { r.BootID = "1" }, "the report's boot id is not 32 hex digits"},
		"node":        {func(r *job.NodeReport) { r.Node = "" }, "the report has no valid node name"},
		"node escape": {func(r *job.NodeReport) { r.Node = "n1\x1b" }, "the report has no valid node name"},
		"cluster":     {func(r *job.NodeReport) { r.Cluster = "../x" }, "the report has no valid cluster name"},
		"nodes":       {func(r *job.NodeReport) { r.NNodes = 1 << 40 }, "the report's job has 1099511627776 nodes"},
		"steps":       {func(r *job.NodeReport) { r.Steps = make([]job.Step, 100_001) }, "the report has 100001 steps and 0 warnings"},
		"GPUs":        {func(r *job.NodeReport) { r.GPUs = make([]job.GPU, 65) }, "the report has 65 GPUs"},
	} {
		r := jobtest.Report(7, "n1", jobtest.Nonce)
		c.spoil(r)
		body, _ := json.Marshal(r)
		if _, err := wire.DecodeReport(body); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	newer := jobtest.Report(7, "n1", jobtest.Nonce)
	newer.Version = job.ReportVersion + 1
	body, _ := json.Marshal(newer)
	if _, err := wire.DecodeReport(body); !errors.Is(err, wire.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	for _, body := range []string{"", "{", "[]", `{"version":1} x`, `{"version":1e400}`, `{"start":"yesterday"}`, `{"job_id":-1}`, `{"job_id":4294967296}`, "\x1b[31m"} {
		_, err := wire.DecodeReport([]byte(body))
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestNextMinorVersion: what nodes of the next minor version say more is passed over, in each object of a report, in the head of
// logs, and of an outbox. The rest is taken.
func TestNextMinorVersion(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	x := jobtest.Part(rand.New(rand.NewPCG(1, 2)), "k", "n1", r.Start, 0, 2, 4)
	r.Executions = []job.Execution{x}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := wire.DecodeReport(text)
	if err != nil {
		t.Fatal(err)
	}
	const more = `{"later":{"a":[1,null]},`
	later := bytes.ReplaceAll(text, []byte(`{"`), []byte(more+`"`))
	for _, counts := range []string{"exits", "endings"} { // which have any keys
		later = bytes.ReplaceAll(later, []byte(`"`+counts+`":`+more), []byte(`"`+counts+`":{`))
	}
	if got, err := wire.DecodeReport(later); err != nil || cmp.Diff(want, got) != "" || bytes.Count(later, []byte(more)) < 10 {
		t.Errorf("a report: %v\n%s", err, cmp.Diff(want, got))
	}
	l := wire.NodeLogs{Cluster: "c", JobID: 7, Nonce: jobtest.Nonce, Node: "n1", Key: "k", Size: 4, Ranks: 2}
	packed, err := wire.Decompress(l.Pack([]byte("text"), 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wire.DecodeLogs(wire.Compress(bytes.Replace(packed, []byte("{"), []byte(more), 1))); err != nil || string(got.Text) != "text" || got.Entries != 1 {
		t.Errorf("logs: %+v, %v", got, err)
	}
	state := wire.OutboxState{Waiting: 1, Oldest: time.Minute, Refused: 2, Cut: 3, Lost: 4}
	if got, ok := wire.ParseOutboxState(state.String() + " later=5"); !ok || got != state {
		t.Errorf("an outbox: %+v, %t", got, ok)
	}
}

// TestDecodeLeavesOut: an execution that cannot be is left out, with the reason. The rest of the
// report stays. Rounding is no reason.
func TestDecodeLeavesOut(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(x *job.Execution)
		why   string
	}{
		"nothing":            {func(x *job.Execution) {}, ""},
		"rounded":            {func(x *job.Execution) { x.Nodes[0].Useful += time.Microsecond }, ""},
		"rounded fraction":   {func(x *job.Execution) { x.Nodes[0].ElapsedSum -= 20 * time.Microsecond }, ""},
		"no key":             {func(x *job.Execution) { x.Key = "" }, "a list in it is too long, or empty"},
		"no node":            {func(x *job.Execution) { x.Nodes = nil }, "a list in it is too long, or empty"},
		"sections":           {func(x *job.Execution) { x.Sections = make([]job.Section, 20_003) }, "a list in it is too long, or empty"},
		"histogram":          {func(x *job.Execution) { x.HistP2P = make([]uint64, 66) }, "a list in it is too long, or empty"},
		"shares":             {func(x *job.Execution) { x.Nodes[0].MPIShare = make([]byte, 1<<20+1) }, "a list in it is too long, or empty"},
		"endings":            {func(x *job.Execution) { x.Endings = manyNames(1001) }, "a list in it is too long, or empty"},
		"warnings":           {func(x *job.Execution) { x.Warnings = make([]doubt.Warning, 1001) }, "a list in it is too long, or empty"},
		"steps":              {func(x *job.Execution) { x.Steps = make([]string, 100_001) }, "a list in it is too long, or empty"},
		"no size":            {func(x *job.Execution) { x.Size = 0 }, "its ranks cannot be"},
		"huge size":          {func(x *job.Execution) { x.Size = 1 << 30 }, "its ranks cannot be"},
		"huge rank":          {func(x *job.Execution) { x.Nodes[0].RankIDs = "9223372036854775807" }, "its ranks cannot be"},
		"rank 2^30":          {func(x *job.Execution) { x.Nodes[0].RankIDs, x.Size = "0,1073741824", 1<<26+1 }, "its ranks cannot be"},
		"rank beyond size":   {func(x *job.Execution) { x.Nodes[0].RankIDs = "0,2" }, "its ranks cannot be"},
		"ranks not listed":   {func(x *job.Execution) { x.Nodes[0].Ranks = 3 }, "its ranks cannot be"},
		"no list of ranks":   {func(x *job.Execution) { x.Nodes[0].RankIDs = "3-1" }, "its ranks cannot be"},
		"slowest rank":       {func(x *job.Execution) { x.Slowest = []job.Rank{{Rank: 2}} }, "its ranks cannot be"},
		"negative useful":    {func(x *job.Execution) { x.Nodes[0].Useful = -1 }, "a time is negative"},
		"negative call":      {func(x *job.Execution) { x.Calls[0].Time = -1 }, "a time is negative"},
		"above 1":            {func(x *job.Execution) { x.Nodes[0].UsefulMax, x.Nodes[0].Useful = 13e9, 26e9 }, "a rank computed longer than it ran"},
		"busiest below mean": {func(x *job.Execution) { x.Nodes[0].UsefulMax = 6e9 }, "ranks spent more time than passed"},
		"one rank too long":  {func(x *job.Execution) { x.Nodes[0].UsefulMax = 96e9 }, "a rank computed longer than it ran"},
		"MPI too long":       {func(x *job.Execution) { x.Nodes[0].MPI = 11e9 }, "ranks spent more time than passed"},
		"sum too long":       {func(x *job.Execution) { x.Nodes[0].ElapsedSum = 25e9 }, "ranks spent more time than passed"},
		"section above 1": {func(x *job.Execution) {
			x.Sections = []job.Section{{Label: "a", Ranks: 1, Elapsed: 1e9, ElapsedMax: 1e9, UsefulMax: 2e9}}
		}, "a rank computed longer than it ran"},
		"threads": {func(x *job.Execution) {
			x.Nodes[0].Threads = &job.ThreadShare{Ranks: 2, Threads: 4, ThreadsMax: 2, Useful: 40e9, UsefulMax: 10e9, Serial: 8e9}
		}, ""},
		"fewer than ranks": {func(x *job.Execution) { x.Nodes[0].Threads = &job.ThreadShare{Ranks: 1, Threads: 1, ThreadsMax: 1} }, "its ranks cannot be"},
		"threads too long": {func(x *job.Execution) {
			x.Nodes[0].Threads = &job.ThreadShare{Ranks: 2, Threads: 4, ThreadsMax: 2, Imbalance: 41e9, Serial: 8e9}
		}, "ranks spent more time than passed"},
		"a thread too long": {func(x *job.Execution) {
			x.Nodes[0].Threads = &job.ThreadShare{Ranks: 2, Threads: 4, ThreadsMax: 2, UsefulMax: 13e9}
		}, "a rank computed longer than it ran"},
		"busiest thread": {func(x *job.Execution) {
			x.Nodes[0].Threads = &job.ThreadShare{Ranks: 2, Threads: 4, ThreadsMax: 2, Useful: 40e9, UsefulMax: 9e9}
		}, "ranks spent more time than passed"},
		"negative threads": {func(x *job.Execution) {
			x.Nodes[0].Threads = &job.ThreadShare{Ranks: 2, Threads: 4, ThreadsMax: 2, Scheduling: -1}
		}, "a time is negative"},
		"section's threads": {func(x *job.Execution) {
			x.Sections = []job.Section{{Label: "a", Ranks: 1, Elapsed: 1e9, ElapsedMax: 1e9, Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: 3e9}}}
		}, "ranks spent more time than passed"},
		"run of no rank": {func(x *job.Execution) { x.Nodes[0].Run = &job.Instance{Number: 1, In: 2, Out: 1} }, "a time is negative"},
		"run too late":   {func(x *job.Execution) { x.Nodes[0].Run = &job.Instance{Number: 1, Out: 1, Late: 3} }, "ranks spent more time than passed"},
		"section's busiest thread": {func(x *job.Execution) {
			x.Sections = []job.Section{{Label: "a", Ranks: 1, Elapsed: 1e9, ElapsedMax: 1e9, Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Busiest: 1, Useful: 2e9, UsefulMax: 1e8}}}
		}, "ranks spent more time than passed"},
		"section's own": {func(x *job.Execution) { x.Sections = []job.Section{{Label: "a", Ranks: 1, Own: 1e9}} }, "ranks spent more time than passed"},
	} {
		r := jobtest.Report(7, "n1", jobtest.Nonce)
		good := r.Executions[0]
		r.Executions = []job.Execution{jobtest.Report(7, "n1", jobtest.Nonce).Executions[0], good}
		c.spoil(&r.Executions[0])
		body, _ := json.Marshal(r)
		got, err := wire.DecodeReport(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := []doubt.Warning{{Code: doubt.WarnImpossible, Args: doubt.Arguments{Other: c.why}, Count: 1}}
		if left := len(got.Executions); c.why == "" && (left != 2 || len(got.Warnings) > 0) || c.why != "" && (left != 1 || !cmp.Equal(got.Warnings, want)) {
			t.Errorf("%s: %d executions, %v", name, left, got.Warnings)
		}
		if d := cmp.Diff(r.Steps, got.Steps); d != "" {
			t.Errorf("%s: root's own notes: %s", name, d)
		}
	}
}

func manyNames(n int) map[string]int {
	all := map[string]int{}
	for i := range n {
		all[fmt.Sprint("exit ", i)] = 1
	}
	return all
}

// TestDecodeBoundsNotes: a page with a million kinds of exits takes seconds to write, and a list
// of jobs with a million warnings each is never done.
func TestDecodeBoundsNotes(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Steps = []job.Step{{ID: "0", Exits: manyNames(400_000)}, {ID: "1", Exits: manyNames(1)}}
	body, _ := json.Marshal(r)
	got, err := wire.DecodeReport(body)
	if err != nil || len(got.Steps) != 2 || len(got.Steps[0].Exits) != 400_000 || got.Steps[1].Exits != nil {
		t.Errorf("%v", err)
	}
	r.Steps, r.Warnings = nil, make([]doubt.Warning, 1001)
	body, _ = json.Marshal(r)
	if _, err := wire.DecodeReport(body); err == nil {
		t.Error("1,001 warnings are taken")
	}
}

// TestTextOfALargeReport: a report that the server would not take for its size is one without
// executions.
func TestTextOfALargeReport(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	for range 18_000 {
		x := r.Executions[0]
		x.Executable = strings.Repeat("x", 2000)
		r.Executions = append(r.Executions, x)
	}
	text, err := wire.ReportText(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.DecodeReport(text)
	if err != nil || len(got.Executions) > 0 || len(got.Steps) != 1 || jobtest.Codes(got.Warnings) != doubt.WarnImpossible || got.Warnings[0].Count != 18_001 {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestDecodeCleans: faults that do not hide which job the report is about.
func TestDecodeCleans(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Account = "a\x1b[31m\r\nb\u202ec\u2028\xff\x00<script>"
	r.User = strings.Repeat("ü", wire.MaxText)
	r.Decision = r.User
	r.Start, r.End = r.End, r.Start
	r.OnlineCPUs = -3
	r.Steps[0].Exits = map[string]int{"exit\n3": 2, "exit?3": 1, "0": -5}
	x := &r.Executions[0]
	x.Start, x.End = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	x.Nodes[0].Node, x.Nodes[0].CPUs = "another", -5
	x.Slowest = make([]job.Rank, 50)
	x.Executable = "/tmp/\u200b\u2066evil"
	x.Metrics = &job.Metrics{Ranks: 17}
	body, _ := json.Marshal(r)
	got, err := wire.DecodeReport(body)
	if err != nil {
		t.Fatal(err)
	}
	if got.Account != "a?[31m??b?c????<script>" && got.Account != "a?[31m??b?c???<script>" {
		t.Errorf("account %q", got.Account)
	}
	if len(got.User) != 254 || len(got.Decision) != wire.MaxText || !utf8.ValidString(got.User+got.Decision) {
		t.Errorf("a name of %d bytes, another text of %d", len(got.User), len(got.Decision))
	}
	if !got.End.Equal(got.Start) || got.OnlineCPUs != 0 {
		t.Errorf("%v to %v, %d CPUs", got.Start, got.End, got.OnlineCPUs)
	}
	if d := cmp.Diff(map[string]int{"exit?3": 3, "0": 0}, got.Steps[0].Exits); d != "" {
		t.Error(d)
	}
	y := got.Executions[0]
	if !y.Start.Equal(wire.Earliest) || !y.End.Equal(wire.Latest) || y.Executable != "/tmp/??evil" || y.Metrics != nil || len(y.Slowest) != job.SlowestKept {
		t.Errorf("got %+v", y)
	}
	if n := y.Nodes[0]; n.Node != "n1" || n.CPUs != 0 || y.Slowest[0].Node != "n1" {
		t.Errorf("got %+v", n)
	}
}

// TestDecodeCleansEverything: every field of a report is cleaned, also one that is added later.
func TestDecodeCleansEverything(t *testing.T) {
	r := new(job.NodeReport)
	spoil(t, reflect.ValueOf(r).Elem())
	good := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Version, r.Sequence, r.Nonce, r.BootID, r.Node, r.Cluster = good.Version, 1, good.Nonce, good.BootID, good.Node, good.Cluster
	x := &r.Executions[0] // what cannot be is left out
	x.Size, x.Sections[0] = 1, job.Section{Label: x.Sections[0].Label}
	x.Nodes[0].RankIDs, x.Nodes[0].Ranks = "0", 1
	for _, span := range []*time.Duration{&x.Nodes[0].Useful, &x.Nodes[0].UsefulMax, &x.Nodes[0].MPI, &x.Nodes[0].IO, &x.Nodes[0].ElapsedMax, &x.Nodes[0].ElapsedSum,
		&x.Slowest[0].Elapsed, &x.Slowest[0].Useful, &x.Slowest[0].MPI, &x.Calls[0].Time, &x.Classes[0].Time} {
		*span = 0
	}
	x.Slowest[0].Rank = 0
	x.Nodes[0].Threads = &job.ThreadShare{Why: x.Nodes[0].Threads.Why, Threads: 1, ThreadsMax: 1}
	x.Nodes[0].Run = &job.Instance{Number: 1}
	x.Slowest[0].OpenMP = &job.OpenMP{Why: x.Slowest[0].OpenMP.Why, Threads: x.Slowest[0].OpenMP.Threads}
	if err := wire.Validate(r); err != nil {
		t.Fatal(err)
	}
	texts, numbers := wantClean(t, "report", reflect.ValueOf(r).Elem())
	if texts < 40 || numbers < 40 {
		t.Errorf("only %d texts and %d numbers were looked at", texts, numbers)
	}
}

// spoil fills every field of v with text and numbers that nobody may see.
func spoil(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("evil\x1b\n\u202e" + strings.Repeat("x", wire.MaxText))
	case reflect.Int, reflect.Int64:
		v.SetInt(-1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Bool, reflect.Float64:
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		spoil(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		spoil(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]int{"evil\x1b": -1}))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				spoil(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("Validate does not know %v", v.Type())
	}
}

// wantClean counts the texts and numbers in v, and reports those that are not clean.
func wantClean(t *testing.T, name string, v reflect.Value) (texts, numbers int) {
	below := func(name string, v reflect.Value) {
		moreTexts, moreNumbers := wantClean(t, name, v)
		texts, numbers = texts+moreTexts, numbers+moreNumbers
	}
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); len(s) > wire.MaxText || !wire.IsPlain(s) {
			t.Errorf("%s is %.20q of %d bytes", name, s, len(s))
		}
		return 1, 0
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			t.Errorf("%s is %d", name, v.Int())
		}
		return 0, 1
	case reflect.Pointer:
		if !v.IsNil() {
			below(name, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			below(name, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			below(name, key)
			below(name, v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				below(name+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	return texts, numbers
}

// negative is a number in JSON that is below zero.
var negative = regexp.MustCompile(`":-[0-9]`)

func FuzzDecodeReport(f *testing.F) {
	body, _ := json.Marshal(jobtest.Report(7, "n1", jobtest.Nonce))
	f.Add(body)
	f.Add([]byte(`{"version":1,"sequence":1,"job_id":1,"nonce":"` + jobtest.Nonce + `","node":"n","cluster":"c","executions":[{"key":"k","nodes":[{"rank_ids":"0-3,8"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := wire.DecodeReport(body)
		if err != nil {
			return
		}
		if r.End.Before(r.Start) || !wire.IsHex32(r.Nonce) || r.JobID == 0 {
			t.Errorf("accepted %+v", r)
		}
		var m assemble.Merger // what was accepted can be merged with what another node says, and shown
		m.Add(r)
		other, err := wire.DecodeReport(body)
		if err != nil {
			t.Fatalf("accepted only once: %v", err)
		}
		other.Node += "x"
		m.Add(other)
		j := m.Job()
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(text), "\x1b\x00\u202e") {
			t.Errorf("not inert: %s", text)
		}
		if negative.Match(text) {
			t.Errorf("a number is negative: %s", text)
		}
	})
}

// FuzzUnmarshalFast: it accepts what encoding/json accepts, and reads the same values.
func FuzzUnmarshalFast(f *testing.F) {
	body, _ := json.Marshal(jobtest.Report(7, "n1", jobtest.Nonce))
	f.Add(body)
	for _, s := range []string{`{"VERSION":1,"version":2}`, `{"node":"\ud800"}`, `{"node":null,"steps":[null]}`, `{"job_id":1e3}`, `{"job_id":-1}`,
		`{"start":"2026-01-01T00:00:00+24:00"}`, `[]`, `null`, ` {} `, `{}{}`, `{"executions":[{"nodes":[{"useful_ns":1.0}]}]}`, `{"node":"` + "\xff" + `"}`,
		`{"executions":[{"nodes":[{"useful_share":"AAA="},{"useful_share":"!"}],"endings":{"a":1,"a":2}}]}`, `{"array_task_id":null}`, `{"unknown":[[[{}]]]}`,
		`{"executions":null}`, `{"executions":{}}`, `{"executions":[null,{}]}`, `{"executions":[{"size":1},{}],"executions":[{}]}`, `{"executions":[{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want, got job.NodeReport
		wantErr, gotErr := json.Unmarshal(body, &want), wire.UnmarshalFast(body, &got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("encoding/json says %v, UnmarshalFast %v", wantErr, gotErr)
		}
		if wantErr == nil && !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
		var bounded job.NodeReport // accepts less, but reads nothing else
		if err := wire.UnmarshalReport(body, &bounded); err == nil && (wantErr != nil || !cmp.Equal(want, bounded)) {
			t.Error(wantErr, cmp.Diff(want, bounded))
		}
	})
}
