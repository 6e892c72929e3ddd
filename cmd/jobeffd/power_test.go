package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/test/disktest"
	"jobeff/test/pgtest"
)

// powerCuts is the number of moments at which TestPowerCuts cuts the power: 5, or $JOBEFF_POWER_CUTS.
func powerCuts() int {
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_POWER_CUTS")); err == nil {
		return n
	}
	return 5
}

// What happens while the disks' writes are logged.
const (
	powerNodes = 8   // whose jobs end one after the other
	powerAway  = 300 // reports are written while jobeffd is away
)

func powerReports() int { return 1000 + 10*powerCuts() }

// TestPowerCuts cuts the power of jobeffd's machine and of the nodes, at many moments under load. After
// each cut, the file systems and the database are whole. What jobeffd acknowledged is in the database,
// and each measured job that ended is there or in an outbox.
func TestPowerCuts(t *testing.T) {
	for name, db := range diskDatabases {
		t.Run(name, func(t *testing.T) {
			p := &powerLoad{server: disktest.Start(t, db.size()), nodes: disktest.Start(t, 64<<20)}
			p.record(t, db)
			chance, sum := rand.New(rand.NewPCG(15, 0)), &powerSum{}
			for i, at := range p.cuts(powerCuts(), chance) {
				t.Run(fmt.Sprint(i+1), func(t *testing.T) { p.cut(t, db, at, chance, sum) })
			}
			t.Logf("result: %s: %s", name, sum)
		})
	}
}

// powerLoad is what nodes report while the writes of two disks are logged.
type powerLoad struct {
	server, nodes *disktest.Disk
	jobs          killLoad
	written       atomic.Int64 // reports

	mu      sync.Mutex
	moments []logsAt // in their order
	reports []*powerReport
}

// logsAt are the lengths of the two logs at a moment. The nodes' is read first: what they had deleted by
// then was acknowledged before the server's was read.
type logsAt struct{ nodes, server int64 }

// powerReport is a report, when its node had it in the outbox, and when it knew that jobeffd has it.
type powerReport struct {
	*job.NodeReport
	ended, acknowledged logsAt
}

func (p *powerLoad) now(t *testing.T) (m logsAt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.nodes = p.nodes.Position(t)
	m.server = p.server.Position(t)
	p.moments = append(p.moments, m)
	return m
}

// record lets nodes report to a jobeffd, which is killed once and stays away for a while.
func (p *powerLoad) record(t *testing.T, db diskDatabase) {
	d := newDaemon(t)
	d.db = db.create(t, p.server.Dir)
	d.start(t)
	must(t, exec.Command("sync", "-f", p.server.Dir).Run()) // initdb does not
	p.now(t)
	p.jobs.begin = time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	p.jobs.ends = func(n int) bool { return n == powerReports() }
	var nodes sync.WaitGroup
	for i := range powerNodes {
		nodes.Go(func() { p.node(t, d, i) })
	}
	wait := func(reports int) {
		for int(p.written.Load()) < reports && !t.Failed() {
			time.Sleep(10 * time.Millisecond)
		}
	}
	wait(powerReports() / 2)
	d.stop(syscall.SIGKILL)
	wait(powerReports()/2 + powerAway)
	d.start(t)
	nodes.Wait()
	d.merged(t)
	p.now(t)
	d.stop(syscall.SIGKILL)
	db.kill()
	p.server.Stop(t)
	p.nodes.Stop(t)
}

// node writes reports to an outbox and sends them: one node each report, another 64 at once.
func (p *powerLoad) node(t *testing.T, d *daemon, i int) {
	spool := p.spool(p.nodes.Dir, i)
	c := d.client()
	defer c.Close()
	var waiting []*powerReport
	for n, all := p.jobs.take(t); !t.Failed() && (all != nil || len(waiting) > 0); n, all = p.jobs.take(t) {
		for _, r := range all {
			if _, err := (node.Outbox{Spool: spool}).Write(r); err != nil {
				t.Error(err)
			}
			waiting = append(waiting, &powerReport{NodeReport: r, ended: p.now(t)})
			p.written.Add(1)
		}
		if all != nil && len(waiting) < 1<<(i%7) {
			continue
		}
		res, err := (&client.Sender{Spool: spool, Client: c}).Send(ctx)
		if err != nil || res.Refused > 0 {
			t.Errorf("report %d: %+v, %v", n, res, err)
		}
		if err == nil && res.Kept == 0 {
			acknowledged := p.now(t)
			for _, r := range waiting {
				r.acknowledged = acknowledged
			}
			p.mu.Lock()
			p.reports = append(p.reports, waiting...)
			p.mu.Unlock()
			waiting = nil
		} else {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (p *powerLoad) spool(dir string, i int) string { return filepath.Join(dir, fmt.Sprint("n", i)) }

// cuts are n moments in their order: one half of them right after an acknowledgement, the other
// anywhere.
func (p *powerLoad) cuts(n int, chance *rand.Rand) (at []logsAt) {
	first, last := p.moments[0].server, p.moments[len(p.moments)-1].server
	for i := range n {
		server := first + chance.Int64N(last-first+1)
		if i%2 == 0 {
			server = p.reports[chance.IntN(len(p.reports))].acknowledged.server
		}
		before, _ := slices.BinarySearchFunc(p.moments, server+1, func(m logsAt, at int64) int { return int(m.server - at) })
		at = append(at, logsAt{p.moments[before-1].nodes, server})
	}
	slices.SortFunc(at, func(a, b logsAt) int { return int(a.server - b.server) })
	return at
}

// powerSum adds up what was there after the cuts.
type powerSum struct {
	cuts, blocks               int // 4 KiB that the disks had not written
	acknowledged, missing      int
	ended, onlyOutbox, nowhere int
	light                      int
}

func (s *powerSum) String() string {
	return fmt.Sprintf("%d cuts, %d blocks lost; summed over the cuts, %d reports were acknowledged, %d are missing; %d measured jobs had ended on a node, %d were in an outbox only, %d nowhere; "+
		"of jobs without figures %d are lost with the node's power", s.cuts, s.blocks, s.acknowledged, s.missing, s.ended, s.onlyOutbox, s.nowhere, s.light)
}

// cut starts jobeffd on what a cut left, and sends what is in the outboxes.
func (p *powerLoad) cut(t *testing.T, db diskDatabase, at logsAt, chance *rand.Rand, sum *powerSum) {
	server, lost := p.server.Cut(t, at.server, chance)
	nodes, alsoLost := p.nodes.Cut(t, at.nodes, chance)
	sum.cuts, sum.blocks = sum.cuts+1, sum.blocks+lost+alsoLost
	d := newDaemon(t)
	d.db = db.open(t, server)
	d.start(t)
	kept := storedReports(t, d.db)
	for i := range powerNodes {
		if res := d.send(t, p.spool(nodes, i)); res.Kept > 0 || res.Refused > 0 {
			t.Errorf("outbox %d: %+v", i, res)
		}
	}
	sent := storedReports(t, d.db)
	for _, r := range p.reports {
		has := func(in map[string]int) bool { return in[r.Nonce] >= r.Sequence }
		switch measured := r.Measured(); {
		case r.acknowledged.server <= at.server:
			sum.acknowledged++
			if !has(kept) {
				sum.missing++
				t.Errorf("job %d on %s, report %d: acknowledged at %d, cut at %d: missing", r.JobID, r.Node, r.Sequence, r.acknowledged.server, at.server)
			}
		case r.ended.nodes <= at.nodes && !has(sent) && measured:
			sum.nowhere++
			t.Errorf("job %d on %s, report %d: ended at %d, cut at %d: nowhere", r.JobID, r.Node, r.Sequence, r.ended.nodes, at.nodes)
		case r.ended.nodes <= at.nodes && !has(sent):
			sum.light++
		case r.ended.nodes <= at.nodes && !has(kept):
			sum.onlyOutbox++
		}
		if r.ended.nodes <= at.nodes && r.Measured() {
			sum.ended++
		}
	}
	d.stop(syscall.SIGKILL)
	db.check(t, d.db)
}

// storedReports are the highest sequence of each node's reports in a database.
func storedReports(t *testing.T, database string) map[string]int {
	db := openSQL(t, database)
	defer db.Close()
	rows, err := db.Query("SELECT nonce, sequence FROM reports")
	must(t, err)
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var nonce string
		var sequence int
		must(t, rows.Scan(&nonce, &sequence))
		all[nonce] = sequence
	}
	must(t, rows.Err())
	return all
}

// diskDatabase is a kind of database on a disk of its own.
type diskDatabase interface {
	size() int64 // of the disk, bytes
	create(t *testing.T, dir string) (database string)
	open(t *testing.T, dir string) (database string) // what create made, on a copy of the disk
	kill()
	restart(t *testing.T)
	check(t *testing.T, database string) // whether it is whole
}

var diskDatabases = map[string]diskDatabase{"SQLite": sqliteOnDisk{}, "PostgreSQL": &postgresOnDisk{}}

type sqliteOnDisk struct{}

func (sqliteOnDisk) size() int64                            { return 64 << 20 }
func (sqliteOnDisk) create(_ *testing.T, dir string) string { return filepath.Join(dir, "jobeff.db") }
func (s sqliteOnDisk) open(t *testing.T, dir string) string { return s.create(t, dir) }
func (sqliteOnDisk) kill()                                  {}
func (sqliteOnDisk) restart(*testing.T)                     {}

func (sqliteOnDisk) check(t *testing.T, database string) {
	db := openSQL(t, database)
	defer db.Close()
	var said string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("SQLite says of its file: %s, %v", said, err)
	}
}

type postgresOnDisk struct{ server *pgtest.Server }

func (p *postgresOnDisk) size() int64 { return 256 << 20 }

func (p *postgresOnDisk) create(t *testing.T, dir string) string {
	p.server = pgtest.StartIn(t, dir, "-c", "max_wal_size=32MB") // it checkpoints now and then
	return p.server.URL("postgres")
}

func (p *postgresOnDisk) open(t *testing.T, dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "pgtest*"))
	if len(found) != 1 {
		t.Fatalf("%q holds no PostgreSQL", dir)
	}
	settings, err := os.OpenFile(filepath.Join(found[0], "data/postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = settings.WriteString("fsync = off\n") // this machine's power stays
	must(t, errors.Join(err, settings.Close()))
	p.server = pgtest.At(found[0])
	p.server.Run(t)
	return p.server.URL("postgres")
}

func (p *postgresOnDisk) kill()                { p.server.Kill() }
func (p *postgresOnDisk) restart(t *testing.T) { p.server.Run(t) }

func (p *postgresOnDisk) check(t *testing.T, database string) {
	program, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_amcheck")
	if out, err := exec.Command(program[len(program)-1], "--install-missing", "--heapallindexed", database).CombinedOutput(); err != nil {
		t.Errorf("PostgreSQL's tables and indexes: %v\n%s", err, out)
	}
}
