package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"jobeff/ingest/store"
)

// refusal is an answer that is not 200.
type refusal struct {
	status  int
	reason  string // for the metrics; "": the status
	message string
	hint    string
	retry   time.Duration // when to try again; 0 is not said
	cause   error         // for the log; may be nil
}

// Error returns the message and the cause.
func (e *refusal) Error() string {
	if e.cause != nil {
		return e.message + ": " + e.cause.Error()
	}
	return e.message
}

// refuse turns an error of the store into an answer.
func refuse(err error) *refusal {
	if errors.Is(err, store.ErrForeignNode) {
		return &refusal{status: http.StatusForbidden, reason: "foreign_node", message: "Slurm says that the job did not have this node",
			hint: "was it a job of another cluster of the same name?", cause: err}
	}
	if errors.Is(err, store.ErrPruned) {
		return &refusal{status: http.StatusGone, reason: "pruned", message: "the job is so old that jobeffd has dropped it; only its month's sums are kept",
			hint: "the report is of no use any more: delete it", cause: err}
	}
	if errors.Is(err, store.ErrManyWaiting) {
		return &refusal{status: http.StatusServiceUnavailable, reason: "waiting", message: "many reports of the job wait until Slurm tells of it, and this one fits none of them",
			hint: "it is kept, and tried again", retry: time.Minute, cause: err}
	}
	if errors.Is(err, store.ErrManyLogs) {
		return &refusal{status: http.StatusServiceUnavailable, reason: "logs", message: "many logs of windows wait to be replayed",
			hint: "they are kept for a while, and tried again", retry: time.Minute, cause: err}
	}
	if errors.Is(err, store.ErrLogsPart) {
		return &refusal{status: http.StatusTooEarly, reason: "logs_part", message: "many logs of windows of this user, or from this node, wait to be replayed",
			hint: "they are kept for a while, and tried again", retry: time.Minute, cause: err}
	}
	if errors.Is(err, store.ErrLogsEarly) {
		return &refusal{status: http.StatusTooEarly, reason: "logs_early", message: "the report of these logs has not come, or Slurm has not told of its job",
			hint: "they are kept for a while, and tried again", retry: 5 * time.Second, cause: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &refusal{status: http.StatusServiceUnavailable, reason: "slow", message: "jobeffd could not read this in time",
			hint: "ask for fewer jobs, or for a shorter time", cause: err}
	}
	if errors.Is(err, store.ErrMoved) {
		return &refusal{status: http.StatusServiceUnavailable, reason: "moved", message: "jobeffd's database was moved, deleted or replaced while jobeffd ran",
			hint: "put the file back, or restart jobeffd and jobeffd-read; nodes keep their reports until then", retry: time.Minute, cause: err}
	}
	if errors.Is(err, store.ErrUnavailable) {
		return &refusal{status: http.StatusServiceUnavailable, reason: "database", message: "jobeffd cannot use its database now", hint: "try again",
			retry: 5 * time.Second, cause: err}
	}
	return &refusal{status: http.StatusInternalServerError, message: "jobeffd failed to do this", hint: "its log says why", cause: err}
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

func unauthorized(message string, cause error) *refusal {
	return &refusal{status: http.StatusUnauthorized, message: message, hint: "try again with a fresh credential", cause: cause}
}
