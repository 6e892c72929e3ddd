package admit

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/munge"
)

func nonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func TestNonces(t *testing.T) {
	n := newNonces()
	at := time.Now()
	first := nonce()
	for i, c := range []struct {
		nonce string
		after time.Duration
		want  bool
	}{
		{first, 0, true}, {first, 0, false}, {first, nonceMemory, false}, {nonce(), nonceMemory + time.Second, true},
		{first, nonceMemory + time.Second, false}, {"", 0, false}, {strings.Repeat("x", 32), 0, false},
	} {
		if got := n.fresh(c.nonce, at.Add(c.after)); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
	n.fresh(nonce(), at.Add(3*nonceMemory))
	n.fresh(nonce(), at.Add(5*nonceMemory))
	if len(n.now)+len(n.old) != 2 {
		t.Errorf("%d and %d nonces are kept", len(n.now), len(n.old))
	}
	// munge takes a credential from a lifetime before its time to one after it, by this machine's clock
	n = newNonces()
	is := n.fresh(first, at)
	for s := time.Duration(0); s < 2*munge.Lifetime; s += time.Second { // others come meanwhile
		n.fresh(nonce(), at.Add(s))
	}
	if !is || n.fresh(first, at.Add(2*munge.Lifetime)) {
		t.Error("a credential was forgotten that munge still takes")
	}
}

// TestNoncesAreBounded: many nonces within munge's lifetime take no more memory than they may. The
// last ones are known.
func TestNoncesAreBounded(t *testing.T) {
	const most = 1000
	n, at := &nonces{most: most}, time.Now()
	for i := range 3*most + 1 {
		n.fresh(fmt.Sprintf("%032x", i), at)
	}
	if len(n.now)+len(n.old) > 2*most || n.fresh(fmt.Sprintf("%032x", 3*most), at) || n.fresh(fmt.Sprintf("%032x", 2*most), at) {
		t.Errorf("%d and %d nonces are kept", len(n.now), len(n.old))
	}
}
