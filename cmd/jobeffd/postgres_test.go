package main

import (
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest"
	"jobeff/ingest/store/pgtest"
)

// TestTwoDaemonsKilled: 200 jobs end while two daemons share a PostgreSQL and one or
// the other is killed again and again; a report goes to whichever answers. In the
// end there are 200 rows, none twice, and no outbox holds anything.
func TestTwoDaemonsKilled(t *testing.T) {
	database := pgtest.Start(t).Database(t)
	daemons := []*daemon{newDaemon(t), newDaemon(t)}
	for _, d := range daemons {
		d.db = database
		d.start(t)
	}
	const jobs, spools = 200, 4
	var dirs []string
	for range spools {
		dirs = append(dirs, filepath.Join(t.TempDir(), "spool"))
	}
	var wg sync.WaitGroup
	var ended atomic.Int32
	for i, dir := range dirs {
		wg.Go(func() {
			for j := i; j < jobs; j += spools {
				if _, err := ingest.WriteOutbox(dir, report(uint32(1000+j))); err != nil {
					t.Error(err)
				}
				for _, to := range []*daemon{daemons[j%2], daemons[1-j%2]} { // the second finds what the first left
					if _, err := (&ingest.Sender{Spool: dir, Client: to.client()}).Send(ctx); err != nil {
						t.Error(err)
					}
				}
				ended.Add(1)
			}
		})
	}
	kills := 0
	for ; ended.Load() < jobs && !t.Failed(); kills++ {
		time.Sleep(40 * time.Millisecond)
		d := daemons[kills%2]
		d.stop(syscall.SIGKILL)
		d.start(t)
	}
	wg.Wait()
	for _, dir := range dirs {
		if res := daemons[1].send(t, dir); res.Kept != 0 || res.Refused != 0 {
			t.Errorf("%+v", res)
		}
	}
	for _, d := range daemons {
		list, err := d.client().Jobs(ctx, ingest.JobQuery{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for _, j := range list.Jobs {
			seen[j.JobID] = true
			if j.Metrics == nil || j.Reports != 1 {
				t.Errorf("job %d: %+v", j.JobID, j)
			}
		}
		if len(list.Jobs) != jobs || len(seen) != jobs {
			t.Errorf("%d rows of %d jobs, %d different, after %d kills", len(list.Jobs), jobs, len(seen), kills)
		}
	}
	if kills < 3 {
		t.Errorf("only %d kills", kills)
	}
	t.Logf("%d kills", kills)
}

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
func twoDaemons(b *testing.B) (*daemon, func() *ingest.Client) {
	database := pgtest.Start(b).Database(b)
	var both []*daemon
	for range 2 {
		d, _ := loadDaemon(b, false)
		d.stop(syscall.SIGTERM)
		d.db = database
		d.start(b)
		both = append(both, d)
	}
	var n atomic.Int32
	return both[0], func() *ingest.Client { return both[n.Add(1)%2].client() }
}
