// Package cli is what the command lines of jobeff and of jobeffd admin have in common:
// exit codes, errors of usage, times as sacct takes them, completions, and progress
// bars. In the flow, package report comes before it and the two commands after it.
package cli
