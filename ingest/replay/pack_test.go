package replay

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
)

func asItIs(b []byte) []byte { return b }

// What is packed comes out as it went in, numbers at their ends too.
func TestPack(t *testing.T) {
	logs := pairLogs(t)
	logs[0].Why, logs[1].K = WhyThreads, 2
	logs[0].Entries = append(logs[0].Entries, Entry{Op: OpComm, Bytes: math.MaxUint64, Request: math.MaxUint64, Peer: math.MinInt32, Tag: math.MaxInt32,
		Comm: math.MaxUint32, Call: math.MaxUint16, Flags: 255}, Entry{Op: OpInitSend, Request: 1}, Entry{Op: OpInitRecv, Leave: 7})
	got, err := Unpack(Pack(logs, RoomOn(2), asItIs), MostEntries)
	thin := machine{size: 2, k: 2}
	want := []Log{logs[0], logs[1]}
	for i := range want {
		want[i].K = 2
		want[i].Entries = sampled(logs[i].Entries, thin.k)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

// sampled are the entries that stay with k.
func sampled(entries []Entry, k int) (out []Entry) {
	inside := false
	for _, e := range entries {
		if e.Op == OpWindow {
			inside = Kept(e.Request, k)
		}
		if inside || e.Op < OpLocal && e.Op != OpWindow {
			out = append(out, e)
		}
	}
	return out
}

// Whatever room there is, what is packed fits into it, and tells the same of fewer windows.
func TestPackThins(t *testing.T) {
	m := machine{size: 4, transfer: ms}
	logs := m.simulate(t, loop(4096, func(p *proc, _ int) {
		p.compute(50 * ms)
		p.sendrecv((p.rank+1)%p.size, (p.rank+p.size-1)%p.size, 64)
	}))
	run := runOf(logs)
	before := math.MaxInt
	for _, most := range []int{1 << 20, 1 << 16, 1 << 14, 1 << 12} {
		packed := Pack(logs, Room{most, MostEntries}, job.Compress)
		text, err := job.Decompress(packed)
		if err != nil || len(packed) == 0 || len(packed) > most {
			t.Fatalf("%d bytes in %d: %v", len(packed), most, err)
		}
		got, err := Unpack(text, MostEntries)
		r := Replay(got, 4, run)
		if err != nil || r.Why != Determined || r.Dropped != 0 || !near(r.TE, 50./51) || r.Matched > before {
			t.Errorf("in %d bytes: %v, %q, %d matched, %d dropped, TE %v", most, err, r.Why, r.Matched, r.Dropped, r.TE)
		}
		before = r.Matched
	}
	if got := Pack(logs, Room{10, MostEntries}, job.Compress); got != nil {
		t.Errorf("%d bytes in 10", len(got))
	}
}

// The number of entries is bounded on both sides.
func TestPackEntries(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(1024, func(p *proc, _ int) { p.compute(ms) }))
	whole := Pack(logs, Room{1 << 20, MostEntries}, asItIs)
	entries := len(logs[0].Entries) + len(logs[1].Entries) // 2 a window: 8 times and a bit the room of 512
	for _, c := range []struct {
		room Room
		k    int
	}{{Room{1 << 20, 512}, 4}, {Room{len(whole), entries}, 0}, {Room{len(whole) - 1, entries}, 1}, {Room{len(whole), entries - 1}, 1}} {
		packed := Pack(logs, c.room, asItIs)
		got, err := Unpack(packed, c.room.Entries)
		if err != nil || len(got) != 2 || got[0].K != c.k || len(packed) > c.room.Bytes {
			t.Errorf("%+v: %d logs, %v", c, len(got), err)
		}
	}
	if _, err := Unpack(whole, entries-1); err != errLong {
		t.Errorf("%v, want %v", err, errLong)
	}
	if _, err := Unpack(nil, entries); err != errPacked {
		t.Errorf("%v, want %v", err, errPacked)
	}
}

// Bytes of another machine give logs that can be packed again, or an error.
func FuzzUnpack(f *testing.F) {
	f.Add(Pack(pairLogs(f), RoomOn(2), asItIs))
	f.Add([]byte{packVersion, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		logs, err := Unpack(text, MostEntries)
		n := 0
		for _, l := range logs {
			n += len(l.Entries)
		}
		if 8*n > len(text) || len(logs) > len(text) {
			t.Fatalf("%d entries of %d bytes", n, len(text))
		}
		if err != nil {
			return
		}
		Replay(logs, len(logs), Run{})
		text, _, _ = encodeLogs(logs, 0)
		if again, err := Unpack(text, MostEntries); err != nil || len(again) != len(logs) {
			t.Errorf("%d logs, then %d: %v", len(logs), len(again), err)
		}
	})
}
