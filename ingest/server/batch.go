package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"jobeff/ingest/job"
)

// postReports takes many reports of one node: POST /v1/reports/batch, each line the JSON that
// POST /v1/reports takes. Each is taken or refused by itself, and none stops the others. If
// the batch could be read, the answer is 200 and {"answers": [{"status": 200, "new": true}, {"status":
// 400, "error": "…", "hint": "…"}, …]}, in the order of the lines. A status of
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
		e = by.Count(len(lines) - 1)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	answers, added := s.keepReports(ctx, r, by, lines, begin)
	answer(w, http.StatusOK, map[string]any{"answers": answers})
	if added && s.reported != nil {
		s.reported()
	}
}

// linesOf splits a batch, packed or not, into its reports.
func (s *Server) linesOf(ctx context.Context, body []byte) (lines [][]byte, e *refusal) {
	text := body
	if job.Encoding(body) != "" {
		release, e := s.takeCore(ctx)
		if e != nil {
			return nil, e
		}
		defer release()
		var err error
		if text, err = job.DecompressReport(nil, body); err != nil {
			return nil, badReport(err)
		}
	}
	if len(text) > job.MaxBatchBytes || bytes.Count(text, []byte("\n")) >= job.MaxBatchLines {
		return nil, &refusal{Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the batch is larger than %d reports or %d MiB", job.MaxBatchLines, job.MaxBatchBytes>>20)}
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil
}

// keepReports keeps all reports at the same time, so that they share a COMMIT. It returns an
// answer to each, and whether one was new.
func (s *Server) keepReports(ctx context.Context, r *http.Request, by viewer, lines [][]byte, begin time.Time) (answers []job.BatchAnswer, anyNew bool) {
	answers = make([]job.BatchAnswer, len(lines))
	var all sync.WaitGroup
	for i, line := range lines {
		all.Go(func() { answers[i] = s.keepLine(ctx, r, by, line, begin) })
	}
	all.Wait()
	return answers, slices.ContainsFunc(answers, func(a job.BatchAnswer) bool { return a.New })
}

// keepLine keeps one report. A panic here would end jobeffd: net/http catches only those of a
// request's own goroutine.
func (s *Server) keepLine(ctx context.Context, r *http.Request, by viewer, line []byte, begin time.Time) job.BatchAnswer {
	added, e := func() (added bool, e *refusal) {
		defer func() {
			if p := recover(); p != nil {
				e = refuse(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		return s.keepReport(ctx, r, by, line, begin)
	}()
	if e != nil {
		s.noteRefusal(r, by, e)
		return job.BatchAnswer{Status: e.Status, Error: e.Message, Hint: e.Hint}
	}
	return job.BatchAnswer{Status: http.StatusOK, New: added}
}
