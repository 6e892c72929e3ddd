package main

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"jobeff/report/text"
)

// program is what a command may know of the world.
type program struct {
	stdout io.Writer
	getenv func(string) string
	now    func() time.Time
	plain  bool // --plain
}

// options says what standard output can show.
func (p *program) options() text.Options {
	columns := 0
	if f, ok := p.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		columns = 80
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			columns = w
		}
	}
	return text.Reader(p.getenv, columns, p.plain)
}

// errUnhealthy sets the exit code after doctor or policy test has printed what failed.
var errUnhealthy = errors.New("a check failed")
