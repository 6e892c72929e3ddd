package server

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"

	"jobeff/ingest/admit"
	"jobeff/ingest/store"
)

// viewer is who asks, and what they may see. Root of a node that reports is one, too.
type viewer struct {
	store.Viewer // only the UID is set before Server.sees
	*admit.Caller
}

// seen makes a viewer of whom the door let in.
func seen(c *admit.Caller, e *refusal) (viewer, *refusal) {
	return viewer{store.Viewer{UID: c.User}, c}, e
}

func (v viewer) note(e *zerolog.Event) *zerolog.Event {
	if v.Caller == nil || v.From == "" {
		return e
	}
	return e.Uint32("uid", v.UID).Str("from", v.From)
}

// viewer finds out who asks and what they may see, and refuses parameters other than known.
// If ok is false, the request is already answered.
func (s *Server) viewer(w http.ResponseWriter, r *http.Request, known ...string) (by viewer, ok bool) {
	by, e := seen(s.door.Asks(r))
	if e == nil {
		by, e = s.admitted(r, by, known)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return by, false
	}
	return by, true
}

// admitted refuses parameters other than known. It waits for the viewer's turn, and fills in what
// they may see.
func (s *Server) admitted(r *http.Request, by viewer, known []string) (viewer, *refusal) {
	if e := onlyKnown(r, known); e != nil {
		return by, e
	}
	if err := by.Turn(r.Context()); err != nil {
		return by, refuse(err)
	}
	return s.sees(r.Context(), by)
}

// sees fills in what a viewer may see: their own jobs and what Slurm grants them. Root and
// operators see everything. A proxy's word makes nobody root.
func (s *Server) sees(ctx context.Context, by viewer) (viewer, *refusal) {
	var err error
	switch trusted := s.trusted[by.UID]; {
	case trusted && !by.Proxied || s.operators[by.UID]:
		by.All = true
	case !trusted:
		by.Viewer, err = s.store.Viewer(ctx, by.UID, s.open)
	}
	if err != nil {
		return by, refuse(err)
	}
	return by, nil
}
