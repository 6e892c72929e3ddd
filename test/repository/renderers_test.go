package repository

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// renderers write what a view says for a terminal, a browser and a mail.
var renderers = []string{"./report", "./report/mail"}

// TestRenderersComputeNothing: a figure is made where the view is made. Whoever writes it neither adds, divides
// nor compares one: no operator, and neither min nor max, has an operand that is a float, a duration, a moment or a time in
// whole microseconds. Other whole numbers are lengths and widths there.
func TestRenderersComputeNothing(t *testing.T) {
	t.Chdir("../..")
	for _, c := range typeCheck(t, renderers...) {
		for _, file := range c.files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if isFigure(c.info, n.X) || isFigure(c.info, n.Y) {
						t.Errorf("%s: %s on figures", c.fset.Position(n.Pos()), n.Op)
					}
				case *ast.CallExpr:
					name, _ := n.Fun.(*ast.Ident)
					if builtin, is := c.info.Uses[name].(*types.Builtin); is && (builtin.Name() == "min" || builtin.Name() == "max") && isFigure(c.info, n) {
						t.Errorf("%s: %s of figures", c.fset.Position(n.Pos()), builtin.Name())
					}
				case *ast.AssignStmt:
					if n.Tok != token.ASSIGN && n.Tok != token.DEFINE && isFigure(c.info, n.Lhs[0]) {
						t.Errorf("%s: %s on figures", c.fset.Position(n.Pos()), n.Tok)
					}
				}
				return true
			})
		}
	}
}

func isFigure(info *types.Info, e ast.Expr) bool {
	of := info.TypeOf(e)
	if of == nil {
		return false
	}
	if b, ok := of.Underlying().(*types.Basic); ok {
		return b.Info()&types.IsFloat != 0 || b.Kind() == types.Int64 || b.Kind() == types.Uint64
	}
	return of.String() == "time.Time"
}

type checked struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// typeCheck reads packages with the types of what they import.
func typeCheck(t *testing.T, paths ...string) (all []checked) {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,DepOnly"}, paths...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
		DepOnly                 bool
	}
	exports := map[string]string{}
	var mine []listed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; !p.DepOnly {
			mine = append(mine, p)
		}
	}
	for _, p := range mine {
		c := checked{fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			c.files = append(c.files, file)
		}
		config := types.Config{Importer: importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
			if exports[path] == "" {
				return nil, fmt.Errorf("no export data of %s", path)
			}
			return os.Open(exports[path])
		})}
		if _, err := config.Check(p.ImportPath, c.fset, c.files, c.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}
