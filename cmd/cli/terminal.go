package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Columns is the width of a terminal, 80 where it does not say its own; 0: w is no terminal.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}
