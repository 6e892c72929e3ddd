// Package inert makes names that users chose harmless: names of jobs, programs, nodes, labels. All of them are
// an attacker's text. Before it in the flow comes ingest, whose data it copies. Whatever writes a text, a page
// or a mail calls it before anything else sees the data.
package inert

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// How many characters are shown of a name, and of a message, which may quote several.
const (
	longestText    = 200
	longestMessage = 2000
)

// Text makes hostile text harmless on a terminal, in a table and in a log. Control characters,
// line breaks, bad UTF-8, and characters that change the direction or look of others become
// visible escapes. A tab becomes a space. A long text is cut. Without wide, only ASCII is left.
func Text(s string, wide bool) string { return escaped(s, wide, longestMessage) }

func escaped(s string, wide bool, longest int) string {
	if len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // nearly all texts are harmless already
	}
	var b strings.Builder
	for n := 0; len(s) > 0; n++ {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case n == longest:
			return b.String() + "..."
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\t':
			b.WriteByte(' ')
		case r < utf8.RuneSelf && unicode.IsPrint(r), wide && harmless(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// harmless reports whether a character only shows itself. Combining marks are not harmless: many
// of them on one letter cover the lines around it.
func harmless(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}

// Copy returns a deep copy of v. Every text in it, also in a map's keys, is made harmless as Text
// does and cut to the length of a name. It works on exported fields, such as those of wire types.
func Copy[T any](v T, wide bool) T {
	makeInert(reflect.ValueOf(&v).Elem(), wide)
	return v
}

// makeInert makes the shallow copy v a deep and harmless one.
func makeInert(v reflect.Value, wide bool) {
	if !holdsReferences(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(escaped(v.String(), wide, longestText))
	case reflect.Pointer:
		if !v.IsNil() {
			v.Set(copied(v.Elem(), wide).Addr())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				makeInert(f, wide)
			}
		}
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			all := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(all, v)
			v.Set(all)
			if holdsReferences(v.Type().Elem()) {
				for i := range v.Len() {
					makeInert(v.Index(i), wide)
				}
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			all := reflect.MakeMapWithSize(v.Type(), v.Len())
			for _, k := range v.MapKeys() {
				all.SetMapIndex(copied(k, wide), copied(v.MapIndex(k), wide))
			}
			v.Set(all)
		}
	}
}

// copied returns a harmless deep copy that its caller may change.
func copied(v reflect.Value, wide bool) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	makeInert(out, wide)
	return out
}

// references caches the results of holdsReferences.
var references sync.Map

// holdsReferences reports whether a copy of a value of this type may share data with it, such as a text. A
// workload has thousands of numbers, which need no visit.
func holdsReferences(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
	default:
		return false
	}
	if known, ok := references.Load(t); ok {
		return known.(bool)
	}
	holds := false
	for i := range t.NumField() {
		f := t.Field(i)
		holds = holds || f.IsExported() && holdsReferences(f.Type)
	}
	references.Store(t, holds)
	return holds
}
