package admit

import "fmt"

// part is whose share of jobeffd something is charged to.
type part struct {
	class class
	name  string // "": no bound
}

// class says how much is known of whoever asks. Those of whom less is known are cut first.
type class int

const (
	nobody   class = iota // no credential was shown: an address
	stranger              // root of some node, by an address of which the resolver told nothing yet
	known                 // a user, a node, a proxy
	classes
)

// Strangers have no more together than strangersTogether parts.
const (
	strangers         = "strangers"
	strangersTogether = 2
)

// ofProxy is the part of the proxy that shows its secret.
var ofProxy = part{known, "the pages' proxy"}

func ofUser(uid uint32) part { return part{known, fmt.Sprintf("uid %d", uid)} }

// share is one of those that something is charged to.
type share struct {
	name  string
	times int // how many parts it is
}

// shares are all that a part is charged to: itself, and what strangers have together.
func (p part) shares() []share {
	switch {
	case p.name == "":
		return nil
	case p.class == stranger:
		return []share{{p.name, 1}, {strangers, strangersTogether}}
	}
	return []share{{p.name, 1}}
}
