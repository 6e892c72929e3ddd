package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/munge"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
	"jobeff/test/trial"
)

// dial connects to the server from an address of this machine.
func dial(t testing.TB, address, from string) net.Conn {
	t.Helper()
	d := net.Dialer{Timeout: time.Minute}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := d.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// credential is one of this process for a request.
func (s *testServer) credential(t testing.TB, method, path string, body []byte) string {
	t.Helper()
	cred, err := munge.Encode(s.munge, wire.AuthPayload(method, path, body, nonce()), 0)
	if err != nil {
		t.Fatal(err)
	}
	return cred
}

// postFrom posts a report, or what stands for one, from an address; it is answered.
func (s *testServer) postFrom(t testing.TB, from, path string, text []byte) response {
	t.Helper()
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Munge %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		path, s.credential(t, "POST", path, text), len(text), text)
	c := dial(t, s.tcp, from)
	defer c.Close()
	io.WriteString(c, request)
	return answered(c)
}

// answered reads an answer.
func answered(c net.Conn) response {
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return response{Text: err.Error()}
	}
	defer a.Body.Close()
	said, _ := io.ReadAll(a.Body)
	if a.Close {
		a.Header.Set("Connection", "close")
	}
	return response{a.StatusCode, strings.TrimSpace(string(said)), a.Header}
}

// half is the header of a request whose body is to come, with a credential for that body.
func (s *testServer) half(t testing.TB, method, path string, body []byte) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Munge %s\r\nContent-Length: %d\r\n\r\n", method, path, s.credential(t, method, path, body), len(body))
}

// TestCredentialFirst: who shows no credential, or may not do this, is answered before the body comes.
// So half a request holds no connection, whichever it is.
func TestCredentialFirst(t *testing.T) {
	s := start(t)
	mute := "PUT /v1/workloads/melt/mute HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"a mute of nobody's":    {mute + "Content-Length: 100\r\n\r\n", 401},
		"… of no known length":  {mute + "Transfer-Encoding: chunked\r\n\r\n10\r\n", 401},
		"… with a false one":    {mute + "Authorization: Munge MUNGE:AAAA:\r\nContent-Length: 100\r\n\r\n", 401},
		"a report of nobody's":  {"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", 401},
		"a batch of nobody's":   {"POST /v1/reports/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", 401},
		"logs of nobody's":      {"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", 401},
		"… that may be sent":    {"POST /v1/logs HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n", 401},
		"a credential of a GET": {strings.Replace(s.half(t, "GET", "/v1/reports", make([]byte, 100)), "GET", "POST", 1), 401},
		"… of another path":     {strings.Replace(s.half(t, "POST", "/v1/logs", make([]byte, 100)), "/v1/logs", "/v1/reports", 1), 401},
		"an unknown path":       {"POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", 404},
	} {
		conn := dial(t, s.tcp, "")
		io.WriteString(conn, c.head)
		got := answered(conn)
		if got.Status != c.status || got.Header.Get("Connection") != "close" {
			t.Errorf("%s: %d %s %v", name, got.Status, got.Text, got.Header)
		}
	}
}

// TestHalfSent: a user of a node sends halves of requests without end, with and without a credential.
// The node's reports get through each time, and so do other users and health checks.
func TestHalfSent(t *testing.T) {
	const mute = "/v1/workloads/melt/mute"
	for name, c := range map[string]struct{ method, path, mungedBy string }{
		"mutes of nobody":     {"PUT", mute, ""},
		"mutes of a user":     {"PUT", mute, "munge"},
		"logs of a user":      {"POST", "/v1/logs", "munge"},
		"half a header":       {"", "", ""},
		"questions of nobody": {"GET", "/v1/jobs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(o *Options) { o.Connections = 100 })
			socket := c.mungedBy
			if socket != "" {
				socket = s.munge
			}
			hog(t, 61009, 120, "tcp", strings.TrimPrefix(s.tcp, "http://"), c.method, c.path, socket)
			for i := range uint32(20) {
				s.check(t, "a node of the same address", s.postFrom(t, "", "/v1/reports", body(t, report(1+i, alice))), 200, `{"new":true}`)
				s.check(t, "health", request{Addr: s.tcp, Method: "GET", Path: "/healthz"}.do(), 200, "ok")
			}
			s.check(t, "another user", request{Addr: s.tcp, Munge: s.munge, Method: "GET", Path: "/v1/jobs"}.as(t, alice), 200, "jobs")
		})
	}
}

// TestCredentialOnce: a credential that was shown is used up, though the body that it was made for did
// not come yet. So nobody else sends another request with it meanwhile.
func TestCredentialOnce(t *testing.T) {
	s := start(t)
	text := body(t, report(7, alice))
	head := s.half(t, "POST", "/v1/reports", text)
	first := dial(t, s.tcp, "")
	first.Write(append([]byte(head), text[:len(text)/2]...))
	s.holds(t, 1)
	mungetest.Restart(t, s.munge, s.munge) // it forgets what it decoded
	again := dial(t, s.tcp, "")
	again.Write(append([]byte(head), text...))
	s.check(t, "the second one", answered(again), 401, "was used before")
	first.Write(text[len(text)/2:])
	s.check(t, "the first one", answered(first), 200, `{"new":true}`)
	other := dial(t, s.tcp, "")
	io.WriteString(other, s.half(t, "POST", "/v1/reports", text))
	other.Write(bytes.Repeat([]byte("x"), len(text)))
	s.check(t, "another body", answered(other), 401, "made for another request")
}

// resolver gives addresses to nodes.
func resolver(of map[string][]string) func(*Options) {
	return func(o *Options) {
		o.lookup = func(_ context.Context, name string) ([]string, error) {
			if of[name] == nil {
				return nil, &net.DNSError{IsNotFound: true}
			}
			return of[name], nil
		}
	}
}

// met reports from a node until the server knows the node: its reports are counted apart then.
func (s *testServer) met(t *testing.T, on, from string) {
	t.Helper()
	r := onNodes(report(1, alice), on, "")
	r.Nonce = nonce()
	for before := s.metric(t, "jobeff_nodes_known"); s.metric(t, "jobeff_nodes_known") == before; time.Sleep(10 * time.Millisecond) {
		if got := s.postFrom(t, from, "/v1/reports", body(t, r)); got.Status != 200 && got.Status != 429 {
			t.Fatalf("%d %s", got.Status, got.Text)
		}
	}
}

// metric is a metric without labels.
func (s *testServer) metric(t *testing.T, name string) (v float64) {
	t.Helper()
	text := request{Addr: s.unix, Method: "GET", Path: "/metrics"}.do().Text
	_, rest, ok := strings.Cut(text, "\n"+name+" ")
	if _, err := fmt.Sscan(rest, &v); !ok || err != nil {
		t.Fatalf("no %s in\n%s", name, text)
	}
	return v
}

// holds waits until reports of so many bytes at least are being read.
func (s *testServer) holds(t *testing.T, size float64) {
	t.Helper()
	for s.metric(t, "jobeff_report_text_bytes") < size {
		time.Sleep(time.Millisecond)
	}
}

// slow sends the beginning of the largest report.
func (s *testServer) slow(t *testing.T, from string) (conn net.Conn) {
	t.Helper()
	conn = dial(t, s.tcp, from)
	text := bytes.Repeat([]byte(" "), wire.MaxReportBytes)
	io.WriteString(conn, s.half(t, "POST", "/v1/reports", text))
	conn.Write(text[:1000])
	return conn
}

// TestPartsOfNodes: a node with several addresses has one part, and so have, almost, all addresses that the
// resolver gives to no node. What they hold keeps out nobody else.
func TestPartsOfNodes(t *testing.T) {
	s := start(t, resolver(map[string][]string{"n1": {"127.0.1.1", "127.0.1.2"}, "n2": {"127.0.2.1"}}))
	for from, of := range map[string]string{"127.0.1.1": "n1", "127.0.1.2": "n1", "127.0.2.1": "n2"} {
		s.met(t, of, from)
	}
	held := func(taken int, from ...string) {
		t.Helper()
		answers := make(chan response, len(from))
		var conns []net.Conn
		for _, at := range from {
			c := s.slow(t, at)
			conns = append(conns, c)
			go func() { answers <- answered(c) }()
		}
		for range len(from) - taken {
			s.check(t, fmt.Sprint(from, ": too many"), <-answers, 429, "reads too many")
		}
		s.holds(t, float64(taken*wire.MaxReportBytes))
		s.check(t, fmt.Sprint(from, ": another node"), s.postFrom(t, "127.0.2.1", "/v1/reports", body(t, report(7, alice))), 200, "new")
		for _, c := range conns {
			c.(*net.TCPConn).CloseWrite()
		}
		for range taken {
			s.check(t, fmt.Sprint(from, ": in time"), <-answers, 408, "ended early")
		}
	}
	held(1, "127.0.1.1", "127.0.1.2")
	var aliases []string
	for i := range 6 {
		aliases = append(aliases, fmt.Sprint("127.0.9.", 1+i))
	}
	held(2, aliases...)
}

// TestForgedNode: a node that reports in another's name uses up its own rate, and not the other's. A batch
// counts as the reports in it.
func TestForgedNode(t *testing.T) {
	const rate = 20
	s := start(t, func(o *Options) { o.ReportRate = rate }, resolver(map[string][]string{"n1": {"127.0.1.1"}, "n2": {"127.0.2.1"}}))
	s.met(t, "n1", "127.0.1.1")
	s.met(t, "n2", "127.0.2.1")
	var lines [][]byte
	for id := range uint32(40 * rate) {
		lines = append(lines, body(t, onNodes(report(100+id, alice), "n2", "")))
	}
	var got response
	begin := time.Now()
	for got = s.postFrom(t, "127.0.1.1", "/v1/reports/batch", bytes.Join(lines, []byte("\n"))); got.Status == 429; begin = time.Now() {
		time.Sleep(100 * time.Millisecond)
		got = s.postFrom(t, "127.0.1.1", "/v1/reports/batch", bytes.Join(lines, []byte("\n")))
	}
	s.check(t, "a batch", got, 200, "answers")
	s.check(t, "the other node", s.postFrom(t, "127.0.2.1", "/v1/reports", body(t, report(7, alice))), 200, "new")
	got = s.postFrom(t, "127.0.1.1", "/v1/reports", body(t, report(8, alice)))
	if took := time.Since(begin); took < 38*time.Second {
		s.check(t, "the same node", got, 429, "too many requests")
	}
}

// inNamespace makes the calling thread's sockets those of a network of its own, with addresses of one
// IPv6 network. The thread ends with the test.
func inNamespace(t *testing.T, addresses ...string) {
	t.Helper()
	runtime.LockOSThread()
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("link", "set", "lo", "up")
	for _, a := range addresses {
		run("-6", "address", "add", a+"/128", "dev", "lo")
	}
}

// TestOneNetwork: on an IPv6 network, where all nodes share a /64, neither a user nor a node that holds
// all that it may keeps out the others.
func TestOneNetwork(t *testing.T) {
	trial.MayMount(t)
	var nodes []string
	for i := range 6 {
		nodes = append(nodes, fmt.Sprint("fd00:6a:6f:62::", 1+i))
	}
	inNamespace(t, nodes...)
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) { o.Connections = 10 })
	h := &http.Server{Handler: s.server, ConnContext: s.server.door.Context}
	go h.Serve(s.server.Limit(l))
	t.Cleanup(func() { h.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s.tcp = net.JoinHostPort(nodes[0], port)
	text := body(t, report(7, alice))
	half := func(from string) { io.WriteString(dial(t, s.tcp, from), s.half(t, "POST", "/v1/reports", text)) }
	for range 20 { // root of one node
		half(nodes[1])
	}
	for range 2500 { // whoever, on another
		io.WriteString(dial(t, s.tcp, nodes[2]), "PUT /v1/workloads/melt/mute HTTP/1.1\r\nHost: x\r\n")
	}
	for _, from := range slices.Concat(nodes[2:], nodes[2:]) {
		s.check(t, from, s.postFrom(t, from, "/v1/reports", text), 200, "new")
	}
}

// TestRoomsForget: what nodes said of their run directories is forgotten though nobody reads the metrics,
// and made-up names take bounded memory.
func TestRoomsForget(t *testing.T) {
	o, at := new(rooms), time.Now()
	for i := range 2 * mostRooms {
		o.note(fmt.Sprint("n", i), node.RunDirState{Notes: 1}, at)
	}
	if len(o.last) != mostRooms {
		t.Errorf("%d are kept", len(o.last))
	}
	o.note("n1", node.RunDirState{Notes: 2}, at.Add(wordLifetime+time.Second))
	if len(o.last) != 1 {
		t.Errorf("%d are kept", len(o.last))
	}
}
