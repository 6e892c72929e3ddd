package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Ran is what one job of a workload was given and what it used. An sbatch line is computed from these.
type Ran struct {
	ID         string    `json:"id"`
	JobID      uint32    `json:"job_id"`
	Attempt    int       `json:"attempt"`
	Start      time.Time `json:"start"`
	State      string    `json:"state"` // in one word; OUT_OF_MEMORY where a step ended so
	Nodes      int       `json:"nodes"`
	CPUs       int       `json:"cpus"`
	PerCore    int       `json:"per_core,omitempty"` // hardware threads of a core; 1 where that is not known
	GPUs       int       `json:"gpus,omitempty"`
	UsedGPUs   int       `json:"used_gpus,omitempty"`   // of these a process surely used; 0: none, or not known
	Ranks      int       `json:"ranks,omitempty"`       // recorded; 0: none
	Tasks      int       `json:"tasks,omitempty"`       // that it asked for, or that one of its steps had; 0: not known
	Elapsed    float64   `json:"elapsed"`               // s
	Limit      float64   `json:"limit,omitempty"`       // s; 0: none, or not known
	CPUTime    float64   `json:"cpu_time,omitempty"`    // s; 0: not known
	Memory     int64     `json:"memory,omitempty"`      // bytes that it was given, all nodes; 0: not known
	NodeNeeded int64     `json:"node_needed,omitempty"` // bytes that the neediest node needed; 0: not known well enough to ask for less
	Full       bool      `json:"full,omitempty"`        // it reached its limit of memory
	Args       string    `json:"args,omitempty"`        // hash of its script's arguments; "": there are none, or they are not known
}

// RanMost bounds the jobs from which an sbatch line is computed: the newest ones.
const RanMost = 200

// RanOf is what an sbatch line needs of a job.
func RanOf(j *Job) Ran {
	r := Ran{ID: j.DisplayID, JobID: j.JobID, Attempt: j.Attempt, Start: j.Start, Nodes: j.Nodes, CPUs: j.CPUs, PerCore: j.ThreadsPerCore(), GPUs: j.GPUs, Elapsed: j.Elapsed.Seconds(), Limit: j.TimeLimit.Seconds()}
	r.State = j.StateWord()
	if len(j.Usage.StepsOutOfMemory()) > 0 {
		r.State = "OUT_OF_MEMORY"
	}
	if j.Metrics != nil {
		r.Ranks = j.Metrics.Ranks
	}
	if j.Usage != nil {
		r.CPUTime, r.Memory = j.Usage.TotalCPU.Seconds(), j.Usage.Allocated
	}
	if u := j.GPUUse; u != nil {
		r.UsedGPUs = u.Known - u.Unused
	}
	r.Tasks = j.NTasks
	if need := j.NeededMemory(); need != nil {
		r.NodeNeeded, r.Full = need.NodeUse, need.Limit
	}
	r.Args = ScriptArgs(j.Steps)
	return r
}

// ScriptArgs is the hash of the batch script's arguments; "": there are none, or they are not known.
func ScriptArgs(steps []Step) string {
	for i := range steps {
		if steps[i].ID == "batch" {
			return steps[i].Args
		}
	}
	return ""
}

// NamedWorkload is the workload of jobs that left no record of a program: those of one user with one name. It
// has no runs.
func NamedWorkload(cluster string, uid uint32, user, name string, jobs []Ran) *Workload {
	h := sha256.Sum256(fmt.Appendf(nil, "job name %d:%s %d %s", len(cluster), cluster, uid, name))
	return &Workload{Key: hex.EncodeToString(h[:10]), Name: name, Cluster: cluster, UID: uid, User: user, Runs: []Run{}, Jobs: jobs}
}
