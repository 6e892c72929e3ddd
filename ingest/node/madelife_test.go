package node_test

import (
	"math"
	"slices"

	"jobeff/preload/record"
)

// A made-up job knows at each moment what each of its processes has done, as the kernel and
// libjobeff.so would have counted it. It shares no code with what looks for hung jobs. It is told what
// its processes do, and what they count follows from that. All times are seconds, and a job begins
// at 0.

// span is what a thread does for a while.
type span struct {
	lasts float64 // of its own time: a stopped process has none
	call  string  // an MPI function that it is in all the while; "": see loop
	loop  string  // an MPI function that it calls again and again; "": none
	every float64 // … how often
	part  float64 // … and for which part of the time
	busy  float64 // CPUs that it uses outside of MPI
	spins bool    // it waits in MPI with a whole CPU
	other float64 // CPUs of threads that nobody measures
	moves float64 // bytes that the process reads or writes, a second
	burst float64 // … all at once, so often; 0: evenly
	disk  bool    // it waits uninterruptibly
}

// done is what a thread has done by one moment.
type done struct {
	mpi, files   float64 // time in calls that it left
	open         int     // row of the call that it is in; -1: outside of MPI
	openAt, last float64 // own time: when that call began, and when the last one ended
	calls        []record.Func
	cpu, others  float64 // CPU time: its own, in MPI or not, and that of threads that nobody measures
	moved        float64
	now          span
	over         bool // it has done all of its spans
}

// rows are the numbers of MPI functions.
var rows = func() map[string]int {
	all := map[string]int{}
	for i := range 448 { // JE_FUNCS
		all[record.FuncName(i)] = i
	}
	return all
}()

// after is what a life of spans has done after so much own time. first is when MPI_Init was left.
func after(life []span, own, first float64) done {
	d := done{open: -1, last: first}
	from := 0.0
	for _, s := range life {
		d.now = s
		in := min(own-from, s.lasts)
		d.others += in * s.other
		if s.burst > 0 {
			d.moved += math.Floor(in/s.burst) * s.burst * s.moves
		} else {
			d.moved += in * s.moves
		}
		inMPI := d.spend(s, from, in, first)
		d.cpu += (in - inMPI) * s.busy
		if s.spins {
			d.cpu += inMPI
		}
		if from += s.lasts; from > own {
			return d
		}
	}
	d.over = true
	return d
}

// spend counts the calls of a span that has lasted so long, and returns the time in them.
func (d *done) spend(s span, from, in, first float64) (inMPI float64) {
	switch {
	case s.call != "" && in >= s.lasts:
		d.left(rows[s.call], 1, in, first+from+in)
		return in
	case s.call != "":
		d.open, d.openAt = rows[s.call], first+from
		return in
	case s.loop == "":
		return 0
	}
	n, outside := math.Floor(in/s.every), s.every*(1-s.part)
	inMPI = n*s.every*s.part + max(in-n*s.every-outside, 0)
	switch {
	case in <= n*s.every+outside:
		if n > 0 {
			d.left(rows[s.loop], n, inMPI, first+from+n*s.every)
		}
	case in < s.lasts:
		d.open, d.openAt = rows[s.loop], first+from+n*s.every+outside
		if n > 0 {
			d.left(rows[s.loop], n, n*s.every*s.part, first+from+n*s.every)
		}
	default: // the last call ends with the span
		d.left(rows[s.loop], n+1, inMPI, first+from+in)
	}
	return inMPI
}

// left counts n calls that took so long together, the last of which ended at `when`.
func (d *done) left(row int, n, took, when float64) {
	i := slices.IndexFunc(d.calls, func(f record.Func) bool { return f.Number == row })
	if i < 0 {
		i, d.calls = len(d.calls), append(d.calls, record.Func{Number: row})
	}
	d.calls[i].Count += uint64(n)
	d.calls[i].Ticks += ns(took)
	if record.FuncClass(row) == record.ClassIO {
		d.files += took
	} else {
		d.mpi += took
	}
	d.last = when
}

func ns(s float64) uint64 { return uint64(s * 1e9) }

// stop is a time in which a process does not run.
type stop struct{ from, to float64 }

// within is how much of the time from a to b lies in stops, which do not overlap.
func within(stops []stop, a, b float64) (sum float64) {
	for _, s := range stops {
		sum += max(min(s.to, b)-max(s.from, a), 0)
	}
	return sum
}

func isIn(stops []stop, t float64) bool {
	return slices.ContainsFunc(stops, func(s stop) bool { return s.from <= t && t < s.to })
}
