package replay

// Each window is replayed on several networks at once: who waits for whom is the same on all.
const (
	ideal    = iota // a network that takes no time
	asWas           // the network as it was: what a call took beyond its wait, it takes again
	halved          // a network twice as fast
	balanced        // the network as it was, and each rank with the mean useful time of the window
	networks
)

// times is one moment on each network, ns since the window began.
type times [networks]float64

func (t *times) raise(b *times) {
	for i := range t {
		t[i] = max(t[i], b[i])
	}
}

// event is a moment that ranks may wait for, once it is known.
type event struct {
	at    times
	act   int32 // that made it, on the ideal network
	known bool
}

// meet makes the event at least as late as t, by act.
func (e *event) meet(t *times, act int32) {
	if !e.known || t[ideal] > e.at[ideal] {
		e.act = act
	}
	e.at.raise(t)
	e.known = true
}

// hop is a wait: the rank of act could go on only with what the act from did.
type hop struct {
	act, from  int32
	at, waited float64 // ns, on the ideal network
}

// sim replays a window. It is used again for the next one.
type sim struct {
	*window
	scale []float64 // of ranks: useful time with a balanced load / useful time

	clock   []times // of ranks
	next    []int32 // of ranks: their next act
	arrived []bool  // of ranks: the next act has begun
	asleep  []int32 // of ranks: the next one that waits for the same
	hops    [][]hop // of ranks
	ready   []int32 // ranks that can go on
	left    int     // ranks that are not at their end

	sent, posted       []event // of messages
	receiver, sender   []int32 // of messages: who waits
	all, root          []event // of collectives
	missing            []int32 // of collectives: ranks that are to enter
	sleepers           []int32 // of collectives: the first rank that waits
	place              []event // of scans: a rank's own entry, then that of all ranks up to it
	placeSleeper, upTo []int32 // of scans: who waits at a place; of collectives: places that are known
}

func newSim(w *window) *sim {
	n := len(w.open)
	return &sim{window: w, scale: make([]float64, n), clock: make([]times, n), next: make([]int32, n), arrived: make([]bool, n),
		asleep: make([]int32, n), hops: make([][]hop, n)}
}

// run replays the window, whose ranks have these useful times; false if its calls wait for each
// other without end.
func (s *sim) run(useful []float64) bool {
	s.reset()
	s.balance(useful)
	for len(s.ready) > 0 {
		r := s.ready[len(s.ready)-1]
		s.ready = s.ready[:len(s.ready)-1]
		s.advance(r)
	}
	return s.left == 0
}

func nobody(s []int32, n int) []int32 {
	s = again(s, n)
	for i := range s {
		s[i] = none
	}
	return s
}

func (s *sim) reset() {
	n, msgs, colls, places := len(s.clock), len(s.msgs), len(s.colls), len(s.placeEnter)
	s.setOff()
	clear(s.arrived)
	s.left, s.ready = n, s.ready[:0]
	for r := range n {
		s.next[r], s.hops[r], s.ready = s.first[r], s.hops[r][:0], append(s.ready, int32(r))
	}
	s.sent, s.posted = again(s.sent, msgs), again(s.posted, msgs)
	s.receiver, s.sender = nobody(s.receiver, msgs), nobody(s.sender, msgs)
	s.all, s.root, s.sleepers = again(s.all, colls), again(s.root, colls), nobody(s.sleepers, colls)
	s.missing, s.upTo = again(s.missing, colls), again(s.upTo, colls)
	for i := range s.colls {
		s.missing[i] = s.colls[i].size
	}
	s.place, s.placeSleeper = again(s.place, places), nobody(s.placeSleeper, places)
}

// balance finds the factor by which each rank's work changes if all have the mean.
func (s *sim) balance(useful []float64) {
	sum := 0.0
	for _, u := range useful {
		sum += u
	}
	for r, u := range useful {
		s.scale[r] = 0
		if u > 0 {
			s.scale[r] = sum / float64(len(useful)) / u
		}
	}
}

// setOff starts the clocks. On a network that takes time, ranks leave the opening collective one
// after the other, as they did; the mean of them is the moment 0.
func (s *sim) setOff() {
	first := s.common(0, s.open[0].leave)
	mean := 0.0
	for r := range s.clock {
		left := float64(s.common(int32(r), s.open[r].leave) - first)
		s.clock[r] = times{asWas: left, halved: left / 2, balanced: left}
		mean += left / float64(len(s.clock))
	}
	for r := range s.clock {
		t := &s.clock[r]
		t[asWas] -= mean
		t[halved] -= mean / 2
		t[balanced] -= mean
	}
}

// advance lets a rank go on until it waits for another one, or is at its end.
func (s *sim) advance(r int32) {
	t := &s.clock[r]
	for s.next[r] < s.first[r+1] {
		i := s.next[r]
		a := &s.acts[i]
		if !s.arrived[r] {
			s.arrived[r] = true
			t.compute(a.gap, s.scale[r])
			s.arrive(i, a, t)
		}
		needs, ok := s.waitsFor(r, a)
		if !ok {
			return
		}
		if needs != nil {
			if needs.at[ideal] > t[ideal] {
				s.hops[r] = append(s.hops[r], hop{i, needs.act, needs.at[ideal], needs.at[ideal] - t[ideal]})
			}
			t.raise(&needs.at)
		}
		t.pay(a)
		s.arrived[r] = false
		s.next[r]++
	}
	s.left--
}

func (t *times) compute(gap, scale float64) {
	t[ideal] += gap
	t[asWas] += gap
	t[halved] += gap
	t[balanced] += gap * scale
}

// pay lets a call take its time. A call on a file takes as long as it did, on every network.
func (t *times) pay(a *act) {
	if a.kind == actIO {
		t.compute(float64(a.leave-a.enter), 1)
		return
	}
	t[asWas] += a.cost
	t[halved] += a.cost / 2
	t[balanced] += a.cost
}

// arrive tells the others that an act has begun.
func (s *sim) arrive(i int32, a *act, t *times) {
	if a.ref == none {
		return
	}
	switch a.kind {
	case actSend, actSendStart:
		s.sent[a.ref].meet(t, i)
		s.wake(&s.receiver[a.ref])
	case actRecv, actRecvStart:
		s.posted[a.ref].meet(t, i)
		s.wake(&s.sender[a.ref])
	case actColl, actCollStart:
		s.enter(i, a, t)
	}
}

// enter is a rank's part of a collective.
func (s *sim) enter(i int32, a *act, t *times) {
	l := &s.colls[a.ref]
	s.all[a.ref].meet(t, i)
	s.missing[a.ref]--
	switch l.op {
	case OpCollScan:
		s.enterScan(i, a, t)
	case OpCollFrom:
		if a.rank == l.root {
			s.root[a.ref].meet(t, i)
			s.wakeAll(&s.sleepers[a.ref])
		}
	default:
		if s.missing[a.ref] == 0 {
			s.wakeAll(&s.sleepers[a.ref])
		}
	}
}

// enterScan notes a rank's entry, and lets those go on for whom all lower ranks have entered.
func (s *sim) enterScan(i int32, a *act, t *times) {
	from := s.colls[a.ref].places
	to := from + s.colls[a.ref].size
	s.place[from+a.tag].meet(t, i)
	for at := from + s.upTo[a.ref]; at < to && s.place[at].known; at++ {
		if at > from {
			before := s.place[at-1]
			s.place[at].meet(&before.at, before.act)
		}
		s.upTo[a.ref]++
		s.wake(&s.placeSleeper[at])
	}
}

// waitsFor is the event that an act waits for, nil for none. ok is false, and the rank sleeps,
// while the event is not known.
func (s *sim) waitsFor(r int32, a *act) (needs *event, ok bool) {
	started := a
	if a.kind == actWait {
		started = &s.acts[a.ref]
	}
	if started.ref == none || a.kind == actSendStart || a.kind == actRecvStart || a.kind == actCollStart {
		return nil, true
	}
	switch started.kind {
	case actRecv, actRecvStart, actProbe:
		return await(&s.sent[started.ref], &s.receiver[started.ref], r)
	case actSend, actSendStart:
		if started.sync {
			return await(&s.posted[started.ref], &s.sender[started.ref], r)
		}
	case actColl, actCollStart:
		return s.waitsForRanks(r, started)
	}
	return nil, true
}

func (s *sim) waitsForRanks(r int32, a *act) (needs *event, ok bool) {
	l := &s.colls[a.ref]
	switch {
	case l.op == OpCollFrom && r != l.root:
		if s.root[a.ref].known {
			return &s.root[a.ref], true
		}
	case l.op == OpCollAll, l.op == OpCollTo && r == l.root:
		if s.missing[a.ref] == 0 {
			return &s.all[a.ref], true
		}
	case l.op == OpCollScan:
		if at := l.places + a.tag; a.tag < s.upTo[a.ref] {
			return &s.place[at], true
		} else {
			s.placeSleeper[at] = r
			return nil, false
		}
	default:
		return nil, true
	}
	s.asleep[r], s.sleepers[a.ref] = s.sleepers[a.ref], r
	return nil, false
}

func await(e *event, sleeper *int32, r int32) (*event, bool) {
	if e.known {
		return e, true
	}
	*sleeper = r
	return nil, false
}

func (s *sim) wake(sleeper *int32) {
	if *sleeper != none {
		s.ready = append(s.ready, *sleeper)
		*sleeper = none
	}
}

func (s *sim) wakeAll(first *int32) {
	for r := *first; r != none; r = s.asleep[r] {
		s.ready = append(s.ready, r)
	}
	*first = none
}
