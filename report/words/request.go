package words

import (
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
)

// requestAction words a request with its line; without a line, it is empty.
func requestAction(r *policy.Request, wide bool) block.Action {
	line := shell.Request(r)
	if line == "" {
		return block.Action{}
	}
	return block.Action{Text: inert.Text(RequestText(r, false), wide), Line: inert.Text(line, wide)}
}

// RequestText says what to ask for, what that saves, and why. whole adds how long the job would have taken on
// another core count, if no other text does.
func RequestText(r *policy.Request, whole bool) string {
	said := join(r.Said(), gpusText(r))
	switch {
	case r.Why != "":
		return said
	case r.Best != nil && whole:
		said = join(said, upperFirst(betterText(r.Best))+".")
	case r.Best != nil:
		if saved := savedHours(r.Best); saved != "" {
			said = strings.TrimSuffix(said, ".") + ", which would have saved " + saved + "."
		}
	}
	if r.Needs != nil {
		said = join(said, join(limitsText(r), join(fitsText(r), freedText(r))))
	}
	return said
}

// gpusText says what of the script must go in a request for fewer GPUs, and what that follows from. sbatch replaces an
// option only by the same one, and refuses --gpus beside a larger --gres.
func gpusText(r *policy.Request) string {
	switch {
	case !r.FewerGPUs():
		return ""
	case r.GPUs == 0:
		return "Leave out what the script says of GPUs (--gpus, --gres and the like): no job like it is known to have used one."
	}
	return "If the script asks for GPUs by another option than --gpus, leave that out. No job like it is known to have used more."
}

// fitsText says which runs a request would have fitted, and with which reserves.
func fitsText(r *policy.Request) string {
	run := "run"
	if r.Array {
		run = "task"
	}
	memory, limit := r.Reserves()
	var reserves, asWas []string
	if r.Memory > 0 && r.Needs.Most > 0 && r.Needs.RanOut == nil {
		text := reserveText(memory, figure.Bytes(uint64(memory*r.Needs.Most))) + " on the most memory"
		if r.Needs.Measured < r.Needs.Runs {
			text += fmt.Sprintf(" (known of %s)", figure.Count(r.Needs.Measured))
		}
		reserves = append(reserves, text)
	} else if r.Memory == 0 && r.NoMemory != "" {
		asWas = append(asWas, "Memory stays as it was: "+r.NoMemory+".")
	}
	if r.Needs.AtLimit {
		asWas = append(asWas, "The time stays as it was: most of its jobs end at their limit, as those do that go on from a checkpoint.")
	} else if r.Time > 0 && r.Needs.Longest > 0 && r.Needs.OverTime == nil {
		reserves = append(reserves, reserveText(limit, figure.Seconds(limit*r.Needs.Longest))+" on the longest time")
	} else if r.Time == 0 && r.NoTime != "" && r.NoTime != r.NoMemory {
		asWas = append(asWas, "The time stays as it was: "+r.NoTime+".")
	} else if r.Time == 0 && r.NoTime != "" {
		asWas = []string{"Memory and time stay as they were: " + r.NoTime + "."}
	}
	text := ""
	switch {
	case len(reserves) == 0 && r.Needs.Runs == 0:
	case len(reserves) == 0:
		text = fmt.Sprintf("It would have fitted %s.", figure.Counted(r.Needs.Runs, "completed "+run))
	case r.Needs.Runs == 0:
		text = fmt.Sprintf("No run had these cores yet. Going by the others, there is a reserve of %s.", strings.Replace(figure.And(reserves), " and ", " and of ", 1))
	default:
		text = fmt.Sprintf("It would have fitted %s%s, with a reserve of %s.", figure.Counted(r.Needs.Runs, "completed "+run),
			map[bool]string{true: " with its arguments"}[r.Needs.Arguments], strings.Replace(figure.And(reserves), " and ", " and of ", 1))
	}
	return join(text, strings.Join(asWas, " "))
}

// largeReserve is the fraction from which a reserve is written as an amount. Even a time limit of a minute, the
// shortest, is many times a short run.
const largeReserve = 2

// reserveText writes a reserve as a fraction or, if that is large, as the amount.
func reserveText(fraction float64, much string) string {
	if fraction < largeReserve {
		return figure.Percent(fraction)
	}
	return much
}

// limitsText says which runs were killed, which needed much less, and whether no more can be had.
func limitsText(r *policy.Request) string {
	var all []string
	n := r.Needs
	if f := n.RanOut; f != nil && r.Memory > 0 {
		all = append(all, fmt.Sprintf("Job %s ran out of %s on a node%s.", f.Ran.ID, figure.Bytes(uint64(f.Had)), failedText(f, float64(r.Memory))))
	}
	if f := n.OverTime; f != nil && r.Time > 0 {
		all = append(all, fmt.Sprintf("Job %s reached its limit after %s%s.", f.Ran.ID, figure.Clock(figure.Duration(f.Had)), failedText(f, r.Time.Seconds())))
	}
	if n.AllMemory && r.Memory > 0 {
		all = append(all, "No node that it may have gives more memory.")
	}
	if n.AllTime && r.Time > 0 {
		all = append(all, "No job may run longer there.")
	}
	if s := n.Smaller; s != nil && r.Memory > 0 && s.Memory < r.Memory {
		all = append(all, fmt.Sprintf("%s of these needed much less, and what tells them apart is not known: for such a one, --mem=%dM is enough.", figure.Count(s.Runs), s.Memory>>20))
	}
	return strings.Join(all, " ")
}

// failedText says how often jobs were killed for the same lack, and what follows.
func failedText(f *workload.Failure, asked float64) string {
	often := ""
	if f.Of > 1 {
		often = fmt.Sprintf(" (%s of %s did)", figure.Count(f.Many), figure.Counted(f.Of, "job"))
	}
	switch {
	case f.Far:
		return often + "; the others needed so much less that more is not known to help"
	case f.Doubled && asked >= 2*f.Had:
		return often + "; how much it needed is not known, and at least twice that is asked for"
	case asked > f.Had:
		return often + "; how much it needed is not known"
	}
	return often + "; no less than that is asked for"
}

// freedText says what the job would have left to others with this request.
func freedText(r *policy.Request) string {
	like := "Job "
	if r.Array {
		like = "Array "
	}
	var frees []string
	memory, cores := r.Freed()
	for _, part := range []struct {
		hours float64
		unit  string
	}{{memory, "GiB-hours of memory"}, {cores, "core-hours"}} {
		if hours := figure.Hours(part.hours); part.hours > 0 && hours != figure.Hours(0) {
			frees = append(frees, hours+" "+part.unit)
		}
	}
	if was := time.Duration(r.Like.Limit) * time.Second; r.Kind == policy.AskAsItRan && r.Time > 0 && was > r.Time {
		frees = append(frees, fmt.Sprintf("%s of its time limit of %s", figure.Clock(was-r.Time), figure.Clock(was)))
	}
	if len(frees) == 0 {
		return ""
	}
	return fmt.Sprintf("%s%s would have left %s to others.", like, r.Like.ID, figure.And(frees))
}

// NamedJobs words a workload of jobs that left no record of a program.
type NamedJobs struct {
	Title string
	Facts block.Facts
	Line  block.Action // for sbatch
}

// OfNamedJobs makes one.
func OfNamedJobs(named *job.Workload, wide bool) NamedJobs {
	s := inert.Copy(named, wide)
	r := policy.RequestOf(&workload.Study{Workload: named})
	n := NamedJobs{Title: "Jobs named " + s.Name, Line: requestAction(r, wide)}
	newest, other := s.Jobs[len(s.Jobs)-1], 0
	for _, r := range s.Jobs {
		if r.State != "COMPLETED" {
			other++
		}
	}
	n.Facts.Add("Jobs", block.Joined(", ", figure.Counted(len(s.Jobs), "job"), figure.Count(other)+" of them not completed", of("user", s.User)))
	n.Facts.Add("Newest", fmt.Sprintf("job %s of %s: %s, %s, %s", newest.ID, figure.Minute(newest.Start), figure.Counted(newest.CPUs, "CPU"), figure.Counted(newest.Nodes, "node"),
		figure.Clock(figure.Duration(newest.Elapsed))))
	n.Facts.Add("No curve", "none of them left a record of a program: only their name and Slurm's figures bring them together")
	n.Facts.Add("No line", r.Why)
	return n
}
