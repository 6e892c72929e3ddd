// Package repository holds tests of the repository itself: its layers, its documents, its list of
// faults. Each goes to the root and reads its files from there; where TestMain goes, go's cache of
// results does not see. Nothing comes before or after it in the flow.
package repository

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// flow is the order of imports (FLOW 1): a folder imports only from its left. The domain stands left of
// what keeps, sends and serves it: no package of it knows a database or HTTP. policy/rule stands behind the report: what shows
// verdicts carries no compiler of conditions. The path of a package is matched by its longest prefix.
var flow = []string{
	"jobeff/etc", "jobeff/doc", "jobeff/preload/record", "jobeff/report/figure", "jobeff/policy/doubt", "jobeff/policy/overhead", "jobeff/ingest/slurmid", "jobeff/ingest/when", "jobeff/ingest/hang",
	"jobeff/ingest/job", "jobeff/ingest/assemble", "jobeff/ingest/wire", "jobeff/ingest/job/jobtest", "jobeff/policy/harm", "jobeff/policy/slow", "jobeff/ingest/listing", "jobeff/ingest/replay", "jobeff/ingest/node",
	"jobeff/policy/curve", "jobeff/policy/workload", "jobeff/policy/compare", "jobeff/policy", "jobeff/policy/notice",
	"jobeff/policy/demo", "jobeff/report/inert", "jobeff/report/block", "jobeff/report/shell",
	"jobeff/report/words", "jobeff/report/view", "jobeff/report", "jobeff/report/mail", "jobeff/policy/rule",
	"jobeff/ingest/slurm", "jobeff/ingest/munge", "jobeff/ingest/client", "jobeff/ingest/admit", "jobeff/ingest/store", "jobeff/ingest/server", "jobeff/cmd",
}

// beside are packages at the edge: they may import only what stands here, and
// nobody imports them. The SPANK body runs as root at every job's end: it must
// not carry the database or the server.
var beside = map[string][]string{
	"jobeff/spank":     {"jobeff/etc", "jobeff/preload/record", "jobeff/policy/doubt", "jobeff/ingest/job", "jobeff/ingest/wire", "jobeff/ingest/node", "jobeff/ingest/node/gpu"},
	"jobeff/preload":   {"jobeff/preload/record", "jobeff/policy/doubt", "jobeff/ingest/job", "jobeff/ingest/node"},
	"jobeff/test":      {"jobeff/policy/doubt", "jobeff/ingest/job", "jobeff/ingest/munge"},
	"jobeff/packaging": {"jobeff/cmd"},
}

// cgo is where C may be called from Go.
var cgo = []string{"jobeff/preload/record", "jobeff/spank", "jobeff/ingest/munge", "jobeff/ingest/node/gpu"}

type goPackage struct {
	path, doc string
	imports   []string
	files     []string
	main      bool
}

// readPackages reads the non-test files of every package of the repository.
func readPackages(t *testing.T) map[string]*goPackage {
	t.Helper()
	packages := map[string]*goPackage{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || d.Name() == "testdata" || (strings.HasPrefix(d.Name(), ".") && path != ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		key := strings.TrimSuffix("jobeff/"+filepath.ToSlash(filepath.Dir(path)), "/.")
		p := packages[key]
		if p == nil {
			p = &goPackage{path: key}
			packages[key] = p
		}
		p.files = append(p.files, filepath.Base(path))
		p.doc += file.Doc.Text()
		p.main = file.Name.Name == "main"
		for _, i := range file.Imports {
			p.imports = append(p.imports, strings.Trim(i.Path.Value, `"`))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// within finds the longest of prefixes that path lies under, or -1.
func within(path string, prefixes []string) int {
	best := -1
	for i, prefix := range prefixes {
		if (path == prefix || strings.HasPrefix(path, prefix+"/")) && (best < 0 || len(prefix) > len(prefixes[best])) {
			best = i
		}
	}
	return best
}

func TestLayers(t *testing.T) {
	t.Chdir("../..")
	for path, p := range readPackages(t) {
		for _, imported := range p.imports {
			if imported == "C" && within(path, cgo) < 0 {
				t.Errorf("%s uses cgo; only %v may", path, cgo)
			}
			if strings.HasPrefix(imported, "jobeff/") {
				checkImport(t, path, imported)
			}
		}
	}
}

func checkImport(t *testing.T, path, imported string) {
	for edge, allowed := range beside {
		if within(imported, []string{edge}) == 0 && within(imported, flow) < 0 && within(path, []string{edge}) < 0 {
			t.Errorf("%s imports %s, which is at the edge of the tree", path, imported)
		}
		if within(path, []string{edge}) == 0 && within(path, flow) < 0 {
			if !slices.Contains(allowed, imported) && within(imported, []string{edge}) < 0 {
				t.Errorf("%s imports %s; it may import only %v", path, imported, allowed)
			}
			return
		}
	}
	from, to := within(path, flow), within(imported, flow)
	if from < 0 {
		t.Errorf("%s is not in the flow: add it to test/repository/layers_test.go, after asking whether it is needed", path)
	} else if to > from {
		t.Errorf("%s imports %s, against the flow", path, imported)
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Chdir("../..")
	for path, p := range readPackages(t) {
		if len(strings.Fields(p.doc)) < 8 {
			t.Errorf("%s has no package comment that says what it is and what comes before and after it", path)
		}
		name := filepath.Base(path)
		if slices.Contains([]string{"util", "utils", "common", "types", "models", "helpers", "misc"}, name) {
			t.Errorf("%s: the name says nothing", path)
		}
	}
}

// TestEpilogLinksNoServer: what runs as root at every job's end carries neither HTTP nor a
// database. The sender is a program of its own.
func TestEpilogLinksNoServer(t *testing.T) {
	t.Chdir("../..")
	for _, path := range linked(t, "./ingest/node", "./spank/body") {
		if slices.Contains([]string{"net/http", "crypto/tls", "database/sql", "jobeff/ingest/client", "jobeff/ingest/store"}, path) {
			t.Errorf("the epilog's child links %s", path)
		}
	}
}

// TestNodeLinksNoRules: a node's programs show no verdicts, and carry neither the rules nor a compiler of their
// conditions, nor the database.
func TestNodeLinksNoRules(t *testing.T) {
	t.Chdir("../..")
	for _, path := range linked(t, "./cmd/jobeff-ingest", "./ingest/node", "./spank/body") {
		if path == "jobeff/policy/rule" || path == "jobeff/ingest/store" || path == "database/sql" || strings.HasPrefix(path, "github.com/expr-lang/") {
			t.Errorf("a node's program links %s", path)
		}
	}
}

// TestDomainKnowsNoHTTP: what a job is, what is judged and what is shown come without what keeps and serves them.
func TestDomainKnowsNoHTTP(t *testing.T) {
	t.Chdir("../..")
	for _, path := range linked(t, "./ingest/job", "./ingest/replay", "./ingest/assemble", "./ingest/hang", "./ingest/listing", "./ingest/node", "./ingest/slurmid", "./ingest/wire", "./ingest/when", "./policy/...", "./report/...") {
		if path == "net/http" || path == "database/sql" {
			t.Errorf("the domain links %s", path)
		}
	}
}

// TestJobeffLinksNoDatabase: what every user runs carries no database. jobeffd admin has
// the commands that need one.
func TestJobeffLinksNoDatabase(t *testing.T) {
	t.Chdir("../..")
	for _, path := range linked(t, "./cmd/jobeff") {
		if strings.HasPrefix(path, "database/sql") || path == "jobeff/ingest/store" {
			t.Errorf("cmd/jobeff links %s", path)
		}
	}
}

// linked are the packages that some packages need.
func linked(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
