package policy

import (
	"jobeff/ingest/job"
	"jobeff/policy/workload"
)

// LineFor is the sbatch line for the next job like this one. Where another core count is advised it is for
// that one, from the jobs that had it; study may be nil. name is that of the jobs where this tells
// the workload, else "".
func LineFor(study *workload.Study, j *job.Job) (l *workload.Line, name string) {
	like := job.RanOf(j)
	if best := Recommend(study, j); study != nil && best != nil {
		cores := int(best.Cores.Value)
		ranks, found := cores/study.ThreadsFor(cores), false
		for _, r := range j.Alike {
			if r.Ranks == ranks && r.State == "COMPLETED" {
				like, found = r, true
			}
		}
		if !found {
			return &workload.Line{Why: "no job had the advised cores yet"}, ""
		}
	}
	if job.WorkloadOf(j) == "" {
		name = j.Name
	}
	return workload.LineOf(j.Alike, &like), name
}

// LineOf is the line for a job like the newest of a workload.
func LineOf(w *job.Workload) (l *workload.Line, name string) {
	if len(w.Runs) == 0 {
		name = w.Name
	}
	return workload.LineOf(w.Jobs, nil), name
}
