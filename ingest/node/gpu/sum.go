package gpu

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/when"
)

// unsampled is how much of the processes' life may be without a sample of the driver's.
const unsampled = 0.1

// sampled is how long a process runs until the driver has surely sampled it: it does so once a second or more often. It
// serves libraries that do not count samples.
const sampled = time.Second

// sum adds up the processes of the job on a GPU.
func (d *device) sum(r *job.NodeReport, q *node.GPUQuestion) job.GPU {
	g := job.GPU{UUID: d.UUID}
	all := d.ofJob(r, q)
	g.Why = d.doubt(all, q)
	var lives, without time.Duration
	for _, p := range all {
		life := time.Duration(p.Life) * time.Millisecond
		lives = job.AddTime(lives, life)
		g.Busy = job.AddTime(g.Busy, time.Duration(float64(life)*float64(max(p.Busy, 0))/10000))
		g.Memory = max(g.Memory, p.Memory)
		if p.Samples == 0 || p.Samples < 0 && p.Busy == 0 && life < sampled {
			without += life
		}
	}
	g.Processes, g.Life = len(all), together(all)
	g.AtMost, g.Busy = lives > g.Life, min(g.Busy, g.Life)
	if g.Why == "" && (float64(without) > unsampled*float64(lives) || g.Processes > 0 && g.Life == 0) {
		g.Why = job.GPUShort
	}
	if g.Why != "" {
		return job.GPU{UUID: d.UUID, Why: g.Why}
	}
	return g
}

// ofJob are the job's processes, in the order of their start. On a GPU that another job had too, these are tasks that
// root noted. A process without memory that is no such task is skipped: it opened the GPU, but may be anybody's who
// looked at it, as XALT found. If a pid comes twice, the latest process counts.
func (d *device) ofJob(r *job.NodeReport, q *node.GPUQuestion) (all []process) {
	from, to := r.Start.UnixMicro(), r.End.UnixMicro()
	for _, p := range d.Processes {
		_, isTask := slices.BinarySearch(q.Tasks, int(p.PID))
		if p.Start >= from && p.Start <= to && (isTask || !q.Shared && p.Memory != 0) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b process) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(b.Start, a.Start)) })
	all = slices.CompactFunc(all, func(a, b process) bool { return a.PID == b.PID })
	slices.SortFunc(all, func(a, b process) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// doubt says why the processes do not tell what the GPU did; "": they do.
func (d *device) doubt(all []process, q *node.GPUQuestion) string {
	switch {
	case d.Why != "":
		return d.Why
	case d.Full && !d.Older:
		return job.GPUOverwritten
	case d.Before && !q.Shared:
		return job.GPUBefore
	case len(all) == 0 && q.Shared:
		return job.GPUShared
	case len(all) == 0 && !d.Older:
		return job.GPUNew
	case slices.ContainsFunc(all, func(p process) bool { return p.Running }):
		return job.GPURunning
	case slices.ContainsFunc(all, func(p process) bool { return p.Busy < 0 }):
		return job.GPUUnsupported
	}
	return ""
}

// together is the time in which at least one of the processes lived.
func together(all []process) (sum time.Duration) {
	lives := make([]when.Span, len(all))
	for i, p := range all {
		lives[i] = when.Span{From: time.UnixMicro(p.Start), To: time.UnixMicro(p.Start + 1000*p.Life)}
	}
	for _, s := range when.Union(lives) {
		sum += s.To.Sub(s.From)
	}
	return sum
}
