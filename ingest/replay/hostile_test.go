package replay

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// entryBytes is an entry as FuzzReplay writes it.
const entryBytes = 48

func encode(logs []Log) []byte {
	var out []byte
	for _, l := range logs {
		for _, e := range l.Entries {
			out = binary.LittleEndian.AppendUint64(out, uint64(e.Enter))
			out = binary.LittleEndian.AppendUint64(out, uint64(e.Leave))
			out = binary.LittleEndian.AppendUint64(out, e.Bytes)
			out = binary.LittleEndian.AppendUint64(out, e.Request)
			out = binary.LittleEndian.AppendUint32(out, uint32(e.Peer))
			out = binary.LittleEndian.AppendUint32(out, uint32(e.Tag))
			out = binary.LittleEndian.AppendUint32(out, e.Comm)
			out = binary.LittleEndian.AppendUint16(out, e.Call)
			out = append(out, byte(e.Op), byte(e.Flags))
		}
	}
	return out
}

// decode makes logs of two ranks, of which the first has the first entries.
func decode(b []byte, first uint8) []Log {
	logs := []Log{{Rank: 0, Node: "a"}, {Rank: 1, Node: "b"}}
	for i := 0; len(b) >= entryBytes; i, b = i+1, b[entryBytes:] {
		u := binary.LittleEndian
		l := &logs[1]
		if i < int(first) {
			l = &logs[0]
		}
		l.Entries = append(l.Entries, Entry{Enter: int64(u.Uint64(b)), Leave: int64(u.Uint64(b[8:])), Bytes: u.Uint64(b[16:]),
			Request: u.Uint64(b[24:]), Peer: int32(u.Uint32(b[32:])), Tag: int32(u.Uint32(b[36:])), Comm: u.Uint32(b[40:]),
			Call: u.Uint16(b[44:]), Op: Op(b[46]), Flags: Flags(b[47])})
	}
	return logs
}

// Whatever a log contains, the replay ends, and what it tells is possible.
func FuzzReplay(f *testing.F) {
	logs := pairLogs(f)
	f.Add(encode(logs), uint8(len(logs[0].Entries)))
	m := machine{size: 2, transfer: ms}
	logs = m.simulate(f, loop(5, persistentHalo()))
	f.Add(encode(logs), uint8(len(logs[0].Entries)))
	f.Fuzz(func(t *testing.T, b []byte, first uint8) {
		logs := decode(b, first)
		run := runOf(logs)
		r := replay(logs, 2, run)
		if r.Matched+r.Dropped != r.Logged || !(r.Share >= 0 && r.Share <= 1) {
			t.Errorf("%d + %d of %d windows, %v", r.Matched, r.Dropped, r.Logged, r.Share)
		}
		if r.Why == Determined {
			checkResult(t, run, r)
		}
		for _, d := range r.Drops {
			if d.Time < 0 {
				t.Errorf("%v", d)
			}
		}
	})
}

// What a replay takes besides the logs is bounded: by the acts of a window, and by the communicators
// of a run.
func TestReplayTakesBoundedMemory(t *testing.T) {
	for _, c := range []struct {
		name        string
		acts, comms int // of both ranks
		why         Why
		drop        Reason
	}{
		{"a full window", mostActs - 2, 2, WhyFew, Matched},
		{"a window that is too full", mostActs + 2, 2, WhyFew, ReasonLarge},
		{"all communicators", 0, mostComms - 2, WhyFew, Matched},
		{"too many communicators", 0, mostComms + 2, WhyRoom, Matched},
	} {
		logs := make([]Log, 2)
		for r := range logs {
			l := &logs[r]
			l.Rank = r
			l.Entries = append(l.Entries, Entry{Op: OpComm, Comm: 1, Bytes: 1, Tag: 2, Peer: int32(r)})
			for i := range c.comms / 2 {
				l.Entries = append(l.Entries, Entry{Op: OpComm, Comm: uint32(i + 2), Bytes: uint64(2*i + r + 2), Tag: 1})
			}
			l.Entries = append(l.Entries, Entry{Op: OpWindow, Comm: 1})
			for range c.acts / 2 {
				l.Entries = append(l.Entries, Entry{Op: OpCollAll, Comm: 2})
			}
			l.Entries = append(l.Entries, Entry{Op: OpCollAll, Comm: 1, Flags: Border, Leave: 1})
		}
		got := replay(logs, 2, efficiencies{})
		drop := Matched
		if len(got.Drops) > 0 {
			drop = got.Drops[0].Reason
		}
		if got.Why != c.why || drop != c.drop || got.Matched != bit(c.why == WhyFew && drop == Matched) {
			t.Errorf("%s: %q, %d matched, dropped for %q", c.name, got.Why, got.Matched, drop)
		}
	}
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// haloLogs are of a stencil: each rank talks to two neighbours and to all.
func haloLogs(tb testing.TB, ranks, windows int) (logs []Log, calls int) {
	m := machine{size: ranks, transfer: ms}
	logs = m.simulate(tb, loop(windows, func(p *proc, i int) {
		left, right := (p.rank+p.size-1)%p.size, (p.rank+1)%p.size
		for range 4 {
			rs := []*request{p.irecv(left, 1, 512), p.irecv(right, 2, 512), p.isend(right, 1, 512), p.isend(left, 2, 512)}
			p.compute(time.Duration(10+(i+p.rank)%3) * ms)
			p.wait(rs...)
		}
		p.coll(OpCollFrom, p.world(), 0)
	}))
	for _, l := range logs {
		for _, e := range l.Entries {
			if e.Op >= OpLocal && e.Flags&Continued == 0 {
				calls++
			}
		}
	}
	return logs, calls
}

// The replay takes a time that grows as the calls do, with the windows and with the ranks.
func TestReplayIsLinear(t *testing.T) {
	few, _ := haloLogs(t, 8, 1000)
	windows, _ := haloLogs(t, 8, 4000)
	ranks, _ := haloLogs(t, 32, 1000)
	for _, more := range [][]Log{windows, ranks} {
		var r *job.Windows
		jobtest.WantLinear(t, func() { replay(few, len(few), runOf(few)) }, func() { r = replay(more, len(more), runOf(more)) })
		if r.Why != Determined || r.Dropped != 0 {
			t.Errorf("%q, %v", r.Why, r.Drops)
		}
	}
}

// One large window does not make the small ones after it dear.
func TestOneLargeWindow(t *testing.T) {
	logsOf := func(times int) []Log {
		m := machine{size: 2}
		return m.simulate(t, loop(4000*times, func(p *proc, i int) {
			n := 1
			if i == 0 {
				n = 4000 * times
			}
			for tag := range n {
				p.exchange(1-p.rank, 1-p.rank, tag, 8)
			}
			p.compute(ms)
		}))
	}
	few, many := logsOf(1), logsOf(4)
	jobtest.WantLinear(t, func() { replay(few, 2, efficiencies{}) }, func() { replay(many, 2, efficiencies{}) })
}

// BenchmarkReplay replays 64 ranks' logs; a call is what a rank calls, whatever it consists of.
func BenchmarkReplay(b *testing.B) {
	logs, calls := haloLogs(b, 64, 250)
	run := runOf(logs)
	b.ReportAllocs()
	for b.Loop() {
		if r := replay(logs, len(logs), run); r.Why != Determined || r.Dropped != 0 {
			b.Fatalf("%q, %v", r.Why, r.Drops)
		}
	}
	b.ReportMetric(float64(calls)*float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// The same run has the same windows in any year that ns since 1970 can tell; a run of 9 years cannot be.
func TestAnyYear(t *testing.T) {
	m := machine{size: 2, transfer: ms}
	logs := m.simulate(t, loop(8, persistentHalo()))
	run := runOf(logs)
	later := func(ns int64) []Log {
		out := slices.Clone(logs)
		for i := range out {
			out[i].Entries = slices.Clone(out[i].Entries)
			for j := range out[i].Entries {
				if e := &out[i].Entries[j]; e.Leave != 0 {
					e.Enter, e.Leave = e.Enter+ns, e.Leave+ns
				}
			}
		}
		return out
	}
	want := replay(later(0), 2, run)
	if want.Matched == 0 || !want.Determined() {
		t.Fatalf("%+v", want)
	}
	for _, year := range []int{1990, 2042, 2050, 2116, 2261} {
		if d := cmp.Diff(want, replay(later(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()), 2, run)); d != "" {
			t.Errorf("%d: %s", year, d)
		}
	}
	long := later(0)
	last := &long[1].Entries[len(long[1].Entries)-1]
	last.Leave = last.Enter + latest
	if got := replay(long, 2, run); got.Why != WhyOdd {
		t.Errorf("a call of 9 years: %+v", got)
	}
}
