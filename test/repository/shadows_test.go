package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoImportIsShadowed: nothing in a function has the name of a package that its file imports.
func TestNoImportIsShadowed(t *testing.T) {
	t.Chdir("../..")
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range shadows(file) {
			t.Errorf("%s: %s is an import", set.Position(name.Pos()), name.Name)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// ofImport matches what a path ends in where a package has its name from: rand of math/rand/v2.
var ofImport = regexp.MustCompile(`([^/"]+?)(/v\d+)?"$`)

// shadows are the names in a file's functions that hide an import.
func shadows(file *ast.File) (all []*ast.Ident) {
	imports := map[string]bool{}
	for _, spec := range file.Imports {
		if spec.Name != nil {
			imports[spec.Name.Name] = true
		} else {
			imports[ofImport.FindStringSubmatch(spec.Path.Value)[1]] = true
		}
	}
	note := func(of ast.Node) { // the names themselves, not those in their types and values
		if name, ok := of.(*ast.Ident); ok && name.Name != "_" && imports[name.Name] {
			all = append(all, name)
		}
	}
	parameters := func(lists ...*ast.FieldList) {
		for _, l := range lists {
			if l == nil {
				continue
			}
			for _, field := range l.List {
				for _, name := range field.Names {
					note(name)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			parameters(n.Recv, n.Type.TypeParams, n.Type.Params, n.Type.Results)
		case *ast.FuncLit:
			parameters(n.Type.Params, n.Type.Results)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				note(name)
			}
		case *ast.TypeSpec:
			note(n.Name)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, name := range n.Lhs {
					note(name)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				note(n.Key)
				note(n.Value)
			}
		}
		return true
	})
	return all
}
