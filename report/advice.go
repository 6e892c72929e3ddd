package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// leading is the recommendation that the first line names: what would have been
// faster, else what saves most core-hours. Nil where nothing better is known.
func leading(study *workload.Study, job *job.Job) *workload.Recommendation {
	all := study.Recommend(job)
	for i := range all {
		if all[i].For == workload.ForSpeed {
			return &all[i]
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// betterText says what a recommended core count would have done, with the interval of
// its time: "64 cores would have taken 9 % longer and saved 46 % of the core-hours
// (5 runs, 90 %: 5 to 14 %)".
func betterText(r *workload.Recommendation) string {
	return count(int(r.Cores.Value), "core") + " would have " + outcomeText(r)
}

// outcomeText is the same without the cores.
func outcomeText(r *workload.Recommendation) string {
	if r.Time == nil {
		return "been better"
	}
	text := changeText(r.Time.Value)
	if r.Share != nil && r.Share.Value >= 0.005 {
		text += fmt.Sprintf(" and saved %.0f %% of the core-hours", 100*r.Share.Value)
	}
	return fmt.Sprintf("%s (%s, %.0f %%: %s)", text, count(r.Runs, "run"), 100*r.Level, rangeText(*r.Time))
}

// changeText says what a change of the run time is.
func changeText(change float64) string {
	switch {
	case change >= 0.005:
		return "taken " + workload.Longer(change)
	case change <= -0.005:
		return fmt.Sprintf("taken %.0f %% less time", -100*change)
	}
	return "taken as long"
}

// rangeText is the interval of a change of the run time: "5 to 14 %", or where it may
// go either way "12 % less to 3 % more", from twice the time on "2.1 to 3.4 times as long".
func rangeText(e curve.Estimate) string {
	low, high := math.Round(100*e.Low), math.Round(100*e.High)
	switch {
	case low < 0 && high >= 100:
		return fmt.Sprintf("%.0f %% less to %s", -low, workload.Longer(e.High))
	case low < 0 && high > 0:
		return fmt.Sprintf("%.0f %% less to %.0f %% more", -low, high)
	case low >= 100:
		return fmt.Sprintf("%s to %s", workload.Times(e.Low), workload.Longer(e.High))
	case high >= 100:
		return fmt.Sprintf("%.0f %% longer to %s", low, workload.Longer(e.High))
	case e.Value < 0:
		return fmt.Sprintf("%.0f to %.0f %%", math.Abs(high), math.Abs(low))
	}
	return fmt.Sprintf("%.0f to %.0f %%", math.Abs(low), math.Abs(high))
}

// adviceText says all of the recommendations in one paragraph.
func adviceText(all []workload.Recommendation) string {
	var parts []string
	for i := range all {
		parts = append(parts, recommendationText(&all[i]))
	}
	return strings.Join(parts, " ")
}

func recommendationText(r *workload.Recommendation) string {
	text := fmt.Sprintf("%s for %s: would have %s", count(int(r.Cores.Value), "core"), r.For, outcomeText(r))
	if r.Saved != nil && r.Saved.Value > 0 {
		text += fmt.Sprintf(", %s core-hours (%s to %s)", hours(r.Saved.Value), hours(r.Saved.Low), hours(r.Saved.High))
	}
	return text + "; " + r.Reason + "."
}

// workloadOf writes what the runs of the job's workload say of its core count.
func (p *page) workloadOf(study *workload.Study, job *job.Job) {
	if study == nil {
		return
	}
	name := p.inert(study.Workload.Name)
	p.field("Workload", name+": "+runsText(study)+"; jobeff workload "+name+" shows it")
	advice := study.Recommend(job)
	for i := range advice {
		p.field([]string{"Advice", ""}[min(i, 1)], p.inert(recommendationText(&advice[i])))
	}
	if len(advice) == 0 {
		p.field("Advice", "none: "+p.inert(noAdvice(study)))
	}
	if text := boundText(study); text != "" {
		p.field("Bound", p.inert(text))
	}
	if mine := study.Mine; mine != nil && study.Near(mine.Cores()) {
		p.field("", fmt.Sprintf("More than 60 %% of the time on %s is overhead: the inflexion point, from which more cores make it slower, is near.", count(mine.Cores(), "core")))
	}
	if study.Muted != nil {
		p.field("Muted", mutedText(&study.Muted.Until))
	}
	p.line("")
}

// boundText says which sections keep the job from being faster (METRICS 3); "" where its
// program names none.
func boundText(s *workload.Study) string {
	if s.Mine == nil || len(s.Counts) < 2 {
		return ""
	}
	for _, b := range s.Sections {
		if b.N != s.Mine.Cores() || len(b.Bounds) == 0 {
			continue
		}
		text := fmt.Sprintf("%s: while it takes as long, no more than %s times as fast as on %s", b.Bounds[0].Label, digits(b.Bounds[0].Speedup), count(s.Reference, "core"))
		if len(b.Bounds) > 1 {
			text += fmt.Sprintf("; next %s, %s times", b.Bounds[1].Label, digits(b.Bounds[1].Speedup))
		}
		return text + fmt.Sprintf(" (it is %s times)", ratioText(s.Counts[0].T/s.At(b.N).T))
	}
	return ""
}

// noAdvice is why there is no recommendation.
func noAdvice(s *workload.Study) string {
	switch {
	case s.NotMine() != "":
		return s.NotMine()
	case s.Curve.Refused != "":
		return s.Curve.Refused
	}
	return "no fewer cores are known to be better"
}

// runsText says what a study stands on.
func runsText(s *workload.Study) string {
	if len(s.Counts) == 0 {
		return "no run of it can be a point of a curve"
	}
	first, last := s.Counts[0].N, s.Counts[len(s.Counts)-1].N
	text := count(len(s.Runs), "run") + " on "
	if first == last {
		return text + count(first, "core")
	}
	return fmt.Sprintf("%s%s, %s to %s cores", text, count(len(s.Counts), "core count"), number(uint64(first)), number(uint64(last)))
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
