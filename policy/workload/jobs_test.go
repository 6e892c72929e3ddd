package workload

import "jobeff/ingest/job/jobtest"

// Short names for the tables.
var (
	began      = jobtest.Began
	sec        = jobtest.Sec
	run        = jobtest.Run
	changed    = jobtest.ChangedRun
	workloadOf = jobtest.Workload
)
