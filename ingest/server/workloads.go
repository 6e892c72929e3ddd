package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

// getWorkloads answers a list: GET /v1/workloads?user=&since=&muted=1&named=1&limit=&offset=&after=&detail=1.
func (s *Server) getWorkloads(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, workloadParameters...)
	if !ok {
		return
	}
	q, e := parseWorkloads(r.URL.Query())
	var uid *uint32
	if e == nil {
		uid, e = s.userID(r.Context(), by, q.User)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	l := &listAnswer{of: "workloads", most: s.mostAnswer}
	next, err := s.store.EachWorkload(r.Context(), by.Viewer, q, uid, func(one *listing.WorkloadSummary) error { return l.add(one) })
	if q.Offset, q.After = 0, next; next != "" {
		next = "/v1/workloads?" + q.Values().Encode()
	}
	s.endList(w, r, by, l, next, err)
}

// workloadParameters are what getWorkloads understands.
var workloadParameters = []string{"user", "since", "muted", "named", "limit", "offset", "after", "detail"}

// parseWorkloads reads what listing.WorkloadQuery.Values writes. The caller has checked the names.
func parseWorkloads(v url.Values) (q listing.WorkloadQuery, e *refusal) {
	e = readParameters(v, q.Parameters())
	return q, e
}

// getWorkload answers one workload with its runs: GET /v1/workloads/NAME?user=. NAME is its
// name or key, or the name of jobs that left no record of a program, or the beginning of a name or key.
func (s *Server) getWorkload(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "user")
	if !ok {
		return
	}
	name, uid, e := s.whichWorkload(r, by)
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	found, err := s.store.Workload(r.Context(), by.Viewer, name, uid)
	var several *store.AmbiguousError
	if errors.Is(err, store.ErrNoWorkload) || errors.As(err, &several) && several.Beginning || err == nil && found.Name != name && found.Key != name {
		if named, e := s.store.NamedJobs(r.Context(), by.Viewer, name, uid); !errors.Is(e, store.ErrNoWorkload) {
			found, err = named, e
		}
	}
	if err == nil && len(found.Runs) > 0 {
		err = s.store.AddJobsOf(r.Context(), by.Viewer, found)
	}
	if err != nil {
		s.fail(w, r, by, noWorkload(name, err))
		return
	}
	by.note(s.log.Debug()).Str("workload", found.Key).Msg("read")
	answer(w, r, found)
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
