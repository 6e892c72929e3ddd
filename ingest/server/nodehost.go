package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
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

// checkHost compares where a report comes from with the node that it names. On the socket
// it is this machine's root, who may do anything. A mismatch is refused where the site is
// strict about it; else it is logged and counted, since a node may have several addresses
// of which only one has its name, and no report waits for that.
func (s *Server) checkHost(r *http.Request, by viewer, node string) *refusal {
	if by.payload == nil {
		return nil
	}
	remote := source(r)
	if !s.strictNode {
		s.hosts.later(node, func(addresses []string) { s.noteHost(by, node, remote, addresses) })
		return nil
	}
	addresses, err := s.hosts.of(r.Context(), node)
	if err != nil {
		return &refusal{status: http.StatusServiceUnavailable, reason: "resolver", message: "jobeffd cannot ask for the node's address now", hint: "try again",
			retry: 5 * time.Second, cause: err}
	}
	if !slices.Contains(addresses, remote) {
		return &refusal{status: http.StatusForbidden, reason: "host", message: "this address is not the node's that the report names",
			hint: "server.strict_node is set: let the node's name resolve to the address that it comes from"}
	}
	return nil
}

// noteHost logs and counts a report that comes from another host than it names.
func (s *Server) noteHost(by viewer, node, remote string, addresses []string) {
	if len(addresses) == 0 || slices.Contains(addresses, remote) || slices.Contains(addresses, by.from) {
		return
	}
	s.counts.otherHost.Inc()
	by.note(s.log.Warn()).Str("node", node).Str("remote", remote).Strs("addresses", addresses).Msg("a report comes from another host than it names")
}
