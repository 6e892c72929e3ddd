package job

import (
	"slices"

	json "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/hang"
	"jobeff/policy/doubt"
)

// HungWarning packs a Hung into a warning. The store keeps that with the job, and TellHung unpacks
// it. ended: the job has ended on a node.
func HungWarning(h *hang.Hung, ended bool) doubt.Warning {
	text, _ := json.Marshal(h) // cannot fail
	w := doubt.Warning{Code: WarnHung, Args: doubt.Arguments{Other: string(text)}}
	if ended {
		w.Args.Kind = kindEnded
	}
	return w
}

// WarnHung is no doubt about a job: its warning carries the job's Hung into the store.
const WarnHung = "hung"

const kindEnded = "ended"

// TellHung moves the warning that HungWarning made to Hung or Stood. Hung is set only while the job
// runs and Slurm has not suspended it.
func (j *Job) TellHung() {
	i := slices.IndexFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == WarnHung })
	if i < 0 {
		return
	}
	var h hang.Hung
	switch args := j.Warnings[i].Args; {
	case json.Unmarshal([]byte(args.Other), &h) != nil:
	case !j.End.IsZero():
		j.Stood = &h
	case j.IsRunning() && args.Kind != kindEnded && (j.State == "" || j.State == "RUNNING"):
		j.Hung = &h
	}
	j.Warnings = slices.Delete(j.Warnings, i, i+1)
}
