package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"jobeff/ingest/job"
)

// habit is what some users run without MPI, and what they ask for.
type habit struct {
	name         string
	jobs         int
	cores, nodes int
	given, needs float64 // GiB of memory
	busy         float64 // cores
	takes        float64 // s
	limit        time.Duration
	array        bool
}

var habits = []habit{
	{name: "fit-model", jobs: 70, cores: 16, nodes: 1, given: 32, needs: 26, busy: 0.98, takes: 7000, limit: 24 * time.Hour},
	{name: "assemble", jobs: 40, cores: 8, nodes: 1, given: 96, needs: 7, busy: 7.4, takes: 9000, limit: 12 * time.Hour},
	{name: "render", jobs: 20, cores: 128, nodes: 2, given: 128, needs: 30, busy: 60, takes: 5000, limit: 7 * 24 * time.Hour},
	{name: "params", jobs: 150, cores: 1, nodes: 1, given: 4, needs: 1, busy: 0.9, takes: 18, limit: time.Hour, array: true},
	{name: "train", jobs: 30, cores: 32, nodes: 1, given: 64, needs: 62, busy: 30, takes: 12000, limit: 24 * time.Hour},
}

// bare makes jobs without MPI that ran a month or two before the end. They have random numbers of their own, so
// that the year's other jobs stay as they are.
func (y *Year) bare() (all []*job.Job) {
	y.rng = rand.New(rand.NewPCG(y.opts.Seed, 2)) // #nosec G404 -- a made-up site, the same each time
	for i, h := range habits {
		u := y.users[i%len(y.users)]
		first, at := y.next+1, y.opts.Until.AddDate(0, 0, -60)
		for task := range uint32(h.jobs) {
			if !h.array {
				at = at.Add(time.Duration(y.between(1, 20)) * time.Hour / 2)
			}
			noise := func(sigma float64) float64 { return math.Exp(sigma * y.rng.NormFloat64()) }
			j := y.job(u, h.name, "main", at, h.cores)
			if j.Nodes = h.nodes; h.array {
				j.ArrayJobID, j.ArrayTaskID = first, &task
			}
			y.end(j, fate{"COMPLETED", "0:0", "", 1}, h.takes*noise(.1))
			j.TimeLimit = h.limit
			needs := int64(h.needs / float64(h.nodes) * min(noise(.02), 1.03) * (1 << 30)) // of each node
			held(j, int(h.given), needs, h.busy*min(noise(.01), 1.02))
			y.report(j, nil)
			all = append(all, j)
		}
	}
	return all
}

// held fills in what Slurm and the kernel would have counted for a job that got `given` GiB, needed `needs`
// bytes on each node, and kept `busy` cores busy.
func held(j *job.Job, given int, needs int64, busy float64) {
	j.TRES = fmt.Sprintf("billing=%d,cpu=%d,mem=%dG,node=%d", j.CPUs, j.CPUs, given, j.Nodes)
	j.Usage = &job.Usage{TotalCPU: time.Duration(busy * float64(j.Elapsed)), Memory: needs * int64(j.Nodes), LargestTask: needs, Allocated: int64(given) << 30}
	j.Cgroup = &job.Cgroup{Nodes: j.Nodes, Low: needs * int64(j.Nodes), High: needs * int64(j.Nodes), Peaks: j.Nodes, NodeLow: needs, NodeHigh: needs,
		Samples: int(j.Elapsed / time.Minute), Process: needs, Caches: j.Nodes, Events: j.Nodes}
}
