package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/store"
)

// addTimeout bounds how long a report may wait for its COMMIT.
const addTimeout = 20 * time.Second

// postReport takes one report. Its 200 says that the report is on the disk.
func (s *Server) postReport(w http.ResponseWriter, r *http.Request) {
	if s.postOne(w, r, s.keepReport) && s.reported != nil {
		s.reported()
	}
}

// keeper decodes, checks and stores the body of a request.
type keeper func(ctx context.Context, r *http.Request, by viewer, body []byte, begin time.Time) (added bool, e *refusal)

// postOne answers a node that sends one thing.
func (s *Server) postOne(w http.ResponseWriter, r *http.Request, keep keeper) (added bool) {
	begin := time.Now()
	by, e := s.reporter(r)
	if e == nil && by.payload != nil { // root of this machine has no bound
		e = s.reports.take(source(r), begin, 1)
	}
	ctx, cancel := context.WithTimeout(r.Context(), addTimeout)
	defer cancel()
	if e == nil {
		var body []byte
		var release func()
		if body, release, e = s.readBody(ctx, r, by); e == nil {
			defer release()
			added, e = keep(ctx, r, by, body, begin)
		}
	}
	if e != nil {
		s.fail(w, r, by, e)
		return false
	}
	answer(w, http.StatusOK, map[string]bool{"new": added})
	return added
}

// noReports answers a node whose report.to names the reader. The node keeps its report and
// tries again.
func (s *Server) noReports(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, viewer{}, &refusal{status: http.StatusServiceUnavailable, reason: "reader", message: "this jobeffd answers people and takes no reports",
		hint: "let report.to name the other one's address", retry: 10 * time.Minute})
}

// reporter identifies who reports.
func (s *Server) reporter(r *http.Request) (by viewer, e *refusal) {
	by, e = s.identify(r)
	if e == nil && !s.trusted[by.UID] {
		e = notReporter(by)
	}
	return by, e
}

// keepReport decodes, checks and stores a report, packed or not, and logs and counts it.
func (s *Server) keepReport(ctx context.Context, r *http.Request, by viewer, body []byte, begin time.Time) (added bool, e *refusal) {
	report, packed, e := s.decode(ctx, body)
	if e == nil {
		e = s.checkNode(r, by, report)
	}
	if e != nil {
		return false, e
	}
	waits := time.Now()
	added, err := s.store.AddReport(ctx, report, packed)
	s.counts.kept.Observe(time.Since(waits).Seconds())
	if err != nil {
		return false, refuse(err)
	}
	if s.committed != nil {
		s.committed()
	}
	by.note(s.log.Info()).Str("cluster", report.Cluster).Uint32("job", report.JobID).Str("node", report.Node).Str("nonce", report.Nonce).
		Bool("new", added).Dur("ms", time.Since(begin)).Msg("report")
	s.counts.received.WithLabelValues(strconv.FormatBool(added)).Inc()
	if state, ok := job.ParseOutboxState(r.Header.Get(job.OutboxHeader)); ok {
		s.store.HeardOutbox(report.Node, state, begin)
	}
	if state, ok := job.ParseRunDirState(r.Header.Get(job.RunDirHeader)); ok {
		s.counts.rooms.note(report.Node, state, begin)
	}
	if added && s.grace > 0 && begin.Sub(report.End) > s.grace {
		s.counts.late.Inc()
	}
	return added, nil
}

// buffers are those into which reports are unpacked.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// mostText is the largest buffer that is kept for later, bytes. Reports are rarely larger.
const mostText = 64 << 10

// takeCore waits for one of the cores for reports; release gives it back. One core is never
// taken. Go runs whatever is ready in turn, and a question needs several turns: each would
// wait behind a burst of reports.
func (s *Server) takeCore(ctx context.Context) (release func(), e *refusal) {
	if err := s.decoding.Acquire(ctx, 1); err != nil {
		return nil, refuse(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
	}
	return func() { s.decoding.Release(1) }, nil
}

// decode unpacks, decodes and checks a report, and packs it if it is not packed: everything that
// takes CPU time. A few bytes may unpack to a large text, so only as many texts exist as reports
// are decoded at once. It returns the report and its packed text.
func (s *Server) decode(ctx context.Context, body []byte) (report *job.NodeReport, packed []byte, e *refusal) {
	release, e := s.takeCore(ctx)
	if e != nil {
		return nil, nil, e
	}
	defer release()
	text, err := body, error(nil)
	if job.Encoding(body) != "" {
		packed = body
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		if text, err = job.DecompressReport(*buffer, body); cap(text) <= mostText {
			*buffer = text
		}
	}
	if err == nil {
		report, err = job.DecodeReport(text)
	}
	switch {
	case err != nil:
		return nil, nil, badReport(err)
	case packed == nil:
		packed = job.Compress(text)
	}
	return report, packed, nil
}

// noteSettled logs and counts what Slurm's word did to reports.
func (s *Server) noteSettled(what store.Settled) {
	s.counts.settled.WithLabelValues("true").Add(float64(what.Fit))
	s.counts.settled.WithLabelValues("false").Add(float64(what.Unfit))
	event := s.log.Debug()
	if what.Unfit > 0 {
		event = s.log.Warn()
	}
	event.Str("cluster", what.Cluster).Uint32("job", what.JobID).Int("fit", what.Fit).Int("unfit", what.Unfit).
		Msg("Slurm's word settles reports; those that do not fit it wait apart")
}

func badReport(err error) *refusal {
	if errors.Is(err, job.ErrTooLarge) {
		return tooLarge()
	}
	if errors.Is(err, job.ErrNewer) {
		return &refusal{status: http.StatusServiceUnavailable, message: err.Error(), retry: 10 * time.Minute}
	}
	return &refusal{status: http.StatusBadRequest, message: err.Error(), hint: "it was not made by jobeff-ingest, or is damaged"}
}

func tooLarge() *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, message: "the report is larger than jobeffd takes"}
}

// readBody reads a request's body, still packed, and checks that the credential was made for
// it. It waits until there is memory for the report's text; release gives that back.
func (s *Server) readBody(ctx context.Context, r *http.Request, by viewer) (body []byte, release func(), e *refusal) {
	switch {
	case r.ContentLength < 0:
		return nil, nil, &refusal{status: http.StatusLengthRequired, message: "the request does not say its length"}
	case r.ContentLength > job.MaxReportBytes:
		return nil, nil, tooLarge()
	}
	in := bufio.NewReaderSize(r.Body, job.TextSizeHead)
	head, _ := in.Peek(job.TextSizeHead) // what is wrong with it, the whole body tells
	address := ""
	if by.payload != nil {
		address = source(r)
	}
	size := job.TextSize(head, r.ContentLength)
	if r.URL.Path == logsPath { // they are unpacked one at a time
		size = r.ContentLength
	}
	release, e = s.texts.take(ctx, address, size)
	if e != nil {
		return nil, nil, e
	}
	body = make([]byte, r.ContentLength)
	if _, err := io.ReadFull(in, body); err != nil {
		e = &refusal{status: http.StatusRequestTimeout, message: "the request ended early", hint: "try again", cause: err}
	} else if e = s.bind(by, r, body); e == nil {
		e = checkEncoding(r, body)
	}
	if e != nil {
		release()
		return nil, nil, e
	}
	return body, release, nil
}

// checkEncoding refuses a body that is not packed in the way that its header says.
func checkEncoding(r *http.Request, body []byte) *refusal {
	switch says := r.Header.Get("Content-Encoding"); {
	case says != "" && says != "zstd" && says != "gzip":
		return &refusal{status: http.StatusUnsupportedMediaType, message: "the report's Content-Encoding is neither zstd nor gzip"}
	case says != job.Encoding(body):
		return badReport(fmt.Errorf("the report is not packed as its Content-Encoding %q says", says))
	}
	return nil
}
