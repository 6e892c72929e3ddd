package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Judge applies every rule to a job; study is that of its workload, or nil. The verdicts are in the rules'
// order.
func (r *Rules) Judge(j *job.Job, study *workload.Study) []policy.Verdict {
	return r.JudgeCase(policy.Describe(j, study))
}

// JudgeFound studies the workload of a job as of now, and judges the job. Both results are nil for a step, and
// for a job that has not begun.
func (r *Rules) JudgeFound(found *listing.JobAndWorkload, now time.Time) (*workload.Study, []policy.Verdict) {
	if found.Step || found.OnlyWaits() {
		return nil, nil
	}
	study := workload.NewStudy(found.Workload, found.Job, now, curve.Settings{})
	return study, r.Judge(found.Job, study)
}

// JudgeCase is Judge for a job that was described already.
func (r *Rules) JudgeCase(c *policy.Case) []policy.Verdict {
	var all []policy.Verdict
	for _, one := range r.rules {
		all = append(all, one.judge(c))
	}
	return all
}

// judge applies one rule.
func (r *rule) judge(c *policy.Case) policy.Verdict {
	if r.WhileRunning && c.SoFar != nil {
		c = c.SoFar
	}
	v := policy.Verdict{Rule: r.Name, Condition: strings.Join(strings.Fields(r.Condition), " "), Shadow: r.Shadow, Link: r.Link,
		Hours: c.Hours, Confidence: policy.Sure, Doubts: c.Doubts, Muted: c.Muted}
	if r.readsAny("past_inflexion", "slower_by", "fastest_cores") {
		v.Doubts = slices.Concat(c.Doubts, c.FewRuns)
	}
	if c.CPUDoubt != "" && r.readsAny("cpu_efficiency", "busy_cores", "needed_nodes") {
		v.Doubts = append(slices.Clip(v.Doubts), c.CPUDoubt)
	}
	if c.MemoryDoubt != "" && r.readsAny("needed_memory", "least_memory", "memory_efficiency", "needed_nodes") {
		v.Doubts = append(slices.Clip(v.Doubts), c.MemoryDoubt)
	}
	if r.doubted(c, v.Doubts) {
		v.Confidence = policy.Doubtful
	}
	for _, name := range r.shown() {
		if c.Unknown[name] == "" {
			v.Figures = append(v.Figures, policy.Figure{Name: name, Value: c.Value(name)})
		}
	}
	if v.Outcome, v.Reason = r.decide(c); v.Outcome != "" {
		v.Reason = c.AsOf + v.Reason
		if v.Outcome == policy.CannotTell {
			v.Confidence = policy.Doubtful
		}
		return v
	}
	holds, err := r.holds(&c.Fields)
	switch {
	case err != nil:
		v.Outcome, v.Reason = policy.CannotTell, err.Error()
	case holds:
		v.Outcome, v.Reason = policy.Flagged, c.AsOf+figuresText(v.Figures, r.limits)+"the condition holds"
		if v.Text = r.tell(c, v.Reason); !r.readsAny("hung") { // a hang's text has its own times
			v.Text = c.AsOf + v.Text
		}
		if c.Request != nil && r.readsAny(adviceFields...) {
			v.Recommended = c.Request.Best
		}
	default:
		v.Outcome, v.Reason = policy.Passed, c.AsOf+figuresText(v.Figures, r.limits)+"the condition does not hold"
	}
	return v
}

// doubted reports whether doubts concern the rule. If ranks lacked CPUs, the efficiencies are in doubt. But a
// rule about this cause, and about no efficiency, is sure of it.
func (r *rule) doubted(c *policy.Case, doubts []string) bool {
	if !r.readsAny("cause") || r.readsAny(policy.EfficiencyFields...) {
		return len(doubts) > 0
	}
	return slices.ContainsFunc(doubts, func(d string) bool { return !slices.Contains(c.Waits, d) })
}

// shown returns the fields that the reason names: those that the condition reads, and those behind
// past_inflexion.
func (r *rule) shown() []string {
	names := slices.Clone(r.reads)
	for _, name := range []string{"cores", "fastest_cores", "slower_by"} {
		if r.readsAny("past_inflexion") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// readsAny reports whether the condition reads one of the fields.
func (r *rule) readsAny(names ...string) bool {
	return slices.ContainsFunc(r.reads, func(name string) bool { return slices.Contains(names, name) })
}

var (
	// adviceFields are the fields of rules to which another core count can be the answer.
	adviceFields = slices.Concat([]string{"parallel_efficiency", "mpi_parallel_efficiency", "communication_efficiency", "mpi_communication_efficiency", "idle_rank_share", "lost_core_hours", "lost_mpi_core_hours"}, policy.CoreFields)
	// judgedFields describe how well the job ran, or how much it lost.
	judgedFields = slices.Concat(policy.EfficiencyFields, adviceFields, policy.UsedFields, []string{"unused_nodes", "unused_gpus", "device_parallel_efficiency", "nodes_used", "cause", "slower_than_before"})
)

// decide returns the outcome if the condition need not or must not be evaluated, else "".
func (r *rule) decide(c *policy.Case) (policy.Outcome, string) {
	if !r.Enabled {
		return policy.NotAsked, "the rule is switched off"
	}
	if c.Runs && !r.WhileRunning {
		return policy.NotAsked, "the job runs, and the rule is about jobs that have ended"
	}
	for _, steps := range []func(*policy.Case) (policy.Outcome, string){r.hostOnly, r.endedWell, r.knows, r.bigEnough} {
		if o, why := steps(c); o != "" {
			return o, why
		}
	}
	return "", ""
}

// hostOnly keeps a job with GPUs from being judged, unless the site wants it: only the host's side is measured
// (METRICS 6).
func (r *rule) hostOnly(c *policy.Case) (policy.Outcome, string) {
	if c.GPUs == 0 && c.GPURanks > 0 && !r.GPUs {
		return policy.CannotTell, fmt.Sprintf("%s opened a GPU, and the job's figures are the host's alone (gpus = true asks the rule all the same)", figure.Counted(c.GPURanks, "rank"))
	}
	if c.GPUs > 0 && !r.GPUs {
		return policy.CannotTell, fmt.Sprintf("the job had %s, and its figures are the host's alone (gpus = true asks the rule all the same)", figure.Counted(c.GPUs, "GPU"))
	}
	return "", ""
}

// endedWell keeps the figures of a job that did not end by itself from being judged, unless the condition reads
// its state.
func (r *rule) endedWell(c *policy.Case) (policy.Outcome, string) {
	if c.Ended != "" && !r.readsAny("state") && r.readsAny(judgedFields...) {
		return policy.CannotTell, c.Ended + "; its figures are not judged"
	}
	return "", ""
}

// knows returns an outcome if something that the condition reads is not known.
func (r *rule) knows(c *policy.Case) (policy.Outcome, string) {
	for _, name := range r.reads {
		if why := c.Unknown[name]; why != "" {
			return policy.CannotTell, notKnownText(name, why)
		}
	}
	return "", ""
}

func notKnownText(name, why string) string { return fmt.Sprintf("%s is not known: %s", name, why) }

// bigEnough requires the least runtime, core-hours and coverage.
func (r *rule) bigEnough(c *policy.Case) (policy.Outcome, string) {
	least := time.Duration(r.LeastRuntime)
	for _, f := range []struct {
		name        string
		value, want float64
		text        string
	}{
		{"runtime", c.Runtime, least.Seconds(),
			fmt.Sprintf("the job is too short to judge: it ran %s, the rule wants %s", figure.Under(figure.Clock(figure.Duration(c.Runtime)), figure.Clock(least)), figure.Clock(least))},
		{"core_hours", c.CoreHours, r.LeastCoreHours,
			fmt.Sprintf("the job is too small to judge: it used %s core-hours, the rule wants %s", figure.Under(figure.Hours(c.CoreHours), figure.Hours(r.LeastCoreHours)), figure.Hours(r.LeastCoreHours))},
		{"coverage", c.Coverage, r.LeastCoverage,
			fmt.Sprintf("too few ranks were recorded: coverage is %s, the rule wants %s", figure.Compared(c.Coverage, r.LeastCoverage), figure.Limit(r.LeastCoverage))},
	} {
		why := c.Unknown[f.name]
		switch {
		case f.want <= 0:
		case why != "":
			return policy.CannotTell, notKnownText(f.name, why)
		case f.value < f.want:
			return policy.CannotTell, f.text
		}
	}
	return "", ""
}

// figuresText writes "a is 1, b is 2: ". limits are what the condition compares them with.
func figuresText(figures []policy.Figure, limits []float64) string {
	var parts []string
	for _, f := range figures {
		parts = append(parts, f.Name+" is "+textOf(f, limits))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// textOf writes a value: a fraction from 0.1 to 1 as an efficiency, other numbers with three digits.
func textOf(f policy.Figure, limits []float64) string {
	switch v := f.Value.(type) {
	case float64:
		if v >= 0.1 && v <= 1 {
			return figure.Compared(v, limits...)
		}
		return figure.Number(v)
	case int:
		return figure.Count(v)
	case []string:
		return strings.Join(v, " ")
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(f.Value)
}
