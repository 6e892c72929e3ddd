package admit

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"jobeff/ingest/munge"
	"jobeff/ingest/wire"
	"jobeff/test/mungetest"
)

// doorServer answers questions behind a door, on a socket and on TCP.
type doorServer struct {
	*Door
	socket, tcp, munge string
}

func open(t *testing.T, o Options, ask func(c *Caller, r *http.Request)) *doorServer {
	t.Helper()
	s := &doorServer{socket: filepath.Join(t.TempDir(), "sock")}
	if o.Munge == "" {
		o.Munge = mungetest.Start(t)
	}
	o.Log, o.Metrics, s.munge = zerolog.Nop(), prometheus.NewRegistry(), o.Munge
	s.Door = New(o)
	h := &http.Server{ConnContext: s.Context, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, r, leave := s.Enter(w, r)
		defer leave()
		defer answer.End()
		c, e := s.Asks(r)
		if e == nil {
			if err := c.Turn(r.Context()); err != nil {
				e = &Refusal{Status: http.StatusServiceUnavailable, Message: err.Error()}
			}
		}
		if e != nil {
			s.Answers(answer, r)
			http.Error(answer, e.Message, e.Status)
			return
		}
		ask(c, r)
	})}
	unix, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.tcp = tcp.Addr().String()
	for _, l := range []net.Listener{unix, tcp} {
		go h.Serve(s.Listener(l))
	}
	t.Cleanup(func() { h.Close() })
	return s
}

// ask is the status of a question with a credential of this process.
func (s *doorServer) ask(t *testing.T, path string) int {
	t.Helper()
	cred, err := munge.Encode(s.munge, wire.AuthPayload("GET", path, nil, nonce()+" "+s.challenge), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("GET", "http://"+s.tcp+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", wire.AuthScheme+" "+cred)
	r.Close = true
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// TestCallerBeforeBody: the header tells who sends, and whose the connection is. Of who shows no
// credential nothing more is read.
func TestCallerBeforeBody(t *testing.T) {
	s := open(t, Options{Connections: 10}, func(c *Caller, r *http.Request) {
		conn := connOf(r.Context())
		conn.gate.mu.Lock()
		defer conn.gate.mu.Unlock()
		if conn.part.name != c.part.name {
			t.Errorf("the connection is %v's, the caller %v", conn.part, c.part)
		}
	})
	if got := s.ask(t, "/"); got != 200 {
		t.Error(got)
	}
	r, _ := http.NewRequest("PUT", "http://x/", unread{t})
	if _, _, e := s.Sends(r, 100); e == nil || e.Status != http.StatusUnauthorized {
		t.Errorf("%+v", e)
	}
}

// TestQuestionsOfOneUser: large lists of one user keep nobody else from asking.
func TestQuestionsOfOneUser(t *testing.T) {
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	s := open(t, Options{}, func(_ *Caller, r *http.Request) {
		if r.URL.Path == "/large" {
			entered <- struct{}{}
			<-leave
		}
	})
	var all sync.WaitGroup
	for range 3 * mostAtOnce {
		all.Go(func() {
			if got := s.ask(t, "/large"); got != 200 {
				t.Error(got)
			}
		})
	}
	for range mostAtOnce {
		<-entered
	}
	self := ofUser(uint32(os.Getuid()), "")
	for s.answers.waiting(self) < 3*mostAtOnce {
		time.Sleep(time.Millisecond)
	}
	if n := len(entered); n > 0 {
		t.Errorf("%d more questions of one user are answered at once", n)
	}
	other, err := s.answers.take(ctx, ofUser(1, ""))
	if err != nil {
		t.Fatal(err)
	}
	other()
	close(leave)
	all.Wait()
	if got := s.ask(t, "/"); got != 200 || s.answers.waiting(self) != 0 {
		t.Errorf("%d, %d turns are not given back", got, s.answers.waiting(self))
	}
}

// TestNoncesOfOneUser: a user who asks faster than they may fills no memory with nonces.
func TestNoncesOfOneUser(t *testing.T) {
	s := open(t, Options{ReadRate: 1}, func(*Caller, *http.Request) {})
	answered := 0
	for range 20 {
		switch got := s.ask(t, "/"); got {
		case 200:
			answered++
		case 429:
		default:
			t.Error(got)
		}
	}
	if n := len(s.nonces.now); n != answered || answered == 20 {
		t.Errorf("%d nonces are remembered of %d answered requests", n, answered)
	}
}

// TestDecodesOfOneAddress: while munge does not answer, it is asked about a few credentials of one
// address only, and others' are not kept from it.
func TestDecodesOfOneAddress(t *testing.T) {
	stopped, err := net.Listen("unix", filepath.Join(t.TempDir(), "munged"))
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	asked := make(chan net.Conn, 100)
	go func() {
		for c, err := stopped.Accept(); err == nil; c, err = stopped.Accept() {
			asked <- c
		}
	}()
	s := open(t, Options{Munge: stopped.Addr().String()}, func(*Caller, *http.Request) {})
	for range 3 * mostDecodes {
		c, err := net.Dial("tcp", s.tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Munge MUNGE:%s:\r\n\r\n", strings.Repeat("A", 100))
	}
	for s.decodes.waiting(part{class: nobody, name: "127.0.0.1"}) < 3*mostDecodes {
		time.Sleep(time.Millisecond)
	}
	for range mostDecodes {
		defer (<-asked).Close()
	}
	if n := len(asked); n > 0 {
		t.Errorf("munge is asked about %d more", n)
	}
	release, err := s.decodes.take(ctx, part{class: nobody, name: "127.0.0.2"})
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestQuestionsOfOneNetwork: with credentials of many users, root of one node is answered no more questions
// at once than leave others a connection of the database, and their rate is bounded, too.
func TestQuestionsOfOneNetwork(t *testing.T) {
	s, now := open(t, Options{ReadRate: 1}, func(*Caller, *http.Request) {}), time.Now()
	s.now = func() time.Time { return now }
	at := func(uid int) part { return part{known, fmt.Sprint("uid ", 1+uid), "127.0.0.1"} }
	for uid := range usersAtOnce {
		if _, err := s.questions.take(t.Context(), at(uid)); err != nil {
			t.Fatal(err)
		}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // select is fair
		if _, err := s.questions.take(late, at(1000)); err == nil {
			t.Fatal("one more is answered at once")
		}
	}
	if _, err := s.questions.take(t.Context(), ofUser(1000, "")); err != nil {
		t.Error("a user elsewhere:", err)
	}
	taken := 0
	for uid := range 10 * usersTogether {
		if e := s.reads.take(at(uid), s.now(), 1, 1); e == nil {
			taken++
		}
	}
	if taken != usersTogether {
		t.Errorf("%d requests of a second were taken", taken)
	}
	if got := s.ask(t, "/"); got != 429 {
		t.Errorf("one more user there: %d", got)
	}
	if e := s.reads.take(ofUser(5000, ""), s.now(), 1, 1); e != nil {
		t.Error("a user elsewhere:", e)
	}
}

// TestSlowReadersOfOneNetwork: who does not read an answer holds no turn of the network's users.
func TestSlowReadersOfOneNetwork(t *testing.T) {
	socket := mungetest.Start(t)
	d := New(Options{Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(), Munge: socket})
	writes := make(chan struct{}, mostAtOnce)
	h := &http.Server{ConnContext: d.Context, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, r, leave := d.Enter(w, r)
		defer leave()
		c, e := d.Asks(r)
		if e != nil || c.Turn(r.Context()) != nil {
			t.Error(e)
			return
		}
		w.Write(make([]byte, 1<<10))
		writes <- struct{}{}
		for _, err := w.Write(make([]byte, 1<<20)); err == nil; _, err = w.Write(make([]byte, 1<<20)) {
		}
	})}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- h.Serve(d.Listener(tcp)) }()
	for range mostAtOnce {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cred, err := munge.Encode(socket, wire.AuthPayload("GET", "/", nil, nonce()+" "+d.challenge), 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: %s %s\r\n\r\n", wire.AuthScheme, cred)
	}
	for range mostAtOnce {
		<-writes
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for uid := range usersAtOnce {
		if _, err := d.questions.take(late, part{known, fmt.Sprint("uid ", 1+uid), "127.0.0.1"}); err != nil {
			t.Errorf("question %d of another user there: %v", uid, err)
		}
	}
	h.Close()
	<-done
}

// TestMungeGoesAway: where munge cannot be asked any more, the answer comes all the same, and unsigned. What was not sent
// to its end is not signed either.
func TestMungeGoesAway(t *testing.T) {
	s := open(t, Options{}, func(*Caller, *http.Request) {})
	answer := func(body int, path, end string) *http.Response {
		socket := s.munge
		cred, err := munge.Encode(socket, wire.AuthPayload("GET", path, nil, nonce()+" "+s.challenge), 0)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", wire.AuthScheme+" "+cred)
		a, r, leave := s.Enter(w, r)
		defer leave()
		c, e := s.Asks(r)
		if e != nil {
			t.Fatal(e)
		}
		c.socket = end
		a.Write(make([]byte, body))
		if end != "" {
			a.End()
		}
		return w.Result()
	}
	for _, c := range []struct {
		name, end     string
		body          int
		head, trailer bool
	}{
		{"good", s.munge, 10, true, false},
		{"long", s.munge, mostHeld + 1, false, true},
		{"away", s.munge + "-none", 10, false, false},
		{"long, away", s.munge + "-none", mostHeld + 1, false, false},
		{"long, broken off", "", mostHeld + 1, false, false},
	} {
		got := answer(c.body, "/x", c.end)
		body, _ := io.ReadAll(got.Body)
		if got.StatusCode != 200 || len(body) != c.body || (got.Header.Get(wire.ProofHeader) != "") != c.head || (got.Trailer.Get(wire.ProofHeader) != "") != c.trailer {
			t.Errorf("%s: %d, %d bytes, %v, %v", c.name, got.StatusCode, len(body), got.Header, got.Trailer)
		}
	}
}

// TestForeign: of a foreign cluster's users, root alone is trusted. jobeffd's own uid is there anybody's.
func TestForeign(t *testing.T) {
	d := New(Options{Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(), Trusted: map[uint32]bool{0: true, 998: true}, Operators: map[uint32]bool{5: true}})
	for _, c := range []struct {
		uid                      uint32
		foreign, proxied, trusts bool
	}{{0, false, false, true}, {0, true, false, true}, {0, false, true, false}, {998, false, false, true}, {998, true, false, false}, {5, false, false, false}} {
		by := &Caller{User: c.uid, Foreign: c.foreign, Proxied: c.proxied, door: d}
		if by.trusted() != c.trusts {
			t.Errorf("%+v: trusted is %v", c, by.trusted())
		}
	}
}

// TestPartOfCluster: users of two clusters with the same uid do not use up each other's part.
func TestPartOfCluster(t *testing.T) {
	key := mungetest.Start(t)
	s := open(t, Options{Munge: key, Clusters: []Cluster{{Name: "carbon", Munge: mungetest.Start(t)}, {Name: "gold", Munge: key}}}, func(*Caller, *http.Request) {})
	cred, err := munge.Encode(key, wire.AuthPayload("GET", "/x", nil, nonce()+" "+s.challenge), 0)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/x", nil)
	r.Header.Set("Authorization", wire.AuthScheme+" "+cred)
	r.Header.Set(wire.ClusterHeader, "gold")
	c, e := s.Asks(r)
	if want := fmt.Sprintf("uid %d of gold", os.Getuid()); e != nil || c.Part() != want || c.Cluster != "gold" || !c.Foreign {
		t.Errorf("%+v, %v, want %s", c, e, want)
	}
}
