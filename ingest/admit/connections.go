package admit

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gate bounds how many connections each part has at once. On a unix socket the kernel says at once who
// connects. On TCP a connection counts for its address until a credential is shown on it, then for
// whoever showed it. Trusted users and operators on a unix socket have no bound, and files are set
// aside for them.
//
// A new connection may take the place of one of its own part that shows no whole request for a
// while. So idle and half-sent requests keep nobody out.
type gate struct {
	each  int           // connections of one part; 0: no bound
	most  [classes]int  // connections of a class
	all   int           // … of all classes
	hints chan struct{} // a place for each refused connection that is told why

	refused, cut prometheus.Counter

	mu    sync.Mutex
	of    map[part][]*conn   // oldest first
	users map[string][]*conn // … of the users of a network
	n     [classes]int
}

// patience is how long a connection of each class may show no whole request before it may be cut. An
// honest client sends its request at once. Many connections without a credential are allowed: to
// keep out another client of an address, somebody would have to open a thousand within these 20 ms.
var patience = [classes]time.Duration{nobody: 20 * time.Millisecond, stranger: 200 * time.Millisecond, known: 200 * time.Millisecond}

const (
	mostHints = 64
	// setAside is how many files are left to users without a bound, to the database and to Slurm's
	// commands.
	setAside = 256
	// proxyFactor multiplies the bound of a part for the pages' proxy, which speaks for many users.
	proxyFactor = 8
	// mostNobodys bounds the connections without a credential. Each may send a header of 64 KiB. An
	// address may have half of them: all nodes may be in one IPv6 network, and begin at once.
	mostNobodys   = 2048
	mostStrangers = 4096
)

func newGate(each int, metrics prometheus.Registerer) *gate {
	g := &gate{each: each, all: 1 << 16, hints: make(chan struct{}, mostHints), of: map[part][]*conn{}, users: map[string][]*conn{},
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "jobeff_connections_refused_total",
			Help: "Connections that were refused, since their user, node or address had too many."}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{Name: "jobeff_connections_cut_total",
			Help: "Connections without a whole request that were closed to make room for another one."}),
	}
	metrics.MustRegister(g.refused, g.cut)
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		g.all = int(max(min(files.Cur, 1<<20)-min(files.Cur/2, setAside), 1))
	}
	g.most = [classes]int{nobody: min(max(g.all/2, 1), mostNobodys), stranger: min(max(g.all/2, 1), mostStrangers), known: g.all}
	return g
}

// conn is a connection that passed the gate.
type conn struct {
	net.Conn
	gate    *gate
	uid     *uint32 // of the peer on a unix socket
	address string  // of the peer on TCP
	network part    // … and for which it counts until it shows a credential

	// gate.mu guards these:
	part    part
	userAt  string    // the network, if it counts for a user
	since   time.Time // it waits for a request since then
	working bool      // a request is being answered
	left    bool
}

// Close gives the connection's place back.
func (c *conn) Close() error {
	c.gate.mu.Lock()
	c.gate.remove(c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// work says that a whole request's header came.
func (c *conn) work() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.working = true
}

// rest says that the request was answered.
func (c *conn) rest() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.working, c.since = false, time.Now()
}

// isNobodys says that no good credential was shown on the connection.
func (c *conn) isNobodys() bool {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.part.class == nobody && c.part.name != ""
}

// waits says that the connection showed no whole request for a while.
func (c *conn) waits(now time.Time) bool {
	return !c.working && now.Sub(c.since) >= patience[c.part.class]
}

// become makes a connection count for a part. It may cut another connection to make room. The
// connection may have counted for another part before.
func (g *gate) become(c *conn, p part, now time.Time) (ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	network := p.network
	p.network = "" // a user's connections are counted together, wherever they come from
	if c.part == p || g.each == 0 || c.left {
		return true
	}
	if p.name == "" {
		g.remove(c)
		c.left = false
		return true
	}
	if len(g.of[p]) >= g.bound(p) && !g.makeRoom(g.of[p], now) {
		return false
	}
	if network != "" && network != c.userAt && len(g.users[network]) >= usersTogether*g.each && !g.makeRoom(g.users[network], now) {
		return false
	}
	if g.n[p.class] >= g.most[p.class] && !g.makeRoom(g.greediest(p.class), now) {
		return false
	}
	if c.part.name == "" && g.n[nobody]+g.n[stranger]+g.n[known] >= g.all && !g.makeRoomIn(now) {
		return false
	}
	g.remove(c)
	c.part, c.left = p, false
	g.of[p] = append(g.of[p], c)
	g.n[p.class]++
	if c.userAt = network; network != "" {
		g.users[network] = append(g.users[network], c)
	}
	return true
}

// bound is how many connections a part may have.
func (g *gate) bound(p part) int {
	switch {
	case p == ofProxy:
		return proxyFactor * g.each
	case p.class == nobody:
		return g.most[nobody]/2 + 1
	}
	return g.each
}

// makeRoomIn cuts a connection of the first class that has one to cut.
func (g *gate) makeRoomIn(now time.Time) (ok bool) {
	for class := range classes {
		if g.makeRoom(g.greediest(class), now) {
			return true
		}
	}
	return false
}

// makeRoom cuts the oldest connection that waits, if there is one.
func (g *gate) makeRoom(from []*conn, now time.Time) (ok bool) {
	i := slices.IndexFunc(from, func(o *conn) bool { return o.waits(now) })
	if i < 0 {
		return false
	}
	victim := from[i]
	g.remove(victim)
	g.cut.Inc()
	victim.Conn.Close()
	return true
}

// greediest are the connections of whoever has the most of a class.
func (g *gate) greediest(of class) (most []*conn) {
	for p, all := range g.of {
		if p.class == of && len(all) > len(most) {
			most = all
		}
	}
	return most
}

// remove takes a connection off its part's list; a second time it does nothing.
func (g *gate) remove(c *conn) {
	if c.part.name == "" || c.left {
		return
	}
	c.left = true
	g.n[c.part.class]--
	drop(g.of, c.part, c)
	if c.userAt != "" {
		drop(g.users, c.userAt, c)
	}
}

func drop[K comparable](of map[K][]*conn, key K, c *conn) {
	all := of[key]
	if i := slices.Index(all, c); i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	if of[key] = all; len(all) == 0 {
		delete(of, key)
	}
}

// meet finds out whose a new connection is.
func (d *Door) meet(in net.Conn) (c *conn, p part) {
	c = &conn{Conn: in, gate: d.gate, since: time.Now()}
	switch peer := in.(type) {
	case *net.UnixConn:
		c.uid = peerOf(peer)
		switch {
		case c.uid == nil:
			return c, part{class: nobody, name: "a process of an unknown user"}
		case d.Trusted[*c.uid] || d.Operators[*c.uid]:
			return c, part{}
		case d.forOthers[*c.uid]:
			return c, ofProxy
		}
		return c, ofUser(*c.uid, "")
	default:
		c.address, c.network = addressOf(in.RemoteAddr())
	}
	return c, c.network
}

// addressOf returns the host of an address, and the part of connections from there that are nobody's
// yet. All IPv6 addresses of a network are one part: a machine may have all of them.
func addressOf(a net.Addr) (host string, p part) {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String(), part{class: nobody, name: a.String()}
	}
	ip := at.Addr().Unmap()
	host = ip.String()
	if network, err := ip.WithZone("").Prefix(64); err == nil && ip.Is6() {
		return host, part{class: nobody, name: network.String()}
	}
	return host, part{class: nobody, name: host}
}

// peerOf is the user who made a unix connection, as the kernel says; nil if it does not.
func peerOf(c *net.UnixConn) (uid *uint32) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			uid = &cred.Uid
		}
	})
	return uid
}

// manyConnections refuses a part that has too many.
func manyConnections(p part) *Refusal {
	return &Refusal{Status: http.StatusTooManyRequests, Reason: "connections", Message: p.name + " has too many connections to jobeffd",
		Hint: "close some, or have the site raise server.connections", Retry: time.Second}
}

// refuse tells a client that it has too many connections, and closes. It tells a few at once, and
// only closes the others.
func (g *gate) refuse(c net.Conn, p part) {
	g.refused.Inc()
	select {
	case g.hints <- struct{}{}:
	default:
		c.Close()
		return
	}
	go func() {
		defer func() { <-g.hints }()
		defer c.Close()
		c.SetDeadline(time.Now().Add(lingers))
		e := manyConnections(p)
		text, _ := json.Marshal(e.Problem()) // cannot fail
		fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			e.Status, http.StatusText(e.Status), len(text), text)
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
		io.CopyN(io.Discard, c, 64<<10) // Close resets a connection with unread data, and the answer may be lost
	}()
}

// Listener puts a listener behind the bounds on connections.
func (d *Door) Listener(l net.Listener) net.Listener { return gated{l, d} }

// gated is a listener behind the gate.
type gated struct {
	net.Listener
	door *Door
}

// Accept waits for a connection that may enter.
func (l gated) Accept() (net.Conn, error) {
	for {
		in, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, p := l.door.meet(in)
		if l.door.gate.become(c, p, c.since) {
			return c, nil
		}
		l.door.gate.refuse(in, p)
	}
}
