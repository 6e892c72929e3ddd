package server

import (
	"encoding/hex"
	"sync"
	"time"

	"jobeff/ingest/munge"
)

// nonces remembers what was used for at least nonceMemory and at most twice that.
type nonces struct {
	mu        sync.Mutex
	now, old  map[[16]byte]struct{}
	exchanged time.Time
}

// nonceMemory is the longest span in which munge accepts one credential: its
// lifetime on both sides of when it was made, since clocks differ.
const nonceMemory = 2 * munge.Lifetime

// fresh notes a nonce; false if it is none, or was noted before.
func (n *nonces) fresh(nonce string, at time.Time) bool {
	var key [16]byte
	if len(nonce) != hex.EncodedLen(len(key)) {
		return false
	}
	if _, err := hex.Decode(key[:], []byte(nonce)); err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now == nil || at.Sub(n.exchanged) > nonceMemory {
		n.old, n.now, n.exchanged = n.now, map[[16]byte]struct{}{}, at
	}
	_, used := n.now[key]
	_, before := n.old[key]
	n.now[key] = struct{}{}
	return !used && !before
}
