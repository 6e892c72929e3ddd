package notify

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"jobeff/ingest/store"
	"jobeff/test/pgtest"
)

// TestDaemonsCompete has several daemons on one PostgreSQL decide and send at once. One is
// killed after the decision, while it waits for the mail server's first word; the others go
// on: one digest, and one mail to each user.
func TestDaemonsCompete(t *testing.T) {
	s := newSMTP(t).start(t)
	server := pgtest.Start(t, pgtest.Quick...)
	database := server.Database(t)
	const users = 12
	fill(t, database, users)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	victim := run(t, database, silent.Addr().(*net.TCPAddr).Port, tuesday)
	c, err := silent.Accept() // it sends: so it has decided, and holds a mail
	must(t, err)
	defer c.Close()
	together := func(at time.Time) {
		t.Helper()
		var all []*exec.Cmd
		for range 3 {
			all = append(all, run(t, database, s.port, at))
		}
		for _, cmd := range all {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, cmd.Stderr)
			}
		}
	}
	together(tuesday.Add(time.Second))
	s.arrived(t, users) // and the digest, but for the one that the victim holds
	must(t, victim.Process.Kill())
	victim.Wait()
	together(afterLease(1))
	all := s.arrived(t, users+1)
	for id, n := range counted(all) {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
	to := map[string]int{}
	for _, address := range recipients(all) {
		to[address]++
	}
	if len(to) != users+1 || to["hpc@example.org"] != 1 {
		t.Errorf("%v", to)
	}
}

// TestDaemonsDecideTogether lets daemons on one PostgreSQL come to the decision at the same
// moment, over and over.
func TestDaemonsDecideTogether(t *testing.T) {
	s := newSMTP(t).start(t)
	server := pgtest.Start(t, pgtest.Quick...)
	database := server.Database(t)
	fill(t, database, 1)
	const daemons, weeks = 4, 5
	var all []*Notifier
	clocks := &clock{tuesday}
	for range daemons {
		db, err := store.Open(database)
		must(t, err)
		t.Cleanup(func() { db.Close() })
		all = append(all, notifier(t, config(s.port), db, clocks))
	}
	for range weeks {
		done := make(chan bool)
		for _, n := range all {
			go func() { n.Tick(ctx); done <- true }()
		}
		for range all {
			<-done
		}
		clocks.at = clocks.at.AddDate(0, 0, 7)
	}
	for id, n := range counted(s.arrived(t, weeks+1)) { // a digest a week, and once a notice
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}
