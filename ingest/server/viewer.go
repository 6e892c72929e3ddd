package server

import (
	"context"
	"fmt"
	"net"
	"net/http"

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

type connKey struct{}

// withConn notes through which connection a request comes.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection of a request; nil in a test without one.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// notReporter answers a viewer who may not report.
func notReporter(by viewer) *refusal {
	return &refusal{status: http.StatusForbidden, message: fmt.Sprintf("uid %d may not report", by.UID), hint: "only root on a node may"}
}

// pagesOnly says whether a request came through ListenPages.
func pagesOnly(ctx context.Context) bool {
	c := connOf(ctx)
	return c != nil && c.pages
}
