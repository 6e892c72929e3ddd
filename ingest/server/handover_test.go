package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
)

// serveBoth runs what jobeffd's two processes do until the test ends: one server answers people
// on the listeners, the returned one all others.
func serveBoth(t testing.TB, o Options, listeners ...net.Listener) *Server {
	t.Helper()
	keeper := New(o)
	o.Refused = keeper.Refused
	keeps, to := handover(t)
	run, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- keeper.Serve(run, Handed(keeps)) }()
	go func() { done <- New(o).Answer(run, to, listeners...) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	return keeper
}

// handover is a channel until the test ends.
func handover(t testing.TB) (keeps, to *net.UnixConn) {
	t.Helper()
	keeps, file, err := HandoverPair()
	if err != nil {
		t.Fatal(err)
	}
	if to, err = HandoverConn(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	return keeps, to
}

// TestAnsweredHere says of first bytes who answers them.
func TestAnsweredHere(t *testing.T) {
	for head, want := range map[string]bool{
		"GET /v1/jobs/7?workload=1 HTTP/1.1": true, "GET /v1/jobs?user=x": true, "GET /v1/workloads": true,
		"GET / HTTP/1.1": true, "GET /jobs/7 HTTP/1.1": true, "GET /workloads/x": true,
		"": false, "G": false, "GET /v1/job": false, "GET": false, "get /v1/jobs": false, "POST /v1/jobs": false,
		"POST /v1/reports HTTP/1.1": false, "GET /metrics HTTP/1.1": false, "GET /healthz": false, "GET /v1/digest": false,
		"GET /digest?week=2026-W46": false, "DELETE /v1/workloads/x/mute": false, "PUT /v1/workloads/x": false,
		"GET http://x/v1/jobs HTTP/1.1": false, "\x16\x03\x01": false,
	} {
		if got := answeredHere([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}

// TestHandover: each connection comes to the server that is to answer it, with whoever made it,
// also where its first bytes come one by one; one process's death harms the other's no more than
// what it was about.
func TestHandover(t *testing.T) {
	dir := shared(t)
	l, err := ListenUnix(dir + "/sock")
	if err != nil {
		t.Fatal(err)
	}
	keeps, to := handover(t)
	who := func(server string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			uid, _ := r.Context().Value(peerKey{}).(uint32)
			io.WriteString(w, strings.Join([]string{server, map[bool]string{true: "root", false: "other"}[uid == 0]}, " "))
		})
	}
	keeper := &http.Server{Handler: who("keeper"), ConnContext: withPeer}
	people := &http.Server{Handler: who("people"), ConnContext: withPeer}
	defer people.Close()
	go keeper.Serve(Handed(keeps))
	go people.Serve(askedListener{l, to, zerolog.Nop()})
	ask := func(parts ...string) string {
		conn, err := net.Dial("unix", dir+"/sock")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		for _, part := range parts {
			io.WriteString(conn, part)
			time.Sleep(10 * time.Millisecond)
		}
		text, _ := io.ReadAll(conn)
		_, answer, _ := strings.Cut(string(text), "\r\n\r\n")
		return answer
	}
	const end = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"GET /v1/jobs/7" + end}, "people root"},
		{[]string{"POST /v1/reports" + end}, "keeper root"},
		{[]string{"G", "ET /v1/jobs/7" + end}, "keeper root"},
		{[]string{"GET /v1/jobs/7", end}, "people root"},
	} {
		if got := ask(c.parts...); got != c.want {
			t.Errorf("%q: %q, want %q", c.parts, got, c.want)
		}
	}
	if conn, err := net.Dial("unix", dir+"/sock"); err == nil { // says nothing
		conn.Close()
	}
	keeper.Close()
	if got := ask("POST /v1/reports" + end); got != "" {
		t.Errorf("without the other process: %q", got)
	}
	if got := ask("GET /v1/jobs/7" + end); got != "people root" {
		t.Errorf("without the other process a job: %q", got)
	}
}

// TestHandedNothing: what is no connection does not end the listener.
func TestHandedNothing(t *testing.T) {
	keeps, to := handover(t)
	l := Handed(keeps)
	to.Write([]byte{kindRequests})
	client, served := net.Pipe()
	client.Close()
	if _, err := rawConn(served); err == nil {
		t.Error("a pipe has no file descriptor")
	}
	web, err := ListenPages("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	caller, err := net.Dial("tcp", web.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	c, err := web.Accept()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := rawConn(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&askedConn{Conn: c, to: to}).hand(raw); err != nil {
		t.Fatal(err)
	}
	c.Close()
	got, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, pages := got.(pageConn); !pages || got.RemoteAddr().String() != caller.LocalAddr().String() {
		t.Errorf("%T from %v, want pages' from %v", got, got.RemoteAddr(), caller.LocalAddr())
	}
	got.Close()
	l.Close()
	if _, err := l.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

// TestRefusedThere: the metrics count what either process refused.
func TestRefusedThere(t *testing.T) {
	s := start(t, func(o *Options) { o.Log = zerolog.Nop() })
	c := client.NewClient(s.unix, 5*time.Second, nil)
	defer c.Close()
	if _, err := c.Jobs(ctx, job.JobQuery{State: "x"}); err != nil {
		t.Error(err)
	}
	s.check(t, "no job", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs/7"}.do(), 404, "job 7 was not found")
	s.check(t, "metrics", request{Addr: s.unix, Method: "GET", Path: "/metrics"}.do(), 200, `jobeff_requests_refused_total{reason="404"} 1`)
}
