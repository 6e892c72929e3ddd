// Package admit is jobeffd's door: it says who is asking and what each may take, before a body is
// read. A proxy in front of jobeffd does none of this for it.
//
// A request passes in this order; whoever is stopped has cost no more than the steps before:
//
//  1. connection. It is nobody's yet, and is counted by address; an IPv6 network of /64 counts as
//     one. Such connections are the first to be cut when there is no room, the longest silent one
//     first.
//  2. credential, from the header alone: the kernel's on a unix socket, munge's on TCP, a proxy's
//     word. It names one request, by method, path, nonce and the hash of the body to come. No
//     address may ask munge many questions at once.
//  3. part. From now on the connection, and all that it asks for, counts for whoever showed the
//     credential: a user by uid, root of a node by the node. Munge proves that somebody is root of
//     some node, and no more: root of any node has its key. So a node is known by its address, which
//     TCP proves, and by the site's resolver, which says whose address that is. No name in a report
//     is believed without it. Root at an address that the resolver has not named yet is a stranger.
//     A stranger has a part by address, but all strangers together have no more than two parts. So
//     a further address wins nothing. Root of a node can also be any user there. So the users who
//     ask from one address, or IPv6 network, have a few parts together. Root of jobeffd's own
//     machine, on the socket, has no bound.
//  4. rate: questions of a user, reports of a node; each report of a batch counts.
//  5. room for the text that the body unpacks to, which the body's first bytes tell.
//  6. the body. It must have the hash that the credential says, else nothing of it is used.
//
// A credential counts once. A question's must be made for this process: somebody who took jobeffd's
// port while it was away may have kept an older one. A report's does no harm when it is kept and sent
// again: a second report changes nothing. Whoever showed a credential gets a signed answer (Answer).
//
// It stands before ingest/server, which asks it first in each handler, and after ingest/munge.
package admit

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"jobeff/ingest/wire"
)

// Options are what a Door needs. A bound of 0 is none.
type Options struct {
	Log       zerolog.Logger
	Metrics   prometheus.Registerer
	Munge     string          // its socket; "": munge's own
	Clusters  []Cluster       // that jobeffd tells apart by their keys; none: Munge's key is all that counts
	Trusted   map[uint32]bool // users who may report and read all: root, and jobeffd's own
	Operators map[uint32]bool // users who may have any number of connections on a socket
	Proxy     Proxy

	Connections int  // of one user or one node, at once
	ReportRate  int  // reports per second of a node
	ReadRate    int  // requests per second of a user, and of a node's root apart from its reports
	StrictNode  bool // a node may report only from an address of its own name
	// Lookup returns a node's addresses. A *net.DNSError that IsNotFound says that there is no such node.
	Lookup func(ctx context.Context, node string) ([]string, error)
}

// Cluster is one of several clusters. Each has a munge key and uids of its own.
type Cluster struct {
	Name  string
	Munge string // socket of a munged with its key
	Own   bool   // this machine is of it: its uids are this machine's
}

// Door lets requests in.
type Door struct {
	Options
	forOthers      map[uint32]bool // proxies: they speak for the user that they name
	gate           *gate
	decodes        *turns // questions to munge, by address
	reports, reads *rates
	questions      *turns // to the database
	answers        *turns // from a question on until its answer is written
	nonces         *nonces
	challenge      string    // of this process; a question's credential holds it
	began          time.Time // without one, it must be younger than this
	texts          *texts
	hosts          *hosts
	otherHost      prometheus.Counter
	now            func() time.Time
}

// New makes a door.
func New(o Options) *Door {
	d := &Door{Options: o, forOthers: map[uint32]bool{}, decodes: newTurns(mostDecodes, 0), questions: newTurns(mostAtOnce, usersAtOnce), answers: newTurns(mostAtOnce, usersTogether),
		reports: newRates(o.ReportRate), reads: newRates(o.ReadRate), nonces: newNonces(), texts: newTexts(), hosts: newHosts(o.Lookup), now: time.Now,
		challenge: newChallenge(), began: time.Now(),
		otherHost: prometheus.NewCounter(prometheus.CounterOpts{Name: "jobeff_reports_other_host_total",
			Help: "Reports from an address that is not the named node's."})}
	o.Metrics.MustRegister(d.otherHost)
	o.Metrics.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jobeff_nodes_known",
			Help: "Addresses from which a node reported, and which are that node's, as the resolver says."}, d.hosts.count),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jobeff_report_text_bytes", Help: "Room that is taken by reports which are being read or kept."}, d.texts.taken))
	d.gate = newGate(o.Connections, o.Metrics)
	if o.Proxy.Header != "" {
		for _, uid := range o.Proxy.Users {
			d.forOthers[uid] = true
		}
	}
	return d
}

// Refusal is an answer that is not 200.
type Refusal struct {
	Status  int
	Reason  string // names the problem, also in the metrics; "": the status does
	Message string
	Hint    string
	Retry   time.Duration // how long to wait before the next try; 0: not said
	// Challenge is the WWW-Authenticate header of a 401; "": none.
	Challenge string
	Cause     error // for the log; may be nil
}

// Problem returns the refusal as the client gets it.
func (e *Refusal) Problem() wire.Problem {
	title := strings.ToLower(cmp.Or(strings.ReplaceAll(e.Reason, "_", " "), http.StatusText(e.Status)))
	return wire.Problem{Type: wire.ProblemType + strings.ReplaceAll(title, " ", "_"), Title: title, Status: e.Status, Detail: e.Message, Hint: e.Hint}
}

// Error returns the message and the cause.
func (e *Refusal) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

type connKey struct{}

// Context notes the connection through which requests come: it is a http.Server's ConnContext.
func (d *Door) Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection of a request; nil in a test without one.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// visit is one request.
type visit struct {
	read  bool     // all of its body was read
	by    *Caller  // for whom the answer is signed; nil: it is not signed
	turns []func() // they end its turns; the database's is the last
}

// asked ends the turn of the database.
func (v *visit) asked() {
	if n := len(v.turns); n > 1 {
		v.turns[n-1]()
		v.turns = v.turns[:n-1]
	}
}

type visitKey struct{}

// lingers is how long a client may go on sending a body that nobody wants. The answer might be lost if
// the connection were closed at once.
const lingers = time.Second

// Enter begins a request whose header came. It returns the writer of the answer, and the request to go
// on with. leave ends the request after its answer.
func (d *Door) Enter(w http.ResponseWriter, r *http.Request) (answer *Answer, begun *http.Request, leave func()) {
	v, c := new(visit), connOf(r.Context())
	if c != nil {
		c.work()
	}
	return &Answer{ResponseWriter: w, v: v}, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)), func() {
		for _, end := range v.turns {
			end()
		}
		if c != nil {
			c.rest()
		}
		if r.ContentLength != 0 && !v.read {
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingers)) // fails without a connection only
		}
	}
}

// Answers prepares the answer to a request that was refused, or that showed no credential. The
// connection ends with it if a part of the body was not read, or if the connection is nobody's.
func (d *Door) Answers(w http.ResponseWriter, r *http.Request) {
	v, _ := r.Context().Value(visitKey{}).(*visit)
	unread := r.ContentLength != 0 && (v == nil || !v.read)
	if c := connOf(r.Context()); unread || c != nil && c.isNobodys() {
		w.Header().Set("Connection", "close")
	}
}
