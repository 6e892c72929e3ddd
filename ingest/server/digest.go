package server

import (
	"net/http"
	"net/url"
	"time"
)

// longestDigest bounds the span of a digest, and with it what it costs.
const longestDigest = 366 * 24 * time.Hour

// getDigest answers the figures of a digest: GET /v1/digest?from=&to=&account=. Only viewers
// who may see every job get it.
func (s *Server) getDigest(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r, "from", "to", "account"+repeated)
	if !ok {
		return
	}
	if !by.Viewer.All {
		s.fail(w, r, by, &refusal{Status: http.StatusForbidden, Message: "a digest is for root and operators",
			Hint: "server.operators in jobeff.toml names them; your own jobs: jobeff"})
		return
	}
	from, to, e := digestSpan(r.URL.Query())
	if e != nil {
		s.fail(w, r, by, e)
		return
	}
	both, err := s.store.TwoWeeks(r.Context(), from, to, r.URL.Query()["account"])
	if err != nil {
		s.fail(w, r, by, refuse(err))
		return
	}
	by.note(s.log.Debug()).Time("from", from).Time("to", to).Msg("digest")
	answer(w, http.StatusOK, both)
}

// digestSpan reads what client.Client.Digest writes.
func digestSpan(v url.Values) (from, to time.Time, e *refusal) {
	for key, at := range map[string]*time.Time{"from": &from, "to": &to} {
		t, err := time.Parse(time.RFC3339, v.Get(key))
		if err != nil {
			return from, to, badQuery(key, v.Get(key), "a time like 2026-11-20T08:00:00Z")
		}
		*at = t
	}
	if !to.After(from) || to.Sub(from) > longestDigest {
		return from, to, badQuery("to", v.Get("to"), "a time after from, by a year at most")
	}
	return from, to, nil
}
