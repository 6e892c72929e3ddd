package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/policy/demo"
)

// demoUntil is when the last jobs of a made-up site end.
var demoUntil = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// emptySite is a database of which root sees all.
func emptySite(t *testing.T) *store.Store {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("root sees all jobs")
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// addDemo adds the jobs of a made-up site.
func addDemo(t *testing.T, db *store.Store, o demo.Options, change ...func(n int, j *job.Job)) {
	t.Helper()
	y := demo.New(o)
	var all []*job.Job
	for j := y.Next(); j != nil; j = y.Next() {
		for _, do := range change {
			do(len(all), j)
		}
		all = append(all, j)
	}
	if err := db.AddJobs(ctx, all); err != nil {
		t.Fatal(err)
	}
}

// madeUpSite is a jobeffd of a made-up site, as root sees it.
type madeUpSite struct {
	*http.Client
	socket string
}

func newSite(t *testing.T) madeUpSite {
	db := emptySite(t)
	addDemo(t, db, demo.Options{Seed: 1, Jobs: 1500, Users: 20, Workloads: 40, Until: demoUntil})
	waits := slurmid.Pending{Cluster: "demo", ID: "1999999_[3-60%4]", JobID: 1999999, ArrayJobID: 1999999, Tasks: 58, UID: 20001, User: "anders", Account: "astro", Partition: "main", QOS: "normal", Name: "sweep",
		Nodes: 1, CPUs: 64, Memory: 256 << 30, TimeLimit: 3600, Submit: time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC), Eligible: time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC),
		Expected: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC), Reason: "Priority"}
	look := store.QueueLook{Cluster: "demo", At: time.Date(2026, 11, 20, 23, 59, 30, 0, time.UTC), Until: time.Now().Add(time.Hour)}
	if err := db.SetPending(ctx, look, []slurmid.Pending{waits}); err != nil {
		t.Fatal(err)
	}
	browser, socket := browse(t, db)
	return madeUpSite{browser, socket}
}

// ask makes a request, "GET /v1/jobs".
func (s madeUpSite) ask(t *testing.T, request, body string) (status int, kind string, text []byte) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequest(method, "http://jobeffd"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	kind, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	return resp.StatusCode, kind, text
}

// schemas compiles the schemas of answers. They allow no field that they do not describe, though programs should.
type schemas struct {
	t        *testing.T
	api      *api
	compiler *jsonschema.Compiler
}

func newSchemas(t *testing.T, a *api) schemas {
	t.Helper()
	var doc any
	if err := a.doc.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	closed(doc)
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(mustJSON(t, doc)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", plain); err != nil {
		t.Fatal(err)
	}
	return schemas{t, a, c}
}

// closed lets objects have no other properties.
func closed(doc any) {
	switch n := doc.(type) {
	case map[string]any:
		if _, object := n["properties"].(map[string]any); object && n["type"] == "object" {
			n["additionalProperties"] = false
		}
		for _, v := range n {
			closed(v)
		}
	case []any:
		for _, v := range n {
			closed(v)
		}
	}
}

// answerOf is the description of an answer; nil: there is none.
func (s schemas) answerOf(path, method string, status int, kind string) (n *yaml.Node, pointer string) {
	where := []string{"paths", path, strings.ToLower(method), "responses", fmt.Sprint(status)}
	if s.api.at(where...) == nil {
		where[4] = "default"
	}
	if ref := s.api.at(append(where, "$ref")...); ref != nil {
		where = strings.Split(strings.TrimPrefix(ref.Value, "#/"), "/")
	}
	where = append(where, "content", kind)
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	for _, key := range where {
		pointer += "/" + escape.Replace(key)
	}
	return s.api.at(where...), pointer
}

// check compares an answer with its description.
func (s schemas) check(path, request string, status int, kind string, text []byte) {
	s.t.Helper()
	method, _, _ := strings.Cut(request, " ")
	described, pointer := s.answerOf(path, method, status, kind)
	if described == nil {
		s.t.Errorf("%s: an answer of status %d as %s is not described", request, status, kind)
		return
	}
	schema, err := s.compiler.Compile("openapi.json#" + pointer + "/schema")
	if err != nil {
		s.t.Fatalf("%s: %v", request, err)
	}
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(answer)
	}
	if err != nil {
		s.t.Errorf("%s: %v", request, err)
	}
}

// TestOpenAPIAnswers: for a made-up site, jobeffd answers as doc/openapi.yaml says. The examples in that file are such
// answers, and each path takes the parameters that it lists.
func TestOpenAPIAnswers(t *testing.T) {
	site, a := newSite(t), readAPI(t)
	s := newSchemas(t, a)
	examples := 0
	for path, item := range pairs(a.at("paths")) {
		for method, op := range pairs(item) {
			for status, answer := range pairs(at(op, "responses")) {
				for kind, media := range pairs(at(answer, "content")) {
					if asked := at(media, "x-request"); asked != nil {
						examples++
						checkExample(t, site, s, path, asked.Value, status, kind, media)
					}
				}
			}
			if m := strings.ToUpper(method); m == "GET" || m == "DELETE" {
				checkParameters(t, site, a, m, path, op)
			}
		}
	}
	if examples < 7 {
		t.Errorf("%d examples", examples)
	}
	checkAll(t, site, s)
	if status, kind, text := site.ask(t, "GET /v1/openapi.yaml", ""); status != 200 || kind != "application/vnd.oai.openapi" || !*update && !bytes.Equal(text, a.text) {
		t.Errorf("the description: %d as %s, %d bytes of %d", status, kind, len(text), len(a.text))
	}
	a.settle(t)
}

// pairs are the keys and values of a mapping.
func pairs(n *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// checkExample asks what an example answers.
func checkExample(t *testing.T, site madeUpSite, s schemas, path, request, status, kind string, media *yaml.Node) {
	t.Helper()
	got, as, text := site.ask(t, request, "")
	if fmt.Sprint(got) != status || as != kind {
		t.Errorf("%s: %d as %s, not %s as %s: %s", request, got, as, status, kind, text)
		return
	}
	s.check(path, request, got, as, text)
	var answer, example any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	if old := at(media, "example"); old != nil {
		if err := old.Decode(&example); err != nil {
			t.Fatal(err)
		}
	}
	var plain any // numbers as JSON has them
	if err := json.Unmarshal(mustJSON(t, example), &plain); err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(answer, plain) {
		return
	}
	if !*update {
		t.Errorf("%s: the example is of another answer: go test ./cmd/jobeffd -run OpenAPI -update writes it (-want +got)\n%s", request, cmp.Diff(answer, plain))
	}
	n := new(yaml.Node)
	if err := yaml.Unmarshal(text, n); err != nil { // JSON is YAML, and its order stays
		t.Fatal(err)
	}
	onLines(n.Content[0])
	put(media, "example", n.Content[0])
}

// onLines writes what is short on one line, and gives its length.
func onLines(n *yaml.Node) (length int) {
	length = len(n.Value) + 2
	for _, c := range n.Content {
		length += onLines(c)
	}
	if n.Style = 0; length < 240 && len(n.Content) > 0 {
		n.Style = yaml.FlowStyle
	}
	return length
}

// known are the parameters that an answer names.
var known = regexp.MustCompile(`known are ([\w, ]+)`)

// checkParameters asks a path for a parameter that none has: the answer names those that it takes.
func checkParameters(t *testing.T, site madeUpSite, a *api, method, path string, op *yaml.Node) {
	t.Helper()
	_, _, text := site.ask(t, method+" "+strings.NewReplacer("{id}", "1", "{before}", "1", "{name}", "x").Replace(path)+"?zzz=1", "")
	var got, want []string
	if m := known.FindSubmatch(text); m != nil {
		want = strings.Split(string(m[1]), ", ")
	}
	want = slices.DeleteFunc(want, func(p string) bool { // for jobeff's own commands
		return p == "stored" || p == "tasks" || p == "detail" && path == "/v1/workloads"
	})
	parameters := at(op, "parameters")
	for i := 0; parameters != nil && i < len(parameters.Content); i++ {
		p := parameters.Content[i]
		if ref := at(p, "$ref"); ref != nil {
			p = a.at(strings.Split(strings.TrimPrefix(ref.Value, "#/"), "/")...)
		}
		if at(p, "in").Value == "query" {
			got = append(got, at(p, "name").Value)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s %s: parameters (-taken +described)\n%s", method, path, d)
	}
}

// checkAll compares what is known of the whole site with the schemas.
func checkAll(t *testing.T, site madeUpSite, s schemas) {
	t.Helper()
	ask := func(path, request, body string, want int) (text []byte) {
		t.Helper()
		status, kind, text := site.ask(t, request, body)
		if status != want {
			t.Fatalf("%s: %d %s", request, status, text)
		}
		s.check(path, request, status, kind, text)
		return text
	}
	compared := map[string]int{}
	compare := func(path, asked string) { // some cannot be compared
		status, kind, text := site.ask(t, "GET "+asked, "")
		if s.check(path, "GET "+asked, status, kind, text); status == 200 {
			compared[path]++
		}
	}
	var jobs, workloads int
	for next := "/v1/jobs?limit=50&detail=1"; next != ""; {
		var list struct {
			Jobs []struct{ ID string }
			Next string
		}
		if err := json.Unmarshal(ask("/v1/jobs", "GET "+next, "", 200), &list); err != nil {
			t.Fatal(err)
		}
		for i, j := range list.Jobs {
			if jobs++; i%10 == 0 {
				ask("/v1/jobs/{id}", "GET /v1/jobs/"+j.ID, "", 200)
			}
		}
		next = list.Next
	}
	key := ""
	for next := "/v1/workloads?limit=10"; next != ""; {
		var list struct {
			Workloads []struct {
				Key  string
				Runs []struct{ ID string }
			}
			Next string
		}
		if err := json.Unmarshal(ask("/v1/workloads", "GET "+next, "", 200), &list); err != nil {
			t.Fatal(err)
		}
		for _, w := range list.Workloads {
			workloads++
			key = w.Key
			ask("/v1/workloads/{name}", "GET /v1/workloads/"+key, "", 200)
			if n := len(w.Runs); n > 1 {
				compare("/v1/jobs/{before}/compare/{id}", "/v1/jobs/"+w.Runs[0].ID+"/compare/"+w.Runs[n-1].ID+"?force=1")
				compare("/v1/jobs/{id}/compare", "/v1/jobs/"+w.Runs[n-1].ID+"/compare")
			}
		}
		next = list.Next
	}
	var names struct{ Named []struct{ Name string } }
	if err := json.Unmarshal(ask("/v1/workloads", "GET /v1/workloads?named=1", "", 200), &names); err != nil || len(names.Named) == 0 {
		t.Fatalf("%d names of jobs, %v", len(names.Named), err)
	}
	ask("/v1/workloads/{name}", "GET /v1/workloads/"+key+"?predict=64,100000", "", 200)
	ask("/v1/jobs/{id}", "GET /v1/jobs/1999999_7", "", 200)
	ask("/v1/pending", "GET /v1/pending?job=1", "", 200)
	if jobs < 1400 || workloads < 30 || len(compared) != 2 {
		t.Errorf("%d jobs of %d workloads, compared: %v", jobs, workloads, compared)
	}
	ask("/v1/digest", "GET /v1/digest?from=2026-11-09T00:00:00Z&to=2026-11-16T00:00:00Z", "", 200)
	ask("/v1/coverage", "GET /v1/coverage?start=2026-10-01", "", 200)
	for _, path := range []string{"/v1/months", "/v1/users", "/v1/accounts"} {
		ask(path, "GET "+path+"?start=2026-01-01&sort=-lost&offset=1", "", 200)
	}
	ask("/v1/programs", "GET /v1/programs?name=l", "", 200)
	ask("/v1/status", "GET /v1/status", "", 200)
	ask("/v1/cost", "GET /v1/cost?start=2026-10-01&end=2026-11-21", "", 200)
	mute := string(mustJSON(t, map[string]any{"until": time.Now().Add(time.Hour), "reason": "a test"}))
	ask("/v1/workloads/{name}/mute", "PUT /v1/workloads/"+key+"/mute", mute, 200)
	ask("/v1/workloads/{name}/mute", "PUT /v1/workloads/"+key+"/mute", "{", 400)
	ask("/v1/workloads/{name}/mute", "DELETE /v1/workloads/"+key+"/mute", "", 200)
	ask("/v1/reports", "POST /v1/reports", string(mustJSON(t, report(7))), 200)
	ask("/v1/reports", "POST /v1/reports", "{", 400)
	ask("/v1/reports/batch", "POST /v1/reports/batch", string(mustJSON(t, report(8)))+"\n{}", 200)
	ask("/v1/logs", "POST /v1/logs", "x", 400)
}

// TestGeneratedClient: a client that oapi-codegen makes of doc/openapi.yaml reads the made-up site, page by page.
func TestGeneratedClient(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	site := newSite(t)
	dir := t.TempDir()
	for _, name := range []string{"testdata/apiclient/main.go", "testdata/apiclient/go.mod", "testdata/apiclient/go.sum", apiFile} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "client"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command(args[0], args[1:]...)
		var said, wrong bytes.Buffer
		c.Dir, c.Stdout, c.Stderr, c.Env = dir, &said, &wrong, append(os.Environ(), "GOFLAGS=-mod=mod")
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, wrong.Bytes())
		}
		return said.String()
	}
	run("go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "client", "-o", "client/client.go", "openapi.yaml")
	got := run("go", "run", ".", site.socket)
	var want strings.Builder
	_, _, text := site.ask(t, "GET /v1/jobs?limit=10000", "")
	var list struct{ Jobs []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Jobs {
		var j struct {
			ID         string   `json:"id"`
			Efficiency *float64 `json:"parallel_efficiency"`
			Ranks      int      `json:"ranks"`
		}
		if err := json.Unmarshal(one, &j); err != nil {
			t.Fatal(err)
		}
		pe := "-"
		if j.Efficiency != nil {
			pe = fmt.Sprintf("%.6f", *j.Efficiency)
		}
		fmt.Fprintln(&want, j.ID, j.Ranks, pe)
	}
	fmt.Fprintln(&want, "404 job 7 was not found")
	if d := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")); d != "" || len(list.Jobs) < 1000 {
		t.Errorf("%d jobs (-want +got)\n%s", len(list.Jobs), d)
	}
}
