package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/store"
)

// viewer identifies who asks, with these parameters and no others; ok is false where the
// answer was given already.
func (s *Server) viewer(w http.ResponseWriter, r *http.Request, known ...string) (by viewer, ok bool) {
	by, e := s.identify(r)
	if e == nil {
		e = s.bind(by, r, nil)
	}
	if e == nil {
		e = s.throttle(by)
	}
	if e == nil {
		e = onlyKnown(r, known)
	}
	if e == nil {
		by, e = s.sees(r.Context(), by)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return by, false
	}
	return by, true
}

// repeated marks a parameter that may be given several times.
const repeated = "+"

// onlyKnown refuses parameters that nothing heeds: a filter without effect would show
// what was not asked for.
func onlyKnown(r *http.Request, known []string) *refusal {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &refusal{status: http.StatusBadRequest, message: "the parameters cannot be read: " + err.Error(), hint: "write them as ?NAME=VALUE&NAME=VALUE"}
	}
	for key, values := range given {
		switch {
		case slices.Contains(known, key+repeated):
		case !slices.Contains(known, key):
			hint := "it takes none"
			if len(known) > 0 {
				hint = "known are " + strings.ReplaceAll(strings.Join(known, ", "), repeated, "")
			}
			return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf("%.40q is no parameter of this path", key), hint: hint}
		case len(values) > 1:
			return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf("%s is given %d times", key, len(values)), hint: "give it once"}
		}
	}
	return nil
}

// throttle refuses who asks too often.
func (s *Server) throttle(by viewer) *refusal {
	if s.trusted[by.UID] && !by.proxied {
		return nil
	}
	return s.reads.take(strconv.FormatUint(uint64(by.UID), 10), time.Now(), 1)
}

// getJob answers one job, or one step of it. ?run=N chooses among the runs of a
// requeued job, 1 the oldest; else it is the latest. ?workload=1 adds the workload of
// the job's main execution, where it has one.
func (s *Server) getJob(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "run", "workload")
	if !ok {
		return
	}
	workload := r.URL.Query().Get("workload")
	if workload != "" && workload != "1" {
		s.fail(w, r, by, badQuery("workload", workload, "1"))
		return
	}
	both, e := s.findJob(r, by, workload != "")
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	by.note(s.log.Debug()).Str("job", both.Job.DisplayID).Msg("read")
	answer(w, http.StatusOK, both)
}

// findJob is the job that a request names in its path and ?run=.
func (s *Server) findJob(r *http.Request, by viewer, workload bool) (both job.JobAndWorkload, e *refusal) {
	ref, err := job.ParseJobID(r.PathValue("id"))
	if err != nil {
		return both, &refusal{status: http.StatusBadRequest, message: err.Error()}
	}
	run := 0
	if text := r.URL.Query().Get("run"); text != "" {
		if run, err = strconv.Atoi(text); err != nil || run < 1 {
			return both, badQuery("run", text, "a number from 1")
		}
	}
	v := by.Viewer
	if both.Job, err = s.store.Job(r.Context(), v, ref, run); err != nil {
		return both, s.notFound(ref, err)
	}
	if workload {
		if both.Workload, err = s.store.WorkloadOf(r.Context(), v, both.Job); err != nil {
			return both, refuse(err)
		}
	}
	both.Job.Complete = both.Job.IsComplete(time.Now(), s.grace)
	return both, nil
}

// notFound is the same for a job that is not there and one that is another's.
func (s *Server) notFound(ref job.JobRef, err error) *refusal {
	var step *store.StepError
	if errors.As(err, &step) {
		return &refusal{status: http.StatusNotFound, message: step.Error()}
	}
	if !errors.Is(err, store.ErrNotFound) {
		return refuse(err)
	}
	return &refusal{status: http.StatusNotFound, message: fmt.Sprintf("job %s was not found", ref),
		hint: fmt.Sprintf("jobeff shows your own jobs, a few seconds after they end, from %s on; `jobeff -u me` lists them",
			s.store.Began().Local().Format("2006-01-02"))}
}

// getJobs answers a list.
func (s *Server) getJobs(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, listParameters...)
	if !ok {
		return
	}
	q, uids, e := parseQuery(r.URL.Query())
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	list, err := s.store.Jobs(r.Context(), by.Viewer, q, uids)
	if wrong := new(store.SelectionError); errors.As(err, &wrong) {
		s.fail(w, r, by, &refusal{status: http.StatusBadRequest, message: wrong.Error()})
		return
	}
	if err != nil {
		s.fail(w, r, by, refuse(err))
		return
	}
	for i := range list.Jobs {
		list.Jobs[i].Complete = list.Jobs[i].IsComplete(time.Now(), s.grace)
	}
	by.note(s.log.Debug()).Int("jobs", len(list.Jobs)).Msg("list")
	answer(w, http.StatusOK, list)
}

// listParameters are those of a list of jobs.
var listParameters = []string{"job", "user", "account", "partition", "qos", "cluster", "state", "start", "end", "limit", "offset", "sort", "detail"}

// parseQuery reads what job.JobQuery.Values writes; the names are known.
func parseQuery(v url.Values) (q job.JobQuery, uids []uint32, e *refusal) {
	texts := map[string]*string{"job": &q.Jobs, "user": &q.User, "account": &q.Account, "partition": &q.Partition,
		"qos": &q.QOS, "cluster": &q.Cluster, "state": &q.State}
	times := map[string]*time.Time{"start": &q.Start, "end": &q.End}
	numbers := map[string]*int{"limit": &q.Limit, "offset": &q.Offset}
	for key := range v {
		text := v.Get(key)
		switch {
		case texts[key] != nil:
			*texts[key] = text
		case times[key] != nil:
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return q, nil, badQuery(key, text, "a time like 2026-11-20T08:00:00Z")
			}
			*times[key] = t
		case numbers[key] != nil:
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n == 0 && key == "limit" {
				return q, nil, badQuery(key, text, map[string]string{"limit": "a number from 1", "offset": "a number from 0"}[key])
			}
			*numbers[key] = n
		case key == "detail" && text == "1":
			q.Detail = true
		case key == "sort" && text == "lost":
			q.Lost = true
		case key == "detail":
			return q, nil, badQuery(key, text, "1")
		case key == "sort":
			return q, nil, badQuery(key, text, "lost")
		}
	}
	uids, e = userIDs(q.User)
	return q, uids, e
}

// mostNames bounds each of a query's lists.
const mostNames = 1000

// userIDs are the uids of a list of names or numbers; nil for an empty list.
func userIDs(list string) (uids []uint32, e *refusal) {
	if list == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		uid, e := userID(name)
		if e != nil {
			return nil, e
		}
		if uids = append(uids, *uid); len(uids) > mostNames {
			return nil, &refusal{status: http.StatusBadRequest, message: fmt.Sprintf("more than %d users are named", mostNames)}
		}
	}
	return uids, nil
}

func badQuery(key, text, want string) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf("%s=%.40q is not %s", key, text, want)}
}

// userID is the uid of a name, or of a number.
func userID(name string) (*uint32, *refusal) {
	number := name
	if u, err := user.Lookup(name); err == nil {
		number = u.Uid
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, message: fmt.Sprintf("there is no user %.40q", name), hint: "give a name or a uid"}
	}
	uid := uint32(n)
	return &uid, nil
}
