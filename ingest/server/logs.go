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
	s.postOne(w, r, s.keepLogs)
}

func longLogs() *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the logs are larger than %d KiB", job.MaxLogsBytes>>10)}
}

// keepLogs decodes, checks and stores logs, packed, and logs it.
func (s *Server) keepLogs(ctx context.Context, r *http.Request, by viewer, body []byte, _ time.Time) (added bool, e *refusal) {
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
	by.note(s.log.Info()).Str("cluster", logs.Cluster).Uint32("job", logs.JobID).Str("node", logs.Node).Str("nonce", logs.Nonce).
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
	case err != nil:
		return nil, badReport(err)
	}
	return logs, nil
}
