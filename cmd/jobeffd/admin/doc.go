// Package admin is jobeffd admin: the commands that open jobeffd's database beside it,
// to back it up, restore, move, prune or measure it, and to make one of a made-up site.
// Before it stands ingest/store; cmd/jobeffd has its commands, cmd/jobeff hands on to them.
package admin
