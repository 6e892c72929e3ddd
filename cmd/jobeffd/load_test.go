package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
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
	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
)

// loadClients is the number of clients that post at once. To collect their garbage at each doubling
// of so small a heap would take CPU time from the daemon, and nodes take none.
const (
	loadClients = 200
	loadGarbage = 1000    // GOGC
	loadAhead   = 300_000 // reports that are made before: nodes have them in their outboxes
)

// loadJobs is how many jobs BenchmarkLoad has: 20,000, and 292,000 reports of them.
// JOBEFF_LOAD_JOBS sets another number.
func loadJobs() int {
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_LOAD_JOBS")); err == nil {
		return n
	}
	return 20_000
}

// loadShares: how many of 100 jobs have how many nodes.
var loadShares = []struct{ share, nodes int }{{70, 1}, {15, 2}, {10, 8}, {4, 64}, {1, 1024}}

// How the clients come: over connections that stay, over one for each report, as the epilogs
// of jobs that end one after the other do, or over TCP.
const (
	viaSocket      = "socket"
	viaConnections = "connections"
	viaMunge       = "munge"
)

// BenchmarkLoad lets the nodes of many jobs report to a jobeffd in a process of its own. Each
// report is durable before its answer. It measures the reports per second, the wait of the slowest
// hundredth, and the time from the last report until all jobs have their figures. It also measures
// the most memory that the daemon takes in each half of the time: if both are alike, it does not grow.
// The clients use the same CPUs. With munge, all of them and the daemon ask one munged; on a site
// each node has its own. munged takes 70 us of CPU time to make a credential and again to check it,
// a seventh of what a report takes in all. It answers in the order in which it is asked.
func BenchmarkLoad(b *testing.B) {
	for _, via := range []string{viaSocket, viaConnections, viaMunge} {
		b.Run(via, func(b *testing.B) {
			for range b.N {
				d, connect := loadDaemon(b, via)
				load(b, d, connect, nil)
			}
		})
	}
	b.Run("postgres", func(b *testing.B) {
		for range b.N {
			d, connect := twoDaemons(b)
			load(b, d, connect, nil)
		}
	})
}

// load posts all reports over connections that connect makes, and measures d. ends stops what goes on beside it, and
// returns how many reports of that d has; nil means that nothing goes on beside it.
func load(b *testing.B, d *daemon, connect func() poster, ends func() (rows int)) {
	next, total := loadReports(loadJobs(), 1)
	var taken atomic.Int64
	var mu sync.Mutex
	var waits []time.Duration
	memory := watchMemory(b, d.cmd.Process.Pid)
	defer debug.SetGCPercent(debug.SetGCPercent(loadGarbage))
	clients := cpuTime(b)
	b.ResetTimer()
	begin := time.Now()
	var wg sync.WaitGroup
	for range loadClients {
		wg.Go(func() {
			c := connect()
			defer c.Close()
			var own []time.Duration
			for body := next(); body != nil; body = next() {
				t0 := time.Now()
				if err := c.PostReport(ctx, body); err != nil {
					b.Error(err)
					return
				}
				own = append(own, time.Since(t0))
				taken.Add(1)
			}
			mu.Lock()
			waits = append(waits, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	took := time.Since(begin)
	b.StopTimer()
	clients = cpuTime(b) - clients
	beside := 0
	if ends != nil {
		beside = ends()
	}
	d.merged(b)
	b.ReportMetric((time.Since(begin) - took).Seconds(), "s-until-merged")
	if int(taken.Load()) != total {
		b.Fatalf("%d of %d taken", taken.Load(), total)
	}
	slices.Sort(waits)
	first, second := memory()
	b.ReportMetric(float64(total)/took.Seconds(), "reports/s")
	b.ReportMetric(waits[len(waits)*99/100].Seconds()*1e3, "p99-ms")
	b.ReportMetric(first, "MiB-peak-1st-half")
	b.ReportMetric(second, "MiB-peak-2nd-half")
	b.ReportMetric(0, "ns/op")
	used := d.wantRows(b, total+beside)
	b.ReportMetric(used.Seconds()*1e6/float64(total), "daemon-cpu-us/report")
	b.ReportMetric(clients.Seconds()*1e6/float64(total), "clients-cpu-us/report")
}

// poster is a client of one connection.
type poster interface {
	PostReport(ctx context.Context, body []byte) error
	Close()
}

// loadClient speaks only the HTTP that a report needs, as load generators do. net/http's client
// would take a tenth of the time that client and daemon need together, and on a site the nodes
// have CPUs of their own.
type loadClient struct {
	socket string
	once   bool // each report has a connection of its own
	conn   net.Conn
	in     *bufio.Reader
	out    []byte
}

func (c *loadClient) PostReport(_ context.Context, body []byte) (err error) {
	if c.once {
		defer c.Close()
	}
	if c.conn == nil {
		if c.conn, err = net.Dial("unix", c.socket); err != nil {
			return err
		}
		c.in = bufio.NewReader(c.conn)
	}
	c.out = fmt.Appendf(c.out[:0], "POST /v1/reports HTTP/1.1\r\nHost: jobeffd\r\nContent-Type: application/json\r\nContent-Encoding: zstd\r\nContent-Length: %d\r\n\r\n", len(body))
	c.out = append(c.out, body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

func (c *loadClient) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// loadDaemon starts one, and returns how a client is made for it.
func loadDaemon(b *testing.B, via string) (*daemon, func() poster) {
	d := newDaemon(b)
	socket := "" // munged's
	if via == viaMunge {
		socket = mungetest.Start(b)
	}
	conf := fmt.Sprintf("[server]\nsacct_interval = \"0s\"\nlisten = \"127.0.0.1:%d\"\nreport_rate = 0\nconnections = 0\n[munge]\nsocket = %q\n", freePort(b), socket)
	if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte(conf), 0o644); err != nil {
		b.Fatal(err)
	}
	d.start(b)
	return d, func() poster {
		if via != viaMunge {
			return &loadClient{socket: d.socket, once: via == viaConnections}
		}
		return client.NewClient("http://"+listenOf(conf), 8*time.Second, munge.Site{Socket: socket})
	}
}

func listenOf(conf string) string {
	_, rest, _ := strings.Cut(conf, "listen = \"")
	address, _, _ := strings.Cut(rest, "\"")
	return address
}

// loadReports hands out all reports as they stand in outboxes, those of one job close
// together; the jobs' ids begin with first.
func loadReports(jobs, first int) (next func() []byte, total int) {
	parts := loadParts()
	type nodeOf struct{ job, node, nodes int }
	var all []nodeOf
	for id := range jobs {
		rest := id * 37 % 100 // spreads the large ones
		for _, s := range loadShares {
			if rest -= s.share; rest < 0 {
				for node := range s.nodes {
					all = append(all, nodeOf{first + id, node, s.nodes})
				}
				break
			}
		}
	}
	report := func(i int) []byte {
		n := all[i]
		text := fmt.Appendf(nil, `{"version":1,"sequence":1,"cluster":"test","job_id":%d,"nonce":"%032x","nnodes":%d,"node":"n%04d",`,
			n.job, n.job<<16|n.node, n.nodes, n.node)
		for _, p := range parts {
			switch p {
			case "size":
				text = strconv.AppendInt(text, int64(loadRanks*n.nodes), 10)
			case "ids":
				text = fmt.Appendf(text, "%d-%d", n.node*loadRanks, (n.node+1)*loadRanks-1)
			default:
				text = append(text, p...)
			}
		}
		return wire.Compress(text)
	}
	ahead := make([][]byte, min(loadAhead, len(all)))
	for i := range ahead {
		ahead[i] = report(i)
	}
	var at atomic.Int64
	return func() []byte {
		i := int(at.Add(1)) - 1
		switch {
		case i < len(ahead):
			return ahead[i]
		case i < len(all):
			return report(i)
		}
		return nil
	}, len(all)
}

// What differs between nodes, as it stands in the template's report.
const (
	loadRanks = 64 // on each node
	loadSize  = 987654321
	loadIDs   = "its ranks"
)

// loadParts is the text that all reports share: two executions of 64 ranks on this node with
// calls and sections, about 6 KiB of JSON. In it, loadSize and loadIDs mark what differs.
func loadParts() []string {
	r := report(1)
	x := &r.Executions[0]
	x.Executable, x.MPI = "/home/user/software/model/bin/model.exe", "Open MPI"
	x.Size, x.Nodes[0].Ranks, x.Nodes[0].RankIDs = loadSize, loadRanks, loadIDs
	x.Nodes[0].UsefulShare, x.Nodes[0].MPIShare = make([]byte, loadRanks), make([]byte, loadRanks)
	for i := range 12 {
		x.Calls = append(x.Calls, job.Call{Name: fmt.Sprintf("MPI_Call_%d", i), Count: uint64(1000 * i), Time: time.Duration(i) * 1234567890,
			Sent: 1 << (2 * i), Received: 1 << (2 * i), Largest: 1 << i})
	}
	for i := range 4 {
		x.Sections = append(x.Sections, job.Section{Label: fmt.Sprint("section ", i), Ranks: loadRanks, Count: 640, Elapsed: time.Second, ElapsedMax: time.Second, Useful: time.Second, UsefulMax: time.Second})
	}
	second := *x
	second.Key = "k2"
	r.Executions = append(r.Executions, second)
	text, _ := json.Marshal(r)
	_, tail, _ := strings.Cut(string(text), `"node":"n1",`)
	_, between, _ := strings.Cut(string(text), `"nonce":"`)
	_, between, _ = strings.Cut(between, `",`)
	between, _, _ = strings.Cut(between, `"nnodes"`)
	marked := strings.NewReplacer(fmt.Sprint(loadSize), "\x00size\x00", loadIDs, "\x00ids\x00").Replace(between + tail)
	return strings.Split(marked, "\x00")
}

// watchMemory reads the daemon's resident memory, MiB: the peak of each half of the time, since
// between two garbage collections it doubles.
func watchMemory(b *testing.B, pid int) func() (first, second float64) {
	stop, done := make(chan struct{}), make(chan struct{})
	var seen []float64
	go func() {
		defer close(done)
		for {
			seen = append(seen, resident(b, pid))
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() (float64, float64) {
		close(stop)
		<-done
		half := len(seen) / 2
		return slices.Max(seen[:max(half, 1)]), slices.Max(seen[half:])
	}
}

func resident(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Error(err)
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages) * float64(os.Getpagesize()) / (1 << 20)
}

// freePort returns a port on which nobody listens just now.
func freePort(b testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// wantRows stops the daemon, counts the reports in its database and returns the CPU time
// that it took.
func (d *daemon) wantRows(b *testing.B, want int) time.Duration {
	cmd := d.cmd
	if err := d.stop(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if n := rowsOf(b, d.db, "SELECT count(*) FROM reports"); n != want {
		b.Errorf("%d rows, want %d", n, want)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
