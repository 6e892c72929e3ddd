package main

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

// limitMemory is the memory that the kernel lets the daemon have. Meanwhile paced reports come each
// second.
const (
	limitMemory = 1 << 30
	paced       = 2000
	pacedJobs   = 700 // 10,220 nodes, each with two reports
)

// goMemory is to limitMemory as the unit's GOMEMLIMIT is to its MemoryMax.
func goMemory(t *testing.T) string {
	unit, err := os.ReadFile("../../packaging/systemd/jobeffd.service")
	must(t, err)
	var most, soft int64
	for line := range strings.Lines(string(unit)) {
		fmt.Sscanf(line, "MemoryMax=%dG", &most)
		fmt.Sscanf(line, "Environment=GOMEMLIMIT=%dMiB", &soft)
	}
	if most == 0 || soft == 0 || soft<<20 >= most<<30 {
		t.Fatalf("the unit has MemoryMax=%dG and GOMEMLIMIT=%dMiB", most, soft)
	}
	return fmt.Sprint(soft << 20 * limitMemory / (most << 30))
}

// memoryGroup is a new memory cgroup with that limit, of either version.
type memoryGroup struct{ dir, limit, peak, kills string }

func newMemoryGroup(t *testing.T) *memoryGroup {
	root, g := "/sys/fs/cgroup/memory", memoryGroup{limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", kills: "memory.oom_control"}
	if _, err := os.Stat(filepath.Join(root, g.limit)); err != nil {
		root, g = "/sys/fs/cgroup", memoryGroup{limit: "memory.max", peak: "memory.peak", kills: "memory.events"}
		if given, _ := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); !strings.Contains(string(given), "memory") {
			t.Skip("no memory cgroup of version 1 or 2")
		}
	}
	if unix.Access(root, unix.W_OK) != nil {
		t.Skip("no cgroup can be made here")
	}
	var err error
	g.dir, err = os.MkdirTemp(root, "jobeff-test-")
	must(t, err)
	t.Cleanup(func() {
		for range 100 { // the daemon was killed before, and may need a moment to be gone
			if os.Remove(g.dir) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Error(g.dir, "is left")
	})
	must(t, os.WriteFile(filepath.Join(g.dir, g.limit), []byte(strconv.Itoa(limitMemory)), 0))
	return &g
}

func (g *memoryGroup) read(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	must(t, err)
	return strings.TrimSpace(string(text))
}

// TestMemoryLimit: nodes report at the pace of a large site, each while its job runs and again at its end. Meanwhile hostile
// logs of windows come in, small ones that unpack to millions, and the largest that are replayed; and reports of a job that
// runs on and on, whose nodes make up 20,000 programs each. The daemon stays within its limit, and keeps all that it
// acknowledged.
func TestMemoryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 20 s")
	}
	group := newMemoryGroup(t)
	self, err := os.Executable()
	must(t, err)
	d := newDaemon(t)
	d.program = []string{"/bin/sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group.dir, self}
	d.env = []string{"GOMEMLIMIT=" + goMemory(t)}
	d.start(t)
	var over atomic.Bool
	var taken, fakes, replays atomic.Int64
	var clients errgroup.Group
	for i := range 3 {
		clients.Go(func() error { return d.attack(i, &over, &fakes, &replays) })
	}
	clients.Go(func() error { return d.makeUp(&over) })
	next, total := loadReports(pacedJobs, 1)
	pace := rate.NewLimiter(paced, 1)
	var honest errgroup.Group
	begin := time.Now()
	for range loadClients {
		honest.Go(func() error {
			c := &loadClient{socket: d.socket}
			defer c.Close()
			for body := next(); body != nil; body = next() {
				for _, body := range [][]byte{withHead(body, `"sequence":1,"as_of":"2026-11-26T00:00:00Z",`), withHead(body, `"sequence":2,`)} {
					if err := errors.Join(pace.Wait(ctx), c.PostReport(ctx, body)); err != nil {
						return err
					}
				}
				taken.Add(1)
			}
			return nil
		})
	}
	err = honest.Wait()
	took := time.Since(begin)
	if err == nil { // on a busy machine jobeffd may have refused all of them until now
		until(t, "hostile logs that jobeffd takes", func() bool { return replays.Load() > 0 })
	}
	over.Store(true)
	if err := errors.Join(err, clients.Wait()); err != nil {
		t.Errorf("%d of %d reports were taken: %v", taken.Load(), total, err)
	}
	kills := group.read(t, group.kills)
	t.Logf("%.0f reports a second were acknowledged, half of them of running jobs; %d hostile logs, %d of them replayed; with the page cache at most %s bytes",
		2*float64(taken.Load())/took.Seconds(), fakes.Load(), replays.Load(), group.read(t, group.peak))
	if !strings.Contains(kills, "oom_kill 0") || int(taken.Load()) != total || replays.Load() == 0 {
		t.Errorf("%d of %d reports, %s", taken.Load(), total, kills)
	}
	if err := d.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if kept := rowsOf(t, d.db, "SELECT count(*) FROM reports WHERE node LIKE 'n%'"); kept != total {
		t.Errorf("%d of %d acknowledged reports are there", kept, total)
	}
}

// attack sends hostile logs until it is over.
func (d *daemon) attack(which int, over *atomic.Bool, fakes, replays *atomic.Int64) error {
	c := d.client()
	defer c.Close()
	millions, fewer := nothings(6_700_000), nothings(3_000_000)
	empty := [][]byte{emptyLogs(0, replay.MostRanks/2), emptyLogs(replay.MostRanks/2, replay.MostRanks/2)}
	windows, entries := [][]byte{fullWindows(0), fullWindows(1)}, 2+5*((replay.MostEntries/2-2)/5)
	for id := uint32(1<<20 + which<<16); !over.Load(); id++ {
		reports := attackOf(id)
		for i, r := range reports {
			var bodies [][]byte
			ranks := replay.MostRanks / 2
			switch {
			case which == 0:
				bodies = append(bodies, hostileLogs(r, ranks, 0, millions), hostileLogs(r, ranks, 0, fewer))
			case id%2 == 0:
				bodies = append(bodies, hostileLogs(r, 1, entries, windows[i]))
			default:
				bodies = append(bodies, hostileLogs(r, ranks, 0, empty[i]))
			}
			if err := unlessLate(c.PostReport(ctx, mustText(r))); err != nil {
				return err
			}
			for _, body := range bodies {
				var away *client.UnreachableError
				var no net.Error
				err := c.PostLogs(ctx, body)
				if errors.As(err, &away) && !errors.As(err, &no) {
					return err
				}
				fakes.Add(1)
				if err == nil {
					replays.Add(1)
				}
			}
		}
	}
	return nil
}

// unlessLate is an error, but for an answer that comes too late: on a busy machine jobeffd may keep those waiting who send it
// much.
func unlessLate(err error) error {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return nil
	}
	return err
}

// withHead is a report of loadReports with another sequence.
func withHead(body []byte, sequence string) []byte {
	text, err := wire.DecompressReport(nil, body)
	if err != nil {
		panic(err)
	}
	return wire.Compress([]byte(strings.Replace(string(text), `"sequence":1,`, sequence, 1)))
}

// makeUp reports of one job that runs on and on, from many nodes.
func (d *daemon) makeUp(over *atomic.Bool) error {
	const nodes = 8
	c := d.client()
	defer c.Close()
	for n := 0; !over.Load(); n++ {
		r := report(1 << 24)
		r.Node, r.NNodes, r.Sequence, r.AsOf = fmt.Sprint("many", n%nodes), nodes, 1+n/nodes, r.End
		r.Nonce = fmt.Sprintf("%032x", n%nodes)
		x := r.Executions[0]
		x.Size, r.Executions = 2*nodes, nil
		for i := range 20_000 {
			x.Key = fmt.Sprint(n%nodes, "-", i)
			x.Executable = x.Key
			r.Executions = append(r.Executions, x)
		}
		if err := unlessLate(c.PostReport(ctx, wire.Compress(mustText(r)))); err != nil {
			return err
		}
	}
	return nil
}

// attackOf are the reports of two nodes of a job whose root is hostile.
func attackOf(id uint32) []*job.NodeReport {
	var all []*job.NodeReport
	for i := range 2 {
		r := report(id)
		r.Node, r.NNodes, r.Nonce = fmt.Sprint("evil", i), 2, fmt.Sprintf("%016x%016x", id, i)
		x := &r.Executions[0]
		ranks := 1
		if id%2 == 1 {
			ranks = replay.MostRanks / 2
		}
		x.Size, x.Endings = 2*ranks, map[string]int{"finalized": ranks}
		x.Nodes[0] = job.NodeShare{Node: r.Node, Ranks: ranks, Useful: time.Second, UsefulMax: time.Second, ElapsedMax: time.Second,
			ElapsedSum: time.Duration(ranks) * time.Second, RankIDs: fmt.Sprintf("%d-%d", i*ranks, (i+1)*ranks-1)}
		all = append(all, r)
	}
	return all
}

func mustText(r *job.NodeReport) []byte {
	text, err := wire.ReportText(r)
	if err != nil {
		panic(err)
	}
	return text
}

// hostileLogs are what root of a node may send, whatever the code of this tree packs. The packed
// text is a frame of its own, so that it is made once.
func hostileLogs(r *job.NodeReport, ranks, entries int, packed []byte) []byte {
	x := &r.Executions[0]
	head := fmt.Appendf(nil, `{"version":1,"cluster":%q,"job_id":%d,"nonce":%q,"node":%q,"key":%q,"size":%d,"ranks":%d,"entries":%d,"start":%q}`+"\n",
		r.Cluster, r.JobID, r.Nonce, r.Node, x.Key, x.Size, ranks, entries, x.Start.Format(time.RFC3339Nano))
	return slices.Concat(wire.Compress(head), packed)
}

// emptyLogs are packed logs of so many ranks without an entry.
func emptyLogs(first, ranks int) []byte {
	text := binary.AppendUvarint([]byte{1, 0}, uint64(ranks))
	for r := range ranks {
		text = append(binary.AppendUvarint(text, uint64(first+r)), 0, 0, 0)
	}
	return wire.Compress(text)
}

// nothings are logs without an end of rank 0, as small as they can be: 5 bytes each.
func nothings(logs int) []byte {
	return wire.Compress(append(binary.AppendUvarint([]byte{1, 0}, uint64(logs)), make([]byte, 5*logs)...))
}

// fullWindows are the packed log of a rank with as many windows as entries have room, in which it
// scans itself: what takes most memory and time in a replay.
func fullWindows(rank int) []byte {
	const windows = 5
	const scans = (replay.MostEntries/2-2)/windows - 2
	text := binary.AppendUvarint([]byte{1, 0, 1, byte(rank), 0, 0}, 2+windows*(scans+2))
	add := func(op replay.Op, flags replay.Flags, wait, took int64, bytes uint64, request, peer, tag int64, comm uint64) {
		text = binary.AppendVarint(binary.AppendVarint(append(text, byte(op), byte(flags)), wait), took)
		text = binary.AppendVarint(binary.AppendVarint(binary.AppendUvarint(text, bytes), request), peer)
		text = append(binary.AppendUvarint(binary.AppendVarint(text, tag), comm), 60, 0)
	}
	add(replay.OpComm, 0, 0, 0, 1, 0, int64(rank), 2, 1)
	add(replay.OpComm, 0, 0, 0, 77+uint64(rank), 0, 0, 1, 2)
	for w := range int64(windows) {
		add(replay.OpWindow, 0, 10, 0, 0, w+1, 0, 0, 1)
		for i := range int64(scans) {
			add(replay.OpCollScan, 0, 1, 1, 0, min(i-1, 0)*(w+1), 0, 0, 2) // a handle of 0
		}
		add(replay.OpCollAll, replay.Border, 1, 1, 0, 0, 0, 0, 1)
	}
	return wire.Compress(text)
}

// rowsOf counts in a database that no daemon holds.
func rowsOf(t testing.TB, database, query string) (n int) {
	t.Helper()
	db := openSQL(t, database)
	defer db.Close()
	must(t, db.QueryRow(query).Scan(&n))
	return n
}

// openSQL opens a database past the store.
func openSQL(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver := "sqlite3"
	if store.IsPostgres(database) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, database)
	must(t, err)
	return db
}
