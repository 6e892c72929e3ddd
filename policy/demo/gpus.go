package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// gpuNodes have four GPUs each. The last one keeps no accounts of them.
const gpuNodes = 8

// gpuHabit is what some users run on GPUs.
type gpuHabit struct {
	name string
	jobs int
	// share is the part of the time in which a kernel ran on each GPU of each node; unused: no process had that GPU.
	share  [][]float64
	held   float64 // GiB of a GPU's memory
	takes  float64 // s
	silent bool    // its last node is the one without accounts
}

const unused = -1

var gpuHabits = []gpuHabit{
	{name: "train-net", jobs: 60, share: [][]float64{{.92, .92, .92, .92}}, held: 61, takes: 7000},
	{name: "classify", jobs: 50, share: [][]float64{{.5}}, held: 9, takes: 5000},
	{name: "fold", jobs: 40, share: [][]float64{{.71, unused, unused, unused}}, held: 33, takes: 4000},
	{name: "denoise", jobs: 20, share: [][]float64{{.84, .83}, {.41, .43}}, held: 20, takes: 3600},
	{name: "notebook", jobs: 20, share: [][]float64{{unused}}, takes: 6000},
	{name: "finetune", jobs: 10, share: [][]float64{{.8, .8, .8, .8}, {0, 0, 0, 0}}, held: 70, takes: 9000, silent: true},
}

// onGPUs makes jobs without MPI that had GPUs, in the last 40 days. They have random numbers of their own.
func (y *Year) onGPUs() (all []*job.Job) {
	y.rng = rand.New(rand.NewPCG(y.opts.Seed, 4)) // #nosec G404 -- a made-up site, the same each time
	for i := range gpuHabits {
		h := &gpuHabits[i]
		for k := range h.jobs {
			ago := 40 * (float64(h.jobs-k) - 0.9*y.rng.Float64()) / float64(h.jobs) // days
			all = append(all, y.onGPU(h, y.users[(11+3*i)%len(y.users)], y.opts.Until.Add(-seconds(ago*24*3600))))
		}
	}
	return all
}

func (y *Year) onGPU(h *gpuHabit, u user, at time.Time) *job.Job {
	gpus := len(h.share) * len(h.share[0])
	j := y.job(u, h.name, "gpu", at, 2*gpus)
	j.Nodes, j.GPUs = len(h.share), gpus
	y.end(j, fate{"COMPLETED", "0:0", "", 1}, h.takes*math.Exp(.2*y.rng.NormFloat64()))
	held(j, 32*gpus, int64(26*gpus/j.Nodes)<<30, 0.5*float64(j.CPUs))
	j.Cgroup.CPUs, j.Cgroup.Cores = coresPerNode*j.Nodes, coresPerNode*j.Nodes // they had a part of each node
	j.TRES = strings.Replace(j.TRES, ",mem=", fmt.Sprintf(",gres/gpu=%d,mem=", gpus), 1)
	first := int(j.JobID) % (gpuNodes - 2)
	y.reportOf(j, nil, func(n int, r *job.NodeReport) {
		at := first + n
		if h.silent && n == j.Nodes-1 {
			at = gpuNodes - 1
		}
		gpus := y.gpus(h, n, at, j.Elapsed)
		if r.Node = gpuNode(at); j.Decision == "on" {
			r.GPUs = gpus
		}
	})
	return j
}

// gpus are those of a job's nth node, which is number `at` of those with GPUs.
func (y *Year) gpus(h *gpuHabit, n, at int, elapsed time.Duration) (all []job.GPU) {
	for i, share := range h.share[n] {
		id := digest("gpu", at, i)
		g := job.GPU{UUID: fmt.Sprintf("GPU-%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:32])}
		switch {
		case at == gpuNodes-1:
			g.Why = job.GPUNoAccounting
		case share != unused:
			g.Processes, g.Memory, g.Life = 1, int64(h.held*(1<<30)), elapsed-min(elapsed/10, 40*time.Second)
			g.Busy = time.Duration(min(share*math.Exp(.01*y.rng.NormFloat64()), 1) * float64(g.Life))
		}
		all = append(all, g)
	}
	return all
}

func gpuNode(i int) string { return fmt.Sprintf("g%02d", i+1) }
