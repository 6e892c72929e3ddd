package report

import (
	"io"

	"jobeff/ingest"
	"jobeff/policy"
)

// DocumentVerdict is what one rule says of a job. Core-hours are null where they are
// not known.
type DocumentVerdict struct {
	Rule      string         `json:"rule"`
	Outcome   string         `json:"outcome"` // flagged, passed, cannot_tell, not_asked
	Shadow    bool           `json:"shadow"`
	Reason    string         `json:"reason"`
	Condition string         `json:"condition"`
	Figures   map[string]any `json:"figures"` // what the condition reads, as far as it is known
	Text      string         `json:"text,omitempty"`
	Link      string         `json:"link,omitempty"`

	UsedCoreHours *float64 `json:"used_core_hours"`
	LostCoreHours *float64 `json:"lost_core_hours"`
	LostMPI       *float64 `json:"lost_mpi_core_hours"`
	LostIO        *float64 `json:"lost_io_core_hours"`
	LostIdle      *float64 `json:"lost_idle_core_hours"`
	LostOutside   *float64 `json:"lost_outside_core_hours"`

	Recommended []DocumentRecommendation `json:"recommended"` // empty where no curve is known
	Confidence  string                   `json:"confidence"`  // high, low
	Doubts      []string                 `json:"doubts"`
}

// DocumentRecommendation is a core count that the job should have had.
type DocumentRecommendation struct {
	Cores float64 `json:"cores"`
	Low   float64 `json:"cores_low"`
	High  float64 `json:"cores_high"`
	For   string  `json:"for"`
}

// ExplainJSON writes the verdicts on a job as an object with its id.
func ExplainJSON(w io.Writer, job *ingest.Job, verdicts []policy.Verdict) error {
	return writeJSON(w, struct {
		ID       string            `json:"id"`
		Verdicts []DocumentVerdict `json:"verdicts"`
	}{job.DisplayID, documentVerdicts(verdicts)})
}

func documentVerdicts(verdicts []policy.Verdict) []DocumentVerdict {
	all := []DocumentVerdict{}
	for _, v := range verdicts {
		d := DocumentVerdict{
			Rule: v.Rule, Outcome: string(v.Outcome), Shadow: v.Shadow, Reason: v.Reason, Condition: v.Condition,
			Figures: map[string]any{}, Text: v.Text, Link: v.Link,
			UsedCoreHours: v.Hours.Used, LostCoreHours: v.Hours.Lost, LostMPI: v.Hours.MPI, LostIO: v.Hours.IO, LostIdle: v.Hours.Idle, LostOutside: v.Hours.Outside,
			Recommended: []DocumentRecommendation{}, Confidence: string(v.Confidence), Doubts: append([]string{}, v.Doubts...),
		}
		for _, f := range v.Figures {
			d.Figures[f.Name] = f.Value
		}
		for _, r := range v.Recommended {
			d.Recommended = append(d.Recommended, DocumentRecommendation{r.Cores.Value, r.Cores.Low, r.Cores.High, r.For})
		}
		all = append(all, d)
	}
	return all
}
