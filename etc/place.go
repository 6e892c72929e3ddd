package etc

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"
)

// Place is one element of an array of tables in a TOML file that parses: the
// Index-th [[Table]], from 0. It tells people where a fault stands.
type Place struct {
	File  string
	Text  []byte
	Table string
	Index int
}

// At is FILE:LINE of a key of the element, of a key within that, …; of the
// element's first line for "" and where there is no such key.
func (p Place) At(key ...string) string {
	line := 0
	if len(key) > 0 && key[0] != "" {
		line = firstLine(p.Text, func(tree map[string]any) bool {
			e := p.element(tree)
			return e != nil && defined(e, key)
		})
	}
	if line == 0 {
		line = firstLine(p.Text, func(tree map[string]any) bool { return p.element(tree) != nil })
	}
	if line == 0 { // Table is no table
		line = firstLine(p.Text, func(tree map[string]any) bool { return defined(tree, []string{p.Table}) })
	}
	return fmt.Sprintf("%s:%d", p.File, max(line, 1))
}

// element is the table itself, nil where the tree does not hold it.
func (p Place) element(tree map[string]any) map[string]any {
	all := tables(tree[p.Table])
	if p.Index >= len(all) {
		return nil
	}
	return all[p.Index]
}

// tables are the tables that v is, one or many.
func tables(v any) []map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []map[string]any:
		return v
	case []any:
		var all []map[string]any
		for _, e := range v {
			all = append(all, tables(e)...)
		}
		return all
	}
	return nil
}

// defined reports whether a tree holds a key; of an array of tables any may.
func defined(tree map[string]any, key []string) bool {
	v, ok := tree[key[0]]
	if !ok || len(key) == 1 {
		return ok
	}
	for _, t := range tables(v) {
		if defined(t, key[1:]) {
			return true
		}
	}
	return false
}

// firstLine finds the line where something of a file that parses is first set, 0
// where it never is: the toml package keeps no positions for keys, but the shortest
// run of lines that parses and holds the thing ends where it ends, and what follows
// the run that parsed before it is where the thing begins.
func firstLine(text []byte, holds func(map[string]any) bool) int {
	good := 0 // lines of the longest run so far that parses
	end := 0
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		end += len(line)
		var tree map[string]any
		if _, err := toml.Decode(string(text[:end]), &tree); err != nil {
			continue
		}
		if holds(tree) {
			return good + 1
		}
		good = i + 1
	}
	return 0
}
