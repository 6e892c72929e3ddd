package replay

import (
	"cmp"
	"maps"
	"slices"
)

// latest bounds the times of a run, ns after its first call (9 years), so that differences of two never overflow.
const latest = 1 << 58

// mostComms bounds the communicators of a run. With more, the logs have no room for windows.
const mostComms = MostEntries / (2 * windowsLeast)

// communicator lists who is in a communicator, from the logs of all ranks.
type communicator struct {
	size    int
	members []member
	known   bool // all its ranks logged it, and alike

	window int     // the window that instances is about
	colls  []int32 // its collectives in this window, in order
}

type member struct{ rank, local int32 } // in MPI_COMM_WORLD, and in the communicator

// chosen is a window that is in the logs with the largest k.
type chosen struct {
	index   uint64
	ranks   int     // that closed it
	time    float64 // summed up over them, ns
	tooLong bool
}

// choice is what the logs of all ranks have in common.
type choice struct {
	comms   []communicator
	readers []*reader // by rank
	nodeOf  []int32   // of ranks
	clocks  []int64   // of nodes: how far their clock may be from the true time, ns; 0: not known
	windows []*chosen // in order
	sites   []Site    // of all nodes

	byIdentity map[uint64]int32
	byIndex    map[uint64]*chosen
	bySite     map[siteKey]int32
}

// siteKey identifies a site.
type siteKey struct {
	module string
	offset uint64
}

// choose reads the logs of a run of size ranks once.
func choose(logs []Log, size int) (*choice, Why) {
	c := &choice{readers: make([]*reader, len(logs)), nodeOf: make([]int32, len(logs)),
		byIdentity: map[uint64]int32{}, byIndex: map[uint64]*chosen{}, bySite: map[siteKey]int32{}}
	if len(logs) == 0 || len(logs) != size {
		return nil, WhyRanks
	}
	k, nodes, sites := 0, map[string]int32{}, [][]int32{}
	for i := range logs {
		l := &logs[i]
		if l.Why != Determined {
			return nil, l.Why
		}
		if l.Rank < 0 || l.Rank >= size || c.readers[l.Rank] != nil {
			return nil, WhyRanks
		}
		if _, ok := nodes[l.Node]; !ok {
			nodes[l.Node] = int32(len(nodes))
			c.clocks = append(c.clocks, int64(min(l.ClockError, latest)))
			sites = append(sites, c.number(l.Sites))
		}
		c.nodeOf[l.Rank] = nodes[l.Node]
		c.readers[l.Rank] = &reader{rank: int32(l.Rank), ranks: size, log: l.Entries, sites: sites[c.nodeOf[l.Rank]], inits: map[uint64]*Entry{}}
		k = max(k, min(l.K, 62))
	}
	begin := firstEnter(logs)
	for _, r := range c.readers {
		r.begin = begin
		switch is := c.add(r, k); {
		case len(c.comms) > mostComms:
			return nil, WhyRoom
		case !is:
			return nil, WhyOdd
		}
	}
	c.finish()
	return c, Determined
}

// firstEnter is when the first call that is logged began, ns after 1970; 0: none has times.
func firstEnter(logs []Log) int64 {
	first, none := int64(0), true
	for i := range logs {
		for j := range logs[i].Entries {
			if e := &logs[i].Entries[j]; e.Leave != 0 && (none || e.Enter < first) {
				first, none = e.Enter, false
			}
		}
	}
	return first
}

// number numbers the sites of a node among those of all.
func (c *choice) number(sites []Site) []int32 {
	out := make([]int32, len(sites))
	for i, s := range sites {
		key := siteKey{s.Module.ID(), s.Offset}
		n, is := c.bySite[key]
		if !is {
			n = int32(len(c.sites))
			c.bySite[key] = n
			c.sites = append(c.sites, s)
		}
		out[i] = n
	}
	return out
}

// add reads the log of one rank; false: no program can have written it.
func (c *choice) add(r *reader, k int) bool {
	var open *chosen
	var last uint64
	var since int64
	for i := range r.log {
		e := &r.log[i]
		if e.Enter < 0 || e.Leave < e.Enter || e.Leave-r.begin > latest {
			return false
		}
		switch {
		case e.Op == OpComm:
			if !c.addComm(r, e) {
				return false
			}
		case e.Op == OpWindow:
			if len(r.windows) > 0 && e.Request <= last {
				return false
			}
			last = e.Request
			open = nil
			if Kept(e.Request, k) {
				open, since = c.begin(r, i), e.Leave
				if open.tooLong = open.tooLong || e.Flags&TooLong != 0; e.Flags&TooLong != 0 {
					open.close(float64(min(e.Bytes, latest)))
					open = nil
				}
			}
		case open != nil && e.Op >= OpLocal && e.Flags&(Continued|Border) == Border:
			open.close(float64(max(e.Leave-since, 0)))
			open = nil
		}
	}
	return true
}

func (c *choice) begin(r *reader, at int) *chosen {
	index := r.log[at].Request
	r.windows = append(r.windows, int32(at))
	w := c.byIndex[index]
	if w == nil {
		w = &chosen{index: index}
		c.byIndex[index] = w
	}
	return w
}

func (w *chosen) close(length float64) {
	w.ranks++
	w.time += length
}

// addComm notes that a rank is in a communicator. One without an identity has number -1.
func (c *choice) addComm(r *reader, e *Entry) bool {
	if n := len(r.comms); n > 0 && e.Comm <= r.comms[n-1].short {
		return false
	}
	ref := commRef{short: e.Comm, comm: -1, local: e.Peer, window: -1}
	if e.Bytes != 0 && e.Flags&Inter == 0 {
		at, ok := c.byIdentity[e.Bytes]
		if !ok {
			at = int32(len(c.comms))
			c.byIdentity[e.Bytes] = at
			c.comms = append(c.comms, communicator{size: int(e.Tag), window: -1})
			if len(c.comms) > mostComms {
				return false
			}
		}
		comm := &c.comms[at]
		comm.members = append(comm.members, member{r.rank, e.Peer})
		if comm.size != int(e.Tag) {
			comm.size = -1
		}
		ref.comm = at
	}
	r.comms = append(r.comms, ref)
	return true
}

// finish sorts the windows, leaves out those that no rank closed (the run ended in them), and
// checks the communicators.
func (c *choice) finish() {
	for _, i := range slices.Sorted(maps.Keys(c.byIndex)) {
		if w := c.byIndex[i]; w.ranks > 0 {
			c.windows = append(c.windows, w)
		}
	}
	for i := range c.comms {
		c.comms[i].known = c.comms[i].whole()
	}
}

// whole reports whether each place in the communicator is held by one rank.
func (c *communicator) whole() bool {
	if c.size != len(c.members) {
		return false
	}
	slices.SortFunc(c.members, func(a, b member) int { return cmp.Compare(a.local, b.local) })
	for i, m := range c.members {
		if int(m.local) != i {
			return false
		}
	}
	return true
}

// meanTime is how long the window took, ns: the mean over the ranks that closed it.
func (w *chosen) meanTime() float64 { return w.time / float64(w.ranks) }
