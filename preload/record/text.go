package record

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes a printable string of a zero-terminated one, which anybody may have written. It
// ends at the first NUL and is valid UTF-8. A tab becomes a space. Other control characters,
// and characters that only change the direction of writing, become "?".
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
