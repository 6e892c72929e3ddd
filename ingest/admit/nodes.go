package admit

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file finds out which node a report comes from. Root of every node has the munge key, so a
// credential proves only "root of the cluster". The connection's address shows the node: the
// resolver says whose address it is.

// CheckNode compares the address of a report's sender with the node that it names. A report over
// the socket comes from this machine's root, who may do anything. With strict_node a mismatch is
// refused. Otherwise it is only logged and counted, because a node may have several addresses and a
// name for one of them; the report does not wait for the resolver.
func (c *Caller) CheckNode(ctx context.Context, node string) *Refusal {
	if c.address == "" {
		return nil
	}
	d := c.door
	if !d.StrictNode {
		d.hosts.later(c.address, node, func(addresses []string) { c.meetAt(node, addresses) })
		return nil
	}
	addresses, err := d.hosts.addresses(ctx, node)
	if err != nil {
		return &Refusal{Status: http.StatusServiceUnavailable, Reason: "resolver", Message: "jobeffd cannot ask for the node's address now", Hint: "try again",
			Retry: 5 * time.Second, Cause: err}
	}
	if !slices.Contains(addresses, c.address) {
		return &Refusal{Status: http.StatusUnauthorized, Reason: "host", Message: "the report names a node that has another address",
			Hint: "server.strict_node is set: the node's name must resolve to the address that it sends from"}
	}
	d.hosts.meet(c.address, node, d.now())
	return nil
}

// meetAt remembers a node by its address, or logs and counts a report that comes from another host
// than it names.
func (c *Caller) meetAt(node string, addresses []string) {
	switch d := c.door; {
	case slices.Contains(addresses, c.address):
		d.hosts.meet(c.address, node, d.now())
	case len(addresses) > 0 && !slices.Contains(addresses, c.From):
		d.otherHost.Inc()
		d.Log.Warn().Uint32("uid", c.User).Str("from", c.From).Str("node", node).Str("remote", c.address).Strs("addresses", addresses).
			Msg("a report comes from another host than it names")
	}
}

// hosts looks up the addresses of nodes and remembers them for hostLifetime, and which node was met
// at an address for meetLifetime.
type hosts struct {
	lookup func(ctx context.Context, name string) ([]string, error)
	asking chan struct{} // holds one for each lookup in the background
	mu     sync.Mutex
	askers map[string]bool // addresses that have a lookup under way for a report
	known  map[string]host
	met    map[string]metNode // by address
}

type host struct {
	addresses []string // none: there is no such name
	until     time.Time
}

type metNode struct {
	name  string
	until time.Time
}

const (
	hostLifetime  = 10 * time.Minute
	hostPatience  = time.Second // for one question to the resolver
	hostQuestions = 16          // background lookups at once
	mostHosts     = 100_000
	meetLifetime  = 24 * time.Hour
)

func newHosts(lookup func(context.Context, string) ([]string, error)) *hosts {
	return &hosts{lookup: lookup, asking: make(chan struct{}, hostQuestions), askers: map[string]bool{}, known: map[string]host{}, met: map[string]metNode{}}
}

// meet remembers that an address is a node's, as the resolver says. If several names have the address,
// it keeps the first one, so that a node has one part however many names it has.
func (h *hosts) meet(address, node string, now time.Time) {
	node = strings.ToLower(strings.TrimSuffix(node, "."))
	h.mu.Lock()
	defer h.mu.Unlock()
	before, is := h.met[address]
	if is && now.Before(before.until) && before.name != node {
		return
	}
	if !is && len(h.met) >= mostHosts {
		clear(h.met)
	}
	h.met[address] = metNode{node, now.Add(meetLifetime)}
}

// count is how many addresses are known.
func (h *hosts) count() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return float64(len(h.met))
}

// part returns the part of root at an address.
func (h *hosts) part(address string, now time.Time) part {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n, is := h.met[address]; is && now.Before(n.until) {
		return part{class: known, name: "node " + n.name}
	}
	return part{class: stranger, name: "root at " + address}
}

// isAddress recognizes an address in the place of a name, also as inet_aton(3) reads it ("0x7f.1"). A
// resolver answers an address with itself, so a sender that names its own address would pass as that node.
func isAddress(node string) bool {
	labels := strings.Split(strings.TrimSuffix(node, "."), ".")
	_, err := strconv.ParseUint(labels[len(labels)-1], 0, 64)
	return err == nil
}

// addresses returns a node's addresses, none if there is no such name. An error says that the
// resolver did not answer.
func (h *hosts) addresses(ctx context.Context, node string) ([]string, error) {
	if isAddress(node) {
		return nil, nil
	}
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

// mayAsk notes a lookup for an address; false: one is under way already.
func (h *hosts) mayAsk(from string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.askers[from] {
		return false
	}
	h.askers[from] = true
	return true
}

func (h *hosts) asked(from string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.askers, from)
}

// later looks a node's addresses up in the background, for a report from an address, and then calls
// tell. No report waits for it, since a resolver may not keep up with a thousand nodes. It does not
// call tell if hostQuestions lookups, or one for the same address, are under way, or if the
// resolver fails.
func (h *hosts) later(from, node string, tell func(addresses []string)) {
	if addresses, ok := h.heard(node); ok {
		tell(addresses)
		return
	}
	if !h.mayAsk(from) {
		return
	}
	select {
	case h.asking <- struct{}{}:
	default:
		h.asked(from)
		return
	}
	go func() {
		defer func() { <-h.asking }()
		defer h.asked(from)
		if addresses, err := h.addresses(context.Background(), node); err == nil {
			tell(addresses)
		}
	}()
}
