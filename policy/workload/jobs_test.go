package workload

import "jobeff/policy/jobtest"

// Short names for the tables.
var (
	began      = jobtest.Began
	sec        = jobtest.Sec
	run        = jobtest.Run
	changed    = jobtest.Changed
	workloadOf = jobtest.Workload
)
