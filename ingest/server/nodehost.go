package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Who speaks for a node. Root of any node has the munge key, so that a credential says
// "root of the cluster" and not which node; what says that is the connection's address.

// hosts knows the addresses of nodes by name, for a while.
type hosts struct {
	lookup func(ctx context.Context, name string) ([]string, error)
	asking chan struct{} // one of each question that nobody waits for
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
	hostQuestions = 16          // at once, that nobody waits for
	mostHosts     = 100_000
)

func newHosts(lookup func(context.Context, string) ([]string, error)) *hosts {
	return &hosts{lookup: lookup, asking: make(chan struct{}, hostQuestions), known: map[string]host{}}
}

// of returns a node's addresses, none if there is no such name. An error says that the
// resolver does not tell now.
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

// heard returns what the resolver has said lately.
func (h *hosts) heard(node string) (addresses []string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.known[node]
	return known.addresses, ok && time.Now().Before(known.until)
}

// later calls tell with a node's addresses when they are known, which nobody waits for: a
// thousand nodes that report at once are more than a resolver answers in time. While it
// is asked for enough others, or does not answer, tell is not called.
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
