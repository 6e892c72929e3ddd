package slurm

import (
	"cmp"
	"slices"
	"strings"

	"jobeff/ingest/job"
)

// A job that is resized has a line of its own for each size. Slurm ends all but the last as RESIZING, when the next
// one is submitted, and lets that one start when the job did. Together they are one attempt: RESIZING ends no
// attempt.
const resizing = "RESIZING"

// isLaterPart reports whether a line is of a job that had been resized before.
func (j *Job) isLaterPart() bool { return !j.Start.IsZero() && j.Submit.After(j.Start) }

// joinResized joins the lines of each resized attempt into one. lone are the raw ids of attempts
// whose first line is missing.
func joinResized(all []Job) (jobs []Job, lone []uint32) {
	type id struct {
		cluster string
		raw     uint32
	}
	lines := map[id][]Job{}
	for i := range all {
		if j := &all[i]; j.State == resizing || j.isLaterPart() {
			lines[id{j.Cluster, j.RawID}] = nil
		}
	}
	if len(lines) == 0 {
		return all, nil
	}
	for _, j := range all {
		if of, is := lines[id{j.Cluster, j.RawID}]; is {
			lines[id{j.Cluster, j.RawID}] = append(of, j)
		} else {
			jobs = append(jobs, j)
		}
	}
	for _, of := range lines {
		slices.SortFunc(of, func(a, b Job) int { return a.Submit.Compare(b.Submit) })
		for first, i := 0, 0; i < len(of); i++ {
			if of[i].State == resizing { // if it is the last line, the next one is still to come
				continue
			}
			if of[first].isLaterPart() {
				lone = append(lone, of[first].RawID)
			}
			jobs = append(jobs, joined(of[first:i+1]))
			first = i + 1
		}
	}
	return jobs, lone
}

// joined is the attempt of these lines, in their order: as large as the largest, with the core and GPU time of all.
func joined(parts []Job) Job {
	parts[0].trim()
	if len(parts) == 1 {
		return parts[0]
	}
	first, j := &parts[0], parts[len(parts)-1]
	largest := slices.MaxFunc(parts, func(a, b Job) int { return cmp.Compare(a.CPUs, b.CPUs) })
	j.Nodes, j.CPUs, j.GPUs, j.TRES, j.NodeList = largest.Nodes, largest.CPUs, largest.GPUs, largest.TRES, largest.NodeList
	j.Elapsed += max(j.Start.Sub(first.Start), 0)
	j.Submit, j.Eligible, j.Start = first.Submit, first.Eligible, first.Start
	from, left, used, gpus := j.Start, j.Elapsed, job.CoreTime(0), job.CoreTime(0)
	for i := range parts {
		took := left
		if i+1 < len(parts) {
			took = min(max(parts[i+1].Submit.Sub(from), 0), left)
			from = parts[i+1].Submit
		}
		if t := job.UsedCoreTime(parts[i].CPUs, took); t != nil {
			used += *t
		}
		if t := job.UsedCoreTime(parts[i].GPUs, took); t != nil {
			gpus += *t
		}
		left -= took
	}
	if j.Used = &used; gpus > 0 {
		j.GPUUsed = &gpus
	}
	j.joinUsage(parts)
	return j
}

// joinUsage sums up what the steps of all parts used, once the attempt has ended.
func (j *Job) joinUsage(parts []Job) {
	if j.Usage == nil {
		return
	}
	u := &job.Usage{}
	u.Allocated, _ = tresBytes(j.TRES, 1<<20)
	var full []string
	for i := range parts {
		p := parts[i].Usage
		j.StepsOpen = j.StepsOpen || parts[i].StepsOpen
		if p == nil {
			continue
		}
		u.TotalCPU += p.TotalCPU
		u.Memory, u.LargestTask = max(u.Memory, p.Memory), max(u.LargestTask, p.LargestTask)
		u.PartOfNodes = u.PartOfNodes || p.PartOfNodes
		full = append(full, p.StepsOutOfMemory()...)
	}
	u.OutOfMemory = strings.Join(full[:min(len(full), namedSteps)], ",")
	j.Usage = u
}

// trim lets a line begin when the job got its size, if the earlier lines are missing.
func (j *Job) trim() {
	if j.isLaterPart() {
		j.Start, j.Elapsed = j.Submit, max(j.Elapsed-j.Submit.Sub(j.Start), 0)
	}
}
