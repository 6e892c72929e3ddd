package replay

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Logs of a node travel to the server as varints, which compress well: times as differences,
// most numbers as one byte. The server unpacks those of all nodes and replays them.

// packVersion begins a packed text.
const packVersion = 1

// mostName bounds a text in a packed log, bytes.
const mostName = 255

// errPacked is the error for what no Pack has written.
var errPacked = errors.New("replay: not a packed log")

// errLong is the error for more entries than the reader takes.
var errLong = errors.New("replay: a packed log of too many entries")

// Room is what the logs of a node may take.
type Room struct {
	Bytes   int // compressed
	Entries int
}

// Limits of the logs of a run. A server holds them all in memory when it replays them.
const (
	MostEntries  = 1 << 20 // of all nodes
	mostBytes    = 64 << 20
	mostNodeSize = 1 << 20 // bytes of one node
)

// RoomOn is the room on each of a run's nodes.
func RoomOn(nodes int) Room {
	nodes = max(nodes, 1)
	return Room{Bytes: min(mostNodeSize, mostBytes/nodes), Entries: MostEntries / nodes}
}

// Pack packs the logs of a node into its room. Where they are larger, it samples their windows
// more thinly. squeeze compresses. It returns nil if not even one window has room.
func Pack(logs []Log, most Room, squeeze func([]byte) []byte) []byte {
	k := 0
	for i := range logs {
		k = max(k, logs[i].K)
	}
	for ; k < 63; k++ {
		text, windows, entries := encodeLogs(logs, k)
		if windows == 0 {
			return nil
		}
		packed := squeeze(text)
		if len(packed) <= most.Bytes && entries <= most.Entries {
			return packed
		}
		over := max(len(packed)/max(most.Bytes, 1), entries/max(most.Entries, 1))
		k += bits.Len(uint(over)) - 1 // half the windows take half the room
	}
	return nil
}

// encodeLogs writes what of the logs is sampled 1 in 2^k, and counts the windows and entries.
func encodeLogs(logs []Log, k int) (text []byte, windows, entries int) {
	text = binary.AppendUvarint([]byte{packVersion}, uint64(len(logs)))
	for i := range logs {
		l := &logs[i]
		text = binary.AppendUvarint(text, uint64(l.Rank))
		text = appendName(appendName(text, l.Node), string(l.Why))
		text = append(text, byte(max(k, l.K)))
		var c coder
		for j := range l.Entries {
			if c.keeps(&l.Entries[j], k) {
				text = c.append(text, &l.Entries[j])
				entries++
			}
		}
		text = append(text, byte(OpNone))
		windows += c.windows
	}
	return text, windows, entries
}

func appendName(text []byte, name string) []byte {
	name = name[:min(len(name), mostName)]
	return append(append(text, byte(len(name))), name...)
}

// coder is what an entry is written as a difference to.
type coder struct {
	at      int64 // end of the call before
	request uint64
	inside  bool // a window that is kept
	windows int
}

// untimed marks the Op of an entry without times.
const untimed = 0x80

// keeps tells whether an entry belongs to a sampled window, or to none.
func (c *coder) keeps(e *Entry, k int) bool {
	switch {
	case e.Op == OpNone || e.Op > OpUnsupported:
		return false
	case e.Op == OpWindow:
		if c.inside = Kept(e.Request, k); c.inside {
			c.windows++
		}
	case e.Op < OpLocal:
		return true
	}
	return c.inside
}

func (c *coder) append(text []byte, e *Entry) []byte {
	op := byte(e.Op)
	if e.Enter == 0 && e.Leave == 0 {
		op |= untimed
	}
	text = append(text, op, byte(e.Flags))
	if op&untimed == 0 {
		text = binary.AppendVarint(text, e.Enter-c.at)
		text = binary.AppendVarint(text, e.Leave-e.Enter)
		c.at = e.Leave
	}
	text = binary.AppendUvarint(text, e.Bytes)
	text = binary.AppendVarint(text, int64(e.Request-c.request))
	c.request = e.Request
	text = binary.AppendVarint(text, int64(e.Peer))
	text = binary.AppendVarint(text, int64(e.Tag))
	text = binary.AppendUvarint(text, uint64(e.Comm))
	return binary.AppendUvarint(text, uint64(e.Call))
}

// Unpack reads what Pack wrote, once it is no longer compressed, of at most most entries.
func Unpack(text []byte, most int) ([]Log, error) {
	d := decoder{text: text}
	if d.byte() != packVersion {
		return nil, errPacked
	}
	var logs []Log
	for range d.within(uint64(len(text))) {
		l := Log{Rank: int(d.within(1 << 26)), Node: d.name(), Why: Why(d.name()), K: int(min(d.byte(), 62))}
		var c coder
		for {
			e, more := d.entry(&c)
			if !more {
				break
			}
			if most--; most < 0 {
				return nil, errLong
			}
			l.Entries = append(l.Entries, e)
		}
		if d.bad {
			return nil, errPacked
		}
		logs = append(logs, l)
	}
	if d.bad || len(d.text) > 0 {
		return nil, errPacked
	}
	return logs, nil
}

// decoder takes numbers off a text. Once one is bad, all that follow are 0.
type decoder struct {
	text []byte
	bad  bool
}

func (d *decoder) skip(n int) {
	if n <= 0 || n > len(d.text) {
		d.bad, d.text = true, nil
		return
	}
	d.text = d.text[n:]
}

func (d *decoder) byte() (b byte) {
	if len(d.text) > 0 {
		b = d.text[0]
	}
	d.skip(1)
	return b
}

func (d *decoder) unsigned() uint64 {
	v, n := binary.Uvarint(d.text)
	d.skip(n)
	return v
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.text)
	d.skip(n)
	return v
}

// within is a number of at most most.
func (d *decoder) within(most uint64) uint64 {
	v := d.unsigned()
	if v > most {
		d.bad, d.text = true, nil
		return 0
	}
	return v
}

func (d *decoder) name() string {
	n := int(d.byte())
	if n == 0 || n > len(d.text) {
		d.bad = d.bad || n > 0
		return ""
	}
	name := string(d.text[:n])
	d.skip(n)
	return name
}

// entry reads one entry; more is false at the end of a log.
func (d *decoder) entry(c *coder) (e Entry, more bool) {
	op := d.byte()
	if op == byte(OpNone) || d.bad {
		return e, false
	}
	e.Op, e.Flags = Op(op&^untimed), Flags(d.byte())
	if op&untimed == 0 {
		e.Enter = c.at + d.signed()
		e.Leave = e.Enter + d.signed()
		c.at = e.Leave
	}
	e.Bytes = d.unsigned()
	e.Request = c.request + uint64(d.signed())
	c.request = e.Request
	e.Peer, e.Tag = int32(d.signed()), int32(d.signed())
	e.Comm, e.Call = uint32(d.unsigned()), uint16(d.unsigned())
	return e, !d.bad
}
