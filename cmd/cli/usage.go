package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"jobeff/report/inert"
)

// Exit codes.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
)

// usageError marks a command line that cannot be understood.
type usageError struct{ error }

// Usage marks an error as one of the command line: the program then exits with ExitUsage.
func Usage(err error) error { return usageError{err} }

// Usagef is Usage of a formatted error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// ExitCode returns the exit code of a program that ends with err.
func ExitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	}
	return ExitError
}

// wrongValue matches pflag's error for a value that a flag does not take. That error ends in Go's own
// words, which say little to a user.
var wrongValue = regexp.MustCompile(`(?s)^invalid argument "(.*)" for "(.*)" flag: (?:strconv|time|parse error|must be|invalid)`)

// FlagError rewords an error in the command line's flags. habits maps the letters of other programs' flags to
// advice on what to use here.
func FlagError(err error, program string, habits map[string]string) error {
	if m := wrongValue.FindStringSubmatch(err.Error()); m != nil {
		return Usagef("%s does not take %.40q: see %s --help", m[2], m[1], program)
	}
	if m := regexp.MustCompile(`^unknown shorthand flag: '(.)'`).FindStringSubmatch(err.Error()); m != nil && habits[m[1]] != "" {
		return Usagef("there is no -%s: %s", m[1], habits[m[1]])
	}
	return Usagef("%w: see %s --help", err, program)
}

// Complain prints a program's error. The text may quote other users' bytes: they are made harmless.
func Complain(w io.Writer, program, text string) {
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w, program+": "+inert.Text(l, false))
	}
}

// NoArgs is for commands that take no argument.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("%s takes no argument: see %[1]s --help", cmd.CommandPath())
}

// One is for commands that take one argument; with least 0 it may be left out.
func One(what string, least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > 1 {
			return Usagef("%s takes one %s, not %d: see %[1]s --help", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// Some is for commands that take one argument or more.
func Some(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s takes a %s: see %[1]s --help", cmd.CommandPath(), what)
		}
		return nil
	}
}

// NoCommand is for commands that only hold subcommands.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("%s knows no %.40q: %s", cmd.CommandPath(), args[0], cmp.Or(DidYouMean(cmd, args[0]), "see "+cmd.CommandPath()+" --help"))
}

// DidYouMean suggests a command whose name is near a word; "" where there is none.
func DidYouMean(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2 // cobra's default, which it sets only in its own suggestions
	near := cmd.SuggestionsFor(word)
	if word == "" || len(near) == 0 {
		return ""
	}
	return "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
}
