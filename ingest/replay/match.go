package replay

import (
	"slices"
	"time"
)

// clockRank bounds how far the clocks of a node's ranks, read at the same moment, differ, ns: each
// rank converts its ticks itself.
const clockRank = int64(20 * time.Microsecond)

// match reads a chosen window of all ranks and ties its acts together.
func (w *window) match(c *choice, chosen *chosen) Reason {
	w.number++
	w.acts, w.msgs, w.colls, w.queues = w.acts[:0], w.msgs[:0], w.colls[:0], w.queues[:0]
	if chosen.tooLong {
		return ReasonTooLong
	}
	if chosen.ranks != len(c.readers) {
		return ReasonMissing
	}
	for i, r := range c.readers {
		w.first[i] = int32(len(w.acts))
		if why := w.read(r, chosen.index); why != Matched {
			return why
		}
	}
	w.first[len(c.readers)] = int32(len(w.acts))
	for _, step := range []func(*choice) Reason{w.matchBorders, w.matchCollectives, w.matchMessages, w.price} {
		if why := step(c); why != Matched {
			return why
		}
	}
	return Matched
}

// matchBorders checks that all ranks logged the same collectives, and sets the nodes' clocks right
// by them: at a border no rank leaves before all have entered.
func (w *window) matchBorders(c *choice) Reason {
	for _, at := range [][]border{w.open, w.close} {
		for _, b := range at {
			if b.call != at[0].call || b.comm != at[0].comm {
				return ReasonBorder
			}
		}
		if at[0].comm == none || !c.comms[at[0].comm].known || c.comms[at[0].comm].size != len(c.readers) {
			return ReasonBorder
		}
	}
	return w.setClocks()
}

// setClocks finds each node's clock less that of the first node. It assumes that CLOCK_REALTIME is
// the same on all nodes, unless a border shows that it is not.
func (w *window) setClocks() Reason {
	n := len(w.shift)
	low, high := make([]int64, n), make([]int64, n)
	for i := range n {
		low[i], high[i] = -latest, latest
	}
	for _, at := range [][]border{w.open, w.close} {
		entered, left := w.span(at)
		for i := range n {
			low[i] = max(low[i], entered[i]-left[0])
			high[i] = min(high[i], left[i]-entered[0])
		}
	}
	for i := range n {
		if low[i] > high[i]+2*clockRank {
			return ReasonClock
		}
		low[i], high[i] = w.claimed(i, low[i], high[i])
		w.shift[i] = max(min(0, high[i]), low[i])
		w.doubt[i] = max(high[i]-w.shift[i], w.shift[i]-low[i], 0)
	}
	w.shift[0], w.doubt[0] = 0, 0
	return Matched
}

// claimed narrows the interval that the borders leave for a node's clock, by the bounds that the
// kernels of both nodes state. If nothing is left, a kernel is wrong, and the borders alone count.
func (w *window) claimed(node int, low, high int64) (int64, int64) {
	if w.clocks[0] == 0 || w.clocks[node] == 0 {
		return low, high
	}
	most := w.clocks[0] + w.clocks[node]
	if l, h := max(low, -most), min(high, most); l <= h {
		return l, h
	}
	return low, high
}

// unsure is the largest doubt of a node's clock, ns.
func (w *window) unsure() float64 { return float64(slices.Max(w.doubt)) }

// span is when the last rank of each node entered, and when the first one left.
func (w *window) span(at []border) (entered, left []int64) {
	entered, left = make([]int64, len(w.shift)), make([]int64, len(w.shift))
	for i := range left {
		left[i] = latest
	}
	for r, b := range at {
		node := w.nodeOf[r]
		entered[node], left[node] = max(entered[node], b.enter), min(left[node], b.leave)
	}
	return entered, left
}

// matchCollectives ties the collectives of each communicator together by their order.
func (w *window) matchCollectives(c *choice) Reason {
	places := int32(0)
	for i := range w.acts {
		a := &w.acts[i]
		if a.kind != actColl && a.kind != actCollStart {
			continue
		}
		comm := &c.comms[a.comm]
		if !comm.known {
			return ReasonComm
		}
		if comm.window != w.number {
			comm.window, comm.colls = w.number, comm.colls[:0]
		}
		if int(a.ref) == len(comm.colls) {
			comm.colls = append(comm.colls, int32(len(w.colls)))
			w.colls = append(w.colls, collective{size: int32(comm.size), root: a.peer, op: a.op, call: a.call, lastEnter: -latest})
		}
		a.ref = comm.colls[a.ref]
		if !w.colls[a.ref].enter(w, a) {
			return ReasonColl
		}
	}
	for i := range w.colls {
		l := &w.colls[i]
		if l.entered != l.size {
			return ReasonColl
		}
		if l.op == OpCollScan {
			l.places, places = places, places+l.size
		}
	}
	w.placeEnters(int(places))
	return Matched
}

// enter adds one rank; false if it logged another collective.
func (l *collective) enter(w *window, a *act) bool {
	if a.op != l.op || a.call != l.call || (l.rooted() && a.peer != l.root) {
		return false
	}
	at := w.common(a.rank, a.enter)
	l.lastEnter = max(l.lastEnter, at)
	if l.rooted() && a.rank == l.root {
		l.rootEnter = at
	}
	l.entered++
	return true
}

func (l *collective) rooted() bool { return l.op == OpCollFrom || l.op == OpCollTo }

// placeEnters fills in, for each scan, when the last of the ranks up to each place entered.
func (w *window) placeEnters(places int) {
	w.placeEnter = again(w.placeEnter, places)
	if places == 0 {
		return
	}
	for i := range w.acts {
		if a := &w.acts[i]; a.op == OpCollScan {
			w.placeEnter[w.colls[a.ref].places+a.tag] = w.common(a.rank, a.enter)
		}
	}
	for i := range w.colls {
		if l := &w.colls[i]; l.op == OpCollScan {
			for place := l.places + 1; place < l.places+l.size; place++ {
				w.placeEnter[place] = max(w.placeEnter[place], w.placeEnter[place-1])
			}
		}
	}
}

// matchMessages ties receives to sends: the n-th receive that was posted on a channel gets the
// n-th message that was sent on it.
func (w *window) matchMessages(*choice) Reason {
	clear(w.channels)
	for i := range w.acts {
		if a := &w.acts[i]; (a.kind == actSend || a.kind == actSendStart) && a.peer != noPeer {
			w.send(int32(i), a)
		}
	}
	left := len(w.msgs)
	for i := range w.acts {
		a := &w.acts[i]
		if (a.kind != actRecv && a.kind != actRecvStart && a.kind != actProbe) || a.peer == noPeer {
			continue
		}
		if why := w.receive(int32(i), a); why != Matched {
			return why
		}
		if a.kind != actProbe {
			left--
		}
	}
	if left > 0 {
		return ReasonSends
	}
	return Matched
}

func (w *window) send(at int32, a *act) {
	key := channelKey{a.rank, a.peer, a.tag, a.comm}
	a.ref = int32(len(w.msgs))
	w.msgs = append(w.msgs, message{send: at, recv: none, next: none})
	q, ok := w.channels[key]
	if !ok {
		w.channels[key] = int32(len(w.queues))
		w.queues = append(w.queues, queue{a.ref, a.ref})
		return
	}
	if w.queues[q].first == none {
		w.queues[q].first = a.ref
	} else {
		w.msgs[w.queues[q].last].next = a.ref
	}
	w.queues[q].last = a.ref
}

func (w *window) receive(at int32, a *act) Reason {
	q, ok := w.channels[channelKey{a.peer, a.rank, a.tag, a.comm}]
	if !ok || w.queues[q].first == none {
		return ReasonSends
	}
	a.ref = w.queues[q].first
	if a.kind == actProbe { // the message stays, and the log has no bytes of it
		return Matched
	}
	m := &w.msgs[a.ref]
	sent := w.acts[m.send].bytes
	if a.bytes < sent || (a.exact && a.bytes != sent) {
		return ReasonBytes
	}
	w.queues[q].first, m.recv = m.next, at
	return Matched
}

// price finds what each call took beyond what it waited for, and refuses receives that ended
// before their message was sent.
func (w *window) price(*choice) Reason {
	ready := int64(-latest)
	for i := range w.acts {
		a := &w.acts[i]
		needs, from := w.needs(a)
		if from != none && w.common(a.rank, a.leave) < needs-w.doubtBetween(a.rank, from) {
			return ReasonOrder
		}
		ready = max(ready, needs)
		if a.last {
			a.cost = float64(max(w.common(a.rank, a.leave)-max(ready, w.common(a.rank, a.enter)), 0))
			ready = -latest
		}
	}
	return Matched
}

func (w *window) doubtBetween(a, b int32) int64 {
	if w.nodeOf[a] == w.nodeOf[b] {
		return clockRank
	}
	return clockRank + w.doubt[w.nodeOf[a]] + w.doubt[w.nodeOf[b]]
}

// needs is the moment, on the common clock, before which the act could not end in the run. from is
// the sender if it is a receive.
func (w *window) needs(a *act) (at int64, from int32) {
	started := a
	if a.kind == actWait {
		started = &w.acts[a.ref]
	}
	if started.ref == none {
		return -latest, none
	}
	switch started.kind {
	case actRecv, actProbe:
		return w.sent(started)
	case actRecvStart:
		if a.kind == actWait {
			return w.sent(started)
		}
	case actSend, actSendStart:
		if started.sync && (a.kind == actWait || a.kind == actSend) {
			r := &w.acts[w.msgs[started.ref].recv]
			return w.common(r.rank, r.enter), none
		}
	case actColl, actCollStart:
		if a.kind != actCollStart {
			return w.collectiveNeeds(started), none
		}
	}
	return -latest, none
}

func (w *window) sent(receive *act) (at int64, from int32) {
	s := &w.acts[w.msgs[receive.ref].send]
	return w.common(s.rank, s.enter), s.rank
}

func (w *window) collectiveNeeds(a *act) int64 {
	l := &w.colls[a.ref]
	switch {
	case l.op == OpCollAll, l.op == OpCollTo && a.rank == l.root:
		return l.lastEnter
	case l.op == OpCollFrom:
		return l.rootEnter
	case l.op == OpCollScan:
		return w.placeEnter[l.places+a.tag]
	}
	return -latest
}
