package policy

import (
	"slices"
	"strings"
	"time"

	"jobeff/policy/workload"
)

// Outcome is what a rule says of a job.
type Outcome string

// The outcomes.
const (
	Flagged    Outcome = "flagged"     // the condition holds
	Passed     Outcome = "passed"      // it does not
	CannotTell Outcome = "cannot_tell" // too little is known, or the job is too small to judge
	NotAsked   Outcome = "not_asked"   // the job is running and the rule is about ended jobs, or the rule is switched off
)

// String words the outcome for people.
func (o Outcome) String() string { return strings.ReplaceAll(string(o), "_", " ") }

// Confidence is how sure a verdict is.
type Confidence string

// The confidences.
const (
	Sure     Confidence = "high"
	Doubtful Confidence = "low" // Verdict.Doubts says why, or Reason where the rule cannot tell
)

// Verdict is what one rule says of one job.
type Verdict struct {
	Rule        string
	Condition   string
	Outcome     Outcome
	Shadow      bool     // the rule is in shadow: nobody is mailed
	Reason      string   // one sentence
	Figures     []Figure `json:"-"` // what the condition reads, as far as is known
	Text        string   // for the job's owner, if it is flagged
	Link        string
	Hours       CoreHours
	Recommended *workload.Recommendation // the core count that would have been better; nil: none is known, or the rule asks for something else
	Confidence  Confidence
	Doubts      []string
	Muted       *time.Time // no mail until then: the job's owner muted the workload
}

// Together returns how sure all verdicts on a job are, and the doubts that all of them share.
func Together(all []Verdict) (Confidence, []string) {
	var doubts []string
	judged := false
	for i, v := range all {
		judged = judged || v.Outcome == Flagged || v.Outcome == Passed
		if i == 0 {
			doubts = slices.Clone(v.Doubts)
		}
		doubts = slices.DeleteFunc(doubts, func(d string) bool { return !slices.Contains(v.Doubts, d) })
	}
	if !judged {
		doubts = append(doubts, "no rule could judge the job")
	}
	if len(doubts) > 0 {
		return Doubtful, doubts
	}
	return Sure, nil
}

// Flags returns the names of the rules that flag a job, without those in shadow.
func Flags(all []Verdict) []string {
	names := []string{}
	for _, v := range all {
		if v.Outcome == Flagged && !v.Shadow {
			names = append(names, v.Rule)
		}
	}
	return names
}

// Figure is a field and its value: text, list of texts, int, float64 or bool.
type Figure struct {
	Name  string
	Value any
}

// Example is a job that a site made up, with the verdicts that it expects.
type Example struct {
	Name   string
	At     string // FILE:LINE
	Case   *Case
	Expect map[string]Outcome // by rule; other rules may have any verdict
}

// Mismatch is a rule whose verdict on an example is not the expected one.
type Mismatch struct {
	Want Outcome
	Got  Verdict
}
