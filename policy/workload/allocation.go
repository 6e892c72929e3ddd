package workload

import (
	"fmt"
	"math"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// Alloc is how many CPUs a run on n cores is charged: AllocCPUS of the jobs that ran there. Where
// none did, it is whole nodes if the jobs had these, else as many for each core as they had at most.
func (s *Study) Alloc(n int) float64 {
	if c := s.At(n); c != nil && c.Alloc > 0 {
		return c.Alloc
	}
	each := 1.0
	for _, c := range s.Counts {
		each = math.Max(each, c.Alloc/float64(c.N))
	}
	if cpus, nodes := s.wholeNode(), s.NodesFor(n); cpus > 0 && nodes > 0 {
		return float64(nodes * cpus)
	}
	return float64(n) * each
}

// allocOf is what a run of the study was charged.
func (s *Study) allocOf(r *job.Run) float64 {
	if r.AllocCPUs > 0 && s.alone(r) {
		return float64(r.AllocCPUs)
	}
	return s.Alloc(r.Cores())
}

// alone says whether the run's job had no other run of the workload: else its allocation is not
// the run's.
func (s *Study) alone(r *job.Run) bool {
	return s.inJob[jobOf(r)] == 1
}

// jobID names the attempt that a run belongs to.
type jobID struct {
	cluster string
	id      uint32
	attempt int
}

func jobOf(r *job.Run) jobID { return jobID{r.Cluster, r.JobID, r.Attempt} }

// allocs fills in Count.Alloc.
func (s *Study) allocs() {
	s.inJob = map[jobID]int{}
	for i := range s.Workload.Runs {
		s.inJob[jobOf(&s.Workload.Runs[i])]++
	}
	for i := range s.Counts {
		var all []float64
		for _, r := range s.on(s.Counts[i].N).runs {
			if r.AllocCPUs > 0 && s.alone(&r) {
				all = append(all, float64(r.AllocCPUs))
			}
		}
		if len(all) > 0 {
			s.Counts[i].Alloc = curve.Median(all)
		}
	}
}

// wholeNode is how many CPUs each node has that the jobs were given whole; 0 where one was given
// less, or where that is not known.
func (s *Study) wholeNode() (cpus int) {
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.AllocCPUs == 0 || !s.alone(r) {
			continue
		}
		if r.Nodes == 0 || r.AllocCPUs%r.Nodes != 0 || r.Conditions == nil || r.Conditions.Machine == nil {
			return 0
		}
		each, m := r.AllocCPUs/r.Nodes, r.Conditions.Machine
		if cpus != 0 && cpus != each || each != m.Cores && each != m.Cores*m.ThreadsPerCore {
			return 0
		}
		cpus = each
	}
	return cpus
}

// heldBy is what a job needed of memory on all of its nodes, at most; 0: not known.
func heldBy(j *job.Job) int64 {
	if j == nil {
		return 0
	}
	need := j.NeededMemory()
	if need == nil || need.From == job.MemorySlurm && j.Usage.PartOfNodes {
		return 0
	}
	return max(need.Use, need.High)
}

// asks is what is known of memory and of time on the recommended cores: what a node has to hold, if
// there are fewer, and how long a run takes, if that is longer.
func (s *Study) asks(r *Recommendation, j *job.Job) string {
	var all []string
	if nodes, held := s.NodesFor(int(r.Cores.Value)), heldBy(j); held > 0 && nodes > 0 && nodes < j.Nodes {
		bytes := func(n int64) string { return figure.Bytes(uint64(n)) }
		tasks := int64(r.Cores.Value) / int64(max(1, s.Mine.Threads)*nodes)
		text := fmt.Sprintf("On %s, each may need %s of memory, if all of it stays as much as here", figure.Counted(nodes, "node"), bytes(held/int64(nodes)))
		if u := j.Usage; u != nil && u.LargestTask > 0 && tasks > 0 {
			text += fmt.Sprintf(", or %s, if that of each task does", bytes(u.LargestTask*tasks))
		}
		all = append(all, text+" (--mem).")
	}
	if r.Time != nil && r.Time.Value > 0 {
		longest := time.Duration(s.Mine.Elapsed * (1 + r.Time.High) * float64(time.Second))
		all = append(all, fmt.Sprintf("Its program may run for %s (--time).", figure.Clock(longest.Round(time.Second))))
	}
	return strings.Join(all, " ")
}

// coresPerNode is how many cores of each node the runs on several nodes had, 0 where
// that differs or there is none.
func (s *Study) coresPerNode() int {
	cores := 0
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.Nodes < 2 {
			continue
		}
		if r.Cores()%r.Nodes != 0 || cores != 0 && cores != r.Cores()/r.Nodes {
			return 0
		}
		cores = r.Cores() / r.Nodes
	}
	return cores
}

// NodesFor is how many nodes a run on n cores asks for: as few as it ran on, else filled as
// those that were. 0 where the runs do not tell.
func (s *Study) NodesFor(n int) int {
	if c := s.At(n); c != nil {
		return c.Nodes[0]
	}
	for _, c := range s.Counts {
		if c.Nodes[0] == 1 && n <= c.N {
			return 1
		}
	}
	if cores := s.coresPerNode(); cores > 0 {
		return (n + cores - 1) / cores
	}
	return 0
}

// ThreadsFor is how many threads, or CPUs, each rank has on n cores: as where it ran on them, else as
// in the run that was asked about; 1 where that does not divide n.
func (s *Study) ThreadsFor(n int) int {
	like := s.Mine
	if o := s.on(n); o != nil {
		like = &o.runs[0]
	}
	if like == nil || like.Threads < 1 || n%like.Threads != 0 {
		return 1
	}
	return like.Threads
}
