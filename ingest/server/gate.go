package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gate bounds how many connections each source has at once. On a unix socket the source is the
// user who connected, on TCP the address. Root, jobeffd's own user and operators on a unix
// socket have no bound, and files are set aside for them.
//
// A new connection may take the place of one of its own source that shows no whole request for
// patience. So idle and half-sent requests never keep out the other users of an address.
type gate struct {
	each      int             // connections of one source; 0: any
	most      int             // connections of all sources with a bound
	unbounded map[uint32]bool // users
	hints     chan struct{}   // a place for each refused connection that is told why

	refused, cut prometheus.Counter

	mu sync.Mutex
	of map[string][]*conn // by source, oldest first
	n  int
}

const (
	patience  = 200 * time.Millisecond // an honest client sends its request at once
	mostHints = 64
	// setAside is how many files are left to users without a bound, to the database and to Slurm's
	// commands.
	setAside = 256
	// pagesFactor is how many times a source's connections a proxy may have: it speaks for many.
	pagesFactor = 8
)

func newGate(each int, unbounded map[uint32]bool, metrics prometheus.Registerer) *gate {
	g := &gate{each: each, most: 1 << 16, unbounded: unbounded, hints: make(chan struct{}, mostHints), of: map[string][]*conn{},
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "jobeff_connections_refused_total",
			Help: "Connections that were refused, since their user or address had too many."}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{Name: "jobeff_connections_cut_total",
			Help: "Connections without a whole request that were closed to make room for another one of their user or address."}),
	}
	metrics.MustRegister(g.refused, g.cut)
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		g.most = int(max(min(files.Cur, 1<<20)-min(files.Cur/2, setAside), 1))
	}
	return g
}

// conn is a connection that passed the gate.
type conn struct {
	net.Conn
	gate   *gate
	source string // "": it has no bound
	most   int
	uid    *uint32 // of the peer on a unix socket
	pages  bool

	since   time.Time // it waits for a request since then
	working int       // requests that are being answered
	left    bool
}

// Close gives the connection's place back.
func (c *conn) Close() error {
	c.gate.leave(c)
	return c.Conn.Close()
}

// work says that a whole request's header came; done that it is answered.
func (c *conn) work() (done func()) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.working++
	return func() {
		c.gate.mu.Lock()
		defer c.gate.mu.Unlock()
		c.working--
		c.since = time.Now()
	}
}

// waits says that the connection showed no whole request for patience.
func (c *conn) waits(now time.Time) bool { return c.working == 0 && now.Sub(c.since) >= patience }

// enter takes a place for a connection. It may close another one of the same source, or of the
// source that has the most, for it.
func (g *gate) enter(c *conn) (ok bool) {
	if c.source == "" || g.each == 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	full := len(g.of[c.source]) >= c.most
	if full || g.n >= g.most {
		from := g.of[c.source]
		if !full {
			from = g.greediest()
		}
		i := slices.IndexFunc(from, func(o *conn) bool { return o.waits(c.since) })
		if i < 0 {
			return false
		}
		victim := from[i]
		g.remove(victim)
		g.cut.Inc()
		victim.Conn.Close()
	}
	g.of[c.source] = append(g.of[c.source], c)
	g.n++
	return true
}

// greediest are the connections of the source that has the most.
func (g *gate) greediest() (most []*conn) {
	for _, all := range g.of {
		if len(all) > len(most) {
			most = all
		}
	}
	return most
}

func (g *gate) leave(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(c)
}

// remove takes a connection off its source's list; a second time it does nothing.
func (g *gate) remove(c *conn) {
	if c.source == "" || g.each == 0 || c.left {
		return
	}
	c.left = true
	g.n--
	all := g.of[c.source]
	if i := slices.Index(all, c); i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	if g.of[c.source] = all; len(all) == 0 {
		delete(g.of, c.source)
	}
}

// meet finds out the source of a new connection.
func (g *gate) meet(in net.Conn) *conn {
	c := &conn{Conn: in, gate: g, since: time.Now(), most: g.each}
	switch peer := in.(type) {
	case *net.UnixConn:
		c.source = "a process of an unknown user"
		if c.uid = peerOf(peer); c.uid != nil {
			c.source = fmt.Sprintf("uid %d", *c.uid)
		}
		if c.uid != nil && g.unbounded[*c.uid] {
			c.source = ""
		}
	case pageConn:
		c.pages, c.source, c.most = true, "the pages' proxy", pagesFactor*g.each
	default:
		c.source = addressOf(in.RemoteAddr())
	}
	return c
}

// addressOf is the host of an address. IPv6 addresses of one network are one host: each machine
// may have all of them.
func addressOf(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if ip := tcp.IP.To4(); ip == nil && len(tcp.IP) == net.IPv6len {
		return tcp.IP.Mask(net.CIDRMask(64, 128)).String() + "/64"
	}
	return tcp.IP.String()
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

// refuse tells a client that its source has too many connections, and closes. Few are told at
// once: others are only closed.
func (g *gate) refuse(c *conn) {
	g.refused.Inc()
	select {
	case g.hints <- struct{}{}:
	default:
		c.Conn.Close()
		return
	}
	go func() {
		defer func() { <-g.hints }()
		defer c.Conn.Close()
		c.SetDeadline(time.Now().Add(time.Second))
		text := fmt.Sprintf(`{"error":"%s has too many connections to jobeffd","hint":"close some, or have the site raise server.connections"}`+"\n", c.source)
		fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			http.StatusTooManyRequests, http.StatusText(http.StatusTooManyRequests), len(text), text)
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
		io.CopyN(io.Discard, c.Conn, 64<<10) // what is unread at Close may destroy the answer
	}()
}

// gated is a listener behind the gate.
type gated struct {
	net.Listener
	gate *gate
}

// Accept waits for a connection that may enter.
func (l gated) Accept() (net.Conn, error) {
	for {
		in, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := l.gate.meet(in)
		if l.gate.enter(c) {
			return c, nil
		}
		l.gate.refuse(c)
	}
}
