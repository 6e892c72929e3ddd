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

// refusals are the answers to errors of the store. Of those that an error is, the first counts.
var refusals = []struct {
	err    error
	answer refusal
}{
	{store.ErrForeignNode, refusal{Status: http.StatusForbidden, Reason: "foreign_node", Message: "Slurm says that the job did not have this node",
		Hint: "was it a job of another cluster of the same name?"}},
	{store.ErrPruned, refusal{Status: http.StatusGone, Reason: "pruned", Message: "the job is so old that jobeffd has dropped it; only its month's sums are kept",
		Hint: "the report is of no use any more: delete it"}},
	{store.ErrManyWaiting, refusal{Status: http.StatusServiceUnavailable, Reason: "waiting", Message: "reports of the job wait until Slurm tells of it, and this one is large, or one too many, or the disk is nearly full",
		Hint: "it is kept, and tried again", Retry: time.Minute}},
	{store.ErrManyClusters, refusal{Status: http.StatusServiceUnavailable, Reason: "clusters", Message: "jobeffd knows as many clusters as it believes there are, and not this one",
		Hint: "it is kept, and tried again; Slurm's own word of a job there, or fewer rows in jobeffd's table clusters, let it in", Retry: 10 * time.Minute}},
	{store.ErrManyLogs, refusal{Status: http.StatusServiceUnavailable, Reason: "logs", Message: "many logs of windows wait to be replayed",
		Hint: "they are kept for a while, and tried again", Retry: time.Minute}},
	{store.ErrLogsPart, refusal{Status: http.StatusTooEarly, Reason: "logs_part", Message: "many logs of windows of this user, or from this node, wait to be replayed",
		Hint: "they are kept for a while, and tried again", Retry: time.Minute}},
	{store.ErrLogsEarly, refusal{Status: http.StatusTooEarly, Reason: "logs_early", Message: "the report of these logs has not come, or Slurm has not told of its job",
		Hint: "they are kept for a while, and tried again", Retry: 5 * time.Second}},
	{context.DeadlineExceeded, refusal{Status: http.StatusServiceUnavailable, Reason: "slow", Message: "jobeffd could not read this in time",
		Hint: "ask for fewer jobs, or for a shorter time"}},
	{store.ErrMoved, refusal{Status: http.StatusServiceUnavailable, Reason: "moved", Message: "jobeffd's database was moved, deleted or replaced while jobeffd ran",
		Hint: "put the file back, or restart jobeffd and jobeffd-read; nodes keep their reports until then", Retry: time.Minute}},
	{store.ErrUnavailable, refusal{Status: http.StatusServiceUnavailable, Reason: "database", Message: "jobeffd cannot use its database now", Hint: "try again",
		Retry: 5 * time.Second}},
}

// refuse turns an error of the store into an answer.
func refuse(err error) *refusal {
	answer := refusal{Status: http.StatusInternalServerError, Message: "jobeffd failed to do this", Hint: "its log says why"}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			answer = r.answer
			break
		}
	}
	answer.Cause = err
	return &answer
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

// mostAnswer bounds an answer's list, bytes. Its last item may go beyond it.
const mostAnswer = 16 << 20

// listAnswer writes a job.JobList or a job.WorkloadList an item at a time, so that its items are
// never in memory together.
type listAnswer struct {
	to    http.ResponseWriter
	of    string // the list's name in JSON
	most  int    // bytes
	items int
	bytes int
	gone  bool // the client
}

// add writes an item. After most it returns store.ErrEnough.
func (l *listAnswer) add(item any) error {
	text, err := json.Marshal(item)
	if err != nil { // a NaN in a figure
		return err
	}
	before := ","
	if l.items == 0 {
		before = l.begin()
	}
	l.items++
	l.bytes += len(text)
	if _, err := l.to.Write(append([]byte(before), text...)); err != nil {
		l.gone = true
		return err
	}
	if l.bytes > l.most {
		return store.ErrEnough
	}
	return nil
}

// begin writes the header, and returns what stands before the first item.
func (l *listAnswer) begin() string {
	l.to.Header().Set("Content-Type", "application/json")
	l.to.WriteHeader(http.StatusOK)
	return `{"` + l.of + `":[`
}

// end writes what comes after the items: whether more are left, and the path that answers them.
func (l *listAnswer) end(more bool, next string) error {
	before := ""
	if l.items == 0 {
		before = l.begin()
	}
	after := "]}\n"
	if more {
		path, err := json.Marshal(next)
		if err != nil {
			return err
		}
		after = `],"more":true,"next":` + string(path) + "}\n"
	}
	_, err := l.to.Write([]byte(before + after))
	l.gone = err != nil
	return err
}
