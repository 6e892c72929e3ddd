// Package admin is jobeffd admin: the commands that open jobeffd's database beside it,
// to back it up, move it, thin it out or measure it, and that make one of a made-up
// site. It stands on ingest/store; cmd/jobeffd carries it, cmd/jobeff hands on to it.
package admin
