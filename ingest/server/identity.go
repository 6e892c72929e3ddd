package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os/user"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/munge"
	"jobeff/ingest/store"
)

// identify finds out who makes a request. It checks only that the credential is good. bind
// checks later, when the body is known, that it belongs to this request.
func (s *Server) identify(r *http.Request) (viewer, *refusal) {
	if c := connOf(r.Context()); c != nil && c.uid != nil {
		return viewer{Viewer: store.Viewer{UID: *c.uid}, from: "socket"}, nil
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, job.AuthScheme) {
		return viewer{}, unauthorized("the request has no munge credential", nil)
	}
	cred, err := munge.Decode(s.munge, strings.TrimSpace(text))
	if errors.Is(err, munge.ErrAway) {
		return viewer{}, &refusal{status: http.StatusServiceUnavailable, message: "jobeffd cannot ask munge now", hint: "try again",
			retry: 5 * time.Second, cause: err}
	}
	if err != nil {
		return viewer{}, unauthorized(firstError(err).Error(), err)
	}
	if cred.TTL > munge.Lifetime {
		return viewer{}, unauthorized("the munge credential lives too long", nil)
	}
	return viewer{Viewer: store.Viewer{UID: cred.UID}, from: cred.Addr.String(), payload: cred.Payload}, nil
}

// firstError returns package munge's own words, without what the library adds.
func firstError(err error) error {
	for _, known := range []error{munge.ErrExpired, munge.ErrRewound, munge.ErrReplayed, munge.ErrInvalid} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

// bind checks that the credential was made for this request, and only once.
func (s *Server) bind(by viewer, r *http.Request, body []byte) *refusal {
	if by.payload == nil {
		return nil
	}
	words := strings.Fields(string(by.payload))
	if len(words) != 5 {
		return unauthorized("the credential was not made for jobeffd", nil)
	}
	nonce := words[4]
	if string(job.AuthPayload(r.Method, r.URL.RequestURI(), body, nonce)) != string(by.payload) {
		return unauthorized("the credential was made for another request", nil)
	}
	if e := s.throttle(by); e != nil { // before each of the user's nonces is remembered
		return e
	}
	if !s.nonces.fresh(nonce, time.Now()) {
		return unauthorized("the credential was used before", nil)
	}
	return nil
}

// checkShown checks a munge credential where a client shows one, though it needs none. So whoever
// asks for the health learns whether this server believes them.
func (s *Server) checkShown(r *http.Request) *refusal {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); !strings.EqualFold(scheme, job.AuthScheme) {
		return nil
	}
	by, e := s.identify(r)
	if e == nil {
		e = s.bind(by, r, nil)
	}
	return e
}

// pageViewer finds out who asks for a page: the user that a proxy names, or whoever connected.
func (s *Server) pageViewer(r *http.Request) (viewer, *refusal) {
	if pagesOnly(r.Context()) {
		sent := r.Header.Values(SecretHeader)
		if len(s.proxy.Secret) == 0 || len(sent) != 1 || subtle.ConstantTimeCompare([]byte(sent[0]), s.proxy.Secret) != 1 {
			return viewer{}, &refusal{status: http.StatusUnauthorized, message: "this address answers only a proxy that shows its secret",
				hint: "open the pages through the proxy"}
		}
		return s.named(r, "proxy")
	}
	by, e := s.bodyless(r)
	if e == nil && by.payload == nil && s.forOthers[by.UID] {
		return s.named(r, fmt.Sprintf("proxy of uid %d", by.UID))
	}
	return by, e
}

// named returns the user that a believed proxy names. A proxy that names nobody sees nothing,
// not even its own jobs: it may run as root.
func (s *Server) named(r *http.Request, from string) (viewer, *refusal) {
	names := r.Header.Values(s.proxy.Header)
	if len(names) != 1 || names[0] == "" {
		return viewer{}, &refusal{status: http.StatusUnauthorized, message: fmt.Sprintf("the proxy names no user, or several, in %s", s.proxy.Header),
			hint: "log in there"}
	}
	u, err := user.Lookup(names[0])
	if err != nil {
		return viewer{}, &refusal{status: http.StatusUnauthorized, message: fmt.Sprintf("%.60q is no user of this machine", names[0]), hint: "log in with a name that has one", cause: err}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return viewer{}, refuse(err)
	}
	return viewer{Viewer: store.Viewer{UID: uint32(uid)}, from: from, proxied: true}, nil
}

// viewer finds out who asks and what they may see, and refuses parameters other than known.
// If ok is false, the request is already answered.
func (s *Server) viewer(w http.ResponseWriter, r *http.Request, known ...string) (by viewer, ok bool) {
	by, e := s.bodyless(r)
	if e == nil {
		by, e = s.admit(r, by, known)
	}
	if e != nil {
		s.fail(w, r, by, e)
		return by, false
	}
	return by, true
}

// bodyless finds out who makes a request without a body.
func (s *Server) bodyless(r *http.Request) (viewer, *refusal) {
	by, e := s.identify(r)
	if e == nil {
		e = s.bind(by, r, nil)
	}
	return by, e
}

// admit refuses a viewer who asks too often, and parameters other than known. It waits for the
// viewer's turn, and fills in what they may see.
func (s *Server) admit(r *http.Request, by viewer, known []string) (viewer, *refusal) {
	if by.payload == nil { // else bind did it
		if e := s.throttle(by); e != nil {
			return by, e
		}
	}
	if e := onlyKnown(r, known); e != nil {
		return by, e
	}
	if e := s.takeTurn(r.Context(), by); e != nil {
		return by, e
	}
	return s.sees(r.Context(), by)
}

// takeTurn waits for a viewer's turn, which ends with the request.
func (s *Server) takeTurn(ctx context.Context, by viewer) *refusal {
	end, ok := ctx.Value(atEndKey{}).(*atEnd)
	if !ok || s.trusted[by.UID] && !by.proxied {
		return nil
	}
	release, err := s.turns.take(ctx, by.UID)
	if err != nil {
		return refuse(err)
	}
	end.do = release
	return nil
}

// throttle refuses a viewer who asks too often.
func (s *Server) throttle(by viewer) *refusal {
	if s.trusted[by.UID] && !by.proxied {
		return nil
	}
	return s.reads.take(strconv.FormatUint(uint64(by.UID), 10), time.Now(), 1)
}

// sees fills in what a viewer may see: their own jobs and what Slurm grants them. Root and
// operators see everything. A proxy's word makes nobody root.
func (s *Server) sees(ctx context.Context, by viewer) (viewer, *refusal) {
	var err error
	switch trusted := s.trusted[by.UID]; {
	case trusted && !by.proxied || s.operators[by.UID]:
		by.All = true
	case !trusted:
		by.Viewer, err = s.store.Viewer(ctx, by.UID, s.open)
	}
	if err != nil {
		return by, refuse(err)
	}
	return by, nil
}
