package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/view"
)

// getWorkloads answers a list: GET /v1/workloads?user=&cluster=&since=&muted=1&named=1&limit=&offset=&after=. ?stored=1 answers a
// listing.WorkloadList.
func (s *Server) getWorkloads(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, workloadParameters...)
	if !ok {
		return
	}
	q, e := parseWorkloads(r.URL.Query())
	var uid *uint32
	if e == nil {
		by, e = s.of(r, by)
	}
	if e == nil {
		uid, e = s.userID(r.Context(), by, q.User)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	l := &listAnswer{of: "workloads", most: s.mostAnswer}
	if q.Named && !q.Stored {
		l.of = "named"
	}
	read := q
	read.Detail = q.Detail || !q.Stored
	next, err := s.store.EachWorkload(r.Context(), by.Viewer, read, uid, func(one *listing.WorkloadSummary) error {
		switch {
		case q.Stored:
			return l.add(one)
		case q.Named:
			return l.add(view.NamedOf(one))
		case one.Workload == nil: // its runs were removed meanwhile
			return nil
		}
		return l.add(view.ListedWorkload(workload.NewStudy(one.Workload, nil, time.Now(), curve.Settings{})))
	})
	if q.Offset, q.After = 0, next; next != "" {
		next = "/v1/workloads?" + q.Values().Encode()
	}
	s.endList(w, r, by, l, next, err)
}

// workloadParameters are what getWorkloads understands.
var workloadParameters = []string{"user", "cluster", "since", "muted", "named", "limit", "offset", "after", "stored", "detail"}

// parseWorkloads reads what listing.WorkloadQuery.Values writes. The caller has checked the names.
func parseWorkloads(v url.Values) (q listing.WorkloadQuery, e *refusal) {
	e = readParameters(v, q.Parameters())
	return q, e
}

// getWorkload answers one workload: GET /v1/workloads/NAME?user=&cluster=&predict=64,128. ?stored=1 answers a listing.FoundWorkload.
func (s *Server) getWorkload(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "user", "cluster", "predict", "stored")
	if !ok {
		return
	}
	var settings curve.Settings
	var found *listing.FoundWorkload
	stored, e := wantsStored(r)
	if e == nil {
		settings.Predict, e = coreCounts(r.URL.Query())
	}
	if e == nil {
		found, e = s.findWorkload(r, by)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	by.note(s.log.Debug()).Str("workload", found.Key).Msg("read")
	if stored {
		answer(w, r, found)
	} else if study := workload.NewStudy(found.Workload, found.Job(), time.Now(), settings); study != nil {
		answer(w, r, view.NewWorkload(study, true))
	} else {
		answer(w, r, view.NewNamedJobs(found.Workload, true))
	}
}

// coreCounts reads ?predict=64,128.
func coreCounts(v url.Values) ([]int, *refusal) {
	if !v.Has("predict") {
		return nil, nil
	}
	counts, err := curve.ReadCounts(strings.Split(v.Get("predict"), ","))
	if err != nil {
		return nil, &refusal{Status: http.StatusBadRequest, Message: "predict " + err.Error()}
	}
	return counts, nil
}

// findWorkload reads the workload that a request names: by its name or key, by the name of jobs that left no record of a
// program, by the beginning of a name or key, or by the id of a job of it. A number that is no job may still be a name.
func (s *Server) findWorkload(r *http.Request, by viewer) (*listing.FoundWorkload, *refusal) {
	by, e := s.of(r, by)
	if e != nil {
		return nil, e
	}
	name, uid, e := s.whichWorkload(r, by)
	if e != nil {
		return nil, e
	}
	ref, err := slurmid.Parse(name)
	if err != nil {
		return s.namedWorkload(r.Context(), by, name, uid)
	}
	ref.Step = ""
	found, e := s.jobOf(r, by, ref.String(), 0)
	switch {
	case e == nil:
		return workloadOf(found.Workload, found.Job)
	case e.Status == http.StatusNotFound:
		if named, none := s.namedWorkload(r.Context(), by, name, uid); none == nil {
			return named, nil
		}
	}
	return nil, e
}

// workloadOf is the workload of a job; w is that of its programs, nil if these have none.
func workloadOf(w *job.Workload, j *job.Job) (*listing.FoundWorkload, *refusal) {
	if w == nil && len(j.Alike) == 0 {
		return nil, &refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("job %s belongs to no workload: %s", j.DisplayID, job.WhyNoWorkload(j))}
	}
	if w == nil {
		w = job.NamedWorkload(j.Cluster, j.UID, j.User, j.Name, nil)
		w.Room = j.Room
	}
	w.Jobs, w.Last = j.Alike, j
	return &listing.FoundWorkload{Workload: w, OfJob: true}, nil
}

// namedWorkload reads a workload by its name or key, or by the beginning of one.
func (s *Server) namedWorkload(ctx context.Context, by viewer, name string, uid *uint32) (*listing.FoundWorkload, *refusal) {
	found, err := s.store.Workload(ctx, by.Viewer, name, uid)
	var several *store.AmbiguousError
	if errors.Is(err, store.ErrNoWorkload) || errors.As(err, &several) && several.Beginning || err == nil && found.Name != name && found.Key != name {
		if named, e := s.store.NamedJobs(ctx, by.Viewer, name, uid); !errors.Is(e, store.ErrNoWorkload) {
			found, err = named, e
		}
	}
	if err == nil && len(found.Runs) > 0 {
		err = s.store.AddJobsOf(ctx, by.Viewer, found)
	}
	if err != nil {
		return nil, noWorkload(name, err)
	}
	return &listing.FoundWorkload{Workload: found}, nil
}

// whichWorkload reads a workload's name and its owner; uid is nil if the viewer names none.
func (s *Server) whichWorkload(r *http.Request, by viewer) (name string, uid *uint32, e *refusal) {
	uid, e = s.userID(r.Context(), by, r.URL.Query().Get("user"))
	return r.PathValue("name"), uid, e
}

// noWorkload is the same answer for a missing workload and for another user's.
func noWorkload(name string, err error) *refusal {
	var several *store.AmbiguousError
	switch {
	case errors.As(err, &several):
		return &refusal{Status: http.StatusConflict, Message: several.Error(), Hint: "give more of its name or key, or name its user with -u"}
	case errors.Is(err, store.ErrNoWorkload):
		return &refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("workload %.60q was not found", name), Hint: "`jobeff workload` lists yours"}
	}
	return refuse(err)
}

// Bounds of a request to mute.
const (
	maxMuteBytes  = 16 << 10
	maxMuteReason = 500                      // bytes
	longestMute   = 2 * 366 * 24 * time.Hour // nobody remembers a longer one
)

// putMute mutes a workload: PUT /v1/workloads/NAME/mute?user= with until and reason of a
// job.Mute. The answer is the workload without its runs.
func (s *Server) putMute(w http.ResponseWriter, r *http.Request) {
	who, body, e := s.door.Sends(r, maxMuteBytes)
	by, _ := seen(who, nil)
	if e == nil {
		by, e = s.admitted(r, by, []string{"user"})
	}
	var mute job.Mute
	if e == nil {
		mute, e = readMute(body, time.Now())
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	s.changeMute(w, r, by, &mute)
}

// deleteMute ends a mute: DELETE /v1/workloads/NAME/mute?user=. The answer is the workload
// without its runs, with the mute that it had.
func (s *Server) deleteMute(w http.ResponseWriter, r *http.Request) {
	if by, ok := s.viewer(w, r, "user"); ok {
		s.changeMute(w, r, by, nil)
	}
}

// changeMute sets a mute; nil ends it.
func (s *Server) changeMute(w http.ResponseWriter, r *http.Request, by viewer, mute *job.Mute) {
	name, uid, e := s.whichWorkload(r, by)
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	var changed *job.Workload
	var err error
	if mute == nil {
		changed, err = s.store.ClearMute(r.Context(), by.Viewer, name, uid)
	} else {
		changed, err = s.store.SetMute(r.Context(), by.Viewer, name, uid, *mute)
	}
	if err != nil {
		s.fail(w, r, by, noWorkload(name, err))
		return
	}
	by.note(s.log.Info()).Str("workload", changed.Key).Bool("muted", mute != nil).Msg("mute")
	answer(w, r, changed)
}

// readMute reads and checks a mute that a user asks for.
func readMute(body []byte, now time.Time) (job.Mute, *refusal) {
	var m job.Mute
	bad := func(message, hint string) (job.Mute, *refusal) {
		return m, &refusal{Status: http.StatusBadRequest, Message: message, Hint: hint}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return bad("the request is not a mute: "+err.Error(), "it is JSON with until and reason")
	}
	switch {
	case m.Until.IsZero():
		return bad("the mute has no end", "say until when")
	case !m.Until.After(now):
		return bad(fmt.Sprintf("%s is in the past", m.Until.Format("2006-01-02 15:04")), "give a time in the future")
	case m.Until.After(now.Add(longestMute)):
		return bad("a mute lasts two years at most", "mute it again then")
	}
	m.Since, m.Until, m.Reason = now.UTC(), m.Until.UTC(), wire.CleanText(m.Reason, maxMuteReason)
	return m, nil
}
