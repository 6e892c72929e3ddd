package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"jobeff/ingest/job"
)

// postLogs takes the logs of windows of one node (job.NodeLogs): POST /v1/logs. Its 200 says that
// they are on the disk, until they are replayed.
func (s *Server) postLogs(w http.ResponseWriter, r *http.Request) {
	by, e := s.reporter(r)
	if e == nil && by.payload != nil {
		e = s.reports.take(source(r), time.Now(), 1)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	added, e := s.takeLogs(r, by)
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	answer(w, http.StatusOK, map[string]bool{"new": added})
}

func longLogs() *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the logs are larger than %d KiB", job.MaxLogsBytes>>10)}
}

// takeLogs reads, checks and keeps logs.
func (s *Server) takeLogs(r *http.Request, by viewer) (added bool, e *refusal) {
	ctx, cancel := context.WithTimeout(r.Context(), addTimeout)
	defer cancel()
	body, release, e := s.readBody(ctx, r, by)
	if e != nil {
		return false, e
	}
	defer release()
	logs, e := s.decodeLogs(ctx, body)
	if e == nil {
		e = s.checkHost(r, by, logs.Node)
	}
	if e != nil {
		return false, e
	}
	added, err := s.store.AddLogs(ctx, logs, body)
	if err != nil {
		return false, refuse(err)
	}
	by.note(s.log.Info()).Str("cluster", logs.Cluster).Uint32("job", logs.JobID).Str("node", logs.Node).Str("run", logs.Nonce).
		Int("bytes", len(body)).Bool("new", added).Msg("logs of windows")
	return added, nil
}

// decodeLogs checks that logs can be read.
func (s *Server) decodeLogs(ctx context.Context, body []byte) (*job.NodeLogs, *refusal) {
	if len(body) > job.MaxLogsBytes {
		return nil, longLogs()
	}
	release, e := s.takeCore(ctx)
	if e != nil {
		return nil, e
	}
	defer release()
	text, err := job.DecompressReport(nil, body)
	var logs *job.NodeLogs
	if err == nil {
		logs, err = job.DecodeLogs(text)
	}
	if err == nil {
		_, err = logsOf(logs)
	}
	switch {
	case errors.Is(err, job.ErrTooLarge):
		return nil, longLogs()
	case errors.Is(err, job.ErrNewer):
		return nil, &refusal{status: http.StatusServiceUnavailable, message: err.Error(), retry: 10 * time.Minute}
	case err != nil:
		return nil, badReport(err)
	}
	return logs, nil
}
