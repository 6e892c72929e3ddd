package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/report/view"
)

// getJob answers one job, or one step of it. ?attempt=N chooses an attempt of a requeued job, 1
// is the oldest; without it the latest is shown. ?stored=1 answers a listing.JobAndWorkload.
func (s *Server) getJob(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "attempt", "stored")
	if !ok {
		return
	}
	var found *listing.JobAndWorkload
	stored, e := wantsStored(r)
	if e == nil {
		found, e = s.findJob(r, by)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	by.note(s.log.Debug()).Str("job", found.Job.DisplayID).Msg("read")
	if !stored {
		study, verdicts := s.rules.JudgeFound(found, time.Now())
		answer(w, r, view.NewJob(found, study, verdicts, true))
		return
	}
	if !found.Step {
		var err error
		_, verdicts := s.rules.JudgeFound(found, time.Now())
		if found.Verdicts, err = view.Verdicts(verdicts); err != nil {
			s.fail(w, r, by, refuse(err))
			return
		}
	}
	answer(w, r, found)
}

// wantsStored reads ?stored=1: the answer is then what is stored, for jobeff's own commands, and no document.
func wantsStored(r *http.Request) (stored bool, e *refusal) {
	e = readParameters(r.URL.Query(), listing.Parameters{"stored": &stored})
	return stored, e
}

// findJob reads the job that a request names in its path and ?attempt=, and the workload of its main
// execution, if it has one.
func (s *Server) findJob(r *http.Request, by viewer) (found *listing.JobAndWorkload, e *refusal) {
	run := 0
	if text := r.URL.Query().Get("attempt"); text != "" {
		var err error
		if run, err = strconv.Atoi(text); err != nil || run < 1 {
			return nil, badQuery("attempt", text, "a number from 1")
		}
	}
	return s.jobOf(r, by, r.PathValue("id"), run)
}

// jobOf is findJob with an id and an attempt; 0: the last one.
func (s *Server) jobOf(r *http.Request, by viewer, id string, run int) (found *listing.JobAndWorkload, e *refusal) {
	ref, err := slurmid.Parse(id)
	if err != nil {
		return nil, &refusal{Status: http.StatusBadRequest, Message: err.Error()}
	}
	v := by.Viewer
	found = &listing.JobAndWorkload{Step: ref.Step != ""}
	found.Job, err = s.store.Job(r.Context(), v, ref, run)
	if found.Job != nil { // what waits is of the same cluster
		ref.Cluster = found.Job.Cluster
	}
	if waits, e := s.pendingOf(r, v, ref, run, err); e != nil || found.Job == nil && waits != nil {
		found.Job = waits
		return found, e
	} else if waits != nil && waits.UID == found.UID {
		found.Pending = waits.Pending
	}
	if !found.Step {
		if found.Workload, err = s.store.WorkloadOf(r.Context(), v, found.Job); err == nil && found.Workload != nil {
			err = s.store.AddRebuilt(r.Context(), v, found.Workload, found.Job)
		}
		if err != nil {
			return nil, refuse(err)
		}
		if err = s.store.AddAlike(r.Context(), v, found.Job); err != nil {
			return nil, refuse(err)
		}
		if run == 0 {
			if err = s.store.AddTasks(r.Context(), v, ref, found); err != nil {
				return nil, refuse(err)
			}
			if len(found.Tasks) > 0 {
				found.Tasks[0].Pending = found.Pending
			}
		}
	}
	found.Job.Complete = found.Job.IsComplete(time.Now(), s.grace)
	return found, nil
}

// notFound makes a refusal of an error; nil stays nil. A missing job and another user's get the
// same answer.
func (s *Server) notFound(ref slurmid.Ref, err error) *refusal {
	if err == nil {
		return nil
	}
	var step *store.StepError
	if errors.As(err, &step) {
		return &refusal{Status: http.StatusNotFound, Message: step.Error()}
	}
	if !errors.Is(err, store.ErrNotFound) {
		return refuse(err)
	}
	return &refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("job %s was not found", ref),
		Hint: "jobeff shows your own jobs and those that Slurm lets you see, once they have begun, or where Slurm told lately that they wait (`squeue` lists those); `jobeff -S -90days` lists yours"}
}

// getJobs answers a list of jobs.
func (s *Server) getJobs(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, listParameters...)
	if !ok {
		return
	}
	q, uids, e := s.selection(r.Context(), by, r.URL.Query())
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	l := &listAnswer{of: "jobs", most: s.mostAnswer}
	var next string
	var err error
	if q.Stored && !q.Tasks {
		next, err = s.lines(r.Context(), by, q, uids, l)
	} else {
		next, err = s.store.EachJob(r.Context(), by.Viewer, q, uids, func(j *job.Job) error {
			j.Complete = j.IsComplete(time.Now(), s.grace)
			if q.Stored {
				return l.add(j)
			}
			return l.add(view.Listed(j, q.Detail))
		})
		if err == nil && q.Rule != "" && q.After == "" {
			var unjudged int
			unjudged, err = s.store.UnjudgedOf(r.Context(), by.Viewer, q, uids)
			l.also = fmt.Sprintf(`"unjudged":%d`, unjudged)
		}
	}
	if q.Offset, q.After = 0, next; next != "" {
		next = "/v1/jobs?" + q.Values().Encode()
	}
	s.endList(w, r, by, l, next, err)
}

// lines makes a listing.LineList.
func (s *Server) lines(ctx context.Context, by viewer, q listing.JobQuery, uids []uint32, l *listAnswer) (next string, err error) {
	l.of = "lines"
	next, all, err := s.store.EachLine(ctx, by.Viewer, q, uids, func(one *listing.Line) error {
		for i := range one.Jobs {
			one.Jobs[i].Complete = one.Jobs[i].IsComplete(time.Now(), s.grace)
		}
		return l.add(one)
	})
	if err != nil {
		return "", err
	}
	sum, err := json.Marshal(all)
	l.also = strings.TrimSuffix(strings.TrimPrefix(string(sum), "{"), "}")
	return next, err
}

// endList sends a list, or says why there is none. next is the path to what is left; "": nothing is.
func (s *Server) endList(w http.ResponseWriter, r *http.Request, by viewer, l *listAnswer, next string, err error) {
	if err != nil {
		s.fail(w, r, by, refuse(err))
		return
	}
	by.note(s.log.Debug()).Int(l.of, len(l.items)).Msg("list")
	l.write(w, r, next)
}

// listParameters are what getJobs understands.
var listParameters = []string{"job", "user", "account", "partition", "qos", "cluster", "state", "program", "rule", "name", "least_cores", "most_cores",
	"least_elapsed", "most_elapsed", "start", "end", "limit", "offset", "after", "sort", "detail", "stored", "tasks"}

// selection reads a query of jobs, and the ids of the users that it names.
func (s *Server) selection(ctx context.Context, by viewer, v url.Values) (q listing.JobQuery, uids []uint32, e *refusal) {
	if q, e = parseQuery(v); e == nil {
		if by.Of == "" && slices.Contains(s.clusters, q.Cluster) {
			by.Of = q.Cluster // whose users are meant
		}
		uids, e = s.userIDs(ctx, by, q.User)
	}
	return q, uids, e
}

// parseQuery reads what listing.JobQuery.Values writes. The caller has checked the names.
func parseQuery(v url.Values) (q listing.JobQuery, e *refusal) {
	if e := readParameters(v, q.Parameters()); e != nil {
		return q, e
	}
	for _, list := range []struct {
		of, names string
		most      int
	}{{"users", q.User, mostNames}, {"accounts", q.Account, mostNames}, {"partitions", q.Partition, mostNames}, {"QOS", q.QOS, mostNames},
		{"clusters", q.Cluster, mostNames}, {"states", q.State, mostNames}, {"programs", q.Program, mostSought}, {"rules", q.Rule, mostSought}} {
		if named := 1 + strings.Count(list.names, ","); named > list.most {
			return q, &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("%d %s are named, more than %d", named, list.of, list.most),
				Hint: "name fewer, and ask again for the others"}
		}
	}
	return q, nil
}

// mostSought bounds the programs or rules that a query names: it searches each row's text for each of
// them.
const mostSought = 50

// readParameters reads the parameters that a query has.
func readParameters(v url.Values, all listing.Parameters) *refusal {
	for name, field := range all {
		if !v.Has(name) {
			continue
		}
		var err error
		text, want := v.Get(name), ""
		switch f := field.(type) {
		case *string:
			*f = text
		case *time.Time:
			want = "a time like 2026-11-20T08:00:00Z, or a day like 2026-11-20"
			if *f, err = time.Parse(time.RFC3339, text); err != nil {
				*f, err = time.ParseInLocation(time.DateOnly, text, time.Local)
			}
		case *time.Duration:
			want = "a number of seconds, or a time like 90m or 2h"
			*f, err = parseSpan(text)
		case *int:
			least := 0
			if name == "limit" {
				least = 1
			}
			want = fmt.Sprintf("a number from %d", least)
			if *f, err = strconv.Atoi(text); err == nil && *f < least {
				err = strconv.ErrRange
			}
		case *bool:
			want = "1"
			if *f = text == "1"; !*f {
				err = strconv.ErrSyntax
			}
		}
		if err != nil {
			return badQuery(name, text, want)
		}
	}
	return nil
}

// parseSpan reads a number of seconds, or a duration as Go writes it, and cuts it to whole seconds.
func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if _, number := strconv.ParseUint(text, 10, 63); number == nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d.Truncate(time.Second), err
}

// longestDigest bounds the span of a digest, and with it what it costs.
const longestDigest = 366 * 24 * time.Hour

// getDigest answers a digest: GET /v1/digest?week=&account=&cluster=, or of any time, ?from=&to=. Coordinators
// get that of their accounts. Only jobeffd's clock and settings decide which days a week has. ?stored=1
// answers a listing.TwoWeeks.
func (s *Server) getDigest(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "week", "from", "to", "cluster", "account"+repeated, "stored")
	if !ok {
		return
	}
	var from, to time.Time
	stored, e := wantsStored(r)
	if e == nil {
		from, to, e = s.digestSpan(r.URL.Query())
	}
	if e == nil {
		by, e = s.of(r, by)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	both, err := s.store.TwoWeeks(r.Context(), by.Viewer, from, to, r.URL.Query()["account"])
	if errors.Is(err, store.ErrNotFound) {
		s.fail(w, r, by, &refusal{Status: http.StatusForbidden, Message: "a digest is for root and operators, and one of an account for its coordinators",
			Hint: "server.operators in jobeff.toml names operators, and `sacctmgr show account withcoord` coordinators; your own jobs: jobeff"})
		return
	}
	if err != nil {
		s.fail(w, r, by, refuse(err))
		return
	}
	by.note(s.log.Debug()).Time("from", from).Time("to", to).Msg("digest")
	if !stored {
		answer(w, r, s.digest(both))
		return
	}
	both.Zone = s.weeks.Zone.String()
	answer(w, r, both)
}

// digestSpan reads what client.Client.Digest writes.
func (s *Server) digestSpan(v url.Values) (from, to time.Time, e *refusal) {
	if !v.Has("from") && !v.Has("to") {
		from, to, err := s.weeks.Asked(v.Get("week"), time.Now())
		if err != nil {
			return from, to, &refusal{Status: http.StatusBadRequest, Message: "week: " + err.Error(), Hint: "without a week it is the last one of which a digest was due"}
		}
		return from, to, nil
	}
	if v.Has("week") {
		return from, to, badQuery("week", v.Get("week"), "without from and to")
	}
	for _, end := range []struct {
		key string
		at  *time.Time
	}{{"from", &from}, {"to", &to}} {
		var err error
		if *end.at, err = time.Parse(time.RFC3339, v.Get(end.key)); err != nil {
			return from, to, badQuery(end.key, v.Get(end.key), "a time like 2026-11-20T08:00:00Z")
		}
	}
	if !to.After(from) || to.Sub(from) > longestDigest {
		return from, to, badQuery("to", v.Get("to"), "a time after from, by a year at most")
	}
	return from, to, nil
}

// getCoverage answers which part of the core-hours has which figures: GET /v1/coverage?start=&end=&cluster=, of jobs that ended
// then. Without a start it is the first of the month before, without an end the end of this month, UTC.
func (s *Server) getCoverage(w http.ResponseWriter, r *http.Request) {
	now := time.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	from, to := month.AddDate(0, -1, 0), month.AddDate(0, 1, 0)
	by, ok := s.operator(w, r, "the ledger of all core-hours", listing.Parameters{"start": &from, "end": &to})
	if !ok {
		return
	}
	if !to.After(from) {
		s.fail(w, r, by, badQuery("end", r.URL.Query().Get("end"), "a time after start"))
		return
	}
	l, err := s.store.Ledger(r.Context(), from, to, by.Of)
	if err != nil {
		s.fail(w, r, by, refuse(err))
		return
	}
	answer(w, r, view.NewCoverage(l, true))
}

// operator reads parameters of what is for root and operators alone. If ok is false, the request is already answered.
func (s *Server) operator(w http.ResponseWriter, r *http.Request, what string, p listing.Parameters) (by viewer, ok bool) {
	known := slices.Sorted(maps.Keys(p))
	if p != nil { // what has a time may be of one cluster
		known = append(known, "cluster")
	}
	if by, ok = s.viewer(w, r, known...); !ok {
		return by, false
	}
	e := readParameters(r.URL.Query(), p)
	if e == nil {
		by, e = s.of(r, by)
	}
	if !by.Operates() {
		e = &refusal{Status: http.StatusForbidden, Message: what + " is for root and operators",
			Hint: "server.operators in jobeff.toml names operators; coordinators have jobeff digest"}
	}
	if e != nil {
		s.fail(w, r, by, e)
	}
	return by, e == nil
}
