package replay

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// Logs of a node travel to the server as varints, which compress well: times as differences,
// most numbers as one byte. The server unpacks those of all nodes and replays them.

// packVersion is the version with which a packed text begins.
const packVersion = 1

// Bounds of a packed log: a rank of MPI_COMM_WORLD, and bytes of an entry and of a log.
const (
	mostRank   = 1 << 26
	leastEntry = 9
	leastLog   = 4

	mostPath    = 2048 // bytes of a module's path
	mostBuildID = 64
	mostOffset  = 1<<48 - 1
)

// errPacked is the error for a text that no Pack wrote, errOther for a text of another size than stated.
var (
	errPacked = errors.New("replay: not a packed log")
	errOther  = errors.New("replay: a packed log of other ranks or entries than it says")
)

// Size is what packed logs hold. Whoever sends them states it, so that it is bounded before a log
// is unpacked.
type Size struct {
	Ranks   int // that have a log
	Entries int // of all of them
}

// Room is what the logs of a node may take.
type Room struct {
	bytes   int // compressed
	text    int // bytes, not compressed
	entries int
}

// Limits of the logs of a run. A server holds all its entries in memory when it replays them, and
// one node's text. A window has at least two entries of each rank, and an estimate needs four.
const (
	MostEntries = 1 << 20 // of all nodes
	MostRanks   = MostEntries / (2 * windowsLeast)
	MostBytes   = 64 << 20 // of all nodes, compressed
	mostText    = 16 << 20 // of one node

	mostNodeSize = 256 << 10 // bytes of one node, compressed: each job on several nodes sends logs
)

// RoomOn is the room on each of a run's nodes.
func RoomOn(nodes int) Room {
	nodes = max(nodes, 1)
	return Room{bytes: min(mostNodeSize, MostBytes/nodes), text: mostText, entries: MostEntries / nodes}
}

// Fits reports whether logs of a run may be replayed at all.
func (s Size) Fits() bool { return s.Ranks <= MostRanks && s.Entries <= MostEntries }

// Pack packs the logs of a node into its room. If they are larger, it samples their windows more
// thinly. squeeze compresses the text, of so many entries. Pack returns nil if not even one window
// has room.
func Pack(logs []Log, most Room, squeeze func(text []byte, entries int) []byte) []byte {
	k := 0
	for i := range logs {
		k = max(k, logs[i].K)
	}
	for ; k < 63; k++ {
		text, windows, entries := encodeLogs(logs, k)
		if windows == 0 {
			return nil
		}
		packed := squeeze(text, entries)
		if len(packed) <= most.bytes && len(text) <= most.text && entries <= most.entries {
			return packed
		}
		over := max(len(packed)/max(most.bytes, 1), len(text)/max(most.text, 1), entries/max(most.entries, 1))
		k += bits.Len(uint(over)) - 1 // half the windows take half the room
	}
	return nil
}

// encodeLogs writes the windows that are sampled 1 in 2^k, and counts them and the entries.
func encodeLogs(logs []Log, k int) (text []byte, windows, entries int) {
	var sites []Site
	if len(logs) > 0 {
		sites = logs[0].Sites
	}
	text = binary.AppendUvarint(appendSites([]byte{packVersion}, sites), uint64(len(logs)))
	var own []byte
	for i := range logs {
		l := &logs[i]
		var c coder
		kept := 0
		own = own[:0]
		for j := range l.Entries {
			if c.keeps(&l.Entries[j], k) {
				own = c.append(own, &l.Entries[j])
				kept++
			}
		}
		text = binary.AppendUvarint(text, uint64(l.Rank))
		text = append(append(text, byte(len(l.Why))), l.Why...)
		text = append(text, byte(max(k, l.K)))
		text = append(binary.AppendUvarint(text, uint64(kept)), own...)
		windows, entries = windows+c.windows, entries+kept
	}
	return text, windows, entries
}

func appendSites(text []byte, sites []Site) []byte {
	text = binary.AppendUvarint(text, uint64(len(sites)))
	for _, s := range sites {
		for _, word := range []string{s.Module.Path, s.Module.BuildID} {
			text = append(binary.AppendUvarint(text, uint64(len(word))), word...)
		}
		text = binary.AppendUvarint(text, s.Offset)
	}
	return text
}

// coder holds the values to which an entry is written as a difference.
type coder struct {
	at      int64 // end of the call before
	request uint64
	inside  bool // a window that is kept
	windows int
}

// untimed marks the Op of an entry without times.
const untimed = 0x80

// keeps reports whether an entry is part of a sampled window, or describes a communicator or a
// persistent request.
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
	text = binary.AppendUvarint(text, uint64(e.Call))
	return binary.AppendUvarint(text, uint64(e.Site))
}

// Check returns an error unless a text of Pack, no longer compressed, is readable and holds what
// its sender said. It keeps none of it.
func Check(text []byte, said Size) error {
	return walk(text, said, func(Log, int) {}, func(Entry) {})
}

// Unpack reads what Pack wrote, no longer compressed. It takes memory for what the sender said, and no
// more. The logs are of a node that the text does not name.
func Unpack(text []byte, said Size) (logs []Log, err error) {
	err = walk(text, said, func(l Log, entries int) {
		l.Entries = make([]Entry, 0, entries)
		if logs == nil {
			logs = make([]Log, 0, min(said.Ranks, len(text)/leastLog))
		}
		logs = append(logs, l)
	}, func(e Entry) {
		l := &logs[len(logs)-1]
		l.Entries = append(l.Entries, e)
	})
	if err != nil {
		return nil, err
	}
	return logs, nil
}

// walk calls begin with each log and the number of its entries, then each with every entry. It stops
// with an error if the text holds more than its sender said, or is too short for what it says itself.
func walk(text []byte, said Size, begin func(l Log, entries int), each func(Entry)) error {
	d := decoder{text: text}
	if version := d.byte(); len(text) > mostText || !said.Fits() || version != packVersion {
		return errPacked
	}
	sites := d.sites()
	if d.bad {
		return errPacked
	}
	ranks, left := d.unsigned(), said.Entries
	if said.Ranks < 0 || ranks != uint64(said.Ranks) {
		return errOther
	}
	for range ranks {
		l := Log{Rank: int(d.within(mostRank)), Why: d.why(), K: int(min(d.byte(), 62)), Sites: sites}
		entries := int(d.within(uint64(len(d.text) / leastEntry)))
		if left -= entries; left < 0 {
			return errOther
		}
		if d.bad {
			return errPacked
		}
		begin(l, entries)
		var c coder
		for range entries {
			e := d.entry(&c)
			if d.bad {
				return errPacked
			}
			each(e)
		}
	}
	switch {
	case d.bad || len(d.text) > 0:
		return errPacked
	case left != 0:
		return errOther
	}
	return nil
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

// sites are those of a node's ranks.
func (d *decoder) sites() (out []Site) {
	for range d.within(MostSites) {
		m := job.Module{Path: wire.CleanText(d.word(mostPath), mostPath), BuildID: d.word(mostBuildID)}
		if strings.Trim(m.BuildID, "0123456789abcdef") != "" {
			d.bad = true
		}
		out = append(out, Site{m, d.within(mostOffset)})
		if d.bad {
			return nil
		}
	}
	return out
}

func (d *decoder) word(most uint64) string {
	n := int(d.within(most))
	if n == 0 || n > len(d.text) {
		d.bad = d.bad || n > 0
		return ""
	}
	word := string(d.text[:n])
	d.skip(n)
	return word
}

// why reads the reason that a rank gave itself. Any other text becomes WhyOdd.
func (d *decoder) why() Why {
	n := int(d.byte())
	if n == 0 || n > len(d.text) {
		d.bad = d.bad || n > 0
		return Determined
	}
	said := d.text[:n]
	d.skip(n)
	for _, why := range []Why{WhyThreads, WhySpawn, WhySession, WhyRoom, WhyGroups} {
		if string(said) == string(why) {
			return why
		}
	}
	return WhyOdd
}

func (d *decoder) entry(c *coder) (e Entry) {
	op := d.byte()
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
	e.Site = uint16(d.within(MostSites))
	return e
}
