package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/test/pgtest"
)

// TestKilledUnderLoad: the daemon is killed again and again while nodes report.
func TestKilledUnderLoad(t *testing.T) {
	d := newDaemon(t)
	killedUnderLoad(t, d)
	db := openSQL(t, d.db)
	defer db.Close()
	var said string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("SQLite says of its file: %s, %v", said, err)
	}
}

// TestTwoDaemonsKilled: two daemons share a PostgreSQL, and one or the other is killed.
func TestTwoDaemonsKilled(t *testing.T) {
	database := pgtest.Start(t).Database(t)
	daemons := []*daemon{newDaemon(t), newDaemon(t)}
	for _, d := range daemons {
		d.db = database
	}
	killedUnderLoad(t, daemons...)
}

// faultKills is how often a test kills: 5 times, or $JOBEFF_FAULTS_KILLS.
func faultKills() int {
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_FAULTS_KILLS")); err == nil {
		return n
	}
	return 5
}

// longestLife bounds the life of a daemon until it is killed: two rounds of merging.
const longestLife = 2 * mergeEvery

// killedUnderLoad kills daemons that share a database in turn, at random moments, while clients
// report to whichever answers. What was acknowledged is never sent again. Another database gets the
// same reports undisturbed. In the end both must hold the same, though nobody repairs anything.
func killedUnderLoad(t *testing.T, daemons ...*daemon) {
	log := new(saidLines)
	for _, d := range daemons {
		d.log = log
		d.start(t)
	}
	begin := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	kills, moments := faultKills(), rand.New(rand.NewPCG(14, uint64(len(daemons))))
	var over atomic.Bool
	load := &killLoad{begin: begin, ends: func(n int) bool { return over.Load() && n%killRound == 0 }}
	wait := load.send(t, daemons)
	for i := range kills {
		time.Sleep(time.Duration(moments.Int64N(int64(longestLife))))
		d := daemons[i%len(daemons)]
		d.stop(syscall.SIGKILL)
		d.start(t)
	}
	over.Store(true)
	wait()
	undisturbed := newDaemon(t)
	undisturbed.start(t)
	(&killLoad{begin: begin, ends: func(n int) bool { return n == load.n }}).send(t, []*daemon{undisturbed})()
	if t.Failed() {
		return
	}
	want, got, jobs, wrong := undisturbed.figures(t), daemons[0].figures(t), 5*load.n/killRound, 0
	for id := 1; id <= jobs; id++ {
		if g, w := got[id], want[id]; g != w {
			if wrong++; wrong <= 3 {
				t.Errorf("job %d: the database holds\n%s\nand undisturbed\n%s", id, g, w)
			}
		}
	}
	if wrong > 0 || len(got) != jobs || len(want) != jobs {
		t.Errorf("%d of %d jobs are wrong, in %d rows and %d undisturbed ones", wrong, jobs, len(got), len(want))
	}
	if said := log.wrong(); said != "" {
		t.Errorf("jobeffd said:\n%s", said)
	}
	if load.cut == 0 {
		t.Error("no kill met a report on its way")
	}
	t.Logf("after %d kills, which cut %d posts: %d reports of %d jobs, %d rows", kills, load.cut, load.n, jobs, len(got))
}

// figures are the rows of each job, but for when they were written and who came first.
func (d *daemon) figures(t *testing.T) map[int]string {
	t.Helper()
	d.merged(t)
	db, err := store.OpenBeside(d.db)
	must(t, err)
	defer db.Close()
	var export bytes.Buffer
	must(t, db.Export(ctx, &export, nil))
	all := map[int]string{}
	for text := range bytes.Lines(export.Bytes()) {
		var line struct {
			Attempt map[string]any
			Rows    map[string][]map[string]any
		}
		in := json.NewDecoder(bytes.NewReader(text))
		in.UseNumber() // as it stands
		must(t, in.Decode(&line))
		if line.Attempt == nil {
			continue
		}
		id, _ := line.Attempt["job_id"].(json.Number).Int64()
		for _, column := range []string{"changed_us", "sender", "judged_by", "flags"} {
			delete(line.Attempt, column)
		}
		said := mustJSON(t, line.Attempt)
		for _, table := range slices.Sorted(maps.Keys(line.Rows)) {
			var rows []string
			for _, row := range line.Rows[table] {
				delete(row, "received_us")
				rows = append(rows, string(mustJSON(t, row)))
			}
			slices.Sort(rows)
			said = fmt.Appendf(said, "\n%s %s", table, strings.Join(rows, "\n"))
		}
		all[int(id)] += string(said)
	}
	return all
}

// killRound reports in a row are those of five jobs, which have 1, 2, 4, 8 and 16 of them.
const (
	killRound   = 31
	killClients = 8
)

// killLoad is what the nodes of many jobs report. It stops before the first report number for which ends is true.
type killLoad struct {
	begin time.Time
	ends  func(n int) bool

	mu  sync.Mutex
	n   int // reports
	cut int // posts that a daemon took and never answered
}

// take returns the next report, in each of its sequences, and its number; nil if there is none left.
func (l *killLoad) take(t *testing.T) (n int, all []*job.NodeReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends(l.n) || t.Failed() {
		return 0, nil
	}
	n = l.n
	l.n++
	all = []*job.NodeReport{l.report(n, 1)}
	if n%10 == 0 {
		all = append(all, l.report(n, 2))
	}
	return n, all
}

// report is the report n; what it says is random, and the same again.
func (l *killLoad) report(n, sequence int) *job.NodeReport {
	at := bits.Len(uint(n%killRound+1)) - 1
	node, said := n%killRound+1-1<<at, rand.New(rand.NewPCG(uint64(n), uint64(sequence)))
	r := report(uint32(n/killRound*5 + at + 1))
	r.Sequence, r.NNodes, r.Node, r.Start, r.End = sequence, 1<<at, fmt.Sprint("n", node), l.begin, l.begin.Add(20*time.Second)
	r.Nonce = fmt.Sprintf("%032x", n)
	if n%7 == 0 {
		r.Executions = nil
		return r
	}
	x := &r.Executions[0]
	x.Size, x.Start, x.End = r.NNodes, r.Start, r.Start.Add(time.Second)
	share := &x.Nodes[0]
	share.Node, share.RankIDs, share.Useful = r.Node, fmt.Sprint(node), time.Duration(said.Int64N(int64(time.Second)))
	share.UsefulMax, share.MPI, share.ElapsedSum = share.Useful, time.Second-share.Useful, time.Second
	x.Calls = []job.Call{{Name: "MPI_Allreduce", Count: said.Uint64N(1000), Time: share.MPI, Sent: said.Uint64N(1e9)}}
	return r
}

// send posts the reports to these daemons, each until one has acknowledged it. wait returns when all are.
func (l *killLoad) send(t *testing.T, daemons []*daemon) (wait func()) {
	var wg sync.WaitGroup
	for range killClients {
		wg.Go(func() {
			var clients []*client.Client
			for _, d := range daemons {
				clients = append(clients, d.client())
				defer clients[len(clients)-1].Close()
			}
			for n, all := l.take(t); all != nil; n, all = l.take(t) {
				for _, r := range all {
					for try := n; !t.Failed() && !l.acknowledged(t, clients[try%len(clients)], r); try++ {
						time.Sleep(time.Millisecond)
					}
				}
			}
		})
	}
	return wg.Wait
}

// acknowledged posts a report once. A report without figures goes as a batch, as an outbox has it.
func (l *killLoad) acknowledged(t *testing.T, c *client.Client, r *job.NodeReport) bool {
	body := mustJSON(t, r)
	var err error
	if r.Executions != nil {
		err = c.PostReport(ctx, wire.Compress(body))
	} else if of, e := c.PostReports(ctx, [][]byte{body}); e != nil {
		err = e
	} else {
		err = of[0]
	}
	if away := new(client.UnreachableError); errors.As(err, &away) {
		if op := new(net.OpError); !errors.As(err, &op) || op.Op != "dial" {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.cut++
		}
		return false
	}
	if err != nil {
		t.Errorf("job %d, %s: %v", r.JobID, r.Node, err)
	}
	return true
}

// saidLines is what daemons log, from several goroutines.
type saidLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *saidLines) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// wrong returns the lines that say that something is.
func (s *saidLines) wrong() (said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		if !strings.Contains(line, `"level":"info"`) {
			said += line
		}
	}
	return said
}
