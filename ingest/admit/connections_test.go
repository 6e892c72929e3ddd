package admit

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newConn is a connection that nobody counts yet.
func newConn(t *testing.T, g *gate, since time.Time) *conn {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return &conn{Conn: a, gate: g, since: since}
}

// TestGateMakesRoom: whoever is at their bound gets a new connection for their oldest one that
// waits, never for one whose request is being answered.
func TestGateMakesRoom(t *testing.T) {
	g, now := newGate(2, prometheus.NewRegistry()), time.Now()
	a, b, n := ofUser(1, ""), ofUser(2, ""), part{class: nobody, name: "10.0.0.1"}
	connect := func(p part, ago time.Duration) (*conn, bool) {
		c := newConn(t, g, now.Add(-ago))
		return c, g.become(c, p, now)
	}
	old, _ := connect(a, 0)
	busy, _ := connect(a, 0)
	if _, ok := connect(a, 0); ok {
		t.Error("a third one entered although the others came just now")
	}
	old.since, busy.since = now.Add(-time.Hour), now.Add(-2*time.Hour)
	busy.work()
	if _, ok := connect(a, 0); !ok || !old.left || busy.left {
		t.Errorf("entered %v, the waiting one left %v, the busy one %v", ok, old.left, busy.left)
	}
	if _, ok := connect(b, 0); !ok {
		t.Error("another user was refused")
	}
	// All places are taken: whoever is nobody goes first, then the greediest.
	first, _ := connect(n, time.Second)
	g.all = 4
	if _, ok := connect(ofUser(4, ""), time.Hour); !ok || !first.left {
		t.Errorf("entered %v, nobody's left %v", ok, first.left)
	}
	busy.rest()
	busy.since = now.Add(-time.Hour)
	if _, ok := connect(ofUser(3, ""), 0); !ok || !busy.left {
		t.Errorf("a new user entered %v, and the greediest one's left %v", ok, busy.left)
	}
	if got := g.n; got != [classes]int{known: 4} {
		t.Errorf("counted are %v", got)
	}
}

// TestGateKnows: a connection counts for whoever showed a credential on it, and no more for its
// address. If they have too many, it stays as it was.
func TestGateKnows(t *testing.T) {
	g, now := newGate(2, prometheus.NewRegistry()), time.Now()
	n, a := part{class: nobody, name: "10.0.0.1"}, ofUser(1, "")
	for i := range 6 {
		c := newConn(t, g, now)
		if !g.become(c, n, now) {
			t.Errorf("%d was refused at the gate", i)
		}
		c.work()
		if ok := g.become(c, a, now); ok != (i < 2) || c.isNobodys() == ok {
			t.Errorf("%d is the user's: %v", i, ok)
		}
		if i >= 2 {
			c.Close()
		}
	}
	if got := g.n; got != [classes]int{known: 2} || len(g.of[n]) != 0 || len(g.of[a]) != 2 {
		t.Errorf("counted are %v", got)
	}
}

// TestGateSources: who is one before a credential is shown.
func TestGateSources(t *testing.T) {
	for address, want := range map[string][2]string{"10.0.0.1:7": {"10.0.0.1", "10.0.0.1"}, "[::ffff:10.0.0.1]:7": {"10.0.0.1", "10.0.0.1"},
		"[2001:db8::1:2]:7": {"2001:db8::1:2", "2001:db8::/64"}, "[fe80::1%lo]:7": {"fe80::1%lo", "fe80::/64"}} {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if host, p := addressOf(a); host != want[0] || p != (part{class: nobody, name: want[1]}) {
			t.Errorf("%s: %s, %v, want %v", address, host, p, want)
		}
	}
}

// TestNodes: root of a node is known by an address that the resolver gives to the node, for a day.
func TestNodes(t *testing.T) {
	h, now := newHosts(nil), time.Now()
	is := func(address, want string, after time.Duration) {
		t.Helper()
		if got := h.part(address, now.Add(after)); got.name != want || (got.class == known) != (got.name == "node n1" || got.name == "node n1-ib") {
			t.Errorf("%s is %v, want %s", address, got, want)
		}
	}
	is("10.0.0.1", "root at 10.0.0.1", 0)
	h.meet("10.0.0.1", "n1", now)
	h.meet("10.0.0.2", "N1.", now)
	h.meet("10.0.0.1", "n1-ib", now)
	is("10.0.0.1", "node n1", 0)
	is("10.0.0.2", "node n1", 0)
	is("10.0.0.3", "root at 10.0.0.3", 0)
	is("10.0.0.1", "root at 10.0.0.1", 25*time.Hour)
	h.meet("10.0.0.1", "n1-ib", now.Add(25*time.Hour))
	is("10.0.0.1", "node n1-ib", 25*time.Hour)
}

// TestLookupsOfOneAddress: one who makes up names of nodes keeps nobody else from the resolver.
func TestLookupsOfOneAddress(t *testing.T) {
	asked, answer := make(chan string, 1000), make(chan struct{})
	h := newHosts(func(_ context.Context, name string) ([]string, error) {
		asked <- name
		<-answer
		return []string{"10.0.0.2"}, nil
	})
	for i := range 10 * hostQuestions {
		h.later("10.0.0.1", fmt.Sprint("made-up-", i), func([]string) {})
	}
	var told sync.WaitGroup
	told.Add(1)
	h.later("10.0.0.2", "n2", func([]string) { told.Done() })
	names := []string{<-asked, <-asked}
	if slices.Sort(names); !slices.Equal(names, []string{"made-up-0", "n2"}) || len(asked) > 0 {
		t.Errorf("asked for %v and %d more", names, len(asked))
	}
	close(answer)
	told.Wait()
}

// TestAddressIsNoName: root of a node takes a free address and reports as a node of that name. The
// machine's own resolver would say that it is its own.
func TestAddressIsNoName(t *testing.T) {
	h := newHosts(net.DefaultResolver.LookupHost)
	for _, node := range []string{"127.0.0.1", "127.0.0.1.", "127.1", "0x7f.1", "2130706433"} {
		if got, err := h.addresses(t.Context(), node); len(got) > 0 || err != nil {
			t.Errorf("%s: %v, %v", node, got, err)
		}
	}
	if got, err := h.addresses(t.Context(), "localhost"); len(got) == 0 || err != nil {
		t.Errorf("localhost: %v, %v", got, err)
	}
}

// TestUsersOfOneNetwork: root of one node makes credentials of as many users as there are. Together they
// take a part of the connections, and leave the others to other networks.
func TestUsersOfOneNetwork(t *testing.T) {
	const each = 2
	g, now := newGate(each, prometheus.NewRegistry()), time.Now()
	entered, network := 0, part{class: nobody, name: "10.0.0.1"}
	as := func(c *conn, uid int, network string) bool {
		c.work()
		p := ofUser(uint32(uid), "")
		p.network = network
		return g.become(c, p, now)
	}
	var last *conn
	for uid := range 3 * usersTogether * each {
		c := newConn(t, g, now)
		g.become(c, network, now)
		if as(c, uid, network.name) {
			entered, last = entered+1, c
		} else {
			c.Close()
		}
	}
	if entered != usersTogether*each {
		t.Errorf("%d entered", entered)
	}
	if !as(newConn(t, g, now), 0, "10.0.0.2") || !as(newConn(t, g, now), 7000, "") {
		t.Error("a user elsewhere was refused")
	}
	if !as(last, 8000, network.name) {
		t.Error("a connection that shows another user's credential was refused")
	}
	last.Close()
	if !as(newConn(t, g, now), 9000, network.name) || len(g.users[network.name]) != entered {
		t.Errorf("a place was not given back: %d", len(g.users[network.name]))
	}
}

// TestConnectionsOfProxy: a proxy connects for many users, and so may have more connections than one of them.
func TestConnectionsOfProxy(t *testing.T) {
	const each = 2
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for header, want := range map[string]int{"": each, "X-Forwarded-User": proxyFactor * each} {
		d := New(Options{Metrics: prometheus.NewRegistry(), Connections: each, Proxy: Proxy{Header: header, Users: []uint32{uint32(os.Getuid())}}})
		entered, now := 0, time.Now() // so none waits long enough to be cut
		for range 2 * proxyFactor * each {
			out, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			in, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			c, p := d.meet(in)
			defer c.Close()
			if d.gate.become(c, p, now) {
				entered++
			}
		}
		if entered != want {
			t.Errorf("%q: %d entered, want %d", header, entered, want)
		}
	}
}
