package trial

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
)

// ProxyTo is a proxy in front of a unix socket. Like a site's, it keeps the host and passes on the scheme of
// the request.
func ProxyTo(socket string) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "jobeffd"
		r.SetXForwarded()
	}, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}
