package words

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// gpuText says how much of the time a kernel ran on the job's GPUs, or why that is not known; "": no node asked.
func gpuText(j *job.Job) string {
	u := j.GPUUse
	if u == nil {
		return ""
	}
	said := ""
	if e := u.Efficiency(); e != nil {
		each := (u.Time / time.Duration(u.Known)).Round(time.Second)
		said = fmt.Sprintf("a kernel ran %s of the time (of %s x %s)", figure.AtMost(*e, u.AtMost), figure.Counted(u.Known, "GPU"), figure.Clock(each))
		if u.Processes == 0 {
			said = "no process used " + map[bool]string{true: "it", false: "them"}[u.GPUs == 1]
		} else if u.Unused > 0 {
			said += fmt.Sprintf(", and no process used %s of these", figure.Count(u.Unused))
		}
	}
	return block.Joined("; ", figure.Count(u.GPUs), said, gpusUnknown(u))
}

// gpuHoursText says in how many GPU-hours no kernel ran; "": there were none.
func gpuHoursText(h listing.Hours) string {
	used := figure.Hours(h.GPU) + " used"
	switch {
	case h.GPU == 0:
		return ""
	case h.GPUKnown == 0:
		return used + "; what the GPUs did is not known"
	}
	return fmt.Sprintf("%s; no kernel ran in at least %s of %s that are known (%s)", used, figure.Hours(h.GPUIdle), figure.Hours(h.GPUKnown), figure.Part(h.GPUIdle, h.GPUKnown))
}

// GPUHoursText is a sentence of gpuHoursText, about something, or about all that was told of; "": there were none.
func GPUHoursText(of string, h listing.Hours) string {
	if h.GPU == 0 {
		return ""
	}
	return block.Joined(" of ", "GPU-hours", of) + ": " + gpuHoursText(h) + "."
}

// gpuColumns are the further columns of a list of lines with GPU-hours.
func gpuColumns(lines []line) (columns string) {
	var all listing.Hours
	for i := range lines {
		all.Add(policy.HoursOf(lines[i].tasks))
	}
	if all.GPU > 0 {
		columns += ",gpuhours"
	}
	if all.GPUKnown > 0 {
		columns += ",gpuidle"
	}
	return columns
}

// gpuLegend explains gpuColumns.
var gpuLegend = []Legend{{"GPU-h: GPU-hours used.", []string{"GPU-h"}}, {"GPUIdle: those in which no kernel ran, at least.", []string{"GPUIdle"}}}

// gpusPart lists the job's GPUs, those on which a kernel ran shortest first; nothing if they are alike.
func gpusPart(j *job.Job) block.Part {
	u := j.GPUUse
	if u == nil || gpusAlike(u) {
		return block.Part{}
	}
	part := block.Part{Heading: "GPUs"}
	if b := u.LoadBalance(); b != nil {
		part.Heading += ": load balance " + figure.Efficiency(*b)
		if u.Known < u.GPUs {
			part.Heading += fmt.Sprintf(" of %s known", figure.Count(u.Known))
		}
	}
	part.Tables = []block.Table{gpusTable(u.List)}
	if n := u.GPUs - len(u.List); n > 0 {
		part.Notes = append(part.Notes, fmt.Sprintf("and %s, each with as much or more of a kernel, or not known", figure.Counted(n, "other GPU")))
	}
	if len(u.Unknown) > 1 { // the job's line has the most frequent reason
		for _, why := range slices.Sorted(maps.Keys(u.Unknown)) {
			part.Notes = append(part.Notes, fmt.Sprintf("not known of %s: %s", figure.Counted(u.Unknown[why], "GPU"), WhyNoGPU(why)))
		}
	}
	return part
}

// gpusAlike reports whether nothing tells a job's GPUs apart: on all of them a kernel ran about as long, or of none it is
// known, for one reason.
func gpusAlike(u *job.GPUUse) bool {
	if u.Known == 0 || len(u.List) == 0 {
		return len(u.Unknown) < 2
	}
	return u.Known == u.GPUs && u.List[0].Busy.Seconds() >= (1-unequal)*u.MaxBusy.Seconds()
}

// gpusTable has a line for each GPU, with the first digits of its UUID.
func gpusTable(all []job.GPUOfNode) block.Table {
	const named = 8
	t := block.Table{Heads: []string{"<node", "<!GPU", "a kernel ran", "of", "processes", "memory"}}
	isKnown := func(g job.GPUOfNode) bool { return g.Why == "" && g.Time > 0 }
	known := !slices.ContainsFunc(all, func(g job.GPUOfNode) bool { return !isKnown(g) }) // else an empty bar would say idle
	for i := range all {
		g := &all[i]
		digits := strings.TrimPrefix(g.UUID, "GPU-")
		row, share := []string{g.Node, cmp.Or(digits[:min(len(digits), named)], "-"), "not known", "-", "-", "-"}, 0.0
		if isKnown(*g) {
			share = g.Busy.Seconds() / g.Time.Seconds()
			row[2], row[3], row[4] = figure.AtMost(share, g.AtMost), figure.Clock(g.Time.Round(time.Second)), figure.Count(g.Processes)
		}
		if g.Memory > 0 {
			row[5] = figure.Bytes(uint64(g.Memory))
		}
		if known {
			t.Bar(2, share)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// gpusUnknown says of how many GPUs nothing is known, and the most frequent reason.
func gpusUnknown(u *job.GPUUse) string {
	if u.Known >= u.GPUs {
		return ""
	}
	why := slices.MaxFunc(append(slices.Sorted(maps.Keys(u.Unknown)), ""), func(a, b string) int { return cmp.Compare(u.Unknown[a], u.Unknown[b]) })
	of := ""
	if u.Known > 0 {
		of = fmt.Sprintf(" of %s", figure.Counted(u.GPUs-u.Known, "GPU"))
	}
	return "not known" + of + ": " + WhyNoGPU(why)
}

// WhyNoGPU words job.GPU.Why.
func WhyNoGPU(why string) string {
	return cmp.Or(whyNoGPU[why], "the node gave a reason that this jobeff does not know")
}

// whyNoGPU has a text for each reason that a node may give.
var whyNoGPU = map[string]string{
	job.GPUNotAsked:      "the node had no time or no program to ask the driver",
	job.GPUNoDriver:      "NVIDIA's driver is not there",
	job.GPUHangs:         "the driver did not answer",
	job.GPUFailed:        "the driver answered with an error",
	job.GPUForbidden:     "only root may ask the driver there",
	job.GPUUnsupported:   "the driver keeps no accounts of this GPU",
	job.GPUMIG:           "the driver keeps no accounts of parts of a GPU (MIG)",
	job.GPUNoPersistence: "persistence mode is off",
	job.GPUNoAccounting:  "the driver's accounting is off",
	job.GPUUnnumbered:    "Slurm's number does not tell which GPU it was",
	job.GPUOverwritten:   "more processes ended than the driver keeps",
	job.GPURunning:       "a process still ran on it",
	job.GPUShared:        "another job had it, too",
	job.GPUBefore:        "a process from before the job ran on it, such as MPS's server",
	job.GPUShort:         "its processes were too short for the driver's samples",
	job.GPUNew:           "the driver's accounting may have been off when the job began",
}

// gpuExplained says what the share does not tell.
func gpuExplained(j *job.Job) string {
	u := j.GPUUse
	if u == nil || u.Known == 0 || u.Processes == 0 {
		return ""
	}
	said := "that a kernel ran does not say how much of the GPU it used"
	if u.GPUs > 1 {
		said += "; one that waits for another GPU (NCCL) counts as running"
	}
	if u.AtMost {
		said += "; processes shared a GPU, so theirs may have run at once"
	}
	return said
}
