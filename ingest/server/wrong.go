package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	views "jobeff/report"
	"jobeff/report/words"
)

// Bounds of what people say about a notice, bytes.
const (
	maxWrongBytes = 16 << 10
	maxWords      = 1 << 10 // the page takes 500 characters, and the store as much as this
)

// findNotice reads the notice of the job and rule that a request names, if the viewer got it.
func (s *Server) findNotice(r *http.Request, by viewer) (*listing.Told, *refusal) {
	t, err := s.store.NoticeOf(r.Context(), by.Viewer, r.PathValue("id"), r.URL.Query().Get("rule"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, &refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("you got no notice of job %.60q by this rule", r.PathValue("id")),
			Hint: "follow the link in the mail, logged in as the user who got it"}
	} else if err != nil {
		return nil, refuse(err)
	}
	return t, nil
}

// wrongPage asks somebody who got a notice whether it was wrong, and shows what they said.
func (s *Server) wrongPage(r *http.Request, by viewer) ([]byte, error) {
	told, e := s.findNotice(r, by)
	if e != nil {
		return nil, e
	}
	return written(func(w io.Writer) error { return views.PageOfWrong(w, words.OfWrong(told), menu(r, by.Viewer, "")) })
}

// postWrong notes that somebody who got a notice says that it was wrong: POST /jobs/ID/wrong?rule=
// with a form's field why. It redirects to the page that asks, which then shows what was said. A
// notice keeps one such answer, so a user can leave no more of them than they got notices.
func (s *Server) postWrong(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), longestRead)
	defer cancel()
	r = r.WithContext(ctx)
	who, body, e := s.door.Form(r, maxWrongBytes)
	by, _ := seen(who, nil)
	if e == nil && !s.sameOrigin(r) {
		e = &refusal{Status: http.StatusForbidden, Reason: "other_origin", Message: "no page of jobeff sent this", Hint: "open the link in the mail, and press its button"}
	}
	if e == nil {
		by, e = s.admitted(r, by, []string{"rule"})
	}
	var told *listing.Told
	if e == nil {
		told, e = s.findNotice(r, by)
	}
	if e == nil {
		e = s.sayWrong(r.Context(), by, told, body)
	}
	if e != nil {
		s.failPage(w, r, by, e)
		return
	}
	w.Header().Set("Location", "wrong?"+url.Values{"rule": {told.Rule}}.Encode()) // http.Redirect would lose a proxy's path
	pageHeader(w, "default-src 'none'", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusSeeOther)
}

func (s *Server) sayWrong(ctx context.Context, by viewer, told *listing.Told, body []byte) *refusal {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return &refusal{Status: http.StatusBadRequest, Message: "the form cannot be read: " + err.Error()}
	}
	told.WrongAt, told.WrongBy, told.Wrong = time.Now(), by.UID, wire.CleanText(strings.Join(strings.Fields(form.Get("why")), " "), maxWords)
	said, err := s.store.SayWrong(ctx, told)
	if err != nil {
		return refuse(err)
	}
	by.note(s.log.Info()).Str("job", clip(told.Job)).Str("rule", clip(told.Rule)).Bool("first", said).Msg("said to be wrong")
	return nil
}

// sameOrigin says whether a page of ours sent the request. It believes only what the browser says
// about that. Another site can send a form in the name of whoever is logged in, and so can somebody on
// the way, with the same page unencrypted. The origin must be that of the site's own link, or of the
// address that the proxy says it was asked for.
func (s *Server) sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	if scheme := r.Header.Get("X-Forwarded-Proto"); scheme != "" && strings.EqualFold(origin, scheme+"://"+r.Host) {
		return true
	}
	link, err := url.Parse(s.link)
	return err == nil && link.Host != "" && strings.EqualFold(origin, link.Scheme+"://"+link.Host)
}
