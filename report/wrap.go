package report

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Wrap breaks a text between its words into lines of at most n columns. With cut, it cuts a longer word.
// Without, such a word stays whole on a line of its own, as a link must.
func Wrap(s string, n int, cut bool) []string {
	var lines []string
	line := ""
	for _, word := range wordsOf(s) {
		if line != "" && displayWidth(line)+1+displayWidth(word) <= n {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		if cut && displayWidth(word) > n {
			word = text.StripEscape(word) // Trim would end each piece with an escape of its own
		}
		for cut && displayWidth(word) > n {
			head := text.Trim(word, n)
			lines, word = append(lines, head), strings.TrimPrefix(word, head)
		}
		line = word
	}
	return append(lines, line)
}

// commands maps jobeff's commands that texts name to the number of words after each that belong to it.
var commands = map[string]int{"admin": 2, "compare": 2, "digest": 2, "explain": 1, "live": 1, "mute": 1, "report": 1, "unmute": 1, "where": 1, "workload": 1}

// wordsOf splits a text where a line may break. "5 %" is one word: terminals and plain mails have no blank that
// prevents a break. So is a command, which is there to be copied.
func wordsOf(s string) (all []string) {
	fields := strings.Fields(s)
	for i := 0; i < len(fields); i++ {
		word := fields[i]
		if n := len(all); n > 0 && strings.HasPrefix(word, "%") {
			all[n-1] += " " + word
			continue
		}
		if strings.TrimLeft(word, "(`") == "jobeff" {
			own := command(fields[i+1:])
			word = strings.Join(fields[i:i+1+own], " ")
			i += own
		}
		all = append(all, word)
	}
	return all
}

// command returns how many of the words after jobeff belong to its command.
func command(words []string) (n int) {
	if len(words) == 0 {
		return 0
	}
	if own, is := commands[words[0]]; is {
		return min(1+own, len(words))
	}
	if words[0] == "--full" {
		return min(2, len(words))
	}
	if words[0][0] < '0' || words[0][0] > '9' {
		return 0
	}
	for n = 1; n < len(words) && strings.HasPrefix(words[n], "--"); n++ {
	}
	return n
}

// displayWidth returns how many columns s takes on a terminal.
func displayWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }
