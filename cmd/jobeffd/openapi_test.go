package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	difference "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/report/view"
)

// apiFile describes the HTTP interface, and every field of every document.
const apiFile = "../../doc/openapi.yaml"

var update = flag.Bool("update", false, "write fields and examples of doc/openapi.yaml")

// documented are the documents that programs get; the types inside them are found from there. If two types have
// one name, the first gets it.
var documented = []any{view.Job{}, view.Workload{}, view.Digest{}, view.Comparison{}, view.Coverage{}, view.Cost{}, view.Status{}, view.Sums{},
	view.Named{}, view.NamedJobs{}, job.Workload{}, job.Mute{}, wire.Problem{}, wire.BatchAnswer{}}

// byHand are the schemas that describe no Go type.
var byHand = []string{"JobList", "WorkloadList", "Healthy", "Taken", "BatchAnswers"}

// describedIn are the packages whose comments describe a new field.
var describedIn = []string{"../../report/view", "../../ingest/job", "../../ingest/listing", "../../policy/doubt", "../../policy/harm", "../../policy/slow", "../../ingest/wire"}

// api is the file.
type api struct {
	text []byte
	doc  yaml.Node
}

func readAPI(t *testing.T) *api {
	t.Helper()
	text, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	a := &api{text: text}
	if err := yaml.Unmarshal(text, &a.doc); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *api) at(path ...string) *yaml.Node { return at(a.doc.Content[0], path...) }

// settle compares the file with what it should be, or writes it.
func (a *api) settle(t *testing.T) {
	t.Helper()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&a.doc); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(apiFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := difference.Diff(strings.Split(b.String(), "\n"), strings.Split(string(a.text), "\n")); d != "" {
		t.Errorf("doc/openapi.yaml is not what the code says: go test ./cmd/jobeffd -run OpenAPI -update writes it (-want +got)\n%s", d)
	}
}

// at returns the node under these keys; nil if there is none.
func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		var under *yaml.Node
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				under = n.Content[i+1]
			}
		}
		n = under
	}
	return n
}

// put sets a key, drop takes it out.
func put(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

func drop(n *yaml.Node, key string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// yamlOf makes a node of a value, on one line if flow says so.
func yamlOf(value any, flow bool) *yaml.Node {
	n := new(yaml.Node)
	if err := n.Encode(value); err != nil {
		panic(err)
	}
	if flow {
		n.Style = yaml.FlowStyle
	}
	return n
}

// TestOpenAPIFields: each field of each document is a property with its type, and the other way round.
func TestOpenAPIFields(t *testing.T) {
	a := readAPI(t)
	schemas := a.at("components", "schemas")
	comments := fieldComments(t)
	names := map[reflect.Type]string{}
	var all []reflect.Type
	name := func(of reflect.Type) string {
		if names[of] == "" {
			n := of.Name()
			for _, taken := range names {
				if taken == n {
					n = "Stored" + n
				}
			}
			names[of], all = n, append(all, of)
		}
		return names[of]
	}
	for _, one := range documented {
		name(reflect.TypeOf(one))
	}
	for i := 0; i < len(all); i++ { // it grows
		writeSchema(schemas, all[i], name, comments)
	}
	for i := 0; i < len(schemas.Content); i += 2 {
		n, s := schemas.Content[i].Value, schemas.Content[i+1]
		if !slices.Contains(byHand, n) && !slices.ContainsFunc(all, func(of reflect.Type) bool { return names[of] == n }) {
			t.Errorf("components.schemas.%s describes nothing", n)
		}
		properties := at(s, "properties")
		for k := 0; k < len(properties.Content); k += 2 {
			if p := properties.Content[k+1]; at(p, "description") == nil && at(p, "$ref") == nil {
				t.Errorf("components.schemas.%s.%s has no description", n, properties.Content[k].Value)
			}
		}
	}
	a.settle(t)
}

// writeSchema writes what encoding/json makes of a struct. What a person wrote of a property stays.
func writeSchema(schemas *yaml.Node, of reflect.Type, name func(reflect.Type) string, comments map[string]string) {
	s := at(schemas, name(of))
	if s == nil {
		_, said, _ := strings.Cut(comments[of.String()], " is ")
		s = yamlOf(map[string]any{"type": "object", "description": cmp.Or(said, comments[of.String()])}, false)
		put(schemas, name(of), s)
	}
	properties := at(s, "properties")
	if properties == nil {
		properties = &yaml.Node{Kind: yaml.MappingNode}
	}
	var known, required []string
	for _, f := range reflect.VisibleFields(of) {
		n, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || n == "-" || f.Anonymous && n == "" {
			continue
		}
		if n == "" {
			n = f.Name
		}
		known = append(known, n)
		p := at(properties, n)
		if p == nil {
			p = yamlOf(map[string]any{}, true)
			put(properties, n, p)
		}
		reshape(p, shapeOf(f.Type, options != "", name))
		if said := comments[ownerOf(of, f).String()+"."+f.Name]; at(p, "description") == nil && said != "" {
			put(p, "description", yamlOf(said, false))
		}
		if options == "" {
			required = append(required, n)
		}
	}
	for i := len(properties.Content) - 2; i >= 0; i -= 2 {
		if n := properties.Content[i].Value; !slices.Contains(known, n) {
			drop(properties, n)
		}
	}
	if drop(s, "required"); len(required) > 0 {
		put(s, "required", yamlOf(required, true))
	}
	drop(s, "properties") // they stand last
	put(s, "properties", properties)
}

// ownerOf is the struct that declares a field, which may be embedded.
func ownerOf(of reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		if of = of.Field(i).Type; of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
	}
	return of
}

// shapeOf is the schema of a type. A pointer is null where it holds nothing, unless it is then absent.
func shapeOf(of reflect.Type, absent bool, name func(reflect.Type) string) map[string]any {
	simple := map[reflect.Kind][]string{reflect.String: {"string"}, reflect.Bool: {"boolean"}, reflect.Int: {"integer"}, reflect.Int64: {"integer", "int64"},
		reflect.Uint8: {"integer"}, reflect.Uint16: {"integer"}, reflect.Uint32: {"integer", "uint32"}, reflect.Uint64: {"integer", "uint64"}, reflect.Float64: {"number", "double"}}
	switch kind := of.Kind(); {
	case of == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case of == reflect.TypeFor[job.Job](): // the stored form, which changes with each version
		return map[string]any{"type": "object"}
	case of == reflect.TypeFor[json.RawMessage](), kind == reflect.Interface:
		return map[string]any{}
	case kind == reflect.Pointer:
		s := shapeOf(of.Elem(), false, name)
		if ref, is := s["$ref"]; is && !absent {
			return map[string]any{"oneOf": []any{map[string]any{"$ref": ref}, map[string]any{"type": "null"}}}
		} else if !absent {
			s["type"] = []any{s["type"], "null"}
		}
		return s
	case of.Implements(reflect.TypeFor[json.Marshaler]()):
		panic(of.String() + " writes itself: say here what")
	case kind == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		return map[string]any{"type": "string", "format": "byte"}
	case kind == reflect.Slice:
		return map[string]any{"type": "array", "items": shapeOf(of.Elem(), false, name)}
	case kind == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": shapeOf(of.Elem(), false, name)}
	case kind == reflect.Struct:
		return map[string]any{"$ref": "#/components/schemas/" + name(of)}
	case simple[kind] == nil:
		panic("no schema for " + of.String())
	default:
		s := map[string]any{"type": simple[kind][0]}
		if len(simple[kind]) > 1 {
			s["format"] = simple[kind][1]
		}
		return s
	}
}

// reshape gives a property the schema of its field. No Go type says whether a list may be null: there the
// property stays as it is, and real answers are compared with it.
func reshape(p *yaml.Node, shape map[string]any) {
	for _, key := range []string{"$ref", "oneOf", "type", "format", "items", "additionalProperties"} {
		want, has := shape[key]
		if !has {
			drop(p, key)
			continue
		}
		var have any
		if old := at(p, key); old != nil {
			old.Decode(&have)
		}
		list := key == "type" && (want == "array" || want == "object") && reflect.DeepEqual(have, []any{want, "null"})
		if !reflect.DeepEqual(have, want) && !list {
			put(p, key, yamlOf(want, true))
		}
	}
}

// fieldComments are what the code says of types and of their fields.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	text := func(some ...*ast.CommentGroup) string {
		for _, c := range some {
			if said := strings.Join(strings.Fields(c.Text()), " "); said != "" {
				return said
			}
		}
		return ""
	}
	for _, dir := range describedIn {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				g, is := d.(*ast.GenDecl)
				if !is || g.Tok != token.TYPE {
					continue
				}
				for _, spec := range g.Specs {
					one := spec.(*ast.TypeSpec)
					n := file.Name.Name + "." + one.Name.Name
					all[n] = text(one.Doc, g.Doc)
					if s, is := one.Type.(*ast.StructType); is {
						for _, f := range s.Fields.List {
							for _, id := range f.Names {
								all[n+"."+id.Name] = text(f.Comment, f.Doc)
							}
						}
					}
				}
			}
		}
	}
	return all
}

// TestOpenAPIRoutes: each path that programs may ask is described, and the other way round.
func TestOpenAPIRoutes(t *testing.T) {
	text, err := os.ReadFile("../../ingest/server/server.go")
	if err != nil {
		t.Fatal(err)
	}
	served := strings.ReplaceAll(string(text), `"POST "+logsPath`, `"POST /v1/logs"`)
	var want, got []string
	for _, m := range regexp.MustCompile(`s\.mux\.HandleFunc\("([A-Z]+) (/[^"]+)"`).FindAllStringSubmatch(served, -1) {
		want = append(want, m[2]+" "+m[1])
	}
	paths := readAPI(t).at("paths")
	for i := 0; i < len(paths.Content); i += 2 {
		for k := 0; k < len(paths.Content[i+1].Content); k += 2 {
			if method := strings.ToUpper(paths.Content[i+1].Content[k].Value); method != "PARAMETERS" {
				got = append(got, paths.Content[i].Value+" "+method)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := difference.Diff(want, got); d != "" || len(got) < 12 {
		t.Errorf("doc/openapi.yaml (-served +described)\n%s", d)
	}
}
