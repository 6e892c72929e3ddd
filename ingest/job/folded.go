package job

import (
	"time"

	"jobeff/ingest/when"
)

// Folded sums up several executions of one program. Folding leaves the figures of the whole job as
// they are (METRICS 1): the sums over executions that these need are here. Plain sums over ranks
// are in the Execution itself.
type Folded struct {
	Count     int           `json:"count"`      // executions
	Sizes     int           `json:"sizes"`      // sum of their sizes
	Ranks     int           `json:"ranks"`      // recorded, most of one execution
	Elapsed   time.Duration `json:"elapsed_ns"` // sum of E_x
	Span      float64       `json:"span"`       // s, sum of n_x E_x
	UsefulMax float64       `json:"useful_max"` // s, sum of n_x max U_i
	MeanMax   float64       `json:"mean_max"`   // s, sum of n_x times the highest mean U_i of a node
	// Of all threads: those of the largest execution, sum of threads x E_x, and of threads x max u.
	Threads         int     `json:"threads,omitempty"`
	ThreadSpan      float64 `json:"thread_span,omitempty"`
	ThreadUsefulMax float64 `json:"thread_useful_max,omitempty"`
	// Spans are the times in which at least one of them ran: the gap since the one before (since
	// Execution.Start), its length, and so on.
	Spans    []time.Duration `json:"spans_ns"`
	Sections []SectionSum    `json:"sections,omitempty"` // with MPI_MAIN
}

// Clean bounds numbers from another machine, so that sums of them do not overflow.
func (f *Folded) Clean() {
	f.Count = min(max(f.Count, 1), mostCounted)
	for _, v := range []*float64{&f.Span, &f.UsefulMax, &f.MeanMax, &f.ThreadSpan, &f.ThreadUsefulMax} {
		*v = possible(*v)
	}
	f.Sections = f.Sections[:min(len(f.Sections), MostLabels+1)]
	for i := range f.Sections {
		f.Sections[i].clean()
	}
}

// Add adds an execution, folded or not, without its sections and spans.
func (f *Folded) Add(e *Execution) {
	s := shareOf(e)
	_, ran := e.Ranks()
	f.Count, f.Sizes, f.Ranks = f.Count+e.Count(), f.Sizes+ran, max(f.Ranks, s.most)
	f.Elapsed = AddTime(f.Elapsed, s.elapsedSum)
	f.Span, f.UsefulMax, f.MeanMax = f.Span+s.span, f.UsefulMax+s.usefulMax, f.MeanMax+s.meanMax
	var threads threadSums
	threads.add(e)
	f.Threads = max(f.Threads, threads.Threads)
	f.ThreadSpan, f.ThreadUsefulMax = f.ThreadSpan+threads.Span, f.ThreadUsefulMax+threads.usefulMax
}

// mostCounted bounds Folded.Count: sums over all jobs of a database must fit 64 bits.
const mostCounted = 1 << 31

// AddExecution adds the ranks of another execution on the same node.
func (n *NodeShare) AddExecution(b *NodeShare) {
	if n.Threads != nil || b.Threads != nil {
		sum, more := n.threads(), b.threads()
		sum.Add(&more)
		n.Threads = &sum
	}
	n.OnlineCPUs, n.CPUs, n.Ranks = max(n.OnlineCPUs, b.OnlineCPUs), max(n.CPUs, b.CPUs), n.Ranks+b.Ranks
	n.Useful, n.MPI, n.IO = AddTime(n.Useful, b.Useful), AddTime(n.MPI, b.MPI), AddTime(n.IO, b.IO)
	n.UsefulMax, n.ElapsedMax = max(n.UsefulMax, b.UsefulMax), max(n.ElapsedMax, b.ElapsedMax)
	n.ElapsedSum = AddTime(n.ElapsedSum, b.ElapsedSum)
	if b.Counters != nil {
		if n.Counters == nil {
			n.Counters = &Counters{}
		}
		n.Counters.Add(*b.Counters)
	}
	if b.Load != nil {
		if n.Load == nil {
			n.Load = &Load{}
		}
		n.Load.Add(b.Load)
	}
}

// CountExecutions is how many executions there were, folded or not.
func CountExecutions(all []Execution) (n int) {
	for i := range all {
		n += all[i].Count()
	}
	return n
}

// Count is how many executions this entry stands for.
func (e *Execution) Count() int {
	if e.Folded != nil {
		return e.Folded.Count
	}
	return 1
}

// Recorded counts the ranks of an execution, or of all that are folded.
func (e *Execution) Recorded() (n int) {
	for i := range e.Nodes {
		n += e.Nodes[i].Ranks
	}
	return n
}

// Ranks is how many ranks were recorded and how many ran, over all that are folded.
func (e *Execution) Ranks() (recorded, ran int) {
	recorded = e.Recorded()
	if e.Folded != nil {
		return recorded, e.Folded.Sizes
	}
	return recorded, max(recorded, e.Size)
}

// Spans are the times in which it ran, one after the other.
func (e *Execution) Spans() []when.Span {
	if e.Folded == nil {
		return []when.Span{{From: e.Start, To: e.Start.Add(elapsedOf(e))}}
	}
	var all []when.Span
	at := e.Start
	for i := 0; i+1 < len(e.Folded.Spans); i += 2 {
		from := at.Add(e.Folded.Spans[i])
		at = from.Add(e.Folded.Spans[i+1])
		all = append(all, when.Span{From: from, To: at})
	}
	return all
}
