// Package cli is what the command lines of jobeff and of jobeffd admin have in common:
// exit codes, errors of usage, times as sacct takes them, completions, and progress
// bars. Before it stands package report, after it the two commands.
package cli
