package words

import (
	"fmt"
	"regexp"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// betterText says what a recommended core count would have done, each figure with its interval: "64 cores would
// have taken 9 % longer (5 to 14 %) and saved 46 % (43 % to 48 %) of the core-hours (5 runs, intervals of 90
// %)".
func betterText(r *workload.Recommendation) string {
	return figure.Counted(int(r.Cores.Value), "core") + " would have " + outcomeText(r)
}

// outcomeText is betterText without the cores.
func outcomeText(r *workload.Recommendation) string {
	if r.Time == nil {
		return "been better"
	}
	text := fmt.Sprintf("taken %s (%s)", figure.Change(r.Time.Value), figure.ChangeInterval(r.Time.Value, r.Time.Low, r.Time.High))
	if e := r.Share; e != nil && e.Value >= 0.005 {
		text += fmt.Sprintf(" and saved %s of the core-hours", figure.Estimate(e.Value, e.Low, e.High, figure.Percent))
	}
	return fmt.Sprintf("%s (%s, intervals of %s)", text, figure.Counted(r.Runs, "run"), figure.Percent(r.Level))
}

// recommendationText says all about a recommendation in one paragraph, except for what said contains; "": there
// is none.
func recommendationText(r *workload.Recommendation, said string) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%s for %s", figure.Counted(int(r.Cores.Value), "core"), r.For)
	saved := savedHours(r)
	switch told := strings.Contains(said, betterText(r)); {
	case !told:
		text = block.Joined(", ", text+": would have "+outcomeText(r), saved)
	case saved != "":
		text += ": " + saved + " saved"
	}
	if reason := r.Reason; !repeats(reason, said) {
		text += "; " + reason
	}
	return text + "."
}

// savedHours writes the core-hours that advice would have saved, with their interval; "": none are known.
func savedHours(r *workload.Recommendation) string {
	if r.Saved == nil || r.Saved.Value <= 0 {
		return ""
	}
	return fmt.Sprintf("%s core-hours (%s)", figure.Hours(r.Saved.Value), figure.Interval(r.Saved.Low, r.Saved.High, figure.Hours))
}

// longer finds how much longer something took.
var longer = regexp.MustCompile(`[0-9][0-9,.]* % longer`)

// repeats reports whether the ratio of times in a text is in said already.
func repeats(text, said string) bool {
	ratio := longer.FindString(text)
	return ratio != "" && strings.Contains(said, ratio)
}

// placeFacts are what the runs of the job's workload show about its core count. best is the advice, nil for
// none; said is the text above. The facts are not inert.
func placeFacts(study *workload.Study, j *job.Job, best *workload.Recommendation, said string) block.Facts {
	var f block.Facts
	name := study.Workload.Name
	f.Add("Workload", name+": "+runsText(study)+"; jobeff workload "+j.DisplayID+" shows it")
	if best != nil {
		f.Add("Advice", recommendationText(best, said))
	} else {
		f.Add("Advice", "none: "+noAdviceFor(study, j))
	}
	f.Add("Mix", study.FasterMix())
	f.Add("Unusual", study.Unusual())
	f.Add("Bound", boundText(study))
	if job.CountExecutions(j.Executions) == 1 && study.Near() {
		f.Add("", fmt.Sprintf("More than 60 %% of the time on %s is overhead: the inflexion point, from which more cores make it slower, is near.", figure.Counted(study.Mine.Cores(), "core")))
	}
	if study.Muted != nil {
		f.Add("Muted", mutedText(&study.Muted.Until))
	}
	return f
}

// shortNames name the purpose of an option, for a column.
var shortNames = map[string]string{workload.ForSpeed: "shortest", workload.ForPatience: "cheapest", workload.ForFewer: "cheaper", workload.ForEfficiency: "efficient"}

// optionsPart lists the core counts to choose from. The one of the request is marked.
func optionsPart(all []workload.Option, r *policy.Request) block.Part {
	if len(all) == 0 {
		return block.Part{}
	}
	t := block.Table{Heads: []string{"<for", "cores", "time", figure.Percent(all[0].Level), "core-hours", "PE", "runs"}}
	seconds := alike(all, func(o workload.Option) float64 { return o.Time.Value })
	notes, flagged, asked := []string{}, false, false
	for i, o := range all {
		row := []string{"as it ran", figure.Count(o.Cores), seconds(o.Time.Value), "-", figure.Hours(o.CoreHours.Value), figure.Efficiency(o.PE.Value), "curve"}
		if i > 0 {
			row[0], row[3] = shortNames[o.For[0]], figure.Interval(o.Time.Low, o.Time.High, seconds)
			notes = append(notes, row[0]+": "+strings.Join(o.For, ", and "))
		}
		if r.Best != nil && o.Cores == int(r.Best.Cores.Value) {
			row[0], asked = row[0]+"+", true
		}
		if o.Flagged {
			row[5], flagged = row[5]+"*", true
		}
		if o.Runs > 0 {
			row[6] = figure.Count(o.Runs)
		}
		t.Rows = append(t.Rows, row)
	}
	b := block.Part{Heading: "Core counts to choose from", Tables: []block.Table{t}, Notes: []string{strings.Join(notes, "; ")}}
	if asked {
		b.Notes = append(b.Notes, "+: what is asked for")
	}
	if flagged {
		b.Notes = append(b.Notes, "*: below 0.80, so jobeff would flag it, too")
	}
	return b
}

// boundText says which sections keep the job from being faster (METRICS 3); "": its program names none.
func boundText(s *workload.Study) string {
	if s.Mine == nil || len(s.Counts) < 2 {
		return ""
	}
	for _, b := range s.Sections {
		if b.N != s.Mine.Cores() || len(b.Bounds) == 0 {
			continue
		}
		text := fmt.Sprintf("%s: while it takes as long, no more than %s times as fast as on %s", b.Bounds[0].Label, figure.Number(b.Bounds[0].Speedup), figure.Counted(s.Reference, "core"))
		if len(b.Bounds) > 1 && b.Bounds[1].Share >= workload.LeastShare {
			text += fmt.Sprintf("; next %s, %s times", b.Bounds[1].Label, figure.Number(b.Bounds[1].Speedup))
		}
		text += fmt.Sprintf(" (it is %s times)", figure.Number(s.Counts[0].T/s.At(b.N).T))
		for _, i := range s.Inflexions {
			if from := slowerFrom(s, i); i.Label == b.Bounds[0].Label && from != "" {
				text += "; " + i.Label + " takes longer " + from
			}
		}
		return text
	}
	return ""
}

// noAdviceFor says why there is no recommendation for a job.
func noAdviceFor(s *workload.Study, j *job.Job) string {
	if s.Recommend(j) != nil {
		return "the number of cores is not known to be the cause"
	}
	return noAdvice(s, j)
}

// noAdvice says why the study has no recommendation.
func noAdvice(s *workload.Study, j *job.Job) string {
	switch {
	case s.WhyNone(j) != "":
		return s.WhyNone(j)
	case s.NotMine() != "":
		return s.NotMine()
	case s.Curve.Refused != "":
		return s.Curve.Refused
	}
	return "no fewer cores are known to be better"
}

// runsText says how many runs a study has, and on which core counts.
func runsText(s *workload.Study) string {
	if len(s.Counts) == 0 {
		return "no run of it can be a point of a curve"
	}
	first, last := s.Counts[0].N, s.Counts[len(s.Counts)-1].N
	text := figure.Counted(len(s.Runs), "run") + " on "
	if all, read := s.Workload.Sum().Runs, len(s.Workload.Runs); all > len(s.Runs) { // the number that the list of workloads shows
		text = figure.Counted(all, "run")
		if all > read {
			text += fmt.Sprintf(", %s of them looked at: the newest on each core count", figure.Count(read))
		}
		text += fmt.Sprintf("; on the curve are %s, on ", figure.Count(len(s.Runs)))
	}
	if first == last {
		return text + figure.Counted(first, "core")
	}
	return fmt.Sprintf("%s%s, %s to %s cores", text, figure.Counted(len(s.Counts), "core count"), figure.Count(first), figure.Count(last))
}

// BetterText is betterText for other packages.
func BetterText(r *workload.Recommendation) string { return betterText(r) }

// slowerFrom says from which core count on a section takes longer; "": not known.
func slowerFrom(s *workload.Study, i workload.SectionPoint) string {
	switch e := i.At.Estimate; {
	case e != nil:
		return fmt.Sprintf("from %s cores on (%s)", figure.Cores(e.Value), figure.Interval(e.Low, e.High, figure.Cores))
	case i.At.Note == curve.NoteBelowSmallest:
		return fmt.Sprintf("on more than %s, the fewest that were run", figure.Counted(s.Reference, "core"))
	}
	return ""
}
