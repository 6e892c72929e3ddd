package replay

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

func asItIs(b []byte, _ int) []byte { return b }

// sizeOf is what is said of logs.
func sizeOf(logs []Log) (s Size) {
	s.Ranks = len(logs)
	for i := range logs {
		s.Entries += len(logs[i].Entries)
	}
	return s
}

// What is packed comes out as it went in, numbers at their ends too.
func TestPack(t *testing.T) {
	logs := pairLogs(t)
	logs[0].Why, logs[1].K = WhyThreads, 2
	logs[0].Entries = append(logs[0].Entries, Entry{Op: OpComm, Bytes: math.MaxUint64, Request: math.MaxUint64, Peer: math.MinInt32, Tag: math.MaxInt32,
		Comm: math.MaxUint32, Call: math.MaxUint16, Flags: 255}, Entry{Op: OpInitSend, Request: 1}, Entry{Op: OpInitRecv, Leave: 7})
	stand(logs, func(rank int, op Op) uint64 { return uint64(rank) })
	logs[0].Entries[len(logs[0].Entries)-1].Site = MostSites
	thin := machine{size: 2, k: 2}
	want := []Log{logs[0], logs[1]}
	for i := range want {
		want[i].K, want[i].Node = 2, "" // the node is known from where they come
		want[i].Entries = sampled(logs[i].Entries, thin.k)
	}
	packed := Pack(logs, RoomOn(2), asItIs)
	got, err := Unpack(packed, sizeOf(want))
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for _, other := range []Size{{1, sizeOf(want).Entries}, {3, sizeOf(want).Entries}, {2, sizeOf(want).Entries - 1}, {2, sizeOf(want).Entries + 1}, {2, -1}, {-1, 0}} {
		if logs, err := Unpack(packed, other); err != errOther || logs != nil || Check(packed, other) != err {
			t.Errorf("as %+v: %v, want %v", other, err, errOther)
		}
	}
}

// What is said of logs, and what they say themselves, is bounded before anything is made of it.
func TestUnpackIsBounded(t *testing.T) {
	var said Size
	many := binary.AppendUvarint([]byte{packVersion, 0}, MostRanks)
	for range MostRanks {
		many = append(many, 0, 0, 0, 0)
	}
	lying := binary.AppendUvarint([]byte{packVersion, 0, 1, 0, 0, 0}, MostEntries) // of which nothing follows
	const there = 100_000
	more := binary.AppendUvarint([]byte{packVersion, 0, 1, 0, 0, 0}, there)
	for range there {
		more = append(more, byte(OpLocal)|untimed, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	for name, c := range map[string]struct {
		text []byte
		said Size
		want error
	}{
		"6.7 million empty logs":  {slices.Concat(binary.AppendUvarint([]byte{packVersion, 0}, 6_700_000), make([]byte, 5*6_700_000)), Size{6_700_000, 0}, errPacked},
		"… said to be one":        {slices.Concat(binary.AppendUvarint([]byte{packVersion, 0}, 3_000_000), make([]byte, 5*3_000_000)), Size{1, 0}, errOther},
		"entries that are not":    {lying, Size{1, MostEntries}, errPacked},
		"more entries than said":  {more, Size{1, 1}, errOther},
		"less than nothing":       {[]byte{packVersion, 0, 0}, Size{0, -43}, errOther},
		"… of ranks":              {[]byte{packVersion, 0, 0}, Size{-23, 0}, errOther},
		"more entries than fit":   {lying, Size{1, MostEntries + 1}, errPacked},
		"more ranks than fit":     {many, Size{MostRanks + 1, 0}, errPacked},
		"a text that is too long": {append(slices.Clone(many), make([]byte, mostText)...), Size{MostRanks, 0}, errPacked},
		"as many as may be":       {many, Size{MostRanks, 0}, nil},
	} {
		said = c.said
		var logs []Log
		var err error
		took := allocated(func() { logs, err = Unpack(c.text, said) })
		if err != c.want || Check(c.text, said) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if most := uint64(1<<20 + 500*len(logs)); took > most {
			t.Errorf("%s: %d bytes for %d logs, want at most %d", name, took, len(logs), most)
		}
		if took := allocated(func() { err = Check(c.text, said) }); took > 1<<16 {
			t.Errorf("%s: %d bytes to check", name, took)
		}
	}
}

// allocated is how many bytes do takes, all in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Sites of another machine are bounded, and harmless.
func TestUnpackOfHostileSites(t *testing.T) {
	text := func(sites ...Site) []byte { return append(appendSites([]byte{packVersion}, sites), 1, 0, 0, 0, 0) }
	long := func(n int) string { return string(make([]byte, n)) }
	for name, c := range map[string]struct {
		text []byte
		want error
	}{
		"as many as may be":      {text(make([]Site, MostSites)...), nil},
		"too many":               {text(make([]Site, MostSites+1)...), errPacked},
		"a long path":            {text(Site{Module: job.Module{Path: long(mostPath + 1)}}), errPacked},
		"a build-id of no sense": {text(Site{Module: job.Module{BuildID: "xy"}}), errPacked},
		"a far offset":           {text(Site{Offset: mostOffset + 1}), errPacked},
		"they are not there":     {[]byte{packVersion, 9, 1}, errPacked},
	} {
		if _, err := Unpack(c.text, Size{Ranks: 1}); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	logs, err := Unpack(text(Site{Module: job.Module{Path: "/lib/\x1b[2J.so", BuildID: "0f"}, Offset: mostOffset}), Size{Ranks: 1})
	if err != nil || len(logs[0].Sites) != 1 || logs[0].Sites[0].Module != (job.Module{Path: "/lib/?[2J.so", BuildID: "0f"}) {
		t.Errorf("%v: %+v", err, logs)
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
		entries := 0
		packed := Pack(logs, Room{most, mostText, MostEntries}, func(text []byte, n int) []byte { entries = n; return compress(text, n) })
		text, err := wire.Decompress(packed)
		if err != nil || len(packed) == 0 || len(packed) > most {
			t.Fatalf("%d bytes in %d: %v", len(packed), most, err)
		}
		got, err := Unpack(text, Size{4, entries})
		r := replay(got, 4, run)
		if err != nil || r.Why != Determined || r.Dropped != 0 || !near(r.Transfer.Value, 50./51) || r.Matched > before {
			t.Errorf("in %d bytes: %v, %q, %d matched, %d dropped, TE %v", most, err, r.Why, r.Matched, r.Dropped, r.Transfer.Value)
		}
		before = r.Matched
	}
	if got := Pack(logs, Room{10, mostText, MostEntries}, compress); got != nil {
		t.Errorf("%d bytes in 10", len(got))
	}
}

func compress(text []byte, _ int) []byte { return wire.Compress(text) }

// The number of entries, and the text's, is bounded where logs are packed, too.
func TestPackEntries(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(1024, func(p *proc, _ int) { p.compute(ms) }))
	whole := len(Pack(logs, Room{1 << 20, mostText, MostEntries}, asItIs))
	entries := sizeOf(logs).Entries // 2 a window: 8 times and a bit the room of 512
	for _, c := range []struct {
		room Room
		k    int
	}{{Room{1 << 20, mostText, 512}, 4}, {Room{whole, whole, entries}, 0}, {Room{whole - 1, whole, entries}, 1}, {Room{whole, whole - 1, entries}, 1}, {Room{whole, whole, entries - 1}, 1}} {
		said := Size{Ranks: 2}
		packed := Pack(logs, c.room, func(text []byte, n int) []byte { said.Entries = n; return text })
		got, err := Unpack(packed, said)
		if err != nil || len(got) != 2 || got[0].K != c.k || len(packed) > min(c.room.bytes, c.room.text) || said.Entries > c.room.entries {
			t.Errorf("%+v: %d logs, %v", c, len(got), err)
		}
	}
	if _, err := Unpack(nil, Size{}); err != errPacked {
		t.Errorf("%v, want %v", err, errPacked)
	}
}

// A rank gives only those reasons that a rank can give.
func TestPackWhy(t *testing.T) {
	logs := pairLogs(t)
	for said, want := range map[Why]Why{WhyThreads: WhyThreads, WhyGroups: WhyGroups, WhyRanks: WhyOdd, "call 555-0100": WhyOdd} {
		logs[0].Why = said
		text, _, _ := encodeLogs(logs, 0)
		got, err := Unpack(text, sizeOf(logs))
		if err != nil || got[0].Why != want || got[1].Why != Determined {
			t.Errorf("%q: %v, %v", said, got, err)
		}
	}
}

// Bytes of another machine give logs that can be packed again, or an error.
func FuzzUnpack(f *testing.F) {
	pair := pairLogs(f)
	text, _, entries := encodeLogs(pair, 0)
	f.Add(text, 2, entries)
	f.Add([]byte{packVersion, 0, 1, 0, 0, 0, 0, 0}, 1, 0)
	f.Add(binary.AppendUvarint([]byte{packVersion, 0, 1, 0, 0, 0}, 1<<30), 1, MostEntries)
	f.Fuzz(func(t *testing.T, text []byte, ranks, entries int) {
		said := Size{ranks, entries}
		logs, err := Unpack(text, said)
		if checked := Check(text, said); checked != err {
			t.Fatalf("checked: %v, unpacked: %v", checked, err)
		}
		if err != nil {
			return
		}
		if sizeOf(logs) != said || leastEntry*entries+4*ranks > len(text) {
			t.Fatalf("%+v of %d bytes, said to be %+v", sizeOf(logs), len(text), said)
		}
		replay(logs, len(logs), efficiencies{})
		again, _, kept := encodeLogs(logs, 0)
		if logs, err := Unpack(again, Size{ranks, kept}); err != nil || len(logs) != ranks {
			t.Errorf("%d logs, then %d: %v", ranks, len(logs), err)
		}
	})
}
