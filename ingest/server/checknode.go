package server

import (
	"net"
	"net/http"
	"slices"
	"time"

	"jobeff/ingest/job"
)

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

// checkNode refuses what a node may not say of itself; the rest is checked against what
// Slurm says of the job, where the database knows that (store.ErrForeignNode).
func (s *Server) checkNode(r *http.Request, by viewer, report *job.NodeReport) *refusal {
	if holds, known := job.HostlistHolds(report.NodeList, report.Node); known && !holds {
		return &refusal{status: http.StatusForbidden, reason: "foreign_node", message: "the report's node is not among the job's nodes that it names"}
	}
	return s.checkHost(r, by, report.Node)
}

// source is the host at the other end of a TCP connection.
func source(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}
