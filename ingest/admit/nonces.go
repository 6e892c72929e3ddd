package admit

import (
	"encoding/hex"
	"sync"
	"time"

	"jobeff/ingest/munge"
)

// nonces remembers each used nonce for nonceMemory at least, and for twice that at most. munged
// remembers them, too, but not after a restart.
type nonces struct {
	mu        sync.Mutex
	now, old  map[[16]byte]struct{}
	exchanged time.Time
	most      int // in each; beyond it the older ones are forgotten, and only munged remembers them
}

// mostNonces is twice 40 MB.
const mostNonces = 1 << 20

func newNonces() *nonces { return &nonces{most: mostNonces} }

// nonceMemory is the longest time in which munge accepts one credential: its lifetime before
// and after it was made, since clocks differ.
const nonceMemory = 2 * munge.Lifetime

// fresh notes a nonce. It is false for a nonce that was used before, or is none.
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
	if n.now == nil || at.Sub(n.exchanged) > nonceMemory || len(n.now) >= n.most {
		n.old, n.now, n.exchanged = n.now, map[[16]byte]struct{}{}, at
	}
	_, used := n.now[key]
	_, before := n.old[key]
	n.now[key] = struct{}{}
	return !used && !before
}
