package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/munge"
	"jobeff/ingest/store"
)

// viewer is who asks, and how that is known. A node's root that reports is one, too.
type viewer struct {
	store.Viewer        // no more than the UID, until sees
	from         string // "socket", or the address of the host that made the credential
	// payload is what the credential was made for; nil on the socket.
	payload []byte
	proxied bool // a believed proxy named the user
}

func (v viewer) note(e *zerolog.Event) *zerolog.Event {
	if v.from == "" {
		return e
	}
	return e.Uint32("uid", v.UID).Str("from", v.from)
}

type peerKey struct{}

// withPeer keeps a unix connection's peer credentials, which the kernel took when
// it was made.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if _, ok := c.(pageConn); ok {
		return context.WithValue(ctx, pageKey{}, true)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ctx
	}
	raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			ctx = context.WithValue(ctx, peerKey{}, cred.Uid)
		}
	})
	return ctx
}

// identify finds out who makes a request. A credential is checked for itself; to
// what request it belongs, bind checks when the body is known.
func (s *Server) identify(r *http.Request) (viewer, *refusal) {
	if uid, ok := r.Context().Value(peerKey{}).(uint32); ok {
		return viewer{Viewer: store.Viewer{UID: uid}, from: "socket"}, nil
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, job.AuthScheme) {
		return viewer{}, unauthorized("the request has no munge credential", nil)
	}
	cred, err := munge.Decode(s.munge, strings.TrimSpace(text))
	if errors.Is(err, munge.ErrAway) {
		return viewer{}, &refusal{status: http.StatusServiceUnavailable, message: "jobeffd cannot ask munge now", hint: "try again",
			retry: 5 * time.Second, cause: err}
	}
	if err != nil {
		return viewer{}, unauthorized(firstError(err).Error(), err)
	}
	if cred.TTL > munge.Lifetime {
		return viewer{}, unauthorized("the munge credential lives too long", nil)
	}
	return viewer{Viewer: store.Viewer{UID: cred.UID}, from: cred.Addr.String(), payload: cred.Payload}, nil
}

// firstError is the package's own words, without what munge adds.
func firstError(err error) error {
	for _, known := range []error{munge.ErrExpired, munge.ErrRewound, munge.ErrReplayed, munge.ErrInvalid} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

func unauthorized(message string, cause error) *refusal {
	return &refusal{status: http.StatusUnauthorized, message: message, hint: "try again with a fresh credential", cause: cause}
}

// bind checks that the credential was made for this request, and only once.
func (s *Server) bind(by viewer, r *http.Request, body []byte) *refusal {
	if by.payload == nil {
		return nil
	}
	words := strings.Fields(string(by.payload))
	if len(words) != 5 {
		return unauthorized("the credential was not made for jobeffd", nil)
	}
	nonce := words[4]
	if string(job.AuthPayload(r.Method, r.URL.RequestURI(), body, nonce)) != string(by.payload) {
		return unauthorized("the credential was made for another request", nil)
	}
	if !s.nonces.fresh(nonce, time.Now()) {
		return unauthorized("the credential was used before", nil)
	}
	return nil
}

// nonces remembers what was used for at least nonceMemory and at most twice that.
type nonces struct {
	mu        sync.Mutex
	now, old  map[[16]byte]struct{}
	exchanged time.Time
}

// nonceMemory is the longest span in which munge accepts one credential: its
// lifetime on both sides of when it was made, since clocks differ.
const nonceMemory = 2 * munge.Lifetime

// fresh notes a nonce; false if it is none, or was noted before.
func (n *nonces) fresh(nonce string, at time.Time) bool {
	var key [16]byte
	if len(nonce) != hex.EncodedLen(len(key)) {
		return false
	}
	if _, err := hex.Decode(key[:], []byte(nonce)); err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now == nil || at.Sub(n.exchanged) > nonceMemory {
		n.old, n.now, n.exchanged = n.now, map[[16]byte]struct{}{}, at
	}
	_, used := n.now[key]
	_, before := n.old[key]
	n.now[key] = struct{}{}
	return !used && !before
}

// notReporter is the answer to a report from somebody who may not.
func notReporter(by viewer) *refusal {
	return &refusal{status: http.StatusForbidden, message: fmt.Sprintf("uid %d may not report", by.UID), hint: "only root on a node may"}
}
