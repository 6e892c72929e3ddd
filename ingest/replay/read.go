package replay

import (
	"cmp"
	"slices"
)

// reader goes through the log of one rank, window by window.
type reader struct {
	rank    int32
	ranks   int
	log     []Entry
	comms   []commRef // by number
	sites   []int32   // of the node: their numbers in choice.sites
	windows []int32   // entries of the chosen windows
	at      int       // how far the log was read for persistent requests
	inits   map[uint64]*Entry
	begin   int64 // of the run, as entries have it
}

// since converts a moment of an entry to ns after the run's begin; 0 for an entry without times.
func (r *reader) since(moment int64) int64 { return max(moment-r.begin, 0) }

// commRef is a communicator as one rank numbers it.
type commRef struct {
	short uint32
	comm  int32 // none: it has no identity
	local int32 // the rank's place in it

	window int // the window in which count counts
	count  int // collectives on it so far
}

// comm finds the communicator of a number; nil if there is none.
func (r *reader) comm(short uint32) *commRef {
	i, ok := slices.BinarySearchFunc(r.comms, short, func(c commRef, short uint32) int { return cmp.Compare(c.short, short) })
	if !ok {
		return nil
	}
	return &r.comms[i]
}

// identity is the communicator of a number, none if it is not known or has no identity.
func (r *reader) identity(short uint32) int32 {
	if c := r.comm(short); c != nil {
		return c.comm
	}
	return none
}

// seek finds the entry of window index, and notes the persistent requests before it.
func (r *reader) seek(index uint64) bool {
	for len(r.windows) > 0 && r.log[r.windows[0]].Request < index {
		r.windows = r.windows[1:]
	}
	if len(r.windows) == 0 || r.log[r.windows[0]].Request != index {
		return false
	}
	for to := int(r.windows[0]); r.at < to; r.at++ {
		r.note(&r.log[r.at])
	}
	return true
}

func (r *reader) note(e *Entry) {
	switch e.Op {
	case OpInitSend, OpInitRecv, OpInitColl:
		r.inits[e.Request] = e
	}
}

// parse is the state of one rank's window while it is read.
type parse struct {
	*window
	*reader
	prev int64 // when the call before was left
}

// read appends the acts of one rank in window index.
func (w *window) read(r *reader, index uint64) Reason {
	if !r.seek(index) {
		return ReasonMissing
	}
	e := &r.log[r.at]
	if e.Flags&TooLong != 0 {
		return ReasonTooLong
	}
	w.open[r.rank] = border{r.since(e.Enter), r.since(e.Leave), r.identity(e.Comm), e.Call}
	p := parse{w, r, e.Leave}
	clear(w.active)
	for r.at++; r.at < len(r.log); r.at++ {
		e := &r.log[r.at]
		if e.Op == OpWindow {
			break
		}
		r.note(e)
		if e.Op < OpLocal {
			continue
		}
		if len(w.acts) >= mostActs {
			return ReasonLarge
		}
		if why := p.entry(e); why != Matched {
			return why
		}
		if e.Flags&Border != 0 {
			return p.end(e)
		}
	}
	return ReasonMissing
}

// end checks that the closing collective leaves no request open.
func (p *parse) end(e *Entry) Reason {
	p.close[p.rank] = border{p.since(e.Enter), p.since(e.Leave), p.identity(e.Comm), e.Call}
	switch {
	case len(p.active) > 0:
		return ReasonOpen
	case e.Op != OpCollAll || e.Flags&NonBlocking != 0:
		return ReasonBorder
	}
	return Matched
}

// entry makes the acts of an entry.
func (p *parse) entry(e *Entry) Reason {
	a := act{enter: p.since(e.Enter), leave: p.since(e.Leave), call: e.Call, rank: p.reader.rank, peer: e.Peer, tag: e.Tag,
		comm: none, ref: none, also: none, same: none, site: none, bytes: e.Bytes, last: true,
		sync: e.Flags&Sync != 0, exact: e.Flags&Exact != 0}
	if i := int(e.Site); i > 0 && i <= len(p.sites) {
		a.site = p.sites[i-1]
	}
	if e.Flags&Continued != 0 {
		if !p.follows(&a) {
			return ReasonOdd
		}
	} else {
		if e.Enter < p.prev {
			return ReasonOdd
		}
		a.gap, p.prev = e.usefulSince(p.prev), e.Leave
	}
	switch e.Op {
	case OpSend, OpRecv, OpProbe, OpSendStart, OpRecvStart:
		return p.pointToPoint(e, a)
	case OpCollAll, OpCollFrom, OpCollTo, OpCollScan, OpCollNobody:
		return p.collective(e, e.Op, a)
	case OpStart:
		return p.start(e, a)
	case OpDone:
		return p.done(e, a)
	case OpUnsupported:
		return unsupportedBy(e.Tag)
	case OpIO:
		a.kind = actIO
	case OpPoll:
		a.enter = a.leave - int64(e.polled())
	}
	p.acts = append(p.acts, a)
	return Matched
}

// follows makes a a further part of the call before.
func (p *parse) follows(a *act) bool {
	n := len(p.acts)
	if n == 0 || p.acts[n-1].rank != a.rank {
		return false
	}
	before := &p.acts[n-1]
	before.last = false
	a.enter, a.leave = before.enter, before.leave
	return true
}

// kinds are what the operations on messages do.
var kinds = [OpUnsupported + 1]kind{OpSend: actSend, OpRecv: actRecv, OpProbe: actProbe,
	OpSendStart: actSendStart, OpRecvStart: actRecvStart, OpInitSend: actSendStart, OpInitRecv: actRecvStart}

// pointToPoint adds a send, a receive, a probe or the start of one. e says which, a when.
func (p *parse) pointToPoint(e *Entry, a act) Reason {
	a.kind = kinds[e.Op]
	starts := a.kind == actSendStart || a.kind == actRecvStart
	if e.Peer == noPeer && !starts {
		a.kind = actLocal
		p.acts = append(p.acts, a)
		return Matched
	}
	if e.Peer != noPeer {
		if why := p.checkPeer(e); why != Matched {
			return why
		}
		a.comm = p.identity(e.Comm)
	}
	if starts {
		return p.begin(e.Request, a, e.Flags&Continued != 0)
	}
	p.acts = append(p.acts, a)
	return Matched
}

// checkPeer checks who a message comes from or goes to. A receive that was started may learn it
// later: resolve checks that.
func (p *parse) checkPeer(e *Entry) Reason {
	switch {
	case p.identity(e.Comm) == none:
		return ReasonComm
	case kinds[e.Op] == actRecvStart:
		return Matched
	case e.Peer == unknown || e.Tag == unknown:
		return ReasonWildcard
	case e.Peer < 0 || int(e.Peer) >= p.ranks:
		return ReasonOdd
	}
	return Matched
}

// begin adds an act that starts a request. MPI_Isendrecv starts two with one request. MPI libraries
// give all sends that complete at once the same handle: each of them ends once.
func (p *parse) begin(request uint64, a act, continued bool) Reason {
	if before, ok := p.active[request]; ok && continued && p.acts[before].enter == a.enter {
		a.also, a.same = before, p.acts[before].same
	} else if ok {
		a.same = before
	}
	p.active[request] = int32(len(p.acts))
	p.acts = append(p.acts, a)
	return Matched
}

// collective adds a collective, or the start of one.
func (p *parse) collective(e *Entry, op Op, a act) Reason {
	ref := p.reader.comm(e.Comm)
	if ref == nil || ref.comm == none {
		return ReasonComm
	}
	a.kind, a.op, a.comm, a.tag = actColl, op, ref.comm, ref.local
	a.ref = int32(p.indexOf(ref))
	if e.Op == OpInitColl || e.Flags&NonBlocking != 0 {
		a.kind = actCollStart
		return p.begin(e.Request, a, false)
	}
	p.acts = append(p.acts, a)
	return Matched
}

// indexOf counts the collectives of this rank on a communicator within this window.
func (p *parse) indexOf(ref *commRef) int {
	if ref.window != p.number {
		ref.window, ref.count = p.number, 0
	}
	ref.count++
	return ref.count - 1
}

// start starts a persistent request.
func (p *parse) start(e *Entry, a act) Reason {
	made := p.inits[e.Request]
	if made == nil {
		return ReasonOpen
	}
	a.peer, a.tag, a.bytes, a.sync = made.Peer, made.Tag, made.Bytes, made.Flags&Sync != 0
	if made.Op == OpInitColl {
		op := Op(made.Tag)
		if op < OpCollAll || op > OpCollNobody {
			return ReasonOdd
		}
		return p.collective(made, op, a)
	}
	if _, ok := p.active[e.Request]; ok {
		return ReasonOdd
	}
	return p.pointToPoint(made, a)
}

// done adds the waits for what a request started.
func (p *parse) done(e *Entry, a act) Reason {
	start, ok := p.active[e.Request]
	if !ok {
		return ReasonOpen
	}
	if same := p.acts[start].same; same != none {
		p.active[e.Request] = same
	} else {
		delete(p.active, e.Request)
	}
	a.kind = actWait
	for ; start != none; start = p.acts[start].also {
		if why := p.resolve(&p.acts[start], e); why != Matched {
			return why
		}
		a.ref = start
		p.acts = append(p.acts, a)
		if p.acts[start].also != none {
			p.acts[len(p.acts)-1].last = false
			a.gap = 0
		}
	}
	return Matched
}

// resolve fills in what the status of a receive shows.
func (p *parse) resolve(start *act, e *Entry) Reason {
	if start.kind != actRecvStart || start.peer == noPeer {
		return Matched
	}
	if start.peer == unknown {
		start.peer = e.Peer
	}
	if start.tag == unknown {
		start.tag = e.Tag
	}
	if e.Flags&Exact != 0 {
		start.bytes, start.exact = e.Bytes, true
	}
	switch {
	case start.peer == unknown || start.tag == unknown:
		return ReasonWildcard
	case start.peer < 0 || int(start.peer) >= p.ranks:
		return ReasonOdd
	}
	return Matched
}
