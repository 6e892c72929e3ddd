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

// briefLabels are the labels of the facts on the first screen.
var briefLabels = []string{"Job", "User", "State", "Waits", "Time", "Size", "GPUs"}

// coreHours says what the job used and lost. For a running job it says so only once a rule flags it.
func coreHours(j *job.Job, verdicts []policy.Verdict) string {
	if all := flagged(verdicts, ""); j.IsRunning() && len(all) > 0 && all[0].Hours.Used != nil {
		return hoursText(all[0].Hours)
	}
	return coreHoursText(j)
}

// ruledText names the rules that flag a job, with the sentences of their texts that say more than `said`, the
// headline and the request. The verdicts are inert.
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
	return block.Joined(" ", strings.Join(all, "; "), of("-- muted", muted)) // not the rule, but the workload is muted
}

// mostDoubts bounds the lines of doubts. If there are more, the last line names their codes.
const mostDoubts = 4

// poorlyCovered is the part of the allocated core time that the figures must cover: with less, that counts as a
// doubt.
const poorlyCovered = 0.8

// doubtFacts are the doubts, in short words. Doubts about the efficiency come first.
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

// missing says what the figures do not cover, if no warning does.
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

// weight orders warnings: first those that change what the figures mean.
func weight(w doubt.Warning) int {
	if policy.CastsDoubt(w.Code) {
		return 0
	}
	return 1
}
