package policy

import (
	"fmt"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/report/figure"
)

// gpusUntold returns why nothing may be said of what a job's GPUs did; "": all of it is known. Slurm gives GPUs with
// whole nodes, whether the job asked for them or not: it need not have used these.
func gpusUntold(j *job.Job) string {
	u := j.GPUUse
	switch {
	case u == nil:
		return "no node told what its GPUs did"
	case hasPart(j.TRES):
		return "it had a part of a GPU"
	case j.Reports < j.Nodes:
		return doubt.Reported(j.Reports, j.Nodes)
	case j.GPUs > 0 && u.GPUs != j.GPUs:
		return fmt.Sprintf("Slurm gave it %s, and its nodes tell of %s", figure.Counted(j.GPUs, "GPU"), figure.Count(u.GPUs))
	case u.Known < u.GPUs:
		return fmt.Sprintf("what %s of its %s did is not known", figure.Count(u.GPUs-u.Known), figure.Counted(u.GPUs, "GPU"))
	case u.Efficiency() == nil:
		return "how long it had its GPUs is not known"
	case u.Unused == 0:
		return ""
	}
	whole, why := j.WholeNodes()
	if whole {
		why = "it had whole nodes, and their GPUs whether it asked for them or not"
	}
	return why
}

// hasPart reports whether a TRES list has parts of GPUs, whose rest other jobs may have had.
func hasPart(tres string) bool {
	return strings.Contains(tres, "gres/shard") || strings.Contains(tres, "gres/mps")
}

// gpus fills in what the job's GPUs did.
func (c *Case) gpus(j *job.Job) {
	c.GPUs, c.DeviceEfficiency = j.AllGPUs(), 1
	why := ""
	switch {
	case c.GPUs > 0:
		why = gpusUntold(j)
	case c.AllocCores == 0:
		why = "Slurm's accounting has not said it yet"
		c.unknown(why, "gpus")
	case c.GPURanks > 0:
		why = "ranks opened a GPU, and which one is not known"
	}
	if why != "" {
		c.unknown(why, "unused_gpus", "device_parallel_efficiency")
	} else if c.GPUs > 0 {
		c.UnusedGPUs, c.DeviceEfficiency = j.GPUUse.Unused, *j.GPUUse.Efficiency()
	}
}

// onGPUs is the cause if the job may have computed on GPUs: its ranks' figures do not show it.
func onGPUs(j *job.Job, load *job.Load) Cause {
	c, n := Cause{Code: CauseGPUs}, j.AllGPUs()
	switch {
	case n == 0 && load != nil && load.GPURanks > 0:
		c.Text = fmt.Sprintf("%s opened a GPU, and the job's figures are the host's alone.", figure.Counted(load.GPURanks, "rank"))
	case n == 0:
		return Cause{}
	case gpusUntold(j) != "":
		c.Text = fmt.Sprintf("It had %s, and its figures are the host's alone.", figure.Counted(n, "GPU"))
	case j.GPUUse.Unused > 0:
		c.Text, c.Mend = fmt.Sprintf("No process used %s.", gpusText(j.GPUUse.Unused, n)), "If the program was to use all, see how many processes it starts, and with which GPUs."
		if j.GPUUse.Unused == n {
			c.Mend = "If the program was to use a GPU, see whether it was built for that, and finds one."
		}
	default:
		c.Text = fmt.Sprintf("A kernel ran on %s in %s of the time.", gpusText(n, n), figure.AtMost(*j.GPUUse.Efficiency(), j.GPUUse.AtMost))
	}
	return c
}

// gpusText names some of a job's GPUs: "2 of its 4 GPUs".
func gpusText(n, of int) string {
	switch {
	case of == 1:
		return "its GPU"
	case n == of:
		return "its " + figure.Counted(of, "GPU")
	}
	return fmt.Sprintf("%s of its %s", figure.Count(n), figure.Counted(of, "GPU"))
}

// gpus asks for the most GPUs that processes are known to have used, of these jobs or of one alike with as many. All of
// these left some unused. Nothing is asked for where Slurm does not track GPUs. On several nodes, the one that needs most
// is not known, so nothing is said there unless none was used at all.
func (a *asking) gpus(r *Request, of ...*job.Job) {
	had, used := r.Like.GPUs, 0
	kind, known := gpuKind(of[0].TRES)
	for _, j := range of {
		if j.StateWord() != completed || j.Elapsed.Seconds() < leastSeen || gpusUntold(j) != "" || j.GPUUse.Unused == 0 || j.GPUs != had {
			return
		}
		its, one := gpuKind(j.TRES)
		known = known && one && its == kind
	}
	for i := range a.alike {
		if one := &a.alike[i]; one.GPUs == had {
			used = max(used, one.UsedGPUs)
		}
	}
	if used >= had || used > 0 && (r.Like.Nodes > 1 || !known) {
		return
	}
	r.GPUs, r.GPUKind, r.Less = used, kind, append(r.Less, "GPUs")
}

// gpuKind returns the kind of GPUs in a TRES list; "": Slurm does not track it. It is not known if there are several.
func gpuKind(tres string) (kind string, known bool) {
	for item := range strings.SplitSeq(tres, ",") {
		name, typed := strings.CutPrefix(item, "gres/gpu:")
		if !typed {
			continue
		}
		if kind != "" {
			return "", false
		}
		kind, _, _ = strings.Cut(name, "=")
	}
	return kind, true
}
