package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"jobeff/ingest/server"
)

// serveMetrics answers GET /metrics at an address of its own until the context ends, since
// Prometheus has no munge credential. "" is no address.
func serveMetrics(ctx context.Context, wg *sync.WaitGroup, address string, srv *server.Server) error {
	if address == "" {
		return nil
	}
	l, err := server.ListenTCP(address)
	if err != nil {
		return fmt.Errorf("server.metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", srv.Metrics())
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	wg.Go(func() { h.Serve(srv.Limit(l)) }) // ends with Close
	wg.Go(func() {
		<-ctx.Done()
		h.Close()
	})
	return nil
}
