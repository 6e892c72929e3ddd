package server

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
)

// TestBadRequests: each is refused with a reason, and the server goes on.
func TestBadRequests(t *testing.T) {
	s := start(t)
	good := body(t, report(7, alice))
	newer := report(7, alice)
	newer.Version = job.ReportVersion + 1
	zs := map[string]string{"Content-Encoding": "zstd"}
	stream := zstdStream(t, make([]byte, wire.MaxReportBytes+1))
	for _, c := range []struct {
		name, method, path string
		body               []byte
		header             map[string]string
		status             int
		want               string
	}{
		{"empty", "POST", "/v1/reports", nil, nil, 400, "not JSON"},
		{"garbage", "POST", "/v1/reports", []byte("\x00\xff{"), nil, 400, "not JSON"},
		{"no zstd", "POST", "/v1/reports", good, zs, 415, "is not packed as its Content-Encoding"},
		{"unsaid zstd", "POST", "/v1/reports", wire.Compress(good), nil, 415, "is not packed as its Content-Encoding"},
		{"half a zstd", "POST", "/v1/reports", wire.Compress(good)[:50], zs, 400, "unexpected EOF"},
		{"a bomb of zstd", "POST", "/v1/reports", wire.Compress(make([]byte, wire.MaxReportBytes+1)), zs, 413, "larger than jobeffd takes"},
		{"zstd that says no size", "POST", "/v1/reports", stream, zs, 413, "larger than jobeffd takes"},
		{"another encoding", "POST", "/v1/reports", good, map[string]string{"Content-Encoding": "gzip"}, 415, "Content-Encoding is not zstd"},
		{"newer", "POST", "/v1/reports", body(t, newer), nil, 503, "upgrade jobeffd first"},
		{"bad id", "GET", "/v1/jobs/x", nil, nil, 400, "is not a job id"},
		{"encoded id", "GET", "/v1/jobs/1%2F..%2F2", nil, nil, 400, "is not a job id"},
		{"bad attempt", "GET", "/v1/jobs/7?attempt=0", nil, nil, 400, "attempt=\\\"0\\\" is not a number from 1"},
		{"bad start", "GET", "/v1/jobs?start=yesterday", nil, nil, 400, "start=\\\"yesterday\\\" is not a time"},
		{"bad end", "GET", "/v1/jobs?end=1", nil, nil, 400, "is not a time"},
		{"bad limit", "GET", "/v1/jobs?limit=-1", nil, nil, 400, "is not a number from 1"},
		{"bad offset", "GET", "/v1/jobs?offset=-1", nil, nil, 400, "a number from 0"},
		{"bad detail", "GET", "/v1/jobs?detail=yes", nil, nil, 400, "is not 1"},
		{"many accounts", "GET", "/v1/jobs?account=" + strings.Repeat(",", 40_000), nil, nil, 400, "accounts are named, more than 1000"},
		{"many rules", "GET", "/v1/jobs?rule=" + strings.Repeat("a,", 20_000), nil, nil, 400, "rules are named, more than 50"},
		{"many states", "GET", "/v1/jobs?state=" + strings.Repeat("a,", 20_000), nil, nil, 400, "states are named, more than 1000"},
		{"many programs", "GET", "/v1/jobs?program=" + strings.Repeat("a,", 20_000), nil, nil, 400, "programs are named, more than 50"},
		{"no selection of jobs", "GET", "/v1/jobs?job=7_[3-1]", nil, nil, 400, "is no range of an array's tasks"},
		{"a step in a list", "GET", "/v1/jobs?job=7.batch", nil, nil, 400, "a list shows whole jobs"},
		{"unknown order", "GET", "/v1/jobs?sort=name", nil, nil, 400, "is not one of alloccpus, comme"},
		{"unknown filter", "GET", "/v1/jobs?nodelist=n1", nil, nil, 400, "is no parameter"},
		{"unknown parameter of a job", "GET", "/v1/jobs/7?sort=lost", nil, nil, 400, "\"hint\":\"known are attempt, stored\""},
		{"stored job", "GET", "/v1/jobs/7?stored=yes", nil, nil, 400, "is not 1"},
		{"unknown parameter of workloads", "GET", "/v1/workloads?sort=lost", nil, nil, 400, "known are user, cluster, since, muted, named, limit"},
		{"unknown parameter of a workload", "GET", "/v1/workloads/melt?sort=lost", nil, nil, 400, "known are user, cluster, predict, stored\""},
		{"stored workload", "GET", "/v1/workloads/melt?stored=yes", nil, nil, 400, "is not 1"},
		{"no core count", "GET", "/v1/workloads/melt?predict=64,0", nil, nil, 400, "predict \\\"0\\\": core counts are whole numbers"},
		{"many core counts", "GET", "/v1/workloads/melt?predict=1" + strings.Repeat(",1", 100), nil, nil, 400, "names 101 core counts: give 100 at most"},
		{"unknown parameter of a comparison", "GET", "/v1/jobs/7/compare/8?attempt=1", nil, nil, 400, "known are force\""},
		{"forced by another word", "GET", "/v1/jobs/7/compare?force=yes", nil, nil, 400, "is not 1"},
		{"unknown parameter of a mute", "PUT", "/v1/workloads/melt/mute?days=7", []byte(`{"until":"2027-01-01T00:00:00Z"}`), nil, 400, "known are user\""},
		{"unknown parameter of the end of a mute", "DELETE", "/v1/workloads/melt/mute?days=7", nil, nil, 400, "known are user\""},
		{"unknown parameter of a digest", "GET", "/v1/digest?month=2026-11", nil, nil, 400, "known are week, from, to, cluster, account, stored\""},
		{"stored digest", "GET", "/v1/digest?stored=yes", nil, nil, 400, "is not 1"},
		{"no week", "GET", "/v1/digest?week=2026-W54", nil, nil, 400, "is no week"},
		{"a week and a time", "GET", "/v1/digest?week=2026-W46&from=2026-11-09T00:00:00Z", nil, nil, 400, "without from and to"},
		{"twice", "GET", "/v1/jobs?user=0&user=1", nil, nil, 400, "user is given 2 times"},
		{"unreadable parameters", "GET", "/v1/jobs?user=%zz", nil, nil, 400, "the parameters cannot be read"},
		{"two slashes", "GET", "//v1/jobs", nil, nil, 404, "jobeffd knows no GET of this path"},
		{"the directory above", "GET", "/v1/../v1/jobs", nil, nil, 404, "jobeffd knows no GET of this path"},
		{"an encoded directory above", "GET", "/v1/%2e%2e/jobs", nil, nil, 404, "jobeffd knows no GET of this path"},
		{"a slash at the end", "GET", "/v1/jobs/", nil, nil, 404, "jobeffd knows no GET of this path"},
		{"unknown path", "GET", "/v2/jobs", nil, nil, 404, "jobeffd knows no GET of this path"},
		{"unknown method", "DELETE", "/v1/jobs/7", nil, nil, 404, "jobeffd knows no DELETE"},
	} {
		got := request{Addr: s.unix, Method: c.method, Path: c.path, Body: c.body, Header: c.header}.do()
		s.check(t, c.name, got, c.status, c.want)
		var said wire.Problem
		if err := json.Unmarshal([]byte(got.Text), &said); err != nil || said.Status != c.status || said.Detail == "" || said.Title == "" ||
			!strings.HasPrefix(said.Type, wire.ProblemType) || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %s, %s", c.name, got.Header.Get("Content-Type"), got.Text)
		}
	}
	if n := s.rows(t); n != 0 {
		t.Errorf("%d rows", n)
	}
	s.check(t, "packed", request{Addr: s.unix, Method: "POST", Path: "/v1/reports", Body: wire.Compress(good), Header: zs}.do(), 200, `{"new":true}`)
	s.check(t, "health", request{Addr: s.unix, Method: "GET", Path: "/healthz"}.do(), 200, `{"status":"ok","uid":0}`)
}

// TestRawRequests: requests that the client of package http would not send.
func TestRawRequests(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ name, head, want string }{
		{"too large", "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 33554433\r\n\r\n", "HTTP/1.1 413"},
		{"no length", "POST /v1/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 411"},
		{"endless header", "GET /healthz HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<17), "HTTP/1.1 431"},
		{"no HTTP", "\x16\x03\x01\x02\x00\r\n\r\n", "HTTP/1.1 400"},
	} {
		conn, err := net.Dial("unix", strings.TrimPrefix(s.unix, "unix:"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(conn, c.head)
		got := make([]byte, len(c.want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
		conn.Close()
	}
	s.check(t, "health", request{Addr: s.unix, Method: "GET", Path: "/healthz"}.do(), 200, "ok")
}

// BenchmarkPost posts reports of one-node jobs from 64 clients, durable each.
func BenchmarkPost(b *testing.B) {
	for _, via := range []string{"socket", "munge"} {
		b.Run(via, func(b *testing.B) {
			s := start(b)
			addr := s.unix
			if via == "munge" {
				addr = s.tcp
			}
			var id atomic.Uint32
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				c := client.NewClient(addr, 30*time.Second, munge.Site{Socket: s.munge})
				defer c.Close()
				for pb.Next() {
					text := textOf(report(id.Add(1), alice))
					if err := c.PostReport(ctx, text); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
		})
	}
}
