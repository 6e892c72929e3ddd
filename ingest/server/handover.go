package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// A jobeffd is two processes: one keeps the database, and one answers people. The second one
// accepts all connections. It answers those that begin by asking for jobs or workloads, and
// hands every other over to the first, which could answer all of them.
//
// So who asks never stands behind reports: within one Go process a connection waits until
// hundreds of others that are ready had their turn, at each of its steps, and while 200 nodes
// reported as fast as they could, the slowest hundredth of `jobeff JOBID` waited 50 to 61 ms
// instead of 36. And whatever a question may do to its process, reports are taken.

// Kinds of listeners, and of the connections that came through them.
const (
	kindRequests = 'r'
	kindPages    = 'p' // of ListenPages
)

// handTimeout is how long a connection waits to be handed over.
const handTimeout = 10 * time.Second

// HandoverPair makes both ends of the channel over which connections are handed.
func HandoverPair() (keeps *net.UnixConn, answers *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("server: %w", err)
	}
	answers = os.NewFile(uintptr(fds[1]), "handover")
	if keeps, err = HandoverConn(os.NewFile(uintptr(fds[0]), "handover")); err != nil {
		answers.Close()
	}
	return keeps, answers, err
}

// HandoverConn is one end of the channel; it takes the file over.
func HandoverConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("server: connections are handed over a unix socket only")
	}
	return u, nil
}

// ListenerFile is a listener for another process, and what FileListener must know of it there.
func ListenerFile(l net.Listener) (f *os.File, kind rune, err error) {
	kind = kindRequests
	if p, pages := l.(pageListener); pages {
		l, kind = p.Listener, kindPages
	}
	f, err = l.(interface{ File() (*os.File, error) }).File()
	return f, kind, err
}

// FileListener is the listener of a file that another process made; it takes the file over.
func FileListener(f *os.File, kind rune) (net.Listener, error) {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if kind == kindPages {
		l = pageListener{l}
	}
	return l, nil
}

// Handed is the listener of the connections that come over the channel.
func Handed(from *net.UnixConn) net.Listener { return handed{from} }

type handed struct{ from *net.UnixConn }

// Accept takes the next one.
func (h handed) Accept() (net.Conn, error) {
	for {
		said, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
		_, n, _, _, err := h.from.ReadMsgUnix(said, rights)
		if err != nil {
			return nil, err
		}
		c, err := connection(rights[:n])
		switch {
		case err != nil: // it was closed meanwhile, or no file descriptor was free
		case said[0] == kindPages:
			return pageConn{c}, nil
		default:
			return c, nil
		}
	}
}

// Close ends Accept.
func (h handed) Close() error { return h.from.Close() }

// Addr is none that anybody could connect to.
func (h handed) Addr() net.Addr { return h.from.LocalAddr() }

// connection is the one that a message brought.
func connection(rights []byte) (net.Conn, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, errors.New("server: no connection came")
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("server: no connection came")
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// Answer answers people on all listeners until the context ends, and hands other connections
// to the process that keeps the database.
func (s *Server) Answer(ctx context.Context, to *net.UnixConn, listeners ...net.Listener) error {
	h := s.http()
	h.SetKeepAlivesEnabled(false) // what comes next may be for the other process
	var sorted []net.Listener
	for _, l := range listeners {
		sorted = append(sorted, askedListener{l, to, s.log})
	}
	return s.run(ctx, h, sorted)
}

// askedListener sorts its connections by what is asked first.
type askedListener struct {
	net.Listener
	to  *net.UnixConn
	log zerolog.Logger
}

// Accept returns each connection at once; it is sorted when something comes.
func (l askedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &askedConn{c, l.to, l.log}, nil
}

// askedConn is a connection of which it is not known at first who answers it.
type askedConn struct {
	net.Conn
	to  *net.UnixConn // nil: it is answered here
	log zerolog.Logger
}

// Read waits for the first bytes. Where the other process is to answer them it hands the
// connection over, and says that nothing came.
func (c *askedConn) Read(p []byte) (int, error) {
	if c.to == nil {
		return c.Conn.Read(p)
	}
	raw, err := rawConn(c.Conn)
	if err != nil {
		return 0, err
	}
	var head [32]byte
	n := 0
	waited := raw.Read(func(fd uintptr) (done bool) {
		n, _, err = syscall.Recvfrom(int(fd), head[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN && err != syscall.EINTR
	})
	switch {
	case waited != nil || err != nil:
		return 0, errors.Join(waited, err)
	case n == 0:
		return 0, io.EOF
	case answeredHere(head[:n]):
		c.to = nil
		return c.Conn.Read(p)
	}
	if err := c.hand(raw); err != nil {
		c.log.Error().Err(err).Msg("a connection could not be handed over: the client is to try again")
	}
	return 0, io.EOF // never an error: net/http would refuse the request for good
}

// answeredHere says of a request's first bytes whether it is one for jobs or workloads. What
// is cut is not.
func answeredHere(head []byte) bool {
	path, ok := bytes.CutPrefix(head, []byte("GET "))
	for _, begin := range []string{"/v1/jobs", "/v1/workloads", "/jobs/", "/workloads/", "/ "} {
		if ok && bytes.HasPrefix(path, []byte(begin)) {
			return true
		}
	}
	return false
}

// hand gives the connection to the other process.
func (c *askedConn) hand(raw syscall.RawConn) (err error) {
	how := byte(kindRequests)
	if _, pages := c.Conn.(pageConn); pages {
		how = kindPages
	}
	c.to.SetWriteDeadline(time.Now().Add(handTimeout))
	controlled := raw.Control(func(fd uintptr) {
		_, _, err = c.to.WriteMsgUnix([]byte{how}, syscall.UnixRights(int(fd)), nil)
	})
	return errors.Join(controlled, err)
}

// rawConn is the system's side of a connection that came through one of our listeners.
func rawConn(c net.Conn) (syscall.RawConn, error) {
	switch known := c.(type) {
	case pageConn:
		return rawConn(known.Conn)
	case syscall.Conn:
		return known.SyscallConn()
	}
	return nil, fmt.Errorf("server: a connection of type %T", c)
}
