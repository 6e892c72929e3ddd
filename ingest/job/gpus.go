package job

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// GPU is what NVIDIA's driver counted of one GPU that Slurm gave a job on one node, of processes that have ended.
type GPU struct {
	UUID string `json:"uuid,omitempty"` // "": not told
	// Life is how long a process of the job had it open. Busy is the part of that in which a kernel ran.
	Life time.Duration `json:"life_ns,omitzero"`
	Busy time.Duration `json:"busy_ns,omitzero"`
	// AtMost says that Busy is an upper bound: processes had it at the same time, and only the share of each is known.
	AtMost    bool  `json:"at_most,omitempty"`
	Processes int   `json:"processes,omitempty"`
	Memory    int64 `json:"memory,omitempty"` // most that one process held, bytes; 0: not known
	// Why says why nothing else is known of it, one of the constants below; "": all is known.
	Why string `json:"why,omitempty"`
}

// Why a node does not know what a GPU did.
const (
	GPUNotAsked      = "not_asked"   // no program could ask, or there was no time left
	GPUNoDriver      = "no_driver"   // NVIDIA's driver or its library is not there
	GPUHangs         = "hangs"       // the driver did not answer, now or earlier
	GPUFailed        = "failed"      // it answered with an error, or with nonsense
	GPUForbidden     = "forbidden"   // nobody may not ask it
	GPUUnsupported   = "unsupported" // it keeps no accounts of this GPU
	GPUMIG           = "mig"         // it keeps none of parts of a GPU
	GPUNoPersistence = "persistence" // persistence mode is off: the accounts are lost when no process runs
	GPUNoAccounting  = "accounting"  // accounting is off
	GPUUnnumbered    = "numbers"     // which of the node's GPUs it was cannot be told from Slurm's number
	GPUOverwritten   = "overwritten" // more processes ended than the driver keeps
	GPURunning       = "running"     // a process of it still ran
	GPUShared        = "shared"      // another job had it, too, and no process is known for this job's
	GPUBefore        = "before"      // a process from before the job ran on it, such as MPS's server: it may have computed for the job
	GPUShort         = "short"       // its processes were too short for the driver's samples
	GPUNew           = "new"         // no process, but accounting may have been off when the job began
)

// MostGPUs is how many GPUs a node may report of a job.
const MostGPUs = 64

// IsGPU recognizes a GPU's UUID as the driver writes it.
func IsGPU(uuid string) bool {
	digits, is := strings.CutPrefix(uuid, "GPU-")
	return is && len(digits) > 0 && len(digits) <= 64 && strings.Trim(digits, "0123456789abcdefABCDEF-") == ""
}

// Possible reports whether a node can have said this.
func (g *GPU) Possible() bool {
	known := *g
	known.UUID, known.Why = "", ""
	return (g.UUID == "" || IsGPU(g.UUID)) && (g.Why == "" || known == GPU{}) &&
		g.Busy >= 0 && g.Busy <= g.Life && g.Processes >= 0 && g.Memory >= 0 && (g.Life == 0 || g.Processes > 0)
}

// GPUUse is what a job's GPUs did, summed over its nodes.
type GPUUse struct {
	GPUs  int           `json:"gpus"`
	Known int           `json:"known,omitempty"`
	Time  time.Duration `json:"time_ns,omitzero"` // for which the job had the known ones, summed over them
	// Life, Busy and Processes are sums over the known ones, Memory is the highest.
	Life      time.Duration `json:"life_ns,omitzero"`
	Busy      time.Duration `json:"busy_ns,omitzero"`
	AtMost    bool          `json:"at_most,omitempty"` // Busy is an upper bound
	Processes int           `json:"processes,omitempty"`
	Memory    int64         `json:"memory,omitempty"`
	Unused    int           `json:"unused,omitempty"`     // of the known ones, those that no process used
	MaxBusy   time.Duration `json:"max_busy_ns,omitzero"` // Busy of the one on which a kernel ran longest
	// List has the known ones, that on which a kernel ran shortest first, then the others: at most listedGPUs of them.
	List []GPUOfNode `json:"list,omitempty"`
	// Unknown counts the others by GPU.Why.
	Unknown map[string]int `json:"unknown,omitempty"`
}

// listedGPUs is how many GPUs GPUUse.List has: those of two nodes.
const listedGPUs = 16

// GPUOfNode is a GPU and where it is.
type GPUOfNode struct {
	Node string        `json:"node"`
	Time time.Duration `json:"time_ns,omitzero"` // for which the job had it; 0: not known what it did
	GPU
}

// compare orders GPUUse.List.
func (g GPUOfNode) compare(to GPUOfNode) int {
	return cmp.Or(strings.Compare(g.Why, to.Why), cmp.Compare(g.Busy, to.Busy), strings.Compare(g.Node, to.Node), strings.Compare(g.UUID, to.UUID))
}

// Add adds the GPUs of a node's report. The order makes no difference.
func (u *GPUUse) Add(r *NodeReport) {
	u.sum(r)
	slices.SortStableFunc(u.List, GPUOfNode.compare)
	u.List = u.List[:min(len(u.List), listedGPUs)]
}

// sum adds them up, and all of them to the list.
func (u *GPUUse) sum(r *NodeReport) {
	for i := range r.GPUs {
		g := &r.GPUs[i]
		if u.GPUs++; g.Why != "" {
			if u.Unknown == nil {
				u.Unknown = map[string]int{}
			}
			u.Unknown[g.Why]++
			u.List = append(u.List, GPUOfNode{Node: r.Node, GPU: *g})
			continue
		}
		if u.Known++; g.Processes == 0 {
			u.Unused++
		}
		// processes end a little later than their step is seen to
		had := max(r.End.Sub(r.Start), g.Life)
		u.List = append(u.List, GPUOfNode{Node: r.Node, Time: had, GPU: *g})
		u.Time, u.MaxBusy = AddTime(u.Time, had), max(u.MaxBusy, g.Busy)
		u.Life, u.Busy = AddTime(u.Life, g.Life), AddTime(u.Busy, g.Busy)
		u.AtMost = u.AtMost || g.AtMost
		u.Processes = int(addNumbers(int64(u.Processes), int64(g.Processes)))
		u.Memory = max(u.Memory, g.Memory)
	}
}

// GPUTime is the GPU time of a job, in us of one GPU (METRICS 11).
type GPUTime struct {
	Used  CoreTime `db:"gpu_us"`       // GPUs x Elapsed, as Slurm says both; 0: it had none, or that is not known
	Known CoreTime `db:"gpu_known_us"` // the part of Used of GPUs of which it is known what they did
	Idle  CoreTime `db:"gpu_idle_us"`  // the part of Known in which no kernel ran, at least
}

// GPUTime says how long the job had GPUs, so far if it still runs, and what is known of that. Of a step nothing is.
func (j *Job) GPUTime() (t GPUTime) {
	used := cmp.Or(j.GPUUsed, UsedCoreTime(j.GPUs, j.Elapsed))
	if used == nil || j.UsedTime() == nil || j.IsStep() {
		return t
	}
	if t.Used = *used; j.GPUUse != nil {
		u := j.GPUUse
		t.Known = partOf(t.Used, u.Known, j.AllGPUs())
		t.Idle = max(0, min(t.Known, CoreTime(u.Time.Microseconds()))-CoreTime(u.Busy.Microseconds()))
	}
	return t
}

// UnknownGPUTime are the parts of the job's GPU time that are not Known, by GPU.Why; by "" of the GPUs of which no node
// spoke. With Known their sum is Used.
func (j *Job) UnknownGPUTime() map[string]CoreTime {
	u, used, parts := cmp.Or(j.GPUUse, new(GPUUse)), j.GPUTime().Used, map[string]CoreTime{}
	n := u.Known
	for _, why := range slices.Sorted(maps.Keys(u.Unknown)) {
		k := u.Unknown[why]
		parts[why] = partOf(used, n+k, j.AllGPUs()) - partOf(used, n, j.AllGPUs())
		n += k
	}
	parts[""] += used - partOf(used, n, j.AllGPUs())
	return parts
}

// AllGPUs is how many GPUs the job had, as Slurm or its nodes say, whichever are more: not every Slurm tracks them.
func (j *Job) AllGPUs() int {
	if j.GPUUse == nil {
		return j.GPUs
	}
	return max(j.GPUs, j.GPUUse.GPUs)
}

// partOf is the time of the first k of n GPUs, rounded down.
func partOf(t CoreTime, k, n int) CoreTime {
	n = max(n, 1)
	return t/CoreTime(n)*CoreTime(k) + t%CoreTime(n)*CoreTime(k)/CoreTime(n)
}

// Efficiency is the device parallel efficiency, Busy / Time (METRICS 11); nil: not known.
func (u *GPUUse) Efficiency() *float64 {
	if u == nil || u.Known == 0 || u.Time <= 0 {
		return nil
	}
	e := u.Busy.Seconds() / u.Time.Seconds()
	return &e
}

// LoadBalance is the device load balance, sum U / (G max U) over the known GPUs (METRICS 11); nil: not known, since there
// are not two of them, no kernel ran, or a U is an upper bound.
func (u *GPUUse) LoadBalance() *float64 {
	if u == nil || u.Known < 2 || u.MaxBusy <= 0 || u.AtMost {
		return nil
	}
	b := float64(u.Busy) / (float64(u.Known) * float64(u.MaxBusy))
	return &b
}
