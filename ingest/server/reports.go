package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

// addTimeout bounds how long a report may wait for its COMMIT.
const addTimeout = 20 * time.Second

// postReport takes one report. Its 200 says that the report is on the disk.
func (s *Server) postReport(w http.ResponseWriter, r *http.Request) {
	if by, added := s.postOne(w, r, s.keepReport); added && s.reported != nil {
		s.reported(by.Caller.Cluster)
	}
}

// keeper decodes, checks and stores the body of a request.
type keeper func(ctx context.Context, r *http.Request, by viewer, body []byte, begin time.Time) (added bool, e *refusal)

// postOne answers a node that sends one thing.
func (s *Server) postOne(w http.ResponseWriter, r *http.Request, keep keeper) (by viewer, added bool) {
	begin := time.Now()
	by, e := s.reporter(r)
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
		return by, false
	}
	s.tellAlarm(w)
	answer(w, r, map[string]bool{"new": added})
	return by, added
}

// noReports answers a node whose report.to names the reader. The node keeps its report and
// tries again.
func (s *Server) noReports(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, viewer{}, &refusal{Status: http.StatusServiceUnavailable, Reason: "reader", Message: "this jobeffd answers people and takes no reports",
		Hint: "let report.to name the other one's address", Retry: 10 * time.Minute})
}

// reporter identifies who reports.
func (s *Server) reporter(r *http.Request) (viewer, *refusal) { return seen(s.door.Reports(r)) }

// keepReport decodes, checks and stores a report, packed or not, and logs and counts it. An interim
// report does not count as new: Slurm knows no more about its job than before.
func (s *Server) keepReport(ctx context.Context, r *http.Request, by viewer, body []byte, begin time.Time) (added bool, e *refusal) {
	report, packed, e := s.decode(ctx, body)
	if e == nil {
		e = by.CheckCluster(report.Cluster)
	}
	if e == nil {
		e = checkNode(ctx, by, report)
	}
	if e != nil {
		return false, e
	}
	waits := time.Now()
	added, err := s.store.AddReport(ctx, store.Sender{Part: by.Part(), Stranger: by.Stranger()}, report, packed)
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
	if state, ok := wire.ParseOutboxState(r.Header.Get(wire.OutboxHeader)); ok {
		s.store.HeardOutbox(report.Cluster, report.Node, state, begin)
	}
	if state, ok := node.ParseRunDirState(r.Header.Get(node.RunDirHeader)); ok {
		s.counts.rooms.note(report.Cluster+":"+report.Node, state, begin)
	}
	if added && s.grace > 0 && begin.Sub(report.End) > s.grace {
		s.counts.late.Inc()
	}
	return added && report.AsOf.IsZero(), nil
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
	if wire.Encoding(body) != "" {
		packed = body
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		if text, err = wire.DecompressReport(*buffer, body); cap(text) <= mostText {
			*buffer = text
		}
	}
	if err == nil {
		report, err = wire.DecodeReport(text)
	}
	switch {
	case err != nil:
		return nil, nil, badReport(err)
	case packed == nil:
		packed = wire.Compress(text)
	}
	return report, packed, nil
}

// noteSettled logs and counts the reports that Slurm's word settled.
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
	if errors.Is(err, wire.ErrTooLarge) {
		return tooLarge()
	}
	if errors.Is(err, wire.ErrNewer) {
		return &refusal{Status: http.StatusServiceUnavailable, Message: err.Error(), Retry: 10 * time.Minute}
	}
	return &refusal{Status: http.StatusBadRequest, Message: err.Error(), Hint: "it was not made by jobeff-ingest, or is damaged"}
}

func tooLarge() *refusal {
	return &refusal{Status: http.StatusRequestEntityTooLarge, Message: "the report is larger than jobeffd takes"}
}

// readBody reads a report's body, still packed; release gives its room back.
func (s *Server) readBody(ctx context.Context, r *http.Request, by viewer) (body []byte, release func(), e *refusal) {
	size := wire.TextSize
	if r.URL.Path == logsPath { // they are unpacked one at a time
		size = func(_ []byte, packed int64) int64 { return packed }
	}
	if body, release, e = by.Body(ctx, r, size); e != nil {
		return nil, nil, e
	}
	if e = checkEncoding(r, body); e != nil {
		release()
		return nil, nil, e
	}
	return body, release, nil
}

// checkNode refuses a report whose node cannot have been part of the job. The store compares
// the rest with what Slurm says of the job, if that is known (store.ErrForeignNode).
func checkNode(ctx context.Context, by viewer, report *job.NodeReport) *refusal {
	if holds, known := slurmid.HostlistHolds(report.NodeList, report.Node); known && !holds {
		return &refusal{Status: http.StatusForbidden, Reason: "foreign_node", Message: "the report's node is not among the job's nodes that it names"}
	}
	return by.CheckNode(ctx, report.Node)
}

// checkEncoding refuses a body that is not packed in the way that its header says. The refusal is not
// for good: no credential covers the header.
func checkEncoding(r *http.Request, body []byte) *refusal {
	switch says := r.Header.Get("Content-Encoding"); {
	case says != "" && says != "zstd":
		return &refusal{Status: http.StatusUnsupportedMediaType, Message: "the report's Content-Encoding is not zstd"}
	case says != wire.Encoding(body):
		return &refusal{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("the report is not packed as its Content-Encoding %.20q says", says)}
	}
	return nil
}

// postReports takes many reports of one node: POST /v1/reports/batch, each line the JSON that
// POST /v1/reports takes. Each is taken or refused by itself, and none stops the others. If
// the batch could be read, the answer is 200 and {"answers": [{"new": true, "status": 200}, {"status":
// 400, "detail": "…", "hint": "…"}, …]}, in the order of the lines. A status of
// 200 says that this report is on the disk.
func (s *Server) postReports(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	by, e := s.reporter(r)
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), addTimeout)
	defer cancel()
	body, release, e := s.readBody(ctx, r, by)
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	defer release()
	lines, e := s.linesOf(ctx, body)
	if e == nil {
		e = by.Count(max(len(lines)-1, 0))
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	answers, added := s.keepReports(ctx, r, by, lines, begin)
	s.tellAlarm(w)
	answer(w, r, map[string]any{"answers": answers})
	if added && s.reported != nil {
		s.reported(by.Caller.Cluster)
	}
}

// linesOf splits a batch, packed or not, into its reports.
func (s *Server) linesOf(ctx context.Context, body []byte) (lines [][]byte, e *refusal) {
	text := body
	if wire.Encoding(body) != "" {
		release, e := s.takeCore(ctx)
		if e != nil {
			return nil, e
		}
		defer release()
		var err error
		if text, err = wire.DecompressReport(nil, body); err != nil {
			return nil, badReport(err)
		}
	}
	if len(text) > wire.MaxBatchBytes || bytes.Count(text, []byte("\n")) >= wire.MaxBatchLines {
		return nil, &refusal{Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the batch is larger than %d reports or %d MiB", wire.MaxBatchLines, wire.MaxBatchBytes>>20)}
	}
	if len(text) == 0 { // a node in alarm asks whether it has ended
		return nil, nil
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil
}

// keepReports keeps all reports at the same time, so that they share a COMMIT. It returns an
// answer to each, and whether one was new.
func (s *Server) keepReports(ctx context.Context, r *http.Request, by viewer, lines [][]byte, begin time.Time) (answers []wire.BatchAnswer, anyNew bool) {
	answers = make([]wire.BatchAnswer, len(lines))
	var all sync.WaitGroup
	for i, line := range lines {
		all.Go(func() { answers[i] = s.keepLine(ctx, r, by, line, begin) })
	}
	all.Wait()
	return answers, slices.ContainsFunc(answers, func(a wire.BatchAnswer) bool { return a.New })
}

// keepLine keeps one report. A panic here would end jobeffd: net/http catches only those of a
// request's own goroutine.
func (s *Server) keepLine(ctx context.Context, r *http.Request, by viewer, line []byte, begin time.Time) wire.BatchAnswer {
	added, e := func() (added bool, e *refusal) {
		defer func() {
			if p := recover(); p != nil {
				e = refuse(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		if wire.Encoding(line) != "" { // there is room for the batch's text only
			return false, badReport(errors.New("a line of the batch is packed by itself"))
		}
		return s.keepReport(ctx, r, by, line, begin)
	}()
	if e != nil {
		s.noteRefusal(r, by, e)
		return wire.BatchAnswer{Problem: e.Problem()}
	}
	return wire.BatchAnswer{New: added, Problem: wire.Problem{Status: http.StatusOK}}
}
