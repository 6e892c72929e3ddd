package server

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/ingest/replay"
	"jobeff/ingest/store"
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
		l := job.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: x.Key, Size: 2, Ranks: 1, Start: x.Start}
		logs = append(logs, packed(t, &l, []replay.Log{byTurns(rank, x.Start)}))
	}
	return reports, logs
}

func packed(t *testing.T, l *job.NodeLogs, logs []replay.Log) []byte {
	t.Helper()
	head, err := l.Head()
	if err != nil {
		t.Fatal(err)
	}
	return replay.Pack(logs, replay.RoomOn(2), func(text []byte) []byte { return job.Compress(append(head, text...)) })
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
	if more, err := replayNext(ctx, s.store, zerolog.Nop(), time.Hour); !more || err != nil {
		t.Fatalf("%v, %v", more, err)
	}
	s.merged(t)
	j, err := s.store.Job(ctx, store.Viewer{All: true}, job.JobRef{ID: 7}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := job.JobWindows(j.Executions)
	if !w.Determined() || w.Matched != 8 || math.Abs(w.Serialisation.Value-0.75) > 1e-6 || math.Abs(w.Transfer.Value-1) > 1e-6 {
		t.Errorf("%+v", w)
	}
}

// Logs that no node can have sent are refused, and the answer says why.
func TestLogsRefused(t *testing.T) {
	s := start(t)
	_, good := twoNodes(t)
	about := job.NodeLogs{Cluster: "test", JobID: 7, Nonce: jobtest.Nonce, Node: "n1", Key: "k", Size: 4, Ranks: 1}
	two := about
	two.Ranks = 2
	few := packed(t, &two, []replay.Log{byTurns(0, time.Unix(1e9, 0))})
	damaged := job.Compress([]byte("{}\nx"))
	newer := job.Compress([]byte(`{"version":99}` + "\n"))
	for _, c := range []struct {
		name   string
		body   []byte
		uid    int
		status int
		text   string
	}{
		{"another user", good[0], alice, http.StatusForbidden, ""},
		{"too large", make([]byte, job.MaxLogsBytes+1), 0, http.StatusRequestEntityTooLarge, "larger than"},
		{"a bomb", job.Compress(make([]byte, job.MaxReportBytes+1)), 0, http.StatusRequestEntityTooLarge, "larger than"},
		{"damaged", damaged, 0, http.StatusBadRequest, "do not say which job"},
		{"fewer ranks than it says", few, 0, http.StatusBadRequest, "of 1"},
		{"newer", newer, 0, http.StatusServiceUnavailable, "later version"},
		{"whole", good[0], 0, http.StatusOK, `"new":true`},
		{"again", good[0], 0, http.StatusOK, `"new":false`},
	} {
		r := request{Addr: s.unix, Method: "POST", Path: "/v1/logs", Body: c.body, Header: map[string]string{"Content-Encoding": job.Encoding(c.body)}}
		ask := r.do // as root
		if c.uid != 0 {
			ask = func() response { return r.as(t, c.uid) }
		}
		if got := ask(); got.Status != c.status || !strings.Contains(got.Text, c.text) {
			t.Errorf("%s: %d %s, want %d %q", c.name, got.Status, got.Text, c.status, c.text)
		}
	}
}
