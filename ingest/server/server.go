// Package server is jobeffd without its processes: the HTTP interface to the
// store, who may do what, and the questions to Slurm.
//
// Nodes post reports to it (client.Sender), one by one or many as lines, people ask it
// for jobs (client.Client). It knows who speaks: on the unix socket by the kernel's peer
// credentials, on TCP by munge. Only root, and the user it runs as itself, may
// report; a user reads his own jobs and workloads, account coordinators their
// accounts', root and operators all.
package server

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"jobeff/ingest/store"
)

// Server answers HTTP requests. It is an http.Handler.
type Server struct {
	store     *store.Store
	log       zerolog.Logger
	trusted   map[uint32]bool // may report, and read all
	operators map[uint32]bool // may read all
	open      bool
	munge     string
	reported  func()
	committed func()
	nonces    nonces
	memory    *semaphore.Weighted // bytes of reports that are being read
	decoding  *semaphore.Weighted // cores for reports
	mux       *http.ServeMux      // the interface of programs
	proxy     Proxy
	forOthers map[uint32]bool // speak for whom they name
	pageMux   *http.ServeMux  // the pages, and mux for the rest

	reports, reads *rates
	hosts          *hosts
	strictNode     bool
	grace          time.Duration
	counts         *counts
}

// reportMemory bounds what reports take that are read at the same time.
const reportMemory = 128 << 20

// New makes a server; it starts nothing.
func New(o Options) *Server {
	s := &Server{store: o.Store, log: o.Log, munge: o.MungeSocket, reported: o.Reported, open: o.Open,
		trusted: map[uint32]bool{0: true, uint32(os.Geteuid()): true}, operators: map[uint32]bool{},
		memory: semaphore.NewWeighted(reportMemory), decoding: semaphore.NewWeighted(int64(max(o.Cores-1, 1))), mux: http.NewServeMux(), committed: o.Committed,
		reports: newRates(o.ReportRate), reads: newRates(o.ReadRate), hosts: newHosts(net.DefaultResolver.LookupHost), strictNode: o.StrictNode, grace: o.Grace,
		counts: newCounts(o.Store, o.Reader), proxy: o.Proxy, forOthers: map[uint32]bool{}}
	for _, uid := range o.Operators {
		s.operators[uid] = true
	}
	if s.proxy.Header != "" {
		for _, uid := range s.proxy.Users {
			s.forOthers[uid] = true
		}
	}
	s.servePages(o.Pages)
	one, many := s.postReport, s.postReports
	if o.Reader {
		one, many = s.noReports, s.noReports
	}
	s.mux.HandleFunc("POST /v1/reports", one)
	s.mux.HandleFunc("POST /v1/reports/batch", many)
	s.mux.HandleFunc("GET /v1/jobs/{id}", s.getJob)
	s.mux.HandleFunc("GET /v1/jobs", s.getJobs)
	s.mux.HandleFunc("GET /v1/workloads", s.getWorkloads)
	s.mux.HandleFunc("GET /v1/workloads/{name}", s.getWorkload)
	s.mux.HandleFunc("PUT /v1/workloads/{name}/mute", s.putMute)
	s.mux.HandleFunc("DELETE /v1/workloads/{name}/mute", s.deleteMute)
	s.mux.HandleFunc("GET /metrics", s.getMetrics)
	s.mux.HandleFunc("GET /v1/digest", s.getDigest)
	s.mux.HandleFunc("GET /healthz", s.getHealth)
	s.mux.HandleFunc("/", s.unknownPath)
	return s
}

// ServeHTTP answers one request. Paths with // or .. in them are unknown ones: a ServeMux
// alone would send the client to another.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.EscapedPath(); p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
		s.unknownPath(w, r)
		return
	}
	if r.Method != http.MethodPost { // addTimeout is a report's
		ctx, cancel := context.WithTimeout(r.Context(), longestRead)
		defer cancel()
		r = r.WithContext(ctx)
	}
	s.pageMux.ServeHTTP(w, r)
}

// longestRead bounds what a question may take of the database. While one reads, SQLite keeps
// all that is written meanwhile in its log, which grows.
const longestRead = 10 * time.Second

// unknownPath answers a request for what is not there.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	if pagesOnly(r.Context()) {
		s.failPage(w, r, viewer{}, &refusal{status: http.StatusNotFound, message: "there is no such page"})
		return
	}
	s.fail(w, r, viewer{}, &refusal{status: http.StatusNotFound, message: "jobeffd knows no " + r.Method + " of this path",
		hint: "is the client of another version?"})
}

// Time-outs of connections. A client that is slower than these is cut off.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 90 * time.Second
	stopTimeout   = 10 * time.Second
)

// Serve answers on all listeners until the context ends, then lets what has
// begun finish.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	h := &http.Server{Handler: s, ConnContext: withPeer, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(lines{s.log}, "", 0)}
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- h.Serve(l) }()
	}
	select {
	case err := <-failed:
		h.Close()
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := h.Shutdown(stop); err != nil {
		h.Close()
		return fmt.Errorf("server: requests did not end within %v: %w", stopTimeout, err)
	}
	return nil
}

// lines makes log lines of what net/http says, among it a handler's panic.
type lines struct{ log zerolog.Logger }

// Write logs one line.
func (l lines) Write(p []byte) (int, error) {
	l.log.Warn().Str("http", string(p)).Msg("connection")
	return len(p), nil
}

// refused notes a refusal, and says when to try again.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.noteRefusal(r, by, e)
	if e.retry > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(e.retry.Seconds())))
	}
}

// noteRefusal logs and counts who was refused what.
func (s *Server) noteRefusal(r *http.Request, by viewer, e *refusal) {
	event := s.log.Info()
	if e.status >= http.StatusInternalServerError {
		event = s.log.Error()
	}
	by.note(event).Str("do", r.Method).Str("path", clip(r.URL.Path)).Int("status", e.status).AnErr("why", e).Msg("refused")
	if e.reason == "" {
		e.reason = fmt.Sprint(e.status)
	}
	s.counts.refused.WithLabelValues(e.reason).Inc()
}

// fail answers a refusal and logs it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.refused(w, r, by, e)
	answer(w, e.status, map[string]string{"error": e.message, "hint": e.hint})
}
