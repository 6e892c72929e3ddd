package admit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"jobeff/ingest/wire"
)

var ctx = context.Background()

// TestRates: a batch counts as what it holds, and who takes more than there is waits longer.
func TestRates(t *testing.T) {
	now := time.Now()
	a, b := part{class: known, name: "node a"}, part{class: known, name: "node b"}
	x, y, z := part{class: stranger, name: "x"}, part{class: stranger, name: "y"}, part{class: stranger, name: "z"}
	type step struct {
		of       part
		at       time.Duration
		n, least int
		retry    time.Duration // 0: taken
	}
	for name, steps := range map[string][]step{
		"a batch":              {{a, 0, 1, 1, 0}, {a, 0, 2299, 0, 0}, {a, 0, 1, 1, 2 * time.Second}, {a, 1300 * time.Millisecond, 1, 1, time.Second}, {a, 1302 * time.Millisecond, 1, 1, 0}},
		"two batches at once":  {{a, 0, 1, 1, 0}, {a, 0, 1, 1, 0}, {a, 0, 2299, 0, 0}, {a, 0, 2299, 0, 2 * time.Second}},
		"another node":         {{a, 0, 5000, 1, 0}, {b, 0, 1000, 1, 0}, {b, 0, 1, 1, time.Second}},
		"no bound":             {{part{}, 0, 5000, 1, 0}, {part{}, 0, 5000, 1, 0}},
		"strangers together":   {{x, 0, 1000, 1, 0}, {y, 0, 1000, 1, 0}, {z, 0, 1, 1, time.Second}, {a, 0, 1000, 1, 0}},
		"a stranger by itself": {{x, 0, 1000, 1, 0}, {x, 0, 1, 1, time.Second}, {y, 0, 1, 1, 0}},
	} {
		r := newRates(1000)
		for i, s := range steps {
			var got time.Duration
			if e := r.take(s.of, now.Add(s.at), s.n, s.least); e != nil {
				got = e.Retry
			}
			if got != s.retry {
				t.Errorf("%s, %d: it may come again after %v, want %v", name, i, got, s.retry)
			}
		}
	}
}

// TestRatesForget: the memory of rates stays bounded. What strangers have together is not forgotten:
// they may be who made up so many.
func TestRatesForget(t *testing.T) {
	r, now := newRates(1), time.Now()
	for i := range 2*mostSources + 10 {
		r.take(part{class: known, name: fmt.Sprint(i)}, now, 1, 1)
	}
	if len(r.of) > mostSources {
		t.Errorf("%d sources", len(r.of))
	}
	r.take(part{class: stranger, name: "one"}, now, 100, 1)
	for i := range mostSources {
		r.take(part{class: known, name: fmt.Sprint(i)}, now, 1, 1)
	}
	if e := r.take(part{class: stranger, name: "two"}, now, 1, 1); e == nil {
		t.Error("strangers begin anew")
	}
}

// TestTexts: what parts may take at once, and that all of it is given back.
func TestTexts(t *testing.T) {
	m := newTexts()
	var given []func()
	for i := range 4 {
		release, e := m.take(ctx, part{class: known, name: fmt.Sprint(i)}, wire.MaxReportBytes)
		if e != nil {
			t.Fatal(e)
		}
		if _, e := m.take(ctx, part{class: known, name: fmt.Sprint(i)}, 0); e == nil {
			t.Error("more than a part may be taken")
		}
		given = append(given, release)
	}
	for _, release := range given {
		release()
	}
	given = nil
	for i := range strangersTogether {
		release, e := m.take(ctx, part{class: stranger, name: fmt.Sprint(i)}, wire.MaxReportBytes)
		if e != nil {
			t.Fatal(e)
		}
		given = append(given, release)
	}
	if _, e := m.take(ctx, part{class: stranger, name: "more"}, 0); e == nil {
		t.Error("strangers may take more than their part")
	}
	for _, release := range given {
		release()
	}
	if len(m.of) != 0 || !m.all.TryAcquire(mostOfAll) {
		t.Errorf("not given back: %v", m.of)
	}
}

// waiting is how many hold a turn of a part or wait for one.
func (t *turns) waiting(p part) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.of[p.name]; own != nil {
		return own.users
	}
	return 0
}

// TestTurns: one's own wait, others' don't, and all are given back. Who waits in vain takes no turn.
func TestTurns(t *testing.T) {
	m := newTurns(mostAtOnce, 0)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	var given []func()
	taken := func(p part) bool {
		for range 100 { // of a free turn and a context that has ended, select takes either
			if release, err := m.take(gone, p); err == nil {
				given = append(given, release)
				return true
			}
		}
		return false
	}
	alice, bob, x, y, z := ofUser(1, ""), ofUser(2, ""), part{class: stranger, name: "x"}, part{class: stranger, name: "y"}, part{class: stranger, name: "z"}
	for _, p := range []part{alice, bob, x, y} {
		for range mostAtOnce {
			if !taken(p) {
				t.Errorf("no turn for %v", p)
			}
		}
	}
	for _, p := range []part{alice, bob, x, z} {
		if taken(p) {
			t.Errorf("a turn too many for %v", p)
		}
	}
	for _, release := range given {
		release()
	}
	if len(m.of) != 0 {
		t.Errorf("not given back: %v", m.of)
	}
}
