package admit

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/munge"
)

func TestReadSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"good": {"0123456789abcdef\n", 0o640, ""}, "open": {"0123456789abcdef", 0o644, "chmod o="},
		"short": {"0123\n", 0o600, "fewer than 16"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(path)
		if c.want == "" && (err != nil || string(got) != "0123456789abcdef") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := ReadSecret(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "does not exist: make it with") {
		t.Error(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(fifo); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}

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
