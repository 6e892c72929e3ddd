package main

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"jobeff/test/pgtest"
)

// TestNoPassword: what jobeffd says at its start holds no password.
func TestNoPassword(t *testing.T) {
	d := newDaemon(t)
	d.db = strings.Replace(pgtest.Start(t, pgtest.Quick...).Database(t), "postgres@", "postgres:s3cret@", 1)
	d.start(t)
	if strings.Contains(d.ready, "s3cret") || !strings.Contains(d.ready, "postgres://postgres@") {
		t.Error(d.ready)
	}
}

// twoDaemons share a PostgreSQL that keeps what it acknowledges; the clients take
// turns.
func twoDaemons(b *testing.B) (*daemon, func() poster) {
	database := pgtest.Start(b).Database(b)
	var both []*daemon
	for range 2 {
		d, _ := loadDaemon(b, viaSocket)
		d.stop(syscall.SIGTERM)
		d.db = database
		d.start(b)
		both = append(both, d)
	}
	var n atomic.Int32
	return both[0], func() poster { return &loadClient{socket: both[n.Add(1)%2].socket} }
}
