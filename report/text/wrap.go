package text

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Wrap breaks a text between its words into lines of at most n columns. A longer word is
// cut, or, as an address that somebody is to follow, left whole on a line of its own.
func Wrap(s string, n int, cut bool) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if line != "" && Width(line)+1+Width(word) <= n {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		if cut && Width(word) > n {
			word = text.StripEscape(word) // Trim would end each piece with an escape of its own
		}
		for cut && Width(word) > n {
			head := text.Trim(word, n)
			lines, word = append(lines, head), strings.TrimPrefix(word, head)
		}
		line = word
	}
	return append(lines, line)
}

// words are what no line's end may part: "5 %" is one, though neither a terminal nor a
// plain mail has a blank that says so.
func words(s string) (all []string) {
	for _, word := range strings.Fields(s) {
		if n := len(all); n > 0 && strings.HasPrefix(word, "%") {
			all[n-1] += " " + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// Width is how many columns s takes on a terminal.
func Width(s string) int { return text.StringWidthWithoutEscSequences(s) }
