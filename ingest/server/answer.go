package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"jobeff/doc"
	"jobeff/ingest/admit"
	"jobeff/ingest/store"
)

// refusal is an answer that is not 200.
type refusal = admit.Refusal

// refusals maps the store's errors to answers. The first one that fits counts.
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
	{store.ErrDamaged, refusal{Status: http.StatusServiceUnavailable, Reason: "damaged", Message: "jobeffd's database is damaged",
		Hint: "the way out is in ADMIN.md 6, \"A damaged database\"; nodes keep their reports until then", Retry: time.Minute}},
	{store.ErrUnavailable, refusal{Status: http.StatusServiceUnavailable, Reason: "database", Message: "jobeffd cannot use its database now", Hint: "try again",
		Retry: 5 * time.Second}},
}

// refuse turns an error of the store into an answer. A refusal stays as it is.
func refuse(err error) *refusal {
	if e := new(refusal); errors.As(err, &e) {
		return e
	}
	if wrong := new(store.SelectionError); errors.As(err, &wrong) {
		return &refusal{Status: http.StatusBadRequest, Message: wrong.Error()}
	}
	if several := new(store.ManyClustersError); errors.As(err, &several) {
		return &refusal{Status: http.StatusConflict, Reason: "clusters", Message: several.Error()}
	}
	err = store.NameDamage(err)
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
func answer(w http.ResponseWriter, r *http.Request, body any) {
	text, err := json.Marshal(body)
	if err != nil { // a NaN in a figure
		problem(w, &refusal{Status: http.StatusInternalServerError, Message: "the answer cannot be written as JSON"})
		return
	}
	if text = append(text, '\n'); unchanged(w, r, text) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

// getOpenAPI answers what describes this interface: GET /v1/openapi.yaml.
func (s *Server) getOpenAPI(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.viewer(w, r); ok && !unchanged(w, r, doc.OpenAPI) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi")
		w.Write(doc.OpenAPI)
	}
}

// problem writes a refusal.
func problem(w http.ResponseWriter, e *refusal) {
	text, _ := json.Marshal(e.Problem()) // cannot fail
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(e.Status)
	w.Write(append(text, '\n'))
}

// unchanged marks an answer with its ETag. A client that has this answer already gets a 304. The mark
// depends on what the client may see, as the answer does.
func unchanged(w http.ResponseWriter, r *http.Request, answer ...[]byte) bool {
	if r.Method != http.MethodGet {
		return false
	}
	sum := sha256.New()
	for _, part := range answer {
		sum.Write(part)
	}
	mark := fmt.Sprintf(`"%x"`, sum.Sum(nil)[:16])
	w.Header().Set("ETag", mark)
	w.Header().Set("Cache-Control", "private, no-cache")
	for known := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == mark || known == "*" {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// clip shortens what a client sent, for the log.
func clip(s string) string { return s[:min(len(s), 200)] }

// mostAnswer bounds an answer's list, bytes. Its last item may go beyond it.
const mostAnswer = 16 << 20

// listAnswer makes a listing.JobList or a listing.WorkloadList of its items' text.
type listAnswer struct {
	of    string // the list's name in JSON
	most  int    // bytes
	items [][]byte
	bytes int
	also  string // what else the answer holds: `"a":1`
}

// add adds an item. After most it returns store.ErrEnough.
func (l *listAnswer) add(item any) error {
	text, err := json.Marshal(item)
	if err != nil { // a NaN in a figure
		return err
	}
	l.items = append(l.items, text)
	if l.bytes += len(text); l.bytes > l.most {
		return store.ErrEnough
	}
	return nil
}

// write sends the items, and the path to those that are left, "" if there are none. It stops if the
// client no longer reads.
func (l *listAnswer) write(w http.ResponseWriter, r *http.Request, next string) {
	after := []byte("]")
	if l.also != "" {
		after = append(after, ","+l.also...)
	}
	if next != "" {
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
		path, _ := json.Marshal(next) // cannot fail
		after = append(after, `,"more":true,"next":`+string(path)...)
	}
	after = append(after, "}\n"...)
	if unchanged(w, r, append(l.items, after)...) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	before := `{"` + l.of + `":[`
	for i, text := range l.items {
		if _, err := w.Write(append([]byte(before), text...)); err != nil {
			return
		}
		l.items[i], before = nil, ","
	}
	if len(l.items) > 0 {
		before = ""
	}
	w.Write(append([]byte(before), after...))
}
