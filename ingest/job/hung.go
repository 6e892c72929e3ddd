package job

import (
	"slices"

	json "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/hang"
	"jobeff/policy/doubt"
)

// HungWarning carries a Hung in a row of attempts, as TellHung reads it.
func HungWarning(h *hang.Hung) doubt.Warning {
	text, _ := json.Marshal(h) // cannot fail
	return doubt.Warning{Code: WarnHung, Args: doubt.Arguments{Other: string(text)}}
}

// WarnHung is no doubt: it is how Hung is kept with a job.
const WarnHung = "hung"

// TellHung takes Hung out of the warnings of a job. It counts only while the job runs and Slurm has not suspended it.
func (j *Job) TellHung() {
	i := slices.IndexFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == WarnHung })
	if i < 0 {
		return
	}
	var h hang.Hung
	if json.Unmarshal([]byte(j.Warnings[i].Args.Other), &h) == nil && j.IsRunning() && (j.State == "" || j.State == "RUNNING") {
		j.Hung = &h
	}
	j.Warnings = slices.Delete(j.Warnings, i, i+1)
}
