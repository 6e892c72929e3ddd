package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"strconv"
	"strings"

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

// repeated marks a parameter that may be given several times.
const repeated = "+"

// onlyKnown refuses parameters that a path does not have. A filter without effect would show
// what nobody asked for.
func onlyKnown(r *http.Request, known []string) *refusal {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &refusal{Status: http.StatusBadRequest, Message: "the parameters cannot be read: " + err.Error(), Hint: "write them as ?NAME=VALUE&NAME=VALUE"}
	}
	for key, values := range given {
		switch {
		case slices.Contains(known, key+repeated):
		case !slices.Contains(known, key):
			hint := "it takes none"
			if len(known) > 0 {
				hint = "known are " + strings.ReplaceAll(strings.Join(known, ", "), repeated, "")
			}
			return &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("%.40q is no parameter of this path", key), Hint: hint}
		case len(values) > 1:
			return &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s is given %d times", key, len(values)), Hint: "give it once"}
		}
	}
	return nil
}

// mostNames is how many users one query may name.
const mostNames = 1000

// userIDs returns the uids of a comma-separated list of names or numbers, nil if it is empty. gone
// are names that nobody has here: of users who left, or of none.
func userIDs(list string) (uids []uint32, gone []string, e *refusal) {
	if list == "" {
		return nil, nil, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if uid, e := userID(name); e == nil {
			uids = append(uids, *uid)
		} else {
			gone = append(gone, name)
		}
		if len(uids)+len(gone) > mostNames {
			return nil, nil, &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("more than %d users are named", mostNames)}
		}
	}
	return uids, gone, nil
}

func badQuery(key, text, want string) *refusal {
	return &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s=%.40q is not %s", key, text, want)}
}

// userID returns the uid of a name, or of a number.
func userID(name string) (*uint32, *refusal) {
	number := name
	if u, err := user.Lookup(name); err == nil {
		number = u.Uid
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil, &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("there is no user %.40q", name), Hint: "give a name or a uid"}
	}
	uid := uint32(n)
	return &uid, nil
}
