package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"jobeff/ingest/server"
)

// serveMetrics answers GET /metrics at an address of its own until the context ends, since
// Prometheus has no munge credential.
func serveMetrics(ctx context.Context, wg *sync.WaitGroup, l net.Listener, srv *server.Server) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", srv.Metrics())
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	wg.Go(func() { server.ServeUntil(ctx, h, srv.Limit(l)) })
}
