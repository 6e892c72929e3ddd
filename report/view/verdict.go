package view

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
)

// Verdict is what one rule says of a job. Core-hours are null where they are
// not known; of a job that runs they are those so far.
type Verdict struct {
	Rule      string         `json:"rule"`
	Outcome   string         `json:"outcome"` // flagged, passed, cannot_tell, not_asked
	Shadow    bool           `json:"shadow"`
	Reason    string         `json:"reason"`
	Condition string         `json:"condition"`
	Figures   map[string]any `json:"figures"` // what the condition reads, as far as it is known
	Text      string         `json:"text,omitempty"`
	Link      string         `json:"link,omitempty"`

	CoreHours

	Recommended []Recommendation `json:"recommended"` // empty where none is known
	Confidence  string           `json:"confidence"`  // high, low
	Doubts      []string         `json:"doubts"`
	MutedUntil  *time.Time       `json:"muted_until"` // null: not muted
}

// CoreHours are where a job's core-hours went. Each is a whole number of microseconds of core time, which is what lists,
// months and digests sum up.
type CoreHours struct {
	Used    *float64 `json:"used_core_hours"`         // allocated cores x elapsed, of a job that was resized for each size, of one that runs so far
	SMT     *float64 `json:"smt_core_hours"`          // of the used ones, on further hardware threads of cores with a rank
	Lost    *float64 `json:"lost_core_hours"`         // of the others, those in which the cores did no computing for the job
	MPI     *float64 `json:"lost_mpi_core_hours"`     // of the lost ones, in MPI
	IO      *float64 `json:"lost_io_core_hours"`      // likewise, in MPI_File_*
	OpenMP  *float64 `json:"lost_openmp_core_hours"`  // likewise, of threads in barriers, scheduling and serial parts
	Idle    *float64 `json:"lost_idle_core_hours"`    // likewise, on cores without a rank while a program ran
	Outside *float64 `json:"lost_outside_core_hours"` // likewise, outside MPI_Init to MPI_Finalize
}

func coreHours(h policy.CoreHours) CoreHours {
	return CoreHours{job.HoursOf(h.Used), job.HoursOf(h.SMT), job.HoursOf(h.Lost), job.HoursOf(h.MPI), job.HoursOf(h.IO), job.HoursOf(h.OpenMP), job.HoursOf(h.Idle), job.HoursOf(h.Outside)}
}

func verdictsOf(verdicts []policy.Verdict) []Verdict {
	if verdicts == nil {
		return nil
	}
	all := []Verdict{}
	for _, v := range verdicts {
		d := Verdict{
			Rule: v.Rule, Outcome: string(v.Outcome), Shadow: v.Shadow, Reason: v.Reason, Condition: v.Condition,
			Figures: map[string]any{}, Text: v.Text, Link: v.Link,
			CoreHours:   coreHours(v.Hours),
			Recommended: recommended(v.Recommended), Confidence: string(v.Confidence), Doubts: append([]string{}, v.Doubts...), MutedUntil: v.Muted,
		}
		for _, f := range v.Figures {
			d.Figures[f.Name] = f.Value
		}
		all = append(all, d)
	}
	return all
}
