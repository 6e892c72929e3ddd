package server

import (
	"context"
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
	mu     sync.Mutex
	known  map[string]host
}

type host struct {
	addresses []string // none: the name is not known
	until     time.Time
}

const (
	hostLifetime = 10 * time.Minute
	hostPatience = time.Second // for one question to the resolver
	mostHosts    = 100_000
)

func newHosts() *hosts {
	return &hosts{lookup: net.DefaultResolver.LookupHost, known: map[string]host{}}
}

// of returns a node's addresses.
func (h *hosts) of(ctx context.Context, node string) []string {
	h.mu.Lock()
	known, ok := h.known[node]
	h.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.addresses
	}
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	addresses, err := h.lookup(ctx, node)
	if err != nil {
		addresses = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= mostHosts {
		clear(h.known)
	}
	h.known[node] = host{addresses, time.Now().Add(hostLifetime)}
	return addresses
}

// checkHost compares where a report comes from with the node that it names. On the socket
// it is this machine's root, who may do anything. A mismatch is refused where the site is
// strict about it; else it is logged and counted, since a node may have several addresses
// of which only one has its name.
func (s *Server) checkHost(r *http.Request, by who, node string) *refusal {
	if by.payload == nil {
		return nil
	}
	remote := source(r)
	addresses := s.hosts.of(r.Context(), node)
	if slices.Contains(addresses, remote) {
		return nil
	}
	if s.strictNode {
		return &refusal{status: http.StatusForbidden, reason: "host", message: "this address is not the node's that the report names",
			hint: "server.strict_node is set: let the node's name resolve to the address that it comes from"}
	}
	if len(addresses) > 0 && !slices.Contains(addresses, by.from) {
		s.counts.otherHost.Inc()
		by.note(s.log.Warn()).Str("node", node).Str("remote", remote).Strs("addresses", addresses).Msg("a report comes from another host than it names")
	}
	return nil
}
