package server

import (
	"net"
	"net/http"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// checkHost compares the address of a report's sender with the node that it names. A report
// over the socket comes from this machine's root, who may do anything. With strict_node a
// mismatch is refused. Otherwise it is only logged and counted, because a node may have several
// addresses and a name for one of them; the report does not wait for that.
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
		return &refusal{status: http.StatusForbidden, reason: "host", message: "the report names a node that has another address",
			hint: "server.strict_node is set: the node's name must resolve to the address that it sends from"}
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

// checkNode refuses a report whose node cannot have been part of the job. The store compares
// the rest with what Slurm says of the job, if that is known (store.ErrForeignNode).
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
