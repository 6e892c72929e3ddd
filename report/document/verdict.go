package document

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
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
	Used    *float64 `json:"used_core_hours"`         // allocated cores x elapsed, of a job that runs so far
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

// Recommendation is a core count that would have served the job better. Level is the confidence
// of its intervals; null is not determined.
type Recommendation struct {
	Cores  float64 `json:"cores"`
	Low    float64 `json:"cores_low"`
	High   float64 `json:"cores_high"`
	For    string  `json:"for"`
	Reason string  `json:"reason"`
	Runs   int     `json:"runs"` // of the workload that it is known from
	Level  float64 `json:"level"`

	Time      *float64 `json:"time"` // run time on these cores / on the job's - 1
	TimeLow   *float64 `json:"time_low"`
	TimeHigh  *float64 `json:"time_high"`
	Saved     *float64 `json:"saved_core_hours"`
	SavedLow  *float64 `json:"saved_core_hours_low"`
	SavedHigh *float64 `json:"saved_core_hours_high"`
	Share     *float64 `json:"saved"` // as a part of the core-hours used
	ShareLow  *float64 `json:"saved_low"`
	ShareHigh *float64 `json:"saved_high"`
}

// Recommended is a list of one, or of none.
func Recommended(r *workload.Recommendation) []Recommendation {
	if r == nil {
		return []Recommendation{}
	}
	d := Recommendation{Cores: r.Cores.Value, Low: r.Cores.Low, High: r.Cores.High, For: r.For, Reason: r.Reason, Runs: r.Runs, Level: r.Level}
	d.Time, d.TimeLow, d.TimeHigh = Ends(r.Time)
	d.Saved, d.SavedLow, d.SavedHigh = Ends(r.Saved)
	d.Share, d.ShareLow, d.ShareHigh = Ends(r.Share)
	return []Recommendation{d}
}

// Option is a core count to choose. Level is the confidence of its intervals.
type Option struct {
	Cores         int      `json:"cores"`
	For           []string `json:"for"`  // what it is the best for; empty: the job's own
	Time          float64  `json:"time"` // s
	TimeLow       float64  `json:"time_low"`
	TimeHigh      float64  `json:"time_high"`
	CoreHours     float64  `json:"core_hours"`
	CoreHoursLow  float64  `json:"core_hours_low"`
	CoreHoursHigh float64  `json:"core_hours_high"`
	PE            float64  `json:"pe"`
	PELow         *float64 `json:"pe_low"` // null where it was run
	PEHigh        *float64 `json:"pe_high"`
	Runs          int      `json:"runs"` // on these cores; 0: the curve tells
	Level         float64  `json:"level"`
	Flagged       bool     `json:"flagged"` // pe is below 0.8
}

// Options are core counts to choose from.
func Options(all []workload.Option) []Option {
	d := []Option{}
	for _, o := range all {
		one := Option{Cores: o.Cores, For: append([]string{}, o.For...), Time: o.Time.Value, TimeLow: o.Time.Low, TimeHigh: o.Time.High,
			CoreHours: o.CoreHours.Value, CoreHoursLow: o.CoreHours.Low, CoreHoursHigh: o.CoreHours.High, PE: o.PE.Value, Runs: o.Runs, Level: o.Level, Flagged: o.Flagged}
		if o.Runs == 0 {
			_, one.PELow, one.PEHigh = Ends(&o.PE)
		}
		d = append(d, one)
	}
	return d
}

func documentVerdicts(verdicts []policy.Verdict) []Verdict {
	if verdicts == nil {
		return nil
	}
	all := []Verdict{}
	for _, v := range verdicts {
		d := Verdict{
			Rule: v.Rule, Outcome: string(v.Outcome), Shadow: v.Shadow, Reason: v.Reason, Condition: v.Condition,
			Figures: map[string]any{}, Text: v.Text, Link: v.Link,
			CoreHours:   coreHours(v.Hours),
			Recommended: Recommended(v.Recommended), Confidence: string(v.Confidence), Doubts: append([]string{}, v.Doubts...), MutedUntil: v.Muted,
		}
		for _, f := range v.Figures {
			d.Figures[f.Name] = f.Value
		}
		all = append(all, d)
	}
	return all
}
