package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// endings are Slurm's states after which a job's figures cover only a part of a run.
var endings = map[string]Cause{
	outOfMemory: {Text: "It ran out of memory."},
	"NODE_FAIL": {Text: "A node failed.", Mend: "Start it again."},
	"BOOT_FAIL": {Text: "A node did not boot.", Mend: "Start it again."},
	"FAILED":    {Text: "It failed.", Mend: "See its output first."},
	"CANCELLED": {Text: "It was cancelled."},
	"PREEMPTED": {Text: "It was preempted: a job of higher priority took its place."},
	"REQUEUED":  {Text: "It was requeued: another attempt began it again."},
}

const outOfMemory = "OUT_OF_MEMORY"

// limits are the states in which Slurm ended a job at a set time, with the name of that time.
var limits = map[string]string{"TIMEOUT": "the time limit", "DEADLINE": "the deadline"}

// endOf returns how the job ended: Slurm's state in one word, or OUT_OF_MEMORY if a step's lack of memory ended
// it.
func endOf(j *job.Job) string {
	if state := j.StateWord(); !stepsRanOut(j, state) {
		return state
	}
	return outOfMemory
}

// stepsRanOut reports whether steps that ran out of memory ended the job. Every program that did not come to
// its end must be in such a step. If all came to their end, the job must have FAILED.
func stepsRanOut(j *job.Job, state string) bool {
	ids, cut := j.Usage.StepsOutOfMemory(), 0
	if len(ids) == 0 {
		return false
	}
	for i := range j.Executions {
		e := &j.Executions[i]
		if e.CameToEnd() {
			continue
		}
		if !slices.ContainsFunc(e.Steps, func(id string) bool { return slices.Contains(ids, id) }) {
			return false
		}
		cut++
	}
	return cut > 0 || state == "FAILED"
}

// CutShort returns Slurm's word for what ended the job before its ranks were done; "": nothing did. Its figures
// cover what ran until then.
func CutShort(j *job.Job) string {
	end := endOf(j)
	if _, bad := endings[end]; !bad && limits[end] == "" || finished(j) {
		return ""
	}
	return end
}

// AtLimit names the limit that a job ran up to, and how long other jobs of its workload or name took on as many
// nodes and CPUs; "": it ran up to none.
func AtLimit(j *job.Job) string {
	end := CutShort(j)
	switch {
	case limits[end] == "":
		return ""
	case end != "TIMEOUT" || j.TimeLimit <= 0:
		return "It ran up to " + limits[end] + "."
	case j.Elapsed+time.Minute < j.TimeLimit: // somebody changed the limit meanwhile
		return fmt.Sprintf("It ran up to %s, which was %s.%s", limits[end], figure.Clock(j.Elapsed), othersTook(j))
	}
	return fmt.Sprintf("It ran up to %s of %s.%s", limits[end], figure.Clock(j.TimeLimit), othersTook(j))
}

// othersTook says how long other jobs of the job's workload or name took to complete, and how many reached their time
// limit.
func othersTook(j *job.Job) string {
	if len(j.Alike) == 0 {
		return ""
	}
	var took []float64
	limited := 0
	for _, r := range j.Alike {
		switch {
		case r.JobID == j.JobID && r.Attempt == j.Attempt || r.Nodes != j.Nodes || r.CPUs != j.CPUs || r.GPUs != j.GPUs:
		case r.State == "COMPLETED":
			took = append(took, r.Elapsed)
		case r.State == "TIMEOUT":
			limited++
		}
	}
	whose := "of its workload"
	if job.WorkloadOf(j) == "" {
		whose = "of its name"
	}
	text := fmt.Sprintf(" No other job %s on as many nodes and CPUs is known that was completed", whose)
	clock := func(s float64) string { return figure.Clock(time.Duration(s * float64(time.Second))) }
	if n := len(took); n > 0 {
		text = fmt.Sprintf(" %s %s on as many nodes and CPUs came to an end, after %s", figure.Counted(n, "other job"), whose, clock(slices.Min(took)))
		if n > 1 {
			text += " to " + clock(slices.Max(took))
		}
	}
	if limited > 0 {
		text += fmt.Sprintf("; %s reached the limit, too", figure.Counted(limited, "other"))
	}
	return text + "."
}

// finished reports whether every rank of the job's programs called MPI_Finalize. What ended the job then came
// later, or concerned something else.
func finished(j *job.Job) bool {
	for i := range j.Executions {
		if e := &j.Executions[i]; !e.CameToEnd() {
			return false
		}
	}
	return len(j.Executions) > 0
}

// ended is the cause of a job that did not end well: its state.
func ended(j *job.Job) Cause {
	end := endOf(j)
	c, bad := endings[end]
	if !bad {
		return Cause{}
	}
	c.Code = CauseEnded
	if end != j.StateWord() {
		c.Text = stepsText(j.Usage.StepsOutOfMemory()) + " ran out of memory."
	}
	if finished(j) {
		c.Text = strings.TrimSuffix(c.Text, ".") + ", although all of its ranks called MPI_Finalize."
	}
	return c
}

// namedSteps is how many steps a text names if it leaves out several.
const namedSteps = 4

// stepsText names steps.
func stepsText(ids []string) string {
	if len(ids) == 1 {
		return "Its step " + ids[0]
	}
	if more := len(ids) - namedSteps; more > 1 {
		ids = append(ids[:namedSteps], figure.Count(more)+" others")
	}
	return "Its steps " + figure.And(ids)
}

// A job that was ended from outside may have hung if all of its ranks were in MPI calls that they never left,
// for more than hungShare of its time. One that reached its limit may also have hung if its parallel efficiency
// is below hungBelow and hungIn of the ranks' time was in one MPI function, or if the efficiency is below
// hungAlone. No rank may have computed for more than hungBusiest of the time: the others then waited for that
// one.
const (
	hungShare   = 0.1
	hungBelow   = 0.2
	hungIn      = 0.75
	hungAlone   = 0.05
	hungBusiest = 0.5
)

// hung is the cause of a job that stood still when something ended it. If a rank ran out of memory, or a node
// failed, the others stood still because of that, which is no hang.
func hung(j *job.Job) Cause {
	end := CutShort(j)
	withEnd := func(text string) Cause {
		return Cause{CauseHung, strings.TrimSpace(endings[end].Text + " " + text), "See at which point its output ends."}
	}
	if j.Stood != nil && end != "" && !slices.Contains([]string{outOfMemory, "NODE_FAIL", "BOOT_FAIL"}, end) {
		return withEnd(stoodText(j.Stood))
	}
	limit := limits[end]
	if limit == "" && end != "CANCELLED" || j.Metrics == nil {
		return Cause{}
	}
	if still := stoodStill(j); still > 0 {
		return withEnd(fmt.Sprintf("It may have hung: for its last %s all of its ranks were in MPI calls that they never left.", figure.Clock(still)))
	}
	call, share := costliestCall(j)
	switch pe := j.Metrics.MPI.Parallel; {
	case limit == "" || pe >= hungBelow || j.Metrics.MPI.Communication > hungBusiest && !busiestSlept(j):
	case share >= hungIn:
		return withEnd(fmt.Sprintf("It may have hung: %s of the ranks' time was in %s.", figure.Percent(share), call))
	case pe < hungAlone:
		return withEnd(fmt.Sprintf("It may have hung: its ranks computed for %s of the time.", figure.Percent(pe)))
	}
	return Cause{}
}

// busiestSlept reports whether the rank that was outside MPI most may have slept there for half of that time.
func busiestSlept(j *job.Job) bool {
	load := job.LoadOf(j.Executions)
	return load != nil && load.Slept.Seconds() > j.Metrics.MPI.Communication*j.Metrics.Elapsed/2
}

// stoodStill returns how long no program of the job went on before its end; 0 if one did, or if that is a small
// part of its time.
func stoodStill(j *job.Job) (least time.Duration) {
	for i := range j.Executions {
		e := &j.Executions[i]
		m := job.ExecutionMetrics(e)
		if m == nil || e.CameToEnd() {
			continue
		}
		still := job.Stuck(e)
		if still.Seconds() <= hungShare*m.Elapsed {
			return 0
		}
		if least == 0 || still < least {
			least = still
		}
	}
	return least
}

// costliestCall returns the MPI function with the most time, and its share of the ranks' time.
func costliestCall(j *job.Job) (name string, share float64) {
	times := map[string]float64{}
	for i := range j.Executions {
		for _, c := range j.Executions[i].Calls {
			times[c.Name] += c.Time.Seconds()
		}
	}
	for _, call := range slices.Sorted(maps.Keys(times)) {
		if times[call] > times[name] {
			name = call
		}
	}
	if whole := job.RankSeconds(j.Executions); whole > 0 {
		share = times[name] / whole
	}
	return name, share
}

// suspendedShare is the part of a job's time from which a suspension counts as changing its figures.
const suspendedShare = 0.01

// suspended is the cause if Slurm stopped the job for a while: its ranks' clocks went on.
func suspended(j *job.Job) Cause {
	stopped := j.Suspended()
	if stopped.Seconds() <= suspendedShare*j.Elapsed.Seconds() {
		return Cause{}
	}
	return Cause{Code: CauseSuspended, Text: fmt.Sprintf("It was suspended for %s, and the time of its ranks contains that.", figure.Clock(stopped.Round(time.Second)))}
}
