package server

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
	known bool // Server.sees filled it in
}

// seen makes a viewer of the caller that the door let in.
func seen(c *admit.Caller, e *refusal) (viewer, *refusal) {
	return viewer{Viewer: store.Viewer{UID: c.User, Cluster: c.Cluster}, Caller: c}, e
}

func (v viewer) note(e *zerolog.Event) *zerolog.Event {
	if v.Caller == nil || v.From == "" {
		return e
	}
	if e = e.Uint32("uid", v.UID).Str("from", v.From); v.Caller.Cluster != "" {
		e = e.Str("key_of", v.Caller.Cluster)
	}
	return e
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

// admitted refuses parameters other than known, before the viewer's turn.
func (s *Server) admitted(r *http.Request, by viewer, known []string) (viewer, *refusal) {
	if e := onlyKnown(r, known); e != nil {
		return by, e
	}
	return s.turn(r.Context(), by)
}

// turn waits for the viewer's turn, and fills in what they may see.
func (s *Server) turn(ctx context.Context, by viewer) (viewer, *refusal) {
	if err := by.Turn(ctx); err != nil {
		return by, refuse(err)
	}
	return s.sees(ctx, by)
}

// sees fills in what a viewer may see: their own jobs and what Slurm grants them. Root and
// operators see everything, of several clusters that of theirs. What Slurm grants is of this machine's uids.
func (s *Server) sees(ctx context.Context, by viewer) (viewer, *refusal) {
	var err error
	switch trusted := s.trusted[by.UID]; {
	case trusted && !by.Proxied && (by.UID == 0 || !by.Foreign), s.operators[by.UID] && !by.Foreign:
		by.All = true
	case !trusted || by.Foreign:
		by.Viewer, err = s.store.Viewer(ctx, by.Caller.Cluster, by.UID, s.open)
	}
	if err != nil {
		return by, refuse(err)
	}
	by.known = true
	return by, nil
}

// of lets a viewer ask about one cluster of those that they see: ?cluster=NAME.
func (s *Server) of(r *http.Request, by viewer) (viewer, *refusal) {
	name := r.URL.Query().Get("cluster")
	isKnown := len(s.clusters) == 0 || slices.Contains(s.clusters, name)
	switch sees := by.Viewer.Cluster; {
	case name == "" || name == sees:
	case sees != "":
		return by, &refusal{Status: http.StatusForbidden, Message: fmt.Sprintf("you are told of cluster %s alone", sees), Hint: "ask for others from a machine of theirs"}
	case !isKnown:
		return by, &refusal{Status: http.StatusNotFound, Message: fmt.Sprintf("there is no cluster %.40q", name), Hint: "known are " + strings.Join(s.clusters, ", ")}
	default:
		by.Of = name
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

// mostNames is how many users, accounts or others one parameter may name: each is an argument of the query.
const mostNames = 1000

// nobody is the uid of no user, (uid_t)-1.
const nobody = math.MaxUint32

// userIDs are the uids of a comma-separated list of names or numbers, nil if it is empty. A name that
// this machine does not know may be that of a user who left: Slurm knows it. For a viewer who may see
// nobody else, Slurm is not asked, so the answer does not show which users there are.
func (s *Server) userIDs(ctx context.Context, by viewer, list string) (uids []uint32, e *refusal) {
	if list == "" {
		return nil, nil
	}
	var left []string
	for name := range strings.SplitSeq(list, ",") {
		number := name
		if u, err := user.Lookup(name); err == nil && !by.Foreign && by.Of == "" {
			number = u.Uid
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err == nil {
			uids = append(uids, uint32(n))
		} else {
			left = append(left, name)
		}
		isName, isOwn := err != nil || number != name, err == nil && uint32(n) == by.UID
		if isName && !isOwn && len(s.clusters) > 0 && by.Viewer.Cluster == "" && by.Of == "" {
			return nil, &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("%.40q may be another person on each cluster", name),
				Hint: "name a cluster with -M; a uid stands for its users on all clusters"}
		}
	}
	if others := seesOthers(by.Viewer); len(left) > 0 && (others || by.Foreign) {
		known, err := s.store.UsersOfSlurm(ctx, cmp.Or(by.Viewer.Cluster, by.Of), left)
		if err != nil {
			return nil, refuse(err)
		}
		if !others { // a foreign user may write their own name
			known = slices.DeleteFunc(known, func(uid uint32) bool { return uid != by.UID })
		}
		uids = append(uids, known...)
	}
	if len(uids) == 0 {
		uids = []uint32{nobody}
	}
	return uids, nil
}

// userID is the uid of one name or number; nil if there is none.
func (s *Server) userID(ctx context.Context, by viewer, name string) (*uint32, *refusal) {
	uids, e := s.userIDs(ctx, by, strings.ReplaceAll(name, ",", " "))
	if len(uids) == 0 || e != nil {
		return nil, e
	}
	return &uids[0], nil
}

func badQuery(key, text, want string) *refusal {
	return &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s=%.40q is not %s", key, text, want)}
}
