package policy

import "jobeff/policy/jobtest"

// Short names for the tables.
var (
	began      = jobtest.Began
	sec        = jobtest.Sec
	work       = jobtest.Work
	world      = jobtest.World
	alike      = jobtest.Alike
	aJob       = jobtest.Job
	with       = jobtest.With
	run        = jobtest.Run
	changed    = jobtest.Changed
	workloadOf = jobtest.Workload
	jobOf      = jobtest.JobOf
)
