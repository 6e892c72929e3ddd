package text

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Wrap breaks a text between its words into lines of at most n columns. With cut, a longer word
// is cut; without, it stays whole on a line of its own, as a link must.
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

// words splits a text where a line may break. "5 %" is one word: a terminal and a plain mail
// have no blank that prevents a break.
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
