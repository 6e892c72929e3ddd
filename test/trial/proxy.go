package trial

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
)

// ProxyTo is a proxy before a unix socket. As a site's does, it keeps the host and says which scheme it was asked by.
func ProxyTo(socket string) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "jobeffd"
		r.SetXForwarded()
	}, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}
