package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// outstanding is the factor over the next one from which a rank or node that computes longer is named: all
// others wait for it.
const outstanding = 1.25

// lostTo returns what cost most of the lost time (METRICS 1). A job at the 0.80 that POP recommends, or above
// it, lost little.
func lostTo(j *job.Job) Cause {
	m := j.Metrics
	if m == nil || m.Parallel >= figure.Line {
		return idle(j)
	}
	if c := inThreads(m); c.Code != "" {
		return c
	}
	io := 0.0
	if whole := job.RankSeconds(j.Executions); whole > 0 {
		io = m.IOTime / whole
	}
	if io > (1-m.MPI.Parallel)/2 {
		return Cause{CauseIO, fmt.Sprintf("Most of the lost time is MPI-IO: %s of the ranks' time was in MPI_File functions.", figure.Percent(io)),
			"See how often, and in how small pieces, it reads and writes."}
	}
	if c := idle(j); c.Code != "" {
		return c
	}
	if m.MPI.LoadBalance > m.MPI.Communication {
		windows := job.JobWindows(j.Executions)
		if c := waiting(windows); c.Code != "" {
			return c
		}
		which := "; `export JOBEFF_WINDOWS=16` in the next run may tell which."
		if windows != nil {
			which = ": its sampled windows do not tell which."
		}
		return Cause{Code: CauseCommunication, Text: fmt.Sprintf("The busiest rank computed %s of the time. Either MPI is slow, or ranks wait for each other in turn%s",
			figure.Percent(m.MPI.Communication), which)}
	}
	return unequal(j)
}

// unequal names the rank or node that had the most work, or says where the imbalance lies.
func unequal(j *job.Job) Cause {
	if len(j.Executions) == 1 && job.ExecutionMetrics(&j.Executions[0]) != nil {
		e := &j.Executions[0]
		for _, look := range []func(*job.Execution) Cause{oneRank, oneNode} {
			if c := look(e); c.Code != "" {
				return c
			}
		}
	}
	if j.Metrics.LoadBalanceOut < j.Metrics.LoadBalanceIn {
		return Cause{CauseNodes, "Most of the lost time is unequal work: waiting for the node whose ranks had the most (load balance between nodes).",
			"Distribute ranks or data evenly, or see whether one node is slower."}
	}
	return Cause{CauseRanks, "Most of the lost time is unequal work: waiting for the rank that had the most (load balance inside the nodes).",
		"Distribute the work evenly among the ranks."}
}

// oneRank is the cause if one rank computed much longer than all others.
func oneRank(e *job.Execution) Cause {
	elapsed := job.ExecutionMetrics(e).Elapsed
	all := shares(e, elapsed)
	slices.Sort(all)
	k := len(all)
	if k <= 2 || all[k-1] <= outstanding*all[k-2] {
		return Cause{}
	}
	c := Cause{CauseOneRank, fmt.Sprintf("Most of the lost time is waiting for one rank: it was outside MPI for %s of the time, the next one for %s.", figure.Percent(all[k-1]), figure.Percent(all[k-2])),
		"See what this rank does alone (reading a file, a serial part), or whether its core is slow or shared."}
	if load := job.LoadOf([]job.Execution{*e}); load != nil && load.Slept.Seconds() > all[k-1]*elapsed/2 {
		c.Text += fmt.Sprintf(" Outside MPI, ranks slept or waited for a file or a device for %s in all.", figure.Clock(load.Slept.Round(time.Second)))
		c.Mend = "See what this rank waits for."
	}
	return c
}

// oneNode is the cause if the ranks of one node computed much longer than those of all others.
func oneNode(e *job.Execution) Cause {
	elapsed := job.ExecutionMetrics(e).Elapsed
	type node struct {
		name  string
		share float64
	}
	var all []node
	for i := range e.Nodes {
		n := &e.Nodes[i]
		all = append(all, node{n.Node, n.Useful.Seconds() / float64(n.Ranks) / elapsed})
	}
	slices.SortFunc(all, func(a, b node) int { return cmp.Compare(b.share, a.share) })
	if len(all) > 1 && all[0].share > outstanding*all[1].share {
		return Cause{CauseOneNode, fmt.Sprintf("Most of the lost time is waiting for one node: the ranks of %s computed for %s of the time, those of the next one for %s.", all[0].name, figure.Percent(all[0].share), figure.Percent(all[1].share)),
			"See whether this node has more work, or is slower."}
	}
	return Cause{}
}

// manyIdle is the share of idle ranks above which they are the cause, if there are several. One may be a
// master, and a few may write files for the others.
const manyIdle = 0.25

// idle is the cause if many ranks of the job's only program hardly computed.
func idle(j *job.Job) Cause {
	if len(j.Executions) != 1 || j.Metrics == nil {
		return Cause{}
	}
	e := &j.Executions[0]
	n, known := idleRanks(e, j.Metrics.Elapsed)
	if !known || n < 2 || float64(n) <= manyIdle*float64(j.Metrics.Ranks) {
		return Cause{}
	}
	return Cause{CauseIdleRanks, fmt.Sprintf("%s of %s computed for less than 5 %% of the time.", figure.Count(n), figure.Counted(j.Metrics.Ranks, "rank")),
		"The input may have too few parts for so many ranks, or the ranks run different programs."}
}

// A rank is idle if it computed for less than idleBelow of its program's time, and for less than idleBeside of
// what the busiest rank did. So no rank is idle if all of them wait in MPI.
const (
	idleBelow  = 0.05
	idleBeside = 0.25
)

// idleRanks counts an execution's idle ranks. elapsed is in s. known is false if the times of single ranks are
// not kept.
func idleRanks(e *job.Execution, elapsed float64) (n int, known bool) {
	all := shares(e, elapsed)
	if all == nil {
		return 0, false
	}
	bound := min(idleBelow, idleBeside*slices.Max(all))
	for _, share := range all {
		if share < bound {
			n++
		}
	}
	return n, true
}

// shares returns the useful times of an execution's ranks as parts of elapsed (s); nil if the times of single
// ranks are not kept.
func shares(e *job.Execution, elapsed float64) (all []float64) {
	for i := range e.Nodes {
		times, told := e.Nodes[i].UsefulTimes()
		if !told {
			return nil
		}
		for _, t := range times {
			all = append(all, t/elapsed)
		}
	}
	return all
}

// fullyIdle bounds the useful time of all threads of a rank, in multiples of what one thread could compute: up
// to it, the threads count as idle.
const fullyIdle = 1.1

// inThreads is the cause if the job lost more to OpenMP than to MPI (METRICS 2).
func inThreads(m *job.Metrics) Cause {
	h := m.Hybrid
	if h == nil {
		return Cause{}
	}
	if h.Useful <= fullyIdle*m.Useful && h.Threads > m.Ranks {
		return Cause{CauseIdleThreads, fmt.Sprintf("Threads idle: the %s of its %s computed for hardly longer than one thread of each rank could.",
			figure.Counted(h.Threads, "thread"), figure.Counted(m.Ranks, "rank")),
			"With one thread for each rank (OMP_NUM_THREADS=1) it needs no other CPUs."}
	}
	if parallel, _, _ := m.OpenMPQuotients(); parallel >= m.MPI.Parallel {
		return Cause{}
	}
	return threadsLost(h)
}

// threadsLost returns the part of OpenMP that cost most.
func threadsLost(h *job.Hybrid) Cause {
	o := h.OpenMP()
	part := func(lost float64) string {
		return fmt.Sprintf("Most of the lost time is OpenMP: %s of the threads' time was ", figure.Percent(lost/h.Span))
	}
	switch min(o.Serialisation, o.LoadBalance, o.Scheduling) {
	case o.Serialisation:
		return Cause{CauseSerial, part(h.Serial) + "outside of parallel regions, while another thread of the rank computed alone (OpenMP serialisation efficiency).",
			"Put more of the work into parallel regions, or run fewer threads."}
	case o.LoadBalance:
		return Cause{CauseUnequalThreads, part(h.Imbalance) + "waiting in barriers and at the ends of regions for threads with more work (OpenMP load balance).",
			"Distribute the work evenly among the threads: schedule(dynamic) or schedule(guided) may help."}
	}
	return Cause{CauseScheduling, part(h.Scheduling) + "beginning regions, handing out loops and tasks, and waiting for locks (OpenMP scheduling efficiency).",
		"Make regions, chunks and tasks fewer and larger, and critical sections shorter."}
}

// waiting finds out whether ranks wait for each other's work or for messages (METRICS 1). It returns no cause
// if the intervals overlap: either figure may then be the lower one.
func waiting(w *job.Windows) Cause {
	if !w.Determined() {
		return Cause{}
	}
	s, t := w.Serialisation, w.Transfer
	switch {
	case s.High < t.Low:
		return Cause{CauseSerialisation, fmt.Sprintf("Most of the time lost in MPI is waiting for other ranks' work (serialisation efficiency %s, transfer efficiency %s).%s",
			figure.Efficiency(s.Value), figure.Efficiency(t.Value), through(w.Path)), "See whether the work can be ordered or distributed so that fewer ranks wait."}
	case t.High < s.Low:
		mend := "Fewer and larger messages may help, or computing while they travel."
		if w.Talking == 0 {
			mend = "Fewer and larger collectives may help: the sampled part of the run has no other messages."
		}
		return Cause{CauseTransfer, fmt.Sprintf("Most of the time lost in MPI is data transfer and MPI itself (transfer efficiency %s, serialisation efficiency %s).",
			figure.Efficiency(t.Value), figure.Efficiency(s.Value)), mend}
	}
	return Cause{}
}

// most is the share of the waiting that a chain of ranks, or a call, must have to be named.
const most = 0.5

// through names the ranks that wait, and the call, if they have most of the waiting.
func through(p *job.WaitPath) string {
	switch {
	case p == nil:
		return ""
	case p.Varies():
		return " Another rank has the most work each time."
	case p.Inside*p.ChainShare < most || len(p.Chain) < 2:
		return ""
	}
	text := fmt.Sprintf(" Most of it is %s", Waiters(p))
	if len(p.Calls) > 0 && p.Calls[0].Share >= most {
		text += ", in " + p.Calls[0].Call
	}
	return text + "."
}

// Waiters names the ranks of a path's chain: "in a chain through ranks 3 -> 4 -> 5".
func Waiters(p *job.WaitPath) string {
	var ranks []string
	for _, r := range p.Chain {
		ranks = append(ranks, strconv.Itoa(r))
	}
	more := p.ChainLength - len(ranks)
	switch {
	case p.ChainReturns && more > 0:
		return fmt.Sprintf("where %d ranks wait for each other by turns", p.ChainLength)
	case p.ChainReturns:
		return fmt.Sprintf("where ranks %s wait for each other by turns", figure.And(ranks))
	case more > 0:
		return fmt.Sprintf("in a chain through %d ranks, %s -> ...", p.ChainLength, strings.Join(ranks, " -> "))
	}
	return "in a chain through ranks " + strings.Join(ranks, " -> ")
}
