package view

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
)

// Place is where a job stands among the runs of its workload.
type Place struct {
	Key         string           `json:"key"`
	Name        string           `json:"name"`
	AllRuns     int              `json:"all_runs"`
	Runs        int              `json:"runs"`          // that can share a curve with it
	Cores       int              `json:"cores"`         // of its main program; 0: not_a_point says why
	NotAPoint   string           `json:"not_a_point"`   // "" where it is one
	Fastest     int              `json:"fastest_cores"` // measured; 0: none
	Scaling     string           `json:"scaling"`       // strong, weak, unclear
	MutedUntil  *time.Time       `json:"muted_until"`
	Recommended []Recommendation `json:"recommended"`
	Options     []Option         `json:"options"`
}

// placeOf makes a job's place; nil without a study.
func placeOf(s *workload.Study, j *job.Job, r *policy.Request) *Place {
	if s == nil {
		return nil
	}
	d := &Place{Key: s.Workload.Key, Name: s.Workload.Name, AllRuns: s.Workload.Sum().Runs, Runs: len(s.Runs), NotAPoint: s.NotMine(), Fastest: s.Fastest,
		Scaling: string(s.Scaling), Recommended: recommended(r.Best), Options: optionsOf(policy.Options(s, j))}
	if s.Mine != nil {
		d.Cores = s.Mine.Cores()
	}
	if s.Muted != nil {
		d.MutedUntil = &s.Muted.Until
	}
	return d
}
