package report

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many characters are shown of a name, and of a message that may quote several.
const (
	longestText    = 200
	longestMessage = 2000
)

// InertText makes hostile text harmless on a terminal, in a table and in a log:
// control characters, line breaks, bad UTF-8 and everything that changes the
// direction or the look of what follows become visible escapes, a tab becomes a
// space, what is too long is cut. Without wide only ASCII is left.
func InertText(s string, wide bool) string { return inertText(s, wide, longestMessage) }

func inertText(s string, wide bool, longest int) string {
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

// harmless reports whether a character shows itself and changes nothing else.
// Marks are left out: enough of them on one letter run over the lines around it.
func harmless(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}

// Inert returns a deep copy of v in which every text, also a map's keys, has been
// made harmless like this and cut to the length of a name. It works on data of exported fields, as the wire types are.
func Inert[T any](v T, wide bool) T {
	return inertValue(reflect.ValueOf(&v).Elem(), wide).Interface().(T)
}

func inertValue(v reflect.Value, wide bool) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(inertText(v.String(), wide, longestText))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(inertValue(v.Elem(), wide))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(inertValue(v.Field(i), wide))
			}
		}
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(inertValue(v.Index(i), wide))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, k := range v.MapKeys() {
				out.SetMapIndex(inertValue(k, wide), inertValue(v.MapIndex(k), wide))
			}
		}
	}
	return out
}
