package job

import (
	"time"

	"jobeff/preload/record"
)

// share is what the POP formulas need of one execution, or of several that are folded, s.
type share struct {
	ranks, size float64
	most        int     // ranks of the largest execution
	useful      float64 // sum of U_i
	mpi         float64 // sum of notU_i without io
	io          float64 // sum of time in MPI_File_*
	elapsedSum  time.Duration
	nodes       map[string]bool

	// Each times the ranks of its execution:
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

// weigh fills in what an execution weighs by its ranks.
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

// ExecutionMetrics are the POP metrics of one execution (METRICS 1); nil if it has no region.
func ExecutionMetrics(e *Execution) *Metrics { return JobMetrics([]Execution{*e}) }

// JobMetrics are the POP metrics over the executions of a job, weighted by ranks and elapsed
// time (METRICS 1). Ranks is the most that one execution had; Elapsed is the sum of theirs. nil
// if no execution has a region.
func JobMetrics(executions []Execution) *Metrics {
	m := &Metrics{}
	var span, usefulMax, meanMax, ranks, size float64
	nodes := map[string]bool{}
	for i := range executions {
		s := shareOf(&executions[i])
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
	m.ParallelEfficiency = m.Useful / span
	m.CommunicationEfficiency = usefulMax / span
	m.LoadBalance = fraction(m.Useful, usefulMax)
	m.LoadBalanceOut = fraction(m.Useful, meanMax)
	m.LoadBalanceIn = fraction(meanMax, usefulMax)
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

// fraction is a/b; if both are zero, all shares are equal, so it is 1.
func fraction(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// RankSeconds is the sum over executions of ranks times elapsed, s: the time that their figures
// speak of.
func RankSeconds(executions []Execution) float64 {
	var span float64
	for i := range executions {
		span += shareOf(&executions[i]).span
	}
	return span
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

// elapsedOf is E of one execution.
func elapsedOf(e *Execution) (elapsed time.Duration) {
	for i := range e.Nodes {
		elapsed = max(elapsed, e.Nodes[i].ElapsedMax)
	}
	return elapsed
}
