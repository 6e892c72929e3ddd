package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// interimNodes is the number of nodes that report at one moment, each a running job of its own.
const interimNodes = 200

// BenchmarkInterim lets nodes report jobs that run: 20 moments alone, each merged before the next, and one
// a second, 600 times as often as by default, beside the load of BenchmarkLoad.
func BenchmarkInterim(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		for range b.N {
			d, connect := loadDaemon(b, viaSocket)
			reporters := newReporters(connect)
			reporters.report(b) // the rows are made
			d.merged(b)
			before := daemonTime(b, d.cmd.Process.Pid)
			const moments = 20
			for range moments {
				reporters.report(b)
				d.merged(b)
			}
			used := daemonTime(b, d.cmd.Process.Pid) - before
			b.ReportMetric(used.Seconds()*1e6/(moments*interimNodes), "daemon-cpu-us/report")
			reporters.tell(b)
			d.wantRows(b, interimNodes)
		}
	})
	b.Run("beside", func(b *testing.B) {
		for range b.N {
			d, connect := loadDaemon(b, viaSocket)
			reporters := newReporters(connect)
			reporters.report(b)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Second):
						reporters.report(b)
					}
				}
			}()
			load(b, d, connect, func() (rows int) {
				close(stop)
				<-done
				return interimNodes
			})
			reporters.tell(b)
		}
	})
}

// reporters are the nodes that report jobs that run.
type reporters struct {
	conns []poster
	mu    sync.Mutex
	waits []time.Duration
	count int // moments
}

func newReporters(connect func() poster) *reporters {
	r := new(reporters)
	for range interimNodes {
		r.conns = append(r.conns, connect())
	}
	return r
}

// report posts a report of each node, all at once.
func (r *reporters) report(b *testing.B) {
	r.count++
	var wg sync.WaitGroup
	for i, c := range r.conns {
		body := interimBody(b, i, r.count)
		wg.Go(func() {
			begin := time.Now()
			if err := c.PostReport(ctx, body); err != nil {
				b.Error(err)
			}
			r.mu.Lock()
			r.waits = append(r.waits, time.Since(begin))
			r.mu.Unlock()
		})
	}
	wg.Wait()
}

// tell reports how long the slowest hundredth waited.
func (r *reporters) tell(b *testing.B) {
	for _, c := range r.conns {
		c.Close()
	}
	slices.Sort(r.waits)
	b.ReportMetric(r.waits[len(r.waits)*99/100].Seconds()*1e3, "interim-p99-ms")
	b.ReportMetric(float64(r.count), "moments")
	b.ReportMetric(0, "ns/op")
}

// interimBody is the report of a node whose job of 64 ranks has run for a minute.
func interimBody(b *testing.B, nodeNumber, moment int) []byte {
	const ranks, seconds = loadRanks, 60
	id := 1_000_000 + uint32(nodeNumber)
	r := report(id)
	r.Sequence, r.Node, r.AsOf = moment, fmt.Sprintf("n%04d", nodeNumber), r.End
	x := &r.Executions[0]
	x.Size, x.Endings, x.MPI, x.Executable = ranks, map[string]int{job.EndingRunning: ranks}, "Open MPI", "/home/user/software/model/bin/model.exe"
	x.Start, x.End = r.Start, r.Start.Add(seconds*time.Second)
	n := &x.Nodes[0]
	n.Node, n.Ranks, n.RankIDs = r.Node, ranks, fmt.Sprintf("0-%d", ranks-1)
	n.ElapsedMax, n.ElapsedSum, n.Useful, n.MPI, n.UsefulMax = seconds*time.Second, ranks*seconds*time.Second, ranks*seconds*time.Second/2, ranks*seconds*time.Second/2, seconds*time.Second*6/10
	n.UsefulShare, n.MPIShare = make([]byte, ranks), make([]byte, ranks)
	const shift = 6 // a second
	t := job.NewTimeline(shift, job.BucketOf(x.Start.UnixNano(), shift), seconds)
	t.Ranks, t.MostWhole = ranks, n.UsefulMax
	for i := range seconds {
		t.Elapsed[i], t.Useful[i] = ranks*time.Second, ranks*time.Second/2
	}
	for level := range t.Most {
		for i := range t.Most[level] {
			t.Most[level][i] = min(600*time.Millisecond<<level, t.MostWhole)
		}
	}
	x.Timeline = t
	rows := make([]*job.Timeline, 0, job.MostRows)
	for range job.MostRows {
		rows = append(rows, t)
	}
	n.Course = job.NewCourse(t, rows)
	text, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	return wire.Compress(text)
}

// daemonTime is the CPU time that a process has taken.
func daemonTime(b *testing.B, pid int) time.Duration {
	var sum int64
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, task := range tasks { // of all threads
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name())); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			sum += ns
		}
	}
	return time.Duration(sum)
}
