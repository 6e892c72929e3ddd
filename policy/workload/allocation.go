package workload

import (
	"math"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Alloc returns how many CPUs a run on n cores is charged: AllocCPUS of the jobs that ran there. If none did,
// it is whole nodes if the jobs had these, else the most CPUs per core that any of them had.
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

// allocOf returns how many CPUs a run of the study was charged.
func (s *Study) allocOf(r *job.Run) float64 {
	if r.AllocCPUs > 0 && s.alone(r) {
		return float64(r.AllocCPUs)
	}
	return s.Alloc(r.Cores())
}

// alone reports whether the run's job had no other run of the workload. Otherwise its allocation is not the
// run's.
func (s *Study) alone(r *job.Run) bool {
	return s.inJob[jobOf(r)] == 1
}

// jobID identifies the attempt that a run belongs to.
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

// wholeNode returns how many CPUs each node has, if all jobs were given whole nodes; 0: one was not, or it is
// not known.
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

// heldBy returns the memory that a job needed on all of its nodes, at most; 0: not known.
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

// NeedsOn estimates memory and time on recommended cores that no job had yet. heldOn gives the memory of each
// node, and the runs the time of the program.
func (s *Study) NeedsOn(r *Recommendation, j *job.Job, nodes int, room *job.Room) *Needs {
	n := &Needs{NoMemory: "no job had the advised cores yet", NoTime: "no job had the advised cores yet"}
	if j != nil {
		n.Like = job.RanOf(j)
	}
	cores := int(r.Cores.Value)
	if held := heldBy(j); held > 0 && nodes > 0 {
		need, all := s.heldOn(cores, nodes, held, j), int64(math.MaxInt64)
		if room != nil && room.Memory > 0 {
			all = room.Memory >> 20 << 20
		}
		if memory := roundUp(float64(need) * (1 + unmeasured)); need > 0 && need <= all {
			n.Memory, n.NoMemory, n.Most = min(memory, all), "", float64(need)
		}
	}
	if r.Time != nil && j != nil && len(j.Executions) == 1 {
		outside := math.Max(j.Elapsed.Seconds()-s.Mine.Elapsed, 0)
		within := (1 + r.Time.High) / (1 + r.Time.Value) // of one run in twenty; one in four hundred lies as far from that
		longest := outside + s.Mine.Elapsed*(1+r.Time.High)*within
		n.Time, n.NoTime, n.Longest = time.Duration(math.Ceil(longest*(1+unmeasured)/60))*time.Minute, "", longest
		if room != nil && room.Time > 0 {
			n.Time = min(n.Time, room.Time.Truncate(time.Minute))
		}
	}
	return n
}

// unmeasured is the reserve for what no run has shown.
const unmeasured = 0.2

// heldOn returns what each of so many nodes must hold, bytes: its part of what the job held, or what the tasks
// on it hold, whichever is more. If the two lie far apart it is not known, and 0.
func (s *Study) heldOn(cores, nodes int, held int64, j *job.Job) int64 {
	whole, tasks := held/int64(nodes), int64(0)
	if u := j.Usage; u != nil {
		tasks = u.LargestTask * int64(cores/max(1, s.ThreadsFor(cores))/nodes)
	}
	if tasks > 0 && (tasks > apartBy*whole || whole > apartBy*tasks) {
		return 0
	}
	return max(whole, tasks)
}

// coresPerNode returns how many cores of each node the runs on several nodes had; 0: that differs, or there are
// no such runs.
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

// NodesFor returns how many nodes a run on n cores asks for: the fewest that such a run had, else as many as it
// fills like other runs; 0: the runs do not show it.
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

// ThreadsFor returns how many threads, or CPUs, each rank has on n cores: as in a run on them, else as in the
// studied run; 1 if that does not divide n.
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
