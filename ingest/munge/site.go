package munge

import (
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// Site is client.Munge: it makes credentials of the caller, and says which ones are jobeffd's.
type Site struct {
	Socket  string   // of munged; "": munge's own
	Of      string   // the cluster whose key it has, where one jobeffd serves several; "": not said
	Servers []string // users that jobeffd may run as, names or uids; empty: root and systemUsers
}

// systemUsers are the uids below this one: no person has them.
const systemUsers = 1000

// Sign makes a credential.
func (s Site) Sign(payload []byte) (credential string, err error) {
	return Encode(s.Socket, payload, 0)
}

// Cluster is Of.
func (s Site) Cluster() string { return s.Of }

// Payload returns what a credential of jobeffd carries. An error says why it is not jobeffd's.
func (s Site) Payload(credential string) ([]byte, error) {
	cred, err := Decode(s.Socket, credential)
	switch {
	case err != nil:
		return nil, err
	case !s.Believes(cred.UID):
		return nil, fmt.Errorf("uid %d signed it, and not %s", cred.UID, s.Believed())
	}
	return cred.Payload, nil
}

// Believes says whether an answer that this user signed is jobeffd's. A name in Servers counts as the
// uid that it has on this machine.
func (s Site) Believes(uid uint32) bool {
	if len(s.Servers) == 0 {
		return uid < systemUsers
	}
	id := strconv.FormatUint(uint64(uid), 10)
	return slices.ContainsFunc(s.Servers, func(name string) bool {
		if u, err := user.Lookup(name); err == nil && name != id {
			name = u.Uid
		}
		return name == id
	})
}

// Believed says in words whom Believes means.
func (s Site) Believed() string {
	if len(s.Servers) == 0 {
		return fmt.Sprintf("root or any uid below %d", systemUsers)
	}
	return strings.Join(s.Servers, " or ")
}
