package server

import (
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

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
