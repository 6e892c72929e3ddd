package words

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// explained says what a job's verdicts are based on. Both arguments are inert.
func explained(j *job.Job, all []policy.Verdict) block.Facts {
	facts := append(whatIfExplained(j), overlapFacts(j)...)
	if len(all) > 0 {
		facts = append(block.Facts{{Label: "Core-hours", Text: hoursText(all[0].Hours)}, confidenceFact(all)}, facts...)
	}
	facts.Add("Threads", idleThreads(j))
	facts.Add("GPUs", gpuExplained(j))
	return facts
}

// told words the verdicts of all rules.
func told(all []policy.Verdict) (rules []block.Told) {
	_, common := policy.Together(all)
	for _, v := range all {
		t := block.Told{Rule: v.Rule, Outcome: v.Outcome.String(), Text: v.Text, Reason: v.Reason, Condition: v.Condition, Link: v.Link, Shadow: v.Shadow,
			Advice: recommendationText(v.Recommended, ""), But: ownDoubts(v, common)}
		if v.Outcome == policy.Flagged {
			t.Bad, t.Muted = true, mutedText(v.Muted)
		}
		rules = append(rules, t)
	}
	return rules
}

// ownDoubts words the doubts that not every verdict of the job has.
func ownDoubts(v policy.Verdict, common []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(v.Doubts), func(d string) bool { return slices.Contains(common, d) }), "; ")
}

// outcomes counts the verdicts by outcome.
func outcomes(all []policy.Verdict) string {
	said := figure.Counted(len(all), "rule")
	for _, o := range []policy.Outcome{policy.Flagged, policy.Passed, policy.CannotTell, policy.NotAsked} {
		n := 0
		for _, v := range all {
			if v.Outcome == o {
				n++
			}
		}
		if n > 0 {
			said += fmt.Sprintf(", %s %s", figure.Count(n), o)
		}
	}
	return said
}

// flaggedFacts are for the job's owner, once the rules have flagged the job; nil: they have not. They do not
// repeat said, the headline. The verdicts are inert. runs means that the job is running.
func flaggedFacts(verdicts []policy.Verdict, said string, runs bool) block.Facts {
	told := flagged(verdicts, said)
	if len(told) == 0 {
		return nil
	}
	var f block.Facts
	var doubts []string
	for i, v := range told {
		f.Add([]string{"Verdict", ""}[min(i, 1)], block.Joined(" ", v.Text, v.Link, of("-- muted", mutedText(v.Muted))))
		for _, d := range v.Doubts {
			if !slices.Contains(doubts, d) {
				doubts = append(doubts, d)
			}
		}
	}
	if runs && told[0].Hours.Used != nil { // of an ended job, jobFacts have them
		f.Add("Core-hours", hoursText(told[0].Hours))
	}
	if len(doubts) > 0 {
		f.Add("Confidence", confidenceText(policy.Doubtful, doubts))
	}
	return f
}

// flagged returns the verdicts that a job's owner is shown, each text without sentences that came before.
func flagged(verdicts []policy.Verdict, said string) (all []policy.Verdict) {
	for _, v := range verdicts {
		if v.Outcome == policy.Flagged && !v.Shadow {
			whole := v.Text
			v.Text = unsaid(whole, said)
			said += " " + whole
			all = append(all, v)
		}
	}
	return all
}

// unsaid returns a text without the sentences that are in said already.
func unsaid(all, said string) string {
	var left []string
	for s := range strings.SplitSeq(strings.TrimSuffix(all, "."), ". ") {
		if !strings.Contains(said, s+".") {
			left = append(left, s+".")
		}
	}
	return strings.Join(left, " ")
}

// confidenceFact says how sure a job's verdicts are.
func confidenceFact(all []policy.Verdict) block.Fact {
	return block.Fact{Label: "Confidence", Text: confidenceText(policy.Together(all))}
}

// hoursText says where a job's core-hours went.
func hoursText(h policy.CoreHours) string {
	if h.Used == nil {
		return "not known"
	}
	notable := func(part, of *job.CoreTime) bool { return *of > 0 && float64(*part) >= 0.005*float64(*of) }
	said := hoursOf(h.Used) + " used, "
	if h.SMT != nil && *h.SMT > 0 && notable(h.SMT, h.Used) {
		said += hoursOf(h.SMT) + " of them on further hardware threads of its cores (not lost), "
	}
	var parts []string
	outside := "outside MPI_Init to MPI_Finalize"
	if h.NoMPI {
		outside = "before the first parallel region, or after the program"
	}
	for _, part := range []struct {
		of    *job.CoreTime
		where string
	}{{h.MPI, "in MPI"}, {h.IO, "in MPI-IO"}, {h.OpenMP, "in OpenMP"}, {h.Idle, "on CPUs without a rank"}, {h.Outside, outside}} {
		if part.of != nil && (h.Lost == nil && *part.of > 0 || h.Lost != nil && notable(part.of, h.Lost)) {
			parts = append(parts, hoursOf(part.of)+" "+part.where)
		}
	}
	switch {
	case h.Lost == nil && len(parts) == 0:
		return said + "how many were lost is not known"
	case h.Lost == nil:
		return said + "lost: " + strings.Join(parts, ", ") + ", and others not known"
	}
	noCPU := ""
	if h.NoCPU != nil {
		noCPU = fmt.Sprintf("at least %s of the useful ones without CPU time", hoursOf(h.NoCPU))
	}
	return block.Joined("; ", block.Joined(": ", said+hoursOf(h.Lost)+" lost", strings.Join(parts, ", ")), noCPU)
}

func hoursOf(t *job.CoreTime) string { return figure.Hours(t.Hours()) }

func confidenceText(c policy.Confidence, doubts []string) string {
	return block.Joined(": ", string(c), strings.Join(doubts, "; "))
}

// inertVerdicts makes a copy whose texts are harmless: they hold names of users and programs.
func inertVerdicts(verdicts []policy.Verdict, wide bool) []policy.Verdict {
	clean := func(s string) string { return inert.Text(strings.Join(strings.Fields(s), " "), wide) }
	all := slices.Clone(verdicts)
	for i := range all {
		v := &all[i]
		v.Rule, v.Condition, v.Reason, v.Text, v.Link = clean(v.Rule), clean(v.Condition), clean(v.Reason), clean(v.Text), clean(v.Link)
		v.Doubts = slices.Clone(v.Doubts)
		for k := range v.Doubts {
			v.Doubts[k] = clean(v.Doubts[k])
		}
	}
	return all
}
