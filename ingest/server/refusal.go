package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"jobeff/ingest/admit"
	"jobeff/ingest/store"
)

// refusal is an answer that is not 200.
type refusal = admit.Refusal

// refuse turns an error of the store into an answer.
func refuse(err error) *refusal {
	if errors.Is(err, store.ErrForeignNode) {
		return &refusal{Status: http.StatusForbidden, Reason: "foreign_node", Message: "Slurm says that the job did not have this node",
			Hint: "was it a job of another cluster of the same name?", Cause: err}
	}
	if errors.Is(err, store.ErrPruned) {
		return &refusal{Status: http.StatusGone, Reason: "pruned", Message: "the job is so old that jobeffd has dropped it; only its month's sums are kept",
			Hint: "the report is of no use any more: delete it", Cause: err}
	}
	if errors.Is(err, store.ErrManyWaiting) {
		return &refusal{Status: http.StatusServiceUnavailable, Reason: "waiting", Message: "many reports of the job wait until Slurm tells of it, and this one fits none of them",
			Hint: "it is kept, and tried again", Retry: time.Minute, Cause: err}
	}
	if errors.Is(err, store.ErrManyLogs) {
		return &refusal{Status: http.StatusServiceUnavailable, Reason: "logs", Message: "many logs of windows wait to be replayed",
			Hint: "they are kept for a while, and tried again", Retry: time.Minute, Cause: err}
	}
	if errors.Is(err, store.ErrLogsPart) {
		return &refusal{Status: http.StatusTooEarly, Reason: "logs_part", Message: "many logs of windows of this user, or from this node, wait to be replayed",
			Hint: "they are kept for a while, and tried again", Retry: time.Minute, Cause: err}
	}
	if errors.Is(err, store.ErrLogsEarly) {
		return &refusal{Status: http.StatusTooEarly, Reason: "logs_early", Message: "the report of these logs has not come, or Slurm has not told of its job",
			Hint: "they are kept for a while, and tried again", Retry: 5 * time.Second, Cause: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &refusal{Status: http.StatusServiceUnavailable, Reason: "slow", Message: "jobeffd could not read this in time",
			Hint: "ask for fewer jobs, or for a shorter time", Cause: err}
	}
	if errors.Is(err, store.ErrMoved) {
		return &refusal{Status: http.StatusServiceUnavailable, Reason: "moved", Message: "jobeffd's database was moved, deleted or replaced while jobeffd ran",
			Hint: "put the file back, or restart jobeffd and jobeffd-read; nodes keep their reports until then", Retry: time.Minute, Cause: err}
	}
	if errors.Is(err, store.ErrUnavailable) {
		return &refusal{Status: http.StatusServiceUnavailable, Reason: "database", Message: "jobeffd cannot use its database now", Hint: "try again",
			Retry: 5 * time.Second, Cause: err}
	}
	return &refusal{Status: http.StatusInternalServerError, Message: "jobeffd failed to do this", Hint: "its log says why", Cause: err}
}

// answer writes JSON.
func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // a NaN in a figure
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

// clip shortens what a client sent, for the log.
func clip(s string) string { return s[:min(len(s), 200)] }
