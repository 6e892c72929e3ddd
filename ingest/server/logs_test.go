package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/ingest/replay"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

// twoNodes are the reports of a job with a rank on each of two nodes, and their logs: the ranks
// work 1 s and 0.5 s, then 0.5 s and 1 s, in 8 windows.
func twoNodes(t *testing.T) (reports []*job.NodeReport, logs [][]byte) {
	t.Helper()
	for rank := range 2 {
		r := report(7, alice)
		x := &r.Executions[0]
		r.Node, r.NNodes, r.Nonce = fmt.Sprint("n", rank+1), 2, fmt.Sprintf("%032x", rank+1)
		x.Size, x.Start, x.End = 2, r.Start.Truncate(time.Second), r.Start.Truncate(time.Second).Add(8*time.Second)
		x.Nodes = []job.NodeShare{{Node: r.Node, Ranks: 1, Useful: 6 * time.Second, UsefulMax: 6 * time.Second, MPI: 2 * time.Second,
			ElapsedMax: 8 * time.Second, ElapsedSum: 8 * time.Second, RankIDs: fmt.Sprint(rank)}}
		reports = append(reports, r)
		l := wire.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: x.Key, Size: 2, Ranks: 1, Start: x.Start}
		logs = append(logs, packed(t, &l, []replay.Log{byTurns(rank, x.Start)}))
	}
	return reports, logs
}

func packed(t *testing.T, l *wire.NodeLogs, logs []replay.Log) []byte {
	t.Helper()
	return replay.Pack(logs, replay.RoomOn(2), l.Pack)
}

func byTurns(rank int, start time.Time) replay.Log {
	at := func(s float64) int64 { return start.UnixNano() + int64(s*1e9) }
	l := replay.Log{Rank: rank, Entries: []replay.Entry{{Op: replay.OpComm, Comm: 1, Bytes: 1, Tag: 2, Peer: int32(rank)},
		{Op: replay.OpWindow, Comm: 1, Call: 60, Enter: at(0), Leave: at(0)}}}
	for i := range 8 {
		closes := replay.Entry{Op: replay.OpCollAll, Flags: replay.Border, Comm: 1, Call: 60, Enter: at(float64(i) + []float64{1, 0.5}[(i+rank)%2]), Leave: at(float64(i) + 1)}
		opens := closes
		opens.Op, opens.Flags, opens.Request = replay.OpWindow, 0, uint64(i+1)
		l.Entries = append(l.Entries, closes, opens)
	}
	return l
}

// From the outboxes of two nodes to the figures of their job.
func TestLogsToWindows(t *testing.T) {
	s := start(t)
	reports, logs := twoNodes(t)
	for i, r := range reports {
		box := node.Outbox{Spool: t.TempDir(), Most: 16 << 20}
		if _, err := box.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := box.WriteLogs(r, logs[i]); err != nil {
			t.Fatal(err)
		}
		sender := client.Sender{Spool: box.Spool, Client: client.NewClient(s.unix, time.Minute, nil)}
		if res, err := sender.Send(ctx); err != nil || res.Sent != 1 || len(res.Problems) > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		if n, _, err := node.ReportsIn(node.LogsDir(box.Spool)); n != 0 || err != nil {
			t.Errorf("%d files of logs are left, %v", n, err)
		}
	}
	s.merged(t)
	w := s.replayedWindows(t, time.Hour)
	if !w.Determined() || w.Matched != 8 || math.Abs(w.Serialisation.Value-0.75) > 1e-6 || math.Abs(w.Transfer.Value-1) > 1e-6 {
		t.Errorf("%+v", w)
	}
}

// Logs of a job of which Slurm has not told stay on their nodes, and hold back no others' there. Once
// it tells, the next sender brings them.
func TestLogsWaitOnTheirNodes(t *testing.T) {
	s := start(t)
	s.store.WaitForSlurm(time.Hour)
	reports, logs := twoNodes(t)
	box := node.Outbox{Spool: t.TempDir(), Most: 16 << 20}
	sender := client.Sender{Spool: box.Spool, Client: client.NewClient(s.unix, time.Minute, nil)}
	send := func() client.SendResult {
		res, err := sender.Send(ctx)
		if err != nil || res.Kept+res.Refused > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		return res
	}
	left := func() int {
		files, err := os.ReadDir(node.LogsDir(box.Spool))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	for i, r := range reports {
		r.NodeList = "n[1-2]"
		if _, err := box.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := box.WriteLogs(r, logs[i]); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint32(8) { // jobs of the same node of which Slurm will never tell
		r := report(100+id, alice)
		l := wire.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: "k", Size: 2, Ranks: 1, Start: r.Start}
		if err := box.WriteLogs(r, packed(t, &l, []replay.Log{byTurns(0, r.Start)})); err != nil {
			t.Fatal(err)
		}
	}
	if res := send(); res.LogsWait == 0 || left() != 10 {
		t.Fatalf("%+v, %d logs are left, want 10", res, left())
	}
	told := known(7, "n[1-2]", 2)
	told.Start, told.End, told.Submit = reports[0].Start, reports[0].End, reports[0].Start
	tell(t, s.store, told)
	if res := send(); res.LogsWait == 0 || left() != 8 {
		t.Fatalf("%+v, %d logs are left, want 8", res, left())
	}
	if w := s.replayedWindows(t, time.Hour); !w.Determined() || w.Matched != 8 {
		t.Errorf("%+v", w)
	}
}

// replayedWindows are those of job 7 after one replay.
func (s *testServer) replayedWindows(t *testing.T, grace time.Duration) *job.Windows {
	t.Helper()
	s.merged(t)
	if more, err := s.server.replayNext(ctx, grace); !more || err != nil {
		t.Fatalf("%v, %v", more, err)
	}
	s.merged(t)
	j, err := s.store.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: 7}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return job.JobWindows(j.Executions)
}

// postLogs posts logs as root of this machine.
func (s *testServer) postLogs(body []byte) response {
	return request{Addr: s.unix, Method: "POST", Path: "/v1/logs", Body: body, Header: map[string]string{"Content-Encoding": wire.Encoding(body)}}.do()
}

// postAll posts reports and their logs.
func (s *testServer) postAll(t *testing.T, reports []*job.NodeReport, logs [][]byte) {
	t.Helper()
	for i, r := range reports {
		s.check(t, "the report of "+r.Node, s.post(t, r), 200, `"new":true`)
		s.check(t, "the logs of "+r.Node, s.postLogs(logs[i]), 200, `"new":true`)
	}
}

// manyLogs are logs of one node: so many ranks without entries, in few bytes.
func manyLogs(about wire.NodeLogs, ranks int) []byte {
	about.Ranks, about.Size = ranks, ranks+1
	return about.Pack(append(binary.AppendUvarint([]byte{1, 0}, uint64(ranks)), make([]byte, 5*ranks)...), 0)
}

// A few bytes that unpack to millions of logs are refused before any of them is made.
func TestLogsBomb(t *testing.T) {
	s := start(t)
	reports, _ := twoNodes(t)
	about := wire.NodeLogs{Cluster: "test", JobID: 7, Nonce: reports[0].Nonce, Node: "n1", Key: "k", Start: reports[0].Start}
	s.check(t, "the report", s.post(t, reports[0]), 200, "")
	for ranks, want := range map[int]string{6_700_000: "larger than", 3_000_000: "not a packed log", replay.MostRanks + 1: "not a packed log"} {
		bomb := manyLogs(about, ranks)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := s.postLogs(bomb)
		runtime.ReadMemStats(&after)
		if got.Status == 200 || !strings.Contains(got.Text, want) {
			t.Errorf("%d logs in %d bytes: %d %s, want %q", ranks, len(bomb), got.Status, got.Text, want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 2*wire.MaxLogsText {
			t.Errorf("%d logs in %d bytes: %d MiB", ranks, len(bomb), took>>20)
		}
	}
}

// What is more than a run may have is not unpacked, and the job says so. Neither is another node's
// part replayed from the logs of this one.
func TestReplayIsBounded(t *testing.T) {
	idle := func(about *wire.NodeLogs, first, ranks, entries int) []byte {
		text := binary.AppendUvarint([]byte{1, 0}, uint64(ranks))
		for r := range ranks {
			text = append(binary.AppendUvarint(text, uint64(first+r)), 0, 0)
			text = binary.AppendUvarint(text, uint64(entries/ranks))
			for range entries / ranks {
				text = append(text, byte(replay.OpLocal)|0x80, 0, 0, 0, 0, 0, 0, 0, 0)
			}
		}
		about.Size, about.Ranks = 2*ranks, ranks
		return about.Pack(text, entries)
	}
	for _, c := range []struct {
		name           string
		ranks, entries int // of each node
		first          int // rank of the second node, as its logs say
		want           replay.Why
		unpacked       bool
	}{
		{"as many as may be", 2, replay.MostEntries / 2, 2, replay.WhyFew, true},
		{"two entries more", 2, replay.MostEntries/2 + 2, 2, replay.WhyRoom, false},
		{"as many ranks as may be", replay.MostRanks / 2, 0, replay.MostRanks / 2, replay.WhyFew, true},
		{"two ranks more", replay.MostRanks/2 + 1, 0, replay.MostRanks/2 + 1, replay.WhyRoom, false},
		{"the other node's ranks", 2, 0, 0, replay.WhyOdd, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t)
			reports, logs := twoNodes(t)
			for i, r := range reports {
				x := &r.Executions[0]
				x.Size, x.Nodes[0].Ranks = 2*c.ranks, c.ranks
				x.Nodes[0].RankIDs = fmt.Sprintf("%d-%d", i*c.ranks, (i+1)*c.ranks-1)
				x.Nodes[0].Useful, x.Nodes[0].ElapsedSum = time.Duration(c.ranks)*time.Second, time.Duration(c.ranks)*8*time.Second
				x.Endings = map[string]int{"finalized": c.ranks}
				about := wire.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: x.Key, Start: x.Start}
				logs[i] = idle(&about, i*c.first, c.ranks, c.entries)
			}
			s.postAll(t, reports, logs)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := s.replayedWindows(t, time.Hour)
			runtime.ReadMemStats(&after)
			if w == nil || w.Why != c.want {
				t.Errorf("%+v, want %q", w, c.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; !c.unpacked && took > 64<<20 {
				t.Errorf("%d MiB are taken", took>>20)
			}
		})
	}
}

// TestLogsOfOthers: root of a node that knows all but the nonces of a job's reports, and makes
// attempts of its own with the same job id and world, neither takes its logs nor stands in their way.
func TestLogsOfOthers(t *testing.T) {
	s := start(t)
	s.store.WaitForSlurm(time.Hour)
	reports, logs := twoNodes(t)
	for i, r := range reports {
		r.NodeList = "n[1-2]"
		s.check(t, "the report of "+r.Node, s.post(t, r), 200, `"new":true`)
		s.check(t, "logs before Slurm told", s.postLogs(logs[i]), http.StatusTooEarly, "Slurm has not told")
	}
	fakes, fakeLogs := twoNodes(t)
	attack := func() {
		for i, r := range fakes {
			l, err := wire.DecodeLogs(fakeLogs[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, guess := range [][2]string{{r.Node, jobtest.Nonce}, {r.Node, reports[1-i].Nonce}, {r.Node, r.Nonce}, {reports[i].Node, r.Nonce}} {
				l.Node, l.Nonce = guess[0], guess[1]
				if got := s.postLogs(l.Pack(l.Text, l.Entries)); got.Status == 200 {
					t.Errorf("as %v: %s", guess, got.Text)
				}
			}
		}
	}
	for i, r := range fakes {
		r.Node, r.NodeList, r.Nonce = fmt.Sprint("evil", i), "evil[0-1]", fmt.Sprintf("%032x", 0xe0+i)
		s.check(t, "a fake report", s.post(t, r), 200, `"new":true`)
		l, err := wire.DecodeLogs(fakeLogs[i])
		if err != nil {
			t.Fatal(err)
		}
		l.Node = r.Node
		fakeLogs[i] = l.Pack(l.Text, l.Entries)
	}
	attack()
	told := known(7, "n[1-2]", 2)
	told.Start, told.End, told.Submit = reports[0].Start, reports[0].End, reports[0].Start
	tell(t, s.store, told)
	s.check(t, "logs of the first node", s.postLogs(logs[0]), 200, `"new":true`)
	attack()
	s.check(t, "logs of the second node", s.postLogs(logs[1]), 200, `"new":true`)
	if w := s.replayedWindows(t, time.Hour); !w.Determined() || w.Matched != 8 {
		t.Errorf("%+v", w)
	}
	for i := range logs { // late ones, and replayed POSTs
		s.check(t, "logs after the replay", s.postLogs(logs[i]), 200, `"new":false`)
	}
	attack()
	if more, err := s.server.replayNext(ctx, time.Hour); more || err != nil {
		t.Errorf("replayed again: %v, %v", more, err)
	}
}

// TestLogsLine: those who wait to have their logs read are few, and few of one address, whose others
// are asked to come again. Two are never read at the same time, and after each there is a rest.
func TestLogsLine(t *testing.T) {
	l := newLogsLine()
	wait := func(sender string, want bool) {
		t.Helper()
		if l.enter(sender) != want {
			t.Errorf("%q may wait: %v, want %v", sender, !want, want)
		}
	}
	for i := range mostInLine {
		wait(fmt.Sprint("address ", i/mostOfLine), true)
		if (i+1)%mostOfLine == 0 {
			wait(fmt.Sprint("address ", i/mostOfLine), false)
		}
	}
	wait("another", false)
	wait("", true) // this machine, and the replay
	if _, e := l.take(ctx, "another"); e == nil || e.Status != http.StatusTooManyRequests || e.Retry == 0 {
		t.Errorf("%+v", e)
	}
	l.leave("")
	l.leave("address 0")
	wait("another", true)
	for i := range mostInLine {
		if i > 0 {
			l.leave(fmt.Sprint("address ", i/mostOfLine))
		}
	}
	l.leave("another")
	if l.all != 0 || len(l.of) != 0 {
		t.Errorf("%d are left, %v", l.all, l.of)
	}
	release, e := l.take(ctx, "x")
	if e != nil {
		t.Fatal(e)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, e := l.take(short, "y"); e == nil || e.Status != http.StatusServiceUnavailable {
		t.Errorf("two at once: %+v", e)
	}
	begin := time.Now() // held for 10 ms at least
	release()
	if release, e = l.take(ctx, "y"); e != nil || time.Since(begin) < 10*time.Millisecond {
		t.Errorf("no rest: %v, %+v", time.Since(begin), e)
	}
	release()
}

// Logs that are dropped are counted.
func TestLostLogsAreCounted(t *testing.T) {
	s := start(t)
	reports, logs := twoNodes(t)
	s.postAll(t, reports[:1], logs)
	s.merged(t)
	l, lost, err := s.store.NextLogs(ctx, time.Now().Add(time.Hour), time.Minute)
	if l != nil || err != nil || len(lost) != 1 {
		t.Fatalf("%+v, %+v, %v", l, lost, err)
	}
	for i, r := range reports {
		x := &r.Executions[0]
		about := wire.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: "another", Size: 2, Ranks: 1, Start: x.Start}
		if i > 0 {
			s.check(t, "the report", s.post(t, r), 200, `"new":true`)
		}
		s.check(t, "the logs", s.postLogs(packed(t, &about, []replay.Log{byTurns(i, x.Start)})), 200, `"new":true`)
	}
	s.merged(t)
	if more, err := s.server.replayNext(ctx, time.Hour); !more || err != nil {
		t.Errorf("%v, %v", more, err)
	}
	if text := (request{Addr: s.unix, Method: "GET", Path: "/metrics"}).do().Text; !strings.Contains(text, "jobeff_window_logs_dropped_total 2\n") {
		t.Errorf("two logs are not counted:\n%s", text)
	}
}

// Logs that no node can have sent are refused, and the answer says why.
func TestLogsRefused(t *testing.T) {
	s := start(t)
	reports, good := twoNodes(t)
	s.check(t, "the report", s.post(t, reports[0]), 200, "")
	about := wire.NodeLogs{Cluster: "test", JobID: 7, Nonce: jobtest.Nonce, Node: "n1", Key: "k", Size: 4, Ranks: 1}
	two := about
	two.Ranks = 2
	few := packed(t, &two, []replay.Log{byTurns(0, time.Unix(1e9, 0))})
	damaged := wire.Compress([]byte("{}\nx"))
	newer := wire.Compress([]byte(`{"version":99}` + "\n"))
	for _, c := range []struct {
		name   string
		body   []byte
		uid    int
		status int
		text   string
	}{
		{"another user", good[0], alice, http.StatusForbidden, ""},
		{"too large", make([]byte, wire.MaxLogsBytes+1), 0, http.StatusRequestEntityTooLarge, "larger than"},
		{"a bomb", wire.Compress(make([]byte, wire.MaxReportBytes+1)), 0, http.StatusRequestEntityTooLarge, "larger than"},
		{"damaged", damaged, 0, http.StatusBadRequest, "do not say which job"},
		{"fewer ranks than it says", few, 0, http.StatusBadRequest, "other ranks or entries than it says"},
		{"not packed", []byte("{}\n"), 0, http.StatusBadRequest, "not zstd"},
		{"without a report", good[1], 0, http.StatusTooEarly, "report of these logs has not come"},
		{"newer", newer, 0, http.StatusServiceUnavailable, "later version"},
		{"whole", good[0], 0, http.StatusOK, `"new":true`},
		{"again", good[0], 0, http.StatusOK, `"new":false`},
	} {
		r := request{Addr: s.unix, Method: "POST", Path: "/v1/logs", Body: c.body, Header: map[string]string{"Content-Encoding": wire.Encoding(c.body)}}
		ask := r.do // as root
		if c.uid != 0 {
			ask = func() response { return r.as(t, c.uid) }
		}
		if got := ask(); got.Status != c.status || !strings.Contains(got.Text, c.text) {
			t.Errorf("%s: %d %s, want %d %q", c.name, got.Status, got.Text, c.status, c.text)
		}
	}
}
