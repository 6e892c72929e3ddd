package replay

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// machine runs programs in simulated time, with MPI's rules of matching, and logs their calls as
// the library does. Its network is as slow as a test says.
type machine struct {
	size       int
	transfer   time.Duration // of each message, from the begin of its send
	collective time.Duration // of each collective, from the last entry
	apart      time.Duration // by which each rank leaves a border after the rank before
	perNode    int           // ranks; 0: all on one
	ahead      time.Duration // of each further node's clock
	k          int
	ignore     bool // the program passes no status to its receives
	shared     bool // all sends have one handle

	ranks   []*proc
	comms   map[string]*comm
	steps   int
	numbers uint64
}

// comm is a communicator of the machine.
type comm struct {
	identity uint64
	ranks    []int
	entered  map[int][]time.Duration // collective → when its ranks entered, -1: not yet
}

// proc is a rank of the machine. Its methods are what MPI offers to a program.
type proc struct {
	*machine
	rank       int
	now        time.Duration
	log        []Entry
	windows    uint64
	logging    bool
	count      map[*comm]int
	known      map[*comm]uint32
	posted     []*request
	unexpected []*request
	pause      func()
}

// request is a send or a receive, and in the end both.
type request struct {
	id         uint64
	source, to int
	peer, tag  int // of a receive: what it asks for
	comm       *comm
	bytes      int
	send       bool
	sync       bool
	began      time.Duration
	other      *request
	collAt     func() (time.Duration, bool) // of a collective
}

// simulate runs the program on every rank.
func (m *machine) simulate(tb testing.TB, program func(p *proc)) []Log {
	tb.Helper()
	m.comms = map[string]*comm{}
	var next []func() (struct{}, bool)
	for rank := range m.size {
		p := &proc{machine: m, rank: rank, count: map[*comm]int{}, known: map[*comm]uint32{}}
		m.ranks = append(m.ranks, p)
		step, stop := iter.Pull(func(yield func(struct{}) bool) {
			p.pause = func() { yield(struct{}{}) }
			program(p)
		})
		defer stop()
		next = append(next, step)
	}
	for left, before := m.size, -1; left > 0; {
		if before == m.steps {
			tb.Fatal("the program hangs")
		}
		before, left = m.steps, 0
		for _, step := range next {
			if _, ok := step(); ok {
				left++
			}
		}
	}
	var logs []Log
	for _, p := range m.ranks {
		logs = append(logs, Log{Rank: p.rank, Node: fmt.Sprint(p.node()), K: m.k, Entries: p.log})
	}
	return logs
}

func (p *proc) node() int {
	if p.perNode == 0 {
		return 0
	}
	return p.rank / p.perNode
}

// until waits until the moment is known, and returns it.
func (p *proc) until(known func() (time.Duration, bool)) time.Duration {
	for {
		if at, ok := known(); ok {
			p.steps++
			return at
		}
		p.pause()
	}
}

func (p *proc) compute(d time.Duration) { p.now += d }

// write logs a call from enter to now.
func (p *proc) write(enter time.Duration, es ...Entry) {
	base := time.Hour + time.Duration(p.node())*p.ahead
	for i, e := range es {
		if i > 0 {
			e.Flags |= Continued
		} else {
			e.Enter, e.Leave = int64(base+enter), int64(base+p.now)
		}
		if p.logging {
			p.log = append(p.log, e)
		}
	}
}

// world is MPI_COMM_WORLD; group is a communicator of some ranks.
func (p *proc) world() *comm {
	all := make([]int, p.size)
	for i := range all {
		all[i] = i
	}
	return p.group(all...)
}

func (p *proc) group(ranks ...int) *comm {
	key := fmt.Sprint(ranks)
	c := p.comms[key]
	if c == nil {
		c = &comm{identity: uint64(len(p.comms) + 1), ranks: ranks, entered: map[int][]time.Duration{}}
		p.comms[key] = c
	}
	return c
}

// number is the rank's own number of a communicator; it is logged at its first use.
func (p *proc) number(c *comm) uint32 {
	if p.known[c] == 0 {
		p.known[c] = uint32(len(p.known) + 1)
		p.log = append(p.log, Entry{Op: OpComm, Comm: p.known[c], Bytes: c.identity,
			Tag: int32(len(c.ranks)), Peer: int32(slices.Index(c.ranks, p.rank))})
	}
	return p.known[c]
}

// post begins a transfer; MPI's rules of matching.
func (p *proc) post(r *request) *request {
	p.numbers++
	p.steps++
	r.id, r.began = p.numbers, p.now
	if r.comm == nil {
		r.comm = p.world()
	}
	p.number(r.comm)
	if r.send {
		r.source, r.to = p.rank, r.peer
		match(r, &p.ranks[r.to].posted, &p.ranks[r.to].unexpected)
		return r
	}
	r.to = p.rank
	match(r, &p.unexpected, &p.posted)
	return r
}

// match ties r to the first of others that fits, or puts it into own.
func match(r *request, others, own *[]*request) {
	i := slices.IndexFunc(*others, func(o *request) bool {
		s, v := r, o
		if o.send {
			s, v = o, r
		}
		return s.comm == v.comm && (v.peer == s.source || v.peer == unknown) && (v.tag == s.tag || v.tag == unknown)
	})
	if i < 0 {
		*own = append(*own, r)
		return
	}
	r.other, (*others)[i].other = (*others)[i], r
	*others = slices.Delete(*others, i, i+1)
}

// end is when a request is complete.
func (p *proc) end(r *request) (time.Duration, bool) {
	switch {
	case r.collAt != nil:
		return r.collAt()
	case r.send && !r.sync:
		return r.began, true
	case r.other == nil:
		return 0, false
	case r.send:
		return max(r.began, r.other.began) + p.transfer, true
	}
	return r.other.began + p.transfer, true
}

// entry is how a request is logged where it is started or done at once.
func (p *proc) entry(op Op, r *request) Entry {
	e := Entry{Op: op, Call: uint16(op), Comm: p.number(r.comm), Peer: int32(r.peer), Tag: int32(r.tag), Bytes: uint64(r.bytes)}
	if r.sync {
		e.Flags |= Sync
	}
	return e
}

// status fills in what a status tells of a receive.
func (p *proc) status(e *Entry, r *request) {
	if !r.send && r.other != nil && !p.ignore {
		e.Peer, e.Tag, e.Bytes = int32(r.other.source), int32(r.other.tag), uint64(r.other.bytes)
		e.Flags |= Exact
	}
}

func (p *proc) send(to, tag, bytes int, c *comm) {
	p.blocking(&request{send: true, peer: to, tag: tag, bytes: bytes, comm: c})
}
func (p *proc) ssend(to, tag, bytes int) {
	p.blocking(&request{send: true, peer: to, tag: tag, bytes: bytes, sync: true})
}
func (p *proc) recv(from, tag, bytes int, c *comm) {
	p.blocking(&request{peer: from, tag: tag, bytes: bytes, comm: c})
}

func (p *proc) blocking(r *request) {
	enter, op := p.now, OpRecv
	if r.send {
		op = OpSend
	}
	p.post(r)
	p.now = max(p.now, p.until(func() (time.Duration, bool) { return p.end(r) }))
	e := p.entry(op, r)
	p.status(&e, r)
	p.write(enter, e)
}

func (p *proc) sendrecv(to, from, bytes int) { p.exchange(to, from, 0, bytes) }

func (p *proc) exchange(to, from, tag, bytes int) {
	enter := p.now
	s := p.post(&request{send: true, peer: to, tag: tag, bytes: bytes})
	r := p.post(&request{peer: from, tag: tag, bytes: bytes})
	p.now = max(p.now, p.until(func() (time.Duration, bool) { return p.end(r) }))
	e := p.entry(OpRecv, r)
	p.status(&e, r)
	p.write(enter, p.entry(OpSend, s), e)
}

func (p *proc) isend(to, tag, bytes int) *request {
	return p.begin(&request{send: true, peer: to, tag: tag, bytes: bytes})
}
func (p *proc) irecv(from, tag, bytes int) *request {
	return p.begin(&request{peer: from, tag: tag, bytes: bytes})
}

func (p *proc) begin(r *request) *request {
	op := OpRecvStart
	if r.send {
		op = OpSendStart
	}
	p.post(r)
	if p.shared && r.send {
		r.id = 1
	}
	e := p.entry(op, r)
	e.Request = r.id
	p.write(p.now, e)
	return r
}

// wait is MPI_Waitall, or MPI_Waitany or MPI_Waitsome of which these are complete, or Testsome.
func (p *proc) wait(rs ...*request) {
	enter := p.now
	var es []Entry
	for _, r := range rs {
		p.now = max(p.now, p.until(func() (time.Duration, bool) { return p.end(r) }))
		e := Entry{Op: OpDone, Call: uint16(OpDone), Request: r.id, Peer: unknown, Tag: unknown}
		p.status(&e, r)
		es = append(es, e)
	}
	p.write(enter, es...)
}

// isendrecv is MPI_Isendrecv, and a wait for it: one request for both.
func (p *proc) isendrecv(peer, bytes int) {
	s := p.post(&request{send: true, peer: peer, bytes: bytes})
	r := p.post(&request{peer: peer, bytes: bytes})
	r.id = s.id
	started := []Entry{p.entry(OpSendStart, s), p.entry(OpRecvStart, r)}
	if p.rank%2 == 1 { // which part comes first makes no difference
		slices.Reverse(started)
	}
	started[0].Request, started[1].Request = s.id, s.id
	p.write(p.now, started...)
	p.wait(r)
}

// file is a call of MPI's files.
func (p *proc) file(d time.Duration) {
	p.now += d
	p.write(p.now-d, Entry{Op: OpIO})
}

// poll are tests in a row that found nothing; inside is their time in MPI.
func (p *proc) poll(d, inside time.Duration) {
	p.now += d
	p.write(p.now-d, Entry{Op: OpPoll, Bytes: uint64(inside), Request: 1000})
}

// first is the one of the requests that is complete first.
func (p *proc) first(rs []*request) (i int) {
	var at time.Duration
	p.until(func() (time.Duration, bool) {
		ok := false
		for j, r := range rs {
			if end, known := p.end(r); known && (!ok || end < at) {
				i, at, ok = j, end, true
			}
		}
		return at, ok
	})
	return i
}

// persistent makes a request that startP starts.
func (p *proc) persistent(r *request) *request {
	p.numbers++
	r.id, r.comm = p.numbers, p.world()
	op := OpInitRecv
	if r.send {
		op = OpInitSend
	}
	e := p.entry(op, r)
	e.Request = r.id
	p.log = append(p.log, e)
	return r
}

func (p *proc) startP(r *request) *request {
	again := *r
	p.post(&again)
	again.id = r.id
	p.write(p.now, Entry{Op: OpStart, Request: r.id})
	return &again
}

// coll is any collective: who is root decides who waits for whom.
func (p *proc) coll(op Op, c *comm, root int) {
	enter := p.now
	done := p.icollective(c, op, root)
	p.now = max(p.now, p.until(done))
	p.write(enter, Entry{Op: op, Call: uint16(op), Comm: p.number(c), Peer: int32(root)})
}

// persistentScan makes a request, starts it and waits for it.
func (p *proc) persistentScan() {
	p.numbers++
	id, c := p.numbers, p.world()
	p.log = append(p.log, Entry{Op: OpInitColl, Call: uint16(OpCollScan), Comm: p.number(c), Request: id, Tag: int32(OpCollScan)})
	done := p.icollective(c, OpCollScan, 0)
	p.write(p.now, Entry{Op: OpStart, Request: id})
	enter := p.now
	p.now = max(p.now, p.until(done))
	p.write(enter, Entry{Op: OpDone, Request: id})
}

func (p *proc) icollective(c *comm, op Op, root int) func() (time.Duration, bool) {
	number, enter := p.count[c], p.now
	p.count[c]++
	p.steps++
	me := slices.Index(c.ranks, p.rank)
	if c.entered[number] == nil {
		c.entered[number] = slices.Repeat([]time.Duration{-1}, len(c.ranks))
	}
	c.entered[number][me] = enter
	return func() (time.Duration, bool) {
		at := c.entered[number]
		switch {
		case op == OpCollFrom:
			at = at[slices.Index(c.ranks, root):][:1]
		case op == OpCollTo && p.rank != root:
			return enter, true
		case op == OpCollScan:
			at = at[:me+1]
		}
		return slices.Max(at) + p.collective, slices.Min(at) >= 0
	}
}

// allreduce is the collective between two windows.
func (p *proc) allreduce() {
	enter := p.now
	c := p.world()
	p.now = p.until(p.icollective(c, OpCollAll, 0)) + time.Duration(p.rank)*p.apart
	e := Entry{Op: OpCollAll, Call: uint16(OpCollAll), Comm: p.number(c), Flags: Border}
	p.write(enter, e)
	if p.logging = Kept(p.windows, p.k); p.logging {
		p.write(enter, Entry{Op: OpWindow, Call: uint16(OpCollAll), Comm: p.number(c), Request: p.windows})
	}
	p.windows++
}

// loop runs the body between Allreduces, and calls what is left to call before the end.
func loop(n int, body func(p *proc, i int)) func(p *proc) {
	return func(p *proc) {
		p.allreduce()
		for i := range n {
			body(p, i)
			p.allreduce()
		}
	}
}
