// Package cli is what the command lines of jobeff and of jobeffd admin have in common:
// exit codes and errors of usage, times as sacct takes them, what a TAB offers, and
// the bar of what takes long. Behind it stand the two commands.
package cli
