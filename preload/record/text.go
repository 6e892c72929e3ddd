package record

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes a printable string of a zero-terminated one that anybody may have
// written: cut at the first NUL, valid UTF-8, with a space for a tab and "?" for every
// other control character and for what only steers the direction of writing.
func Text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return strings.Map(printable, strings.ToValidUTF8(string(b), "?"))
}

func printable(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return '?'
	}
	return r
}
