package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// briefFacts say who ran what, where and when, and how it ended.
func briefFacts(j *job.Job) block.Facts {
	f := block.Facts(slices.DeleteFunc(jobFacts(j), func(f block.Fact) bool { return !slices.Contains(briefLabels, f.Label) }))
	f.Add("Program", block.Joined(", ", distinct(j.Executions, func(e job.Execution) string { return e.Executable }), distinct(j.Executions, mpiText)))
	return f
}

// briefLabels are those of the facts that are seen first.
var briefLabels = []string{"Job", "User", "State", "Waits", "Time", "Size"}

// coreHours says what the job used and lost. For a job that runs it says what it did so far, once a
// rule flags it.
func coreHours(j *job.Job, verdicts []policy.Verdict) string {
	if all := flagged(verdicts, ""); j.IsRunning() && len(all) > 0 && all[0].Hours.Used != nil {
		return hoursText(all[0].Hours)
	}
	return coreHoursText(j)
}

// ruledText names the rules that flag a job, with what their texts tell beyond what was said: the headline has the efficiency
// and its cause, the request the core count. The verdicts are inert.
func ruledText(verdicts []policy.Verdict, said string, best *workload.Recommendation) string {
	var all []string
	var muted string
	for _, v := range flagged(verdicts, said) {
		muted = mutedText(v.Muted)
		var news []string
		for s := range strings.SplitSeq(strings.TrimSuffix(v.Text, "."), ". ") {
			if s != "" && !strings.HasSuffix(s, " was computing") && (best == nil || !strings.Contains(s, " longer on ") && !strings.HasPrefix(s, "Ask for ")) {
				news = append(news, s+".")
			}
		}
		all = append(all, block.Joined(": ", v.Rule, strings.Join(news, " ")))
	}
	return block.Joined(" ", strings.Join(all, "; "), of("-- muted", muted)) // a workload is muted, not a rule
}

// mostDoubts is how many lines show doubts. If there are more, the last one names their codes.
const mostDoubts = 4

// poorlyCovered: it counts as a doubt if the figures cover less than this part of the allocated
// core time.
const poorlyCovered = 0.8

// doubtFacts are what jobeff could not tell, in short words: first what casts doubt on the efficiency.
func doubtFacts(j *job.Job) (f block.Facts) {
	warnings := warningsOf(j)
	slices.SortStableFunc(warnings, func(a, b doubt.Warning) int { return cmp.Compare(weight(a), weight(b)) })
	all := missing(j, warnings)
	for i, d := range doubt.All(warnings) {
		if len(all) == mostDoubts-1 && i < len(warnings)-1 {
			all = append(all, "and "+figure.Count(len(warnings)-i)+" more: "+codes(warnings[i:]))
			break
		}
		all = append(all, d.Short())
	}
	for i, s := range all {
		f.Add([]string{"Doubts", ""}[min(i, 1)], s)
	}
	return f
}

// missing says what the figures do not speak of, where no warning does.
func missing(j *job.Job, warnings []doubt.Warning) (all []string) {
	if j.Metrics == nil || byHand(j) {
		return nil
	}
	if j.Reports < j.Nodes && !slices.ContainsFunc(warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnNodesMissing }) {
		all = append(all, doubt.Reported(j.Reports, j.Nodes))
	}
	if j.Covered != nil && *j.Covered < poorlyCovered {
		all = append(all, fmt.Sprintf("the figures cover %s of the allocated core time", figure.Percent(*j.Covered)))
	}
	return all
}

func codes(warnings []doubt.Warning) string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Code)
	}
	return strings.Join(all, ", ")
}

// weight orders warnings: those first that change what the figures mean.
func weight(w doubt.Warning) int {
	if policy.CastsDoubt(w.Code) {
		return 0
	}
	return 1
}
