package policy

import (
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// Short names for the tables.
var (
	began      = jobtest.Began
	sec        = jobtest.Sec
	work       = jobtest.Work
	world      = jobtest.World
	alike      = jobtest.Alike
	aJob       = jobtest.Job
	with       = jobtest.With
	threaded   = jobtest.Unmeasured
	loaded     = jobtest.Loaded
	singleton  = jobtest.Singleton
	idling     = jobtest.Idling
	onOneNode  = jobtest.OnOneNode
	openmp     = jobtest.Threaded
	run        = jobtest.Run
	changed    = jobtest.ChangedRun
	workloadOf = jobtest.Workload
	jobOf      = jobtest.JobOf
)

// studyOf studies a job, or nil, in the workload of these runs.
func studyOf(j *job.Job, runs ...job.Run) *workload.Study {
	return workload.NewStudy(workloadOf(runs...), j, began, curve.Settings{})
}
