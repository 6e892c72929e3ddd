package job_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

func TestDecodeKeepsAGoodReport(t *testing.T) {
	want := jobtest.Report(7, "n1", jobtest.Nonce)
	body, _ := json.Marshal(want)
	got, err := job.DecodeReport(body)
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
		"numbers":    {string(with(`"steps":[` + strings.Repeat("1,", 4e6) + `1]`)), "unmarshal JSON number into"},
		"lists":      {string(with(`"executions":[{"nodes":[` + strings.Repeat("[],", 4e6) + `[]]}]`)), "unmarshal JSON array into"},
		"twice":      {string(with(`"executions":[` + strings.Repeat(spaced+",", job.MaxExecutions/2) + spaced + `],"executions":[` + strings.Repeat(spaced+",", job.MaxExecutions/2) + spaced + `]`)), "it has its executions twice"},
		"executions": {string(with(`"executions":[` + strings.Repeat(spaced+",", job.MaxExecutions) + spaced + `]`)), "it has more than 20000 executions"},
		"string":     {string(with(`"account":"` + strings.Repeat(`\"{null`, 1e5) + `"`)), ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := job.DecodeReport([]byte(c.body))
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
	for name, c := range map[string]struct {
		spoil func(r *job.NodeReport)
		want  string
	}{
		"version":     {func(r *job.NodeReport) { r.Version = 0 }, "the report has no version"},
		"job":         {func(r *job.NodeReport) { r.JobID = 0 }, "the report has no job id"},
		"run":         {func(r *job.NodeReport) { r.Nonce = "xyz" }, "the report's run is not 32 hex digits"},
		"boot":        {func(r *job.NodeReport) { r.BootID = "1" }, "the report's boot id is not 32 hex digits"},
		"node":        {func(r *job.NodeReport) { r.Node = "" }, "the report has no valid node name"},
		"node escape": {func(r *job.NodeReport) { r.Node = "n1\x1b" }, "the report has no valid node name"},
		"cluster":     {func(r *job.NodeReport) { r.Cluster = "../x" }, "the report has no valid cluster name"},
		"nodes":       {func(r *job.NodeReport) { r.NNodes = 1 << 40 }, "the report's job has 1099511627776 nodes"},
		"no key":      {func(r *job.NodeReport) { r.Executions[0].Key = "" }, "execution 0 of the report has no key, or does not have exactly one node"},
		"no node":     {func(r *job.NodeReport) { r.Executions[0].Nodes = nil }, "execution 0 of the report has no key, or does not have exactly one node"},
		"sections":    {func(r *job.NodeReport) { r.Executions[0].Sections = make([]job.Section, 20_003) }, "execution 0 of the report has 20003 sections"},
		"histogram":   {func(r *job.NodeReport) { r.Executions[0].HistP2P = make([]uint64, 66) }, "execution 0 of the report has a list that is too long"},
		"ranks":       {func(r *job.NodeReport) { r.Executions[0].Nodes[0].RankIDs = "0-1048576" }, "execution 0 of the report: rank_ids lists more ranks than a node has"},
		"huge rank":   {func(r *job.NodeReport) { r.Executions[0].Nodes[0].RankIDs = "9223372036854775807" }, "execution 0 of the report: rank_ids lists more ranks than a node has"},
		"no ranks":    {func(r *job.NodeReport) { r.Executions[0].Nodes[0].RankIDs = "3-1" }, "execution 0 of the report: ingest: \"3-1\" is no ascending list like 0-3,8"},
	} {
		r := jobtest.Report(7, "n1", jobtest.Nonce)
		c.spoil(r)
		body, _ := json.Marshal(r)
		if _, err := job.DecodeReport(body); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	newer := jobtest.Report(7, "n1", jobtest.Nonce)
	newer.Version = job.ReportVersion + 1
	body, _ := json.Marshal(newer)
	if _, err := job.DecodeReport(body); !errors.Is(err, job.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	for _, body := range []string{"", "{", "[]", `{"version":1} x`, `{"version":1e400}`, `{"start":"yesterday"}`, `{"job_id":-1}`, `{"job_id":4294967296}`, "\x1b[31m"} {
		_, err := job.DecodeReport([]byte(body))
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestDecodeCleans: faults that do not hide which job the report is about.
func TestDecodeCleans(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Account = "a\x1b[31m\r\nb\u202ec\u2028\xff\x00<script>"
	r.User = strings.Repeat("ü", job.MaxText)
	r.Start, r.End = r.End, r.Start
	r.OnlineCPUs = -3
	r.Steps[0].Exits = map[string]int{"exit\n3": 2, "exit?3": 1, "0": -5}
	x := &r.Executions[0]
	x.Start, x.End = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	x.Nodes[0].Node, x.Nodes[0].Useful, x.Nodes[0].Ranks = "another", -5, -1
	x.Slowest = make([]job.Rank, 50)
	x.Executable = "/tmp/\u200b\u2066evil"
	x.Metrics = &job.Metrics{ParallelEfficiency: 17}
	body, _ := json.Marshal(r)
	got, err := job.DecodeReport(body)
	if err != nil {
		t.Fatal(err)
	}
	if got.Account != "a?[31m??b?c????<script>" && got.Account != "a?[31m??b?c???<script>" {
		t.Errorf("account %q", got.Account)
	}
	if len(got.User) != job.MaxText || !utf8.ValidString(got.User) {
		t.Errorf("user of %d bytes", len(got.User))
	}
	if !got.End.Equal(got.Start) || got.OnlineCPUs != 0 {
		t.Errorf("%v to %v, %d CPUs", got.Start, got.End, got.OnlineCPUs)
	}
	if d := cmp.Diff(map[string]int{"exit?3": 3, "0": 0}, got.Steps[0].Exits); d != "" {
		t.Error(d)
	}
	y := got.Executions[0]
	if !y.Start.Equal(job.Earliest) || !y.End.Equal(job.Latest) || y.Executable != "/tmp/??evil" || y.Metrics != nil || len(y.Slowest) != job.SlowestKept {
		t.Errorf("got %+v", y)
	}
	if n := y.Nodes[0]; n.Node != "n1" || n.Useful != 0 || n.Ranks != 0 || y.Slowest[0].Node != "n1" {
		t.Errorf("got %+v", n)
	}
}

// TestDecodeCleansEverything: every field of a report is cleaned, also one that is added later.
func TestDecodeCleansEverything(t *testing.T) {
	r := new(job.NodeReport)
	spoil(t, reflect.ValueOf(r).Elem())
	good := jobtest.Report(7, "n1", jobtest.Nonce)
	r.Version, r.Nonce, r.BootID, r.Node, r.Cluster = good.Version, good.Nonce, good.BootID, good.Node, good.Cluster
	r.Executions[0].Nodes[0].RankIDs = "0" // what is no list of ranks is refused
	if err := r.Validate(); err != nil {
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
		v.SetString("evil\x1b\n\u202e" + strings.Repeat("x", job.MaxText))
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
		if s := v.String(); len(s) > job.MaxText || !job.IsPlain(s) {
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

func FuzzDecodeReport(f *testing.F) {
	body, _ := json.Marshal(jobtest.Report(7, "n1", jobtest.Nonce))
	f.Add(body)
	f.Add([]byte(`{"version":1,"job_id":1,"run":"` + jobtest.Nonce + `","node":"n","cluster":"c","executions":[{"key":"k","nodes":[{"rank_ids":"0-3,8"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := job.DecodeReport(body)
		if err != nil {
			return
		}
		if r.End.Before(r.Start) || !job.IsHex32(r.Nonce) || r.JobID == 0 {
			t.Errorf("accepted %+v", r)
		}
		var m job.JobMerger // what was accepted can be merged and shown
		m.Add(r)
		j := m.Job()
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(text), "\x1b\x00\u202e") {
			t.Errorf("not inert: %s", text)
		}
	})
}
