// Package admin is jobeffd admin: the commands that open jobeffd's database beside it,
// to back it up, restore, move, prune or measure it, and to make one of a made-up site.
// In the flow, ingest/store comes before it. cmd/jobeffd runs its commands; cmd/jobeff hands its own on to them.
package admin
