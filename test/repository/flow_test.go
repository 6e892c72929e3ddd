package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFlowNamesFunctions: FLOW's table from a record to a page names functions that there are, and none twice.
func TestFlowNamesFunctions(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("doc/FLOW.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### From a record to a page, by function\n")
	table, _, _ = strings.Cut(table, "\n\nWho answers")
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(table, -1)
	if len(rows) < 20 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	seen := map[string]bool{}
	for _, row := range rows {
		name := row[1] + "." + row[2]
		if seen[name] || !functions(t, row[1])[row[2]] {
			t.Errorf("%s stands twice, or there is none", name)
		}
		seen[name] = true
	}
}

// functions are those of a folder, methods with their type: "Store.Judge".
func functions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if id, ok := of.(*ast.Ident); ok {
					name = id.Name + "." + name
				}
			}
			all[name] = true
		}
	}
	return all
}
