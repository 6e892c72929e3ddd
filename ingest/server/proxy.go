package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"

	"jobeff/ingest/store"
)

// Proxy is whom to believe that speaks for people whom it logged in, with their name
// in a header. Anybody can send a header, so a name counts only beside proof of who
// sent it: on the unix socket the kernel says which user is connected, on a listener
// for pages (ListenPages) the request holds a secret that only root and the proxy can
// read. An address proves nothing: every user of a machine may connect from it.
type Proxy struct {
	Header string   // "X-Forwarded-User"; "": nobody is believed
	Users  []uint32 // who connects through the unix socket for others
	Secret []byte   // what comes in SecretHeader otherwise; empty: nothing is believed
}

// SecretHeader holds the proxy's secret.
const SecretHeader = "X-Jobeff-Proxy-Secret"

// leastSecret is how many bytes a secret has at least.
const leastSecret = 16

// ReadSecret reads the file of a proxy's secret, which others may not read.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("server: web.proxy_secret: %s does not exist: make it with (umask 077; openssl rand -hex 32 > %s), and give it to the proxy", path, path)
	}
	if err != nil {
		return nil, fmt.Errorf("server: web.proxy_secret: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("server: web.proxy_secret: anybody may read %s: chmod o= it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("server: web.proxy_secret: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("server: web.proxy_secret: %s holds fewer than %d characters: openssl rand -hex 32 makes a good one", path, leastSecret)
	}
	return []byte(secret), nil
}

// pageListener is a listener whose connections see pages only, of whom a proxy names.
type pageListener struct{ net.Listener }

type pageConn struct{ net.Conn }

// Accept marks the connection.
func (l pageListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return pageConn{c}, nil
}

// ListenPages listens on "HOST:PORT" for a proxy on this machine.
func ListenPages(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: %w: is web.listen an address of this machine, and the port free?", err)
	}
	return pageListener{l}, nil
}

type pageKey struct{}

// pagesOnly says whether a request came through ListenPages.
func pagesOnly(ctx context.Context) bool { return ctx.Value(pageKey{}) != nil }

// visitor finds out who looks at a page: whom a proxy names, else who is connected.
func (s *Server) pageViewer(r *http.Request) (viewer, *refusal) {
	if pagesOnly(r.Context()) {
		sent := r.Header.Values(SecretHeader)
		if len(s.proxy.Secret) == 0 || len(sent) != 1 || subtle.ConstantTimeCompare([]byte(sent[0]), s.proxy.Secret) != 1 {
			return viewer{}, &refusal{status: http.StatusUnauthorized, message: "this address answers a proxy only that shows its secret",
				hint: "open the pages through the proxy"}
		}
		return s.named(r, "proxy")
	}
	by, e := s.identify(r)
	if e == nil {
		e = s.bind(by, r, nil)
	}
	if e == nil && by.payload == nil && s.forOthers[by.UID] {
		return s.named(r, fmt.Sprintf("proxy of uid %d", by.UID))
	}
	return by, e
}

// named is the user whom a believed proxy names. Without a name it sees nothing, its
// own jobs least of all: it may run as root.
func (s *Server) named(r *http.Request, from string) (viewer, *refusal) {
	names := r.Header.Values(s.proxy.Header)
	if len(names) != 1 || names[0] == "" {
		return viewer{}, &refusal{status: http.StatusUnauthorized, message: fmt.Sprintf("the proxy names no user, or several, in %s", s.proxy.Header),
			hint: "log in there"}
	}
	u, err := user.Lookup(names[0])
	if err != nil {
		return viewer{}, &refusal{status: http.StatusUnauthorized, message: fmt.Sprintf("%.60q is no user of this machine", names[0]), hint: "log in with a name that has one", cause: err}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return viewer{}, refuse(err)
	}
	return viewer{Viewer: store.Viewer{UID: uint32(uid)}, from: from, proxied: true}, nil
}
