package etc

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// File is a TOML file that parses. It finds the line on which a key is first set: the toml package gives lines
// only in its errors.
type File struct {
	name       string
	statements func() []statement // read when somebody asks
}

// statement is a table's head, or a key with its value.
type statement struct {
	line  int            // where it begins
	tree  map[string]any // it alone, in its table
	opens bool           // it is the head of a further element of an array of tables
}

// NewFile makes a File of a name and a text.
func NewFile(name string, text []byte) *File {
	return &File{name, sync.OnceValue(func() []statement { return statementsOf(text) })}
}

// statementsOf reads a text in one pass. It collects lines until they parse by themselves: they are then a
// statement, a comment or empty. A key with its value is parsed again below the head of its table.
func statementsOf(text []byte) (all []statement) {
	var head, part string
	line := 1
	for one := range bytes.SplitAfterSeq(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\n")) {
		part += string(one)
		s := statement{line: line}
		if _, err := toml.Decode(part, &s.tree); err != nil {
			continue
		}
		switch trimmed := strings.TrimSpace(part); {
		case len(s.tree) == 0:
		case trimmed[0] == '[':
			head, s.opens = part, strings.HasPrefix(trimmed, "[[")
			all = append(all, s)
		default:
			s.tree = nil
			_, _ = toml.Decode(head+"\n"+part, &s.tree) // it parses, since each part did
			all = append(all, s)
		}
		line += strings.Count(part, "\n")
		part = ""
	}
	return all
}

// lineOf returns the line on which a key is first set, or 1 if it never is.
func (f *File) lineOf(key []string) int {
	for _, s := range f.statements() {
		if defined(s.tree, key) {
			return s.line
		}
	}
	return 1
}

func (f *File) at(line int) string { return fmt.Sprintf("%s:%d", f.name, line) }

// Place is one element of an array of tables in a file: the Index-th [[Table]], from 0.
type Place struct {
	File  *File
	Table string
	Index int
}

// At returns FILE:LINE of a key of the element, of a key within that, and so on. For "", and for a
// key that is not set, it returns the element's first line. Without a file it returns "".
func (p Place) At(key ...string) string {
	if p.File == nil {
		return ""
	}
	begins, heads := 0, 0 // heads so far: what follows a head belongs to its element
	for _, s := range p.File.statements() {
		if _, is := s.tree[p.Table].([]map[string]any); is && s.opens {
			heads++
		}
		all, i := tables(s.tree[p.Table]), p.Index-max(heads-1, 0)
		if i < 0 || i >= len(all) {
			continue
		}
		if begins == 0 {
			begins = s.line
		}
		if len(key) > 0 && key[0] != "" && defined(all[i], key) {
			return p.File.at(s.line)
		}
	}
	if begins == 0 { // Table is no table
		begins = p.File.lineOf([]string{p.Table})
	}
	return p.File.at(begins)
}

// tables returns the tables in v: one, or a list of them.
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

// defined reports whether a tree holds a key. In an array of tables, any element may hold it.
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
