package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// This file tells which node a report comes from. Root of every node has the munge key, so a
// credential says only "root of the cluster". The connection's address tells the node.

// hosts looks up the addresses of nodes and remembers them for hostLifetime.
type hosts struct {
	lookup func(ctx context.Context, name string) ([]string, error)
	asking chan struct{} // holds one for each lookup in the background
	mu     sync.Mutex
	known  map[string]host
}

type host struct {
	addresses []string // none: there is no such name
	until     time.Time
}

const (
	hostLifetime  = 10 * time.Minute
	hostPatience  = time.Second // for one question to the resolver
	hostQuestions = 16          // background lookups at once
	mostHosts     = 100_000
)

func newHosts(lookup func(context.Context, string) ([]string, error)) *hosts {
	return &hosts{lookup: lookup, asking: make(chan struct{}, hostQuestions), known: map[string]host{}}
}

// of returns a node's addresses, none if there is no such name. An error says that the
// resolver did not answer.
func (h *hosts) of(ctx context.Context, node string) ([]string, error) {
	if addresses, ok := h.heard(node); ok {
		return addresses, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	addresses, err := h.lookup(ctx, node)
	var no *net.DNSError
	if err != nil && !(errors.As(err, &no) && no.IsNotFound) {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= mostHosts {
		clear(h.known)
	}
	h.known[node] = host{addresses, time.Now().Add(hostLifetime)}
	return addresses, nil
}

// heard returns what the resolver answered within hostLifetime.
func (h *hosts) heard(node string) (addresses []string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.known[node]
	return known.addresses, ok && time.Now().Before(known.until)
}

// later looks a node's addresses up in the background and then calls tell. No report waits for
// it, since a resolver may not keep up with a thousand nodes. While hostQuestions lookups are
// under way, or if the resolver fails, tell is not called.
func (h *hosts) later(node string, tell func(addresses []string)) {
	if addresses, ok := h.heard(node); ok {
		tell(addresses)
		return
	}
	select {
	case h.asking <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-h.asking }()
		if addresses, err := h.of(context.Background(), node); err == nil {
			tell(addresses)
		}
	}()
}
