package job

import (
	"slices"
	"time"

	"jobeff/ingest/when"
	"jobeff/preload/record"
)

// share is what the POP formulas need of one execution, or of several that are folded. Times are in s.
type share struct {
	ranks, size float64
	most        int     // ranks of the largest execution
	useful      float64 // sum of U_i
	mpi         float64 // sum of notU_i without io
	io          float64 // sum of time in MPI_File_*
	elapsedSum  time.Duration
	nodes       map[string]bool

	// Each of these is multiplied by the ranks of its execution:
	span      float64 // E
	usefulMax float64 // max U_i
	meanMax   float64 // max over nodes of the mean U_i there
}

func shareOf(e *Execution) share {
	s := share{nodes: map[string]bool{}}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		s.ranks += float64(n.Ranks)
		s.useful += n.Useful.Seconds()
		s.mpi += n.MPI.Seconds()
		s.io += n.IO.Seconds()
		s.nodes[n.Node] = true
	}
	if f := e.Folded; f != nil {
		s.most, s.size, s.elapsedSum = f.Ranks, float64(f.Sizes), f.Elapsed
		s.span, s.usefulMax, s.meanMax = f.Span, f.UsefulMax, f.MeanMax
		return s
	}
	s.most, s.size, s.elapsedSum = int(s.ranks), max(float64(e.Size), s.ranks), elapsedOf(e)
	s.weigh(e)
	return s
}

// weigh fills in what is weighted by an execution's ranks.
func (s *share) weigh(e *Execution) {
	type node struct{ useful, ranks float64 }
	byNode := map[string]node{}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		s.usefulMax = max(s.usefulMax, n.UsefulMax.Seconds())
		sum := byNode[n.Node]
		byNode[n.Node] = node{sum.useful + n.Useful.Seconds(), sum.ranks + float64(n.Ranks)}
	}
	for _, n := range byNode {
		if n.ranks > 0 {
			s.meanMax = max(s.meanMax, n.useful/n.ranks)
		}
	}
	s.span, s.usefulMax, s.meanMax = s.ranks*s.elapsedSum.Seconds(), s.ranks*s.usefulMax, s.ranks*s.meanMax
}

// ExecutionMetrics are the POP metrics of one execution (METRICS 1); nil if it has no region. Those of a whole execution are
// worked out once.
func ExecutionMetrics(e *Execution) *Metrics {
	if e.Metrics != nil {
		return e.Metrics
	}
	return JobMetrics([]Execution{*e})
}

// JobMetrics are the POP metrics over the executions of a job, weighted by ranks and elapsed time
// (METRICS 1). Ranks is the most that one execution had; Elapsed is the sum of theirs. nil if no
// execution has a region, or if no program used MPI and what their threads did is not known.
func JobMetrics(executions []Execution) *Metrics {
	if OnlyUnknownThreads(executions) {
		return nil
	}
	m := &Metrics{}
	var span, usefulMax, meanMax, ranks, size float64
	nodes := map[string]bool{}
	var threads threadSums
	for i := range executions {
		s := shareOf(&executions[i])
		threads.add(&executions[i])
		ranks += s.ranks
		size += s.size
		m.Elapsed += s.elapsedSum.Seconds()
		m.Useful += s.useful
		m.MPITime += s.mpi
		m.IOTime += s.io
		m.WaitTime += waited(&executions[i])
		m.Ranks = max(m.Ranks, s.most)
		span += s.span
		usefulMax += s.usefulMax
		meanMax += s.meanMax
		for n := range s.nodes {
			nodes[n] = true
		}
	}
	if span == 0 {
		return nil
	}
	m.Nodes = len(nodes)
	m.Coverage = ranks / size
	m.MPI = Efficiencies{Parallel: m.Useful / span, LoadBalance: fraction(m.Useful, usefulMax), Communication: usefulMax / span}
	m.LoadBalanceOut = fraction(m.Useful, meanMax)
	m.LoadBalanceIn = fraction(meanMax, usefulMax)
	m.Efficiencies = m.MPI
	if m.Hybrid = threads.hybrid(); m.Hybrid != nil {
		m.Efficiencies = Efficiencies{Parallel: m.Hybrid.Useful / m.Hybrid.Span, Communication: threads.usefulMax / m.Hybrid.Span}
		m.Balanced()
	}
	return m
}

// waited is the time of all threads in calls that only wait, s.
func waited(e *Execution) (s float64) {
	for _, c := range e.Classes {
		if c.Name == record.ClassWait.String() || c.Name == record.ClassRecv.String() {
			s += c.Time.Seconds()
		}
	}
	return s
}

// RankSeconds is the sum over executions of ranks times elapsed, s: the time that their figures cover.
func RankSeconds(executions []Execution) float64 {
	var span float64
	for i := range executions {
		span += shareOf(&executions[i]).span
	}
	return span
}

// RankSeconds is that of the job's executions. A job in a list has none, so there it follows from the
// job's Metrics, which must not be nil.
func (j *Job) RankSeconds() float64 {
	if len(j.Executions) == 0 {
		return float64(j.Metrics.Ranks) * j.Metrics.Elapsed
	}
	return RankSeconds(j.Executions)
}

// Covered is the share of the job's CPU time that rankSeconds covers. It is at most 1, since
// Slurm's times are whole seconds. nil if unknown.
func Covered(rankSeconds float64, cpus int, elapsed time.Duration) *float64 {
	if cpus <= 0 || elapsed <= 0 {
		return nil
	}
	c := min(rankSeconds/(float64(cpus)*elapsed.Seconds()), 1)
	return &c
}

// UsefulCounters adds up executions. It is nil unless every recorded rank had counters: a part
// of the ranks cannot be compared with another run.
func UsefulCounters(executions []Execution) *Counters {
	sum, ranks := Counters{}, 0
	for i := range executions {
		for j := range executions[i].Nodes {
			n := &executions[i].Nodes[j]
			ranks += n.Ranks
			if n.Counters != nil {
				sum.Add(*n.Counters)
			}
		}
	}
	if ranks == 0 || sum.Ranks != ranks {
		return nil
	}
	return &sum
}

// CoreSeconds is the sum over executions of cores times elapsed, s. An execution's cores are the
// threads of its ranks where it is known what these did, else its ranks.
func CoreSeconds(executions []Execution) float64 {
	var sum float64
	for i := range executions {
		sum += executions[i].coreSeconds()
	}
	return sum
}

func (e *Execution) coreSeconds() float64 {
	if m := ExecutionMetrics(e); m != nil && m.Hybrid != nil {
		return m.Hybrid.Span
	}
	return shareOf(e).span
}

// SMTSeconds is the time of the further hardware threads of cores that had a rank or thread, s. It
// assumes that each rank or thread has a core of its own, so it is an upper bound.
func SMTSeconds(executions []Execution) (sum float64) {
	for i := range executions {
		e := &executions[i]
		threads, further := 0, 0
		for k := range e.Nodes {
			n := &e.Nodes[k]
			t := n.threads().Threads
			if threads += t; n.Hardware != nil {
				further += t * max(n.Hardware.ThreadsPerCore-1, 0)
			}
		}
		if further > 0 {
			sum += e.coreSeconds() * float64(further) / float64(threads)
		}
	}
	return sum
}

// RunTime is how long at least one of the executions ran.
func RunTime(executions []Execution) (sum time.Duration) {
	var all []when.Span
	for i := range executions {
		if e := &executions[i]; ExecutionMetrics(e) != nil {
			all = append(all, e.Spans()...)
		}
	}
	for _, s := range when.Union(all) {
		sum = AddTime(sum, s.To.Sub(s.From))
	}
	return sum
}

// threads is what the ranks of a node did with their threads. Ranks without OpenMP have one each.
func (n *NodeShare) threads() ThreadShare {
	if n.Threads != nil {
		return *n.Threads
	}
	return ThreadShare{Threads: n.Ranks, ThreadsMax: min(n.Ranks, 1), Useful: n.Useful, UsefulMax: n.UsefulMax, MPI: n.MPI, IO: n.IO}
}

// threadsOf adds up the nodes of an execution.
func threadsOf(e *Execution) (sum ThreadShare) {
	for i := range e.Nodes {
		t := e.Nodes[i].threads()
		sum.Add(&t)
	}
	return sum
}

// threaded reports whether ranks of an execution had threads that compute. The kernel's counts decide.
// The environment decides only for ranks that nobody counted.
func (e *Execution) threaded() bool {
	counted, ranks := 0, 0
	for i := range e.Nodes {
		ranks += e.Nodes[i].Ranks
		if l := e.Nodes[i].Load; l != nil {
			counted += l.Ranks
			if l.Threaded > 0 {
				return true
			}
		}
	}
	return counted < ranks && e.AsksForThreads()
}

// WithMPI reports whether a program used MPI. A program without MPI is measured if it uses OpenMP.
func WithMPI(executions []Execution) bool {
	return slices.ContainsFunc(executions, func(e Execution) bool { return e.MPI != "" || e.Size > 1 })
}

// Threaded reports whether ranks had threads that compute besides those that call MPI.
func Threaded(executions []Execution) bool {
	return slices.ContainsFunc(executions, func(e Execution) bool { return e.threaded() || threadsOf(&e).ThreadsMax > 1 })
}

// threadsUnknown reports whether ranks of an execution had threads that compute and were not
// measured, or not all the time.
func (e *Execution) threadsUnknown() bool {
	counted, ranks := 0, 0
	for i := range e.Nodes {
		n := &e.Nodes[i]
		switch l := n.Load; {
		case n.Threads != nil && n.Threads.Why != "", l != nil && l.Threaded > l.OpenMP:
			return true
		case n.Threads != nil: // OpenMP's figures cover all of its ranks
			counted += n.Ranks
		case l != nil:
			counted += l.Ranks
		}
		ranks += n.Ranks
	}
	return counted < ranks && e.AsksForThreads()
}

// ThreadsUnknown reports whether ranks had threads that compute and were not measured. The useful time
// is then not that of all their cores.
func ThreadsUnknown(executions []Execution) bool {
	return slices.ContainsFunc(executions, func(e Execution) bool { return e.threadsUnknown() })
}

// OnlyUnknownThreads reports whether no program used MPI, and what their threads did is not known.
func OnlyUnknownThreads(executions []Execution) bool {
	return ThreadsUnknown(executions) && !WithMPI(executions)
}

// ThreadsWhy says why it is not known what OpenMP's threads did; "": it is known, or nothing says why.
func ThreadsWhy(executions []Execution) (why string) {
	for i := range executions {
		why = max(why, threadsOf(&executions[i]).Why)
	}
	return why
}

// OpenMPQuotients are POP's multiplicative efficiencies of OpenMP: those of all threads divided by
// those of MPI. Each may exceed 1.
func (m *Metrics) OpenMPQuotients() (parallel, balance, communication float64) {
	return fraction(m.Parallel, m.MPI.Parallel), fraction(m.LoadBalance, m.MPI.LoadBalance), fraction(m.Communication, m.MPI.Communication)
}

// Additive are the efficiencies of POP's additive model.
func (m *Metrics) Additive() Additive {
	a := Additive{Process: m.MPI.Parallel, ProcessCommunication: m.MPI.Communication,
		ProcessLoadBalance: 1 - (m.MPI.Communication - m.MPI.Parallel),
		Thread:             1 + m.Parallel - m.MPI.Parallel, Serial: 1 - m.Hybrid.Serial/m.Hybrid.Span}
	a.Region = a.Thread + 1 - a.Serial
	return a
}

// RealUseful is the useful time of all threads, s.
func (m *Metrics) RealUseful() float64 {
	if m.Hybrid != nil {
		return m.Hybrid.Useful
	}
	return m.Useful
}

// threadSums add up Hybrid over executions.
type threadSums struct {
	Hybrid
	usefulMax  float64 // sum of threads x max u
	used, lost bool    // used: a rank used several threads; lost: what threads did is not known
}

func (s *threadSums) add(e *Execution) {
	t, f := threadsOf(e), e.Folded
	span, most, busiest := float64(t.Threads)*elapsedOf(e).Seconds(), t.Threads, float64(t.Threads)*t.UsefulMax.Seconds()
	if f != nil {
		span, most, busiest = f.ThreadSpan, f.Threads, f.ThreadUsefulMax
	}
	s.used = s.used || t.ThreadsMax > 1
	s.lost = s.lost || t.Why != "" || e.threadsUnknown()
	s.Threads = max(s.Threads, most)
	s.Span, s.usefulMax = s.Span+span, s.usefulMax+busiest
	for _, sum := range []struct {
		to   *float64
		time time.Duration
	}{{&s.Useful, t.Useful}, {&s.MPITime, t.MPI}, {&s.IOTime, t.IO}, {&s.Imbalance, t.Imbalance}, {&s.Scheduling, t.Scheduling}, {&s.Serial, t.Serial}} {
		*sum.to += sum.time.Seconds()
	}
}

// hybrid is nil if no rank has several threads, or what they did is not known.
func (s *threadSums) hybrid() *Hybrid {
	if !s.used || s.lost || s.Span <= 0 {
		return nil
	}
	h := s.Hybrid
	return &h
}

// elapsedOf is E of one execution.
func elapsedOf(e *Execution) (elapsed time.Duration) {
	for i := range e.Nodes {
		elapsed = max(elapsed, e.Nodes[i].ElapsedMax)
	}
	return elapsed
}

// leading is the part of a job's time that an execution must have to speak for the job.
const leading = 0.8

// JobWindows are the windows of the execution that has most of a job's time (leading). If no sampled
// execution has, Why says so. They are nil if no execution whose ranks have others to wait for has windows.
func JobWindows(executions []Execution) *Windows {
	var sum, most float64
	var lead *Windows
	any := false
	for i := range executions {
		span := shareOf(&executions[i]).span
		if sum += span; span > most {
			most, lead = span, executions[i].Windows
		}
		any = any || executions[i].Windows != nil && executions[i].Size > 1
	}
	switch {
	case !any:
		return nil
	case lead == nil || most < leading*sum:
		return &Windows{Why: "no program of the job that was sampled has most of its time"}
	}
	return lead
}

// Hybrid is what the threads of ranks did (METRICS 2), of an execution or of a whole job.
type Hybrid struct {
	Threads int `json:"threads" db:"all_threads"` // of all ranks; of several executions the most that one had
	// The rest are sums over threads, s. Span is threads x E: the whole, of which the others are parts.
	Span       float64 `json:"span" db:"thread_span_s"`
	Useful     float64 `json:"useful" db:"thread_useful_s"`
	MPITime    float64 `json:"mpi_time" db:"thread_mpi_s"`
	IOTime     float64 `json:"io_time" db:"thread_io_s"`
	Imbalance  float64 `json:"imbalance" db:"imbalance_s"`
	Scheduling float64 `json:"scheduling" db:"scheduling_s"`
	Serial     float64 `json:"serial" db:"serial_s"`
}

// OpenMPEfficiencies are DLB's, see METRICS 2. Parallel is the product of the others.
type OpenMPEfficiencies struct{ Parallel, LoadBalance, Scheduling, Serialisation float64 }

// OpenMP is how well threads were used outside of MPI.
func (h *Hybrid) OpenMP() OpenMPEfficiencies {
	computed := h.Useful + h.MPITime
	serial, balanced := computed+h.Serial, computed+h.Serial+h.Imbalance
	return OpenMPEfficiencies{
		Parallel:    fraction(computed, balanced+h.Scheduling),
		LoadBalance: fraction(serial, balanced), Scheduling: fraction(balanced, balanced+h.Scheduling),
		Serialisation: fraction(computed, serial),
	}
}

// OpenMPTime is what OpenMP lost, s.
func (h *Hybrid) OpenMPTime() float64 { return h.Imbalance + h.Scheduling + h.Serial }

// Additive is POP's additive model: parallel efficiency = process + thread - 1, and thread =
// region + serial - 1.
type Additive struct{ Process, ProcessLoadBalance, ProcessCommunication, Thread, Region, Serial float64 }

// fraction is a/b; if both are zero, all shares are equal, so it is 1.
func fraction(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// OpenMP is what one rank's threads did in its parallel regions (METRICS 2). Times are sums over
// the threads unless noted.
//
// Team = Useful + MPI + IO + Imbalance + Scheduling + Locked.
type OpenMP struct {
	Threads int    `json:"threads"`           // of its largest region; all that it had at once if regions were nested or begun by other threads
	Why     string `json:"why,omitempty"`     // why times are missing; "": they are whole
	Regions uint64 `json:"regions,omitempty"` // parallel regions
	Nested  uint64 `json:"nested,omitempty"`  // … inside another one
	Others  uint64 `json:"others,omitempty"`  // … begun by other threads than the main one
	Tasks   uint64 `json:"tasks,omitempty"`   // that were run

	InRegions  time.Duration `json:"in_regions_ns,omitempty"` // elapsed, in regions of the main thread
	Team       time.Duration `json:"team_ns,omitempty"`       // the time of each region, times its threads
	Useful     time.Duration `json:"useful_ns,omitempty"`
	UsefulMain time.Duration `json:"useful_main_ns,omitempty"` // of the main thread alone
	UsefulMost time.Duration `json:"useful_most_ns,omitempty"` // of the busiest other thread alone
	MPI        time.Duration `json:"mpi_ns,omitempty"`
	MPIMain    time.Duration `json:"mpi_main_ns,omitempty"` // of the main thread alone
	IO         time.Duration `json:"io_ns,omitempty"`
	IOMain     time.Duration `json:"io_main_ns,omitempty"`    // of the main thread alone
	Imbalance  time.Duration `json:"imbalance_ns,omitempty"`  // waiting in barriers, for tasks and at the end of regions
	Scheduling time.Duration `json:"scheduling_ns,omitempty"` // begins of regions, loops' dispatch, making tasks
	Locked     time.Duration `json:"locked_ns,omitempty"`     // waiting to enter critical, ordered and atomic
}
