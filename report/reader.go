package report

import "strings"

// Reader returns what the reader of a text can see: the characters of the locale, and whether it is
// a terminal or a file or pipe. columns is the terminal's width, 0 without a terminal. getenv reads
// the environment.
func Reader(getenv func(string) string, columns int) Options {
	plain := columns == 0
	return Options{
		Width:   columns,
		Unicode: unicodeLocale(getenv),
		Plain:   plain,
		Color:   !plain && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb",
	}
}

// unicodeLocale reports whether the locale's characters are UTF-8, by the rule of
// setlocale: the first of these that is set decides.
func unicodeLocale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Options say what the reader of a text can see. The zero value is plain ASCII text of 80
// columns, which everybody can read.
type Options struct {
	Width   int  // columns; 0 means 80; at most 120 are used
	Color   bool // ANSI colours, never the only carrier of a meaning
	Unicode bool // characters outside ASCII
	Plain   bool // bars in ASCII, whatever Unicode says
}

const (
	minWidth = 80
	MaxWidth = 120
)
