package policy

import (
	"math"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// UsedFields are the fields that come from Slurm's accounting, for jobs with MPI or without. A job that did not
// end by itself might have used more.
var UsedFields = []string{"cpu_efficiency", "busy_cores", "needed_memory", "least_memory", "memory_efficiency", "needed_nodes", "time_efficiency"}

// usage fills in what the job asked for besides its cores, and what it used.
func (c *Case) usage(j *job.Job) {
	if !j.ByScript() {
		c.unknown("it was no batch script: a session waits for its user, and ends when they go", "cpu_efficiency", "busy_cores", "time_efficiency")
	}
	c.times(j)
	c.cpu(j)
	c.memory(j)
	c.nodesNeeded(j)
}

// times fills in the job's limit, its wait and its array.
func (c *Case) times(j *job.Job) {
	c.TimeLimit, c.QueueTime = j.TimeLimit.Seconds(), j.QueueTime().Seconds()
	switch e := j.TimeEfficiency(); {
	case c.TimeLimit <= 0:
		c.unknown("Slurm has not said it, or there was none", "time_limit", "time_efficiency")
	case e == nil:
		c.unknown("the job's end is not known, or it took less than a second", "time_efficiency")
	default:
		c.TimeEfficiency = *e
	}
	if j.Submit.IsZero() || j.Start.IsZero() {
		c.unknown("Slurm has not said when it was submitted, or began", "queue_time")
	}
	switch a := j.Array; {
	case a != nil && a.Tasks > 0:
		c.ArrayTasks, c.ArrayMean = a.Tasks, a.Elapsed.Seconds()/float64(a.Tasks)
	case a != nil:
		c.unknown("no task of its array was completed", "array_mean_time")
	case j.ArrayJobID != 0:
		c.unknown("tasks of its array run or wait, or a list of jobs does not hold them", "array_tasks", "array_mean_time")
	}
}

// cpu fills in how many CPUs were busy.
func (c *Case) cpu(j *job.Job) {
	e := j.CPUEfficiency()
	if e == nil {
		c.unknown("Slurm has not said how much CPU time the job used", "cpu_efficiency", "busy_cores")
		return
	}
	c.CPUEfficiency, c.BusyCores = *e, j.Usage.TotalCPU.Seconds()/j.Elapsed.Seconds()
	if c.why.Code == CauseContention {
		c.unknown(c.why.clause(), "busy_cores")
	}
	if j.CPUs > 1 && j.CPUs <= j.ThreadsPerCore() {
		c.unknown("its CPUs may be the hardware threads of one core, which nobody else could have had", "busy_cores")
	}
	if j.Usage.PartOfNodes {
		c.CPUDoubt = doubt.Text(doubt.Warning{Code: doubt.WarnUsagePart})
	}
}

// memory fills in what was asked for and needed, GiB.
func (c *Case) memory(j *job.Job) {
	if j.Usage == nil || j.Usage.Allocated <= 0 {
		c.unknown("Slurm has not said it", "requested_memory")
		c.unknown("Slurm has not said how much memory the job was given", "memory_efficiency")
	} else {
		c.RequestedMemory = gib(j.Usage.Allocated)
	}
	var why string
	if c.WholeNodes, why = j.WholeNodes(); why != "" {
		c.unknown(why, "whole_nodes")
	}
	if c.WholeNodes {
		c.unknown("the job had whole nodes, whose memory nobody else could have had", "memory_efficiency")
	}
	need := j.NeededMemory()
	if need == nil {
		c.unknown("nothing tells how much memory it used", "needed_memory", "least_memory", "memory_efficiency")
		return
	}
	if c.LeastMemory = gib(need.Low); need.Low == 0 {
		c.unknown("no node tells the lower end of what it needed", "least_memory")
	}
	high := need.Needed()
	switch {
	case need.Limit:
		c.unknown("its limit of memory was reached, so it may have needed more", "needed_memory", "memory_efficiency")
	case high == need.Low && need.Use == 0:
		c.unknown("no node tells the upper end of what it needed", "needed_memory", "memory_efficiency")
	case c.RequestedMemory > 0 && high > j.Usage.Allocated:
		c.unknown("what was counted is more than the job was given: memory that tasks share counts in each of them", "needed_memory", "memory_efficiency")
	}
	if c.NeededMemory = gib(high); c.RequestedMemory > 0 {
		c.MemoryEfficiency = c.NeededMemory / c.RequestedMemory
	}
	switch {
	case need.From == job.MemorySlurm:
		c.MemoryDoubt = "its memory is Slurm's figure: samples that miss a short peak, and may hold cache of files"
	case need.NoLess != "":
		c.MemoryDoubt = need.NoLess
	}
}

// gib converts bytes to GiB.
func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// spareNode is the factor by which nodes must exceed what was used to hold it: a mean is below its peaks.
const spareNode = 1.2

// nodesNeeded fills in how many of the job's nodes would have held what it used. It says nothing about jobs
// with ranks, as these wait for each other. A busy CPU is taken to need a core of its own.
func (c *Case) nodesNeeded(j *job.Job) {
	for _, name := range []string{"nodes", "alloc_cores", "busy_cores", "requested_memory", "needed_memory"} {
		if why := c.Unknown[name]; why != "" {
			c.unknown(why, "needed_nodes")
			return
		}
	}
	if j.Metrics != nil {
		c.unknown("ranks and threads were measured: their number tells how many nodes it needs", "needed_nodes")
		return
	}
	used := math.Max(c.BusyCores*float64(j.ThreadsPerCore())/float64(c.AllocCores), c.NeededMemory/c.RequestedMemory)
	c.NeededNodes = min(max(int(math.Ceil(spareNode*used*float64(c.Nodes))), 1), c.Nodes)
}
