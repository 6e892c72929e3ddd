package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/rs/zerolog"

	"jobeff/ingest/store"
)

// viewer is who asks, and how jobeffd knows them. Root of a node that reports is one, too.
type viewer struct {
	store.Viewer        // only the UID is set before Server.sees
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

// withPeer notes who made a unix connection, as the kernel says.
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

// notReporter answers a viewer who may not report.
func notReporter(by viewer) *refusal {
	return &refusal{status: http.StatusForbidden, message: fmt.Sprintf("uid %d may not report", by.UID), hint: "only root on a node may"}
}

type pageKey struct{}

// pagesOnly says whether a request came through ListenPages.
func pagesOnly(ctx context.Context) bool { return ctx.Value(pageKey{}) != nil }
