package jobeff

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// longestChain is how many files one has to read, one after the other, to follow a name of
// a package down to the ground.
const longestChain = 7

// uses tells which file of a package uses which others: file → file → the names. A file
// uses another if it names something that is declared there at package level. Methods
// belong to their type.
type uses map[string]map[string][]string

// usesOf reads the files of one package.
func usesOf(t *testing.T, dir string, names []string) uses {
	t.Helper()
	declared := map[string]string{}
	unresolved := map[string][]*ast.Ident{}
	keys := map[*ast.Ident]bool{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			for _, n := range declares(d) {
				declared[n] = name
			}
		}
		unresolved[name] = file.Unresolved
		ast.Inspect(file, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok {
					keys[id] = true // a field's name
				}
			}
			return true
		})
	}
	out := uses{}
	for name, ids := range unresolved {
		out[name] = map[string][]string{}
		for _, id := range ids {
			if to := declared[id.Name]; to != "" && to != name && !keys[id] && !slices.Contains(out[name][to], id.Name) {
				out[name][to] = append(out[name][to], id.Name)
			}
		}
	}
	return out
}

// declares are the names that a declaration brings into the package's scope.
func declares(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name != "init" && d.Name.Name != "main" {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// chain is the longest chain of uses that begins at a file; circle is a chain that comes
// back to where it was, nil where there is none.
func (u uses) chain(from string, above []string, known map[string][]string) (longest, circle []string) {
	if i := slices.Index(above, from); i >= 0 {
		return nil, append(slices.Clone(above[i:]), from)
	}
	if c, ok := known[from]; ok {
		return c, nil
	}
	above = append(slices.Clone(above), from)
	for _, to := range slices.Sorted(maps.Keys(u[from])) {
		below, circle := u.chain(to, above, known)
		if circle != nil {
			return nil, circle
		}
		if len(below) > len(longest) {
			longest = below
		}
	}
	longest = append([]string{from}, longest...)
	known[from] = longest
	return longest, nil
}

// tell writes a chain with the names that make it.
func (u uses) tell(chain []string) string {
	var b strings.Builder
	for i, name := range chain {
		if i > 0 {
			b.WriteString(" -(" + strings.Join(u[chain[i-1]][name], ",") + ")-> ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// TestChains: inside a package, too, uses go one way and not too deep.
func TestChains(t *testing.T) {
	files := map[string][]string{}
	for path, p := range readPackages(t) {
		files[path] = p.files
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		u := usesOf(t, strings.TrimPrefix(strings.TrimPrefix(path, "jobeff"), "/"), files[path])
		known := map[string][]string{}
		var longest []string
		for _, name := range slices.Sorted(maps.Keys(u)) {
			chain, circle := u.chain(name, nil, known)
			if circle != nil {
				t.Errorf("%s: a circle: %s", path, u.tell(circle))
				break
			}
			if len(chain) > len(longest) {
				longest = chain
			}
		}
		if len(longest) > longestChain {
			t.Errorf("%s: a chain of %d files: %s", path, len(longest), u.tell(longest))
		}
		t.Logf("%s: %d files, longest chain %d", path, len(files[path]), len(longest))
	}
}

// TestEpilogLinksNoServer: what runs as root at every job's end carries neither HTTP nor a
// database. The sender is a program of its own.
func TestEpilogLinksNoServer(t *testing.T) {
	for _, path := range linked(t, "./ingest/node", "./spank/body") {
		if slices.Contains([]string{"net/http", "crypto/tls", "database/sql", "jobeff/ingest/client", "jobeff/ingest/store"}, path) {
			t.Errorf("the epilog's child links %s", path)
		}
	}
}

// TestJobeffLinksNoDatabase: what every user runs carries no database. jobeffd admin has
// the commands that need one.
func TestJobeffLinksNoDatabase(t *testing.T) {
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
