// Package server is jobeffd without its processes: the HTTP interface to the
// store, who may do what, and the questions to Slurm.
//
// Nodes post reports to it (client.Sender), one by one or in batches. People ask it for jobs
// (client.Client), and browsers for pages. Package admit finds out who asks, the viewer. Only root and
// jobeffd's own user may report. Users see their own jobs and workloads, coordinators also those of
// their accounts, root and operators all. Before it in the flow stand ingest/client, and policy and
// report, which judge and write what it answers; behind it ingest/store.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"jobeff/etc"
	"jobeff/ingest/admit"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/policy/harm"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
	"jobeff/report/mail"
)

// Server answers HTTP requests. It is an http.Handler.
type Server struct {
	store     *store.Store
	log       zerolog.Logger
	trusted   map[uint32]bool // may report, and read all
	operators map[uint32]bool // may read all
	open      bool
	clusters  []string // that are told apart
	reported  func(cluster string)
	committed func()
	decoding  *semaphore.Weighted // cores for reports
	logs      *logsLine
	mux       *http.ServeMux // the interface of programs
	pageMux   *http.ServeMux // the pages, and mux for the rest

	door       *admit.Door
	mostAnswer int // bytes of a list
	grace      time.Duration
	alarm      atomic.Pointer[string] // AlarmHeader's value; nil: not known
	rules      *rule.Rules
	letters    *mail.Templates
	weeks      notice.Weekly
	help, link string
	counts     *counts
	measure    etc.Measure
	spent      func() (cpu, up time.Duration)
	slowdown   lately[*harm.Slowdown]
}

// New makes a server; it starts nothing.
func New(o Options) *Server {
	s := &Server{store: o.Store, log: o.Log, rules: cmp.Or(o.Rules, new(rule.Rules)), letters: o.Letters, weeks: o.Weeks, help: o.Help, link: o.Link, reported: o.Reported, open: o.Open,
		trusted: map[uint32]bool{0: true, uint32(os.Geteuid()): true}, operators: map[uint32]bool{},
		decoding: semaphore.NewWeighted(int64(max(o.Cores-1, 1))), logs: newLogsLine(), mux: http.NewServeMux(), committed: o.Committed,
		grace: o.Grace, counts: newCounts(o.Store, o.Reader, len(o.Clusters) > 0), mostAnswer: mostAnswer, measure: o.Measure, spent: o.Spent}
	s.slowdown.ask, s.slowdown.lifetime = s.runTimes, slowdownLifetime
	o.Store.OnSettled(s.noteSettled)
	for _, c := range o.Clusters {
		s.clusters = append(s.clusters, c.Name)
	}
	for _, uid := range o.Operators {
		s.operators[uid] = true
	}
	if o.Weeks.Zone == nil {
		s.weeks.Zone = time.UTC
	}
	if o.lookup == nil {
		o.lookup = net.DefaultResolver.LookupHost
	}
	s.door = admit.New(admit.Options{Log: o.Log, Metrics: s.counts.registry, Munge: o.MungeSocket, Clusters: o.Clusters, Trusted: s.trusted, Operators: s.operators, Proxy: o.Proxy,
		Connections: o.Connections, ReportRate: o.ReportRate, ReadRate: o.ReadRate, StrictNode: o.StrictNode, Lookup: o.lookup})
	s.servePages()
	one, many, logs := s.postReport, s.postReports, s.postLogs
	if o.Reader {
		one, many, logs = s.noReports, s.noReports, s.noReports
	}
	s.mux.HandleFunc("POST /v1/reports", one)
	s.mux.HandleFunc("POST /v1/reports/batch", many)
	s.mux.HandleFunc("POST "+logsPath, logs)
	s.mux.HandleFunc("GET /v1/jobs/{id}", s.getJob)
	s.mux.HandleFunc("GET /v1/jobs/{id}/compare", s.getComparison)
	s.mux.HandleFunc("GET /v1/jobs/{before}/compare/{id}", s.getComparison)
	s.mux.HandleFunc("GET /v1/jobs", s.getJobs)
	s.mux.HandleFunc("GET /v1/pending", s.getPending)
	s.mux.HandleFunc("GET /v1/workloads", s.getWorkloads)
	s.mux.HandleFunc("GET /v1/workloads/{name}", s.getWorkload)
	s.mux.HandleFunc("PUT /v1/workloads/{name}/mute", s.putMute)
	s.mux.HandleFunc("DELETE /v1/workloads/{name}/mute", s.deleteMute)
	s.mux.HandleFunc("GET /v1/openapi.yaml", s.getOpenAPI)
	s.mux.HandleFunc("GET /metrics", s.getMetrics)
	s.mux.HandleFunc("GET /v1/digest", s.getDigest)
	s.mux.HandleFunc("GET /v1/months", s.getSums(monthsKnown, s.months("month")))
	s.mux.HandleFunc("GET /v1/users", s.getSums(monthsKnown, s.months("user")))
	s.mux.HandleFunc("GET /v1/accounts", s.getSums(monthsKnown, s.months("account")))
	s.mux.HandleFunc("GET /v1/programs", s.getSums(pageKnown, s.programs))
	s.mux.HandleFunc("GET /v1/coverage", s.getCoverage)
	s.mux.HandleFunc("GET /v1/cost", s.getCost)
	s.mux.HandleFunc("GET /v1/status", s.getStatus)
	s.mux.HandleFunc("GET /healthz", s.getHealth)
	s.mux.HandleFunc("/", s.unknownPath)
	return s
}

// ServeHTTP answers one request. A path with // or .. in it is unknown; a ServeMux alone would
// redirect the client. An empty path, as CONNECT has it, is unknown, too.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, r, leave := s.door.Enter(w, r)
	defer leave()
	s.route(answer, r)
	answer.End() // not after a panic
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.EscapedPath(); !strings.HasPrefix(p, "/") || strings.Contains(p, "//") || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		s.unknownPath(w, r)
		return
	}
	if err := s.store.There(); err != nil { // answers out of a file that was replaced would be wrong
		s.door.Shown(r)
		if forPeople(r) {
			s.failPage(w, r, viewer{}, refuse(err))
		} else {
			s.fail(w, r, viewer{}, refuse(err))
		}
		return
	}
	if r.Method != http.MethodPost { // reports have addTimeout
		limit := longestRead
		if slices.Contains([]string{"digest", "coverage", "cost", "status"}, path.Base(r.URL.Path)) {
			limit = longestDigestRead
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		r = r.WithContext(ctx)
	}
	s.pageMux.ServeHTTP(w, r)
}

// longestRead is how long one question may read the database. While it reads, SQLite's log
// grows by everything that is written. A digest asks many questions, one after the other, and ledger, cost
// and status read all jobs of their span; jobeff waits no longer for them.
const (
	longestRead       = 10 * time.Second
	longestDigestRead = 30 * time.Second
)

// SetAlarm makes every further answer to a report say whether an alarm is up.
func (s *Server) SetAlarm(up bool) {
	value := wire.AlarmDown
	if up {
		value = wire.AlarmUp
	}
	s.alarm.Store(&value)
}

func (s *Server) tellAlarm(w http.ResponseWriter) {
	if value := s.alarm.Load(); value != nil {
		w.Header().Set(wire.AlarmHeader, *value)
	}
}

// unknownPath answers requests for paths that do not exist. To a person it need not be known who asks: if it is, the
// page has their menu.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	if forPeople(r) {
		ctx, cancel := context.WithTimeout(r.Context(), longestRead)
		defer cancel()
		by, e := seen(s.door.Page(r))
		if e == nil {
			by, e = s.turn(ctx, by)
		}
		if e != nil {
			by = viewer{}
		}
		s.failPage(w, r, by, &refusal{Status: http.StatusNotFound, Message: "there is no such page"})
		return
	}
	s.door.Shown(r)
	s.fail(w, r, viewer{}, &refusal{Status: http.StatusNotFound, Message: "jobeffd knows no " + clip(r.Method) + " of this path",
		Hint: "is the client of another version?"})
}

// Time-outs of connections. A client that is slower than these is cut off.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute // from the header of a request to the end of its answer
	idleTimeout   = 90 * time.Second
	stopTimeout   = 10 * time.Second
)

// Serve answers on all listeners until the context ends. Then requests that have begun may
// finish.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	h := &http.Server{Handler: s, ConnContext: s.door.Context, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(lines{s.log}, "", 0)}
	limited := make([]net.Listener, len(listeners))
	for i, l := range listeners {
		limited[i] = s.Limit(l)
	}
	return ServeUntil(ctx, h, limited...)
}

// ServeUntil is Serve for any handler.
func ServeUntil(ctx context.Context, h *http.Server, listeners ...net.Listener) error {
	var open sync.WaitGroup // connections
	h.ConnState = func(_ net.Conn, is http.ConnState) {
		switch is {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Done()
		}
	}
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { ended <- h.Serve(l) }()
	}
	select {
	case err := <-ended:
		h.Close()
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, l := range listeners {
		l.Close()
	}
	for range listeners {
		<-ended
	}
	letEnd(h, &open)
	if err := h.Shutdown(stop); err != nil {
		h.Close()
		return fmt.Errorf("server: requests did not end within %v: %w", stopTimeout, err)
	}
	return nil
}

// letEnd waits until connections have ended, half of stopTimeout at most. Shutdown would drop a
// request on a connection that was accepted just before. If systemd holds the socket, no client may
// lose a request.
func letEnd(h *http.Server, open *sync.WaitGroup) {
	h.SetKeepAlivesEnabled(false)
	ended := make(chan struct{})
	go func() {
		open.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(stopTimeout / 2):
	}
}

// Limit puts a listener behind the same bounds as those of Serve.
func (s *Server) Limit(l net.Listener) net.Listener { return s.door.Listener(l) }

// lines logs what net/http says, for example a handler's panic.
type lines struct{ log zerolog.Logger }

// Write logs one line.
func (l lines) Write(p []byte) (int, error) {
	l.log.Warn().Str("http", string(p)).Msg("connection")
	return len(p), nil
}

// refused notes a refusal, and tells the client when to try again.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.noteRefusal(r, by, e)
	s.door.Answers(w, r)
	if e.Challenge != "" {
		w.Header().Set("WWW-Authenticate", e.Challenge)
	}
	if e.Retry > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(e.Retry.Seconds())))
	}
}

// noteRefusal logs and counts a refusal.
func (s *Server) noteRefusal(r *http.Request, by viewer, e *refusal) {
	if e.Reason == admit.Challenged { // nothing is wrong
		return
	}
	if store.IsDamage(e.Cause) {
		s.store.Suspect(r.Context())
	}
	event := s.log.Info()
	if e.Status >= http.StatusInternalServerError {
		event = s.log.Error()
	}
	by.note(event).Str("do", clip(r.Method)).Str("path", clip(r.URL.Path)).Int("status", e.Status).AnErr("why", e).Msg("refused")
	s.counts.refused.WithLabelValues(cmp.Or(e.Reason, fmt.Sprint(e.Status))).Inc()
}

// fail answers a refusal and logs it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.refused(w, r, by, e)
	problem(w, e)
}

// Options are what a Server needs; Store and Log must be set.
type Options struct {
	Store       *store.Store
	Log         zerolog.Logger
	Operators   []uint32        // they see all jobs, like root and jobeffd's own user
	MungeSocket string          // "": munge's own
	Clusters    []admit.Cluster // that jobeffd tells apart; none: there is one
	// Open lets everybody see every job, unless Slurm's PrivateData has jobs.
	Open    bool
	Proxy   admit.Proxy
	Rules   *rule.Rules     // that judge jobs; nil: there are none
	Letters *mail.Templates // that write the page of a digest as it is mailed
	Weeks   notice.Weekly   // when digests are due
	Help    string          // whom people ask
	Link    string          // where the pages are, for people; "": not known
	// Reported is called after a new report was committed, with its sender's Cluster. It may be nil.
	Reported func(cluster string)
	// Committed is called between a report's COMMIT and its answer. It may be nil. Tests use it
	// to see what a node does that gets no answer.
	Committed func()
	// Reader says that another process takes the reports, and that this one answers people.
	Reader bool

	Cores       int           // of this machine; 0: one
	ReportRate  int           // reports per second of one node; 0: no bound
	ReadRate    int           // requests per second of one user; 0: no bound
	Connections int           // at once of one user or one node; 0: no bound
	StrictNode  bool          // a node may report only from its own address
	Grace       time.Duration // how long after its end a job counts as complete without all reports; 0: never
	Measure     etc.Measure   // which jobs nodes measure
	// Spent is the CPU time of this process, and how long it has run. It may be nil.
	Spent func() (cpu, up time.Duration)

	lookup func(ctx context.Context, node string) ([]string, error) // a node's addresses; nil: the machine's resolver
}

// ListenUnix makes the socket, to which everybody on the machine may connect. It replaces a
// socket that a dead jobeffd left, but none that answers.
func ListenUnix(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil { // #nosec G301 -- everybody may reach the socket
		return nil, fmt.Errorf("server: %w: run jobeffd as root, or name another socket (server.socket or client.to)", err)
	}
	if c, err := net.DialTimeout("unix", socket, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("server: another jobeffd answers at %s: stop it (systemctl stop jobeffd.socket), or name another socket (server.socket or client.to)", socket)
	}
	info, err := os.Lstat(socket)
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("server: %s is in the way and not a socket: remove it, or name another socket (server.socket or client.to)", socket)
	}
	if err == nil {
		err = os.Remove(socket)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("server: %w", err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("server: %w: run jobeffd as root, or name another socket (server.socket or client.to)", err)
	}
	if err := os.Chmod(socket, 0o666); err != nil { // #nosec G302 -- likewise
		l.Close()
		return nil, fmt.Errorf("server: %w", err)
	}
	return l, nil
}

// ListenTCP listens on "HOST:PORT" for requests with munge credentials.
func ListenTCP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: %w: is that an address of this machine, and is the port free?", err)
	}
	return l, nil
}
