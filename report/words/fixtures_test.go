package words

import (
	"jobeff/ingest/job/jobtest"
	"jobeff/report/wordstest"
)

type work = wordstest.Work

const nasty = wordstest.Nasty

// Short names for what is made up, and for the checks.
var (
	began, sec, execution, aJob              = jobtest.Began, jobtest.Sec, wordstest.Execution, wordstest.AJob
	fixtures, withoutMPI, ranked, fixtureRun = wordstest.Jobs, wordstest.WithoutMPI, wordstest.Ranked, wordstest.Run
	fixtureWorkload, hostileHours            = wordstest.Workload, wordstest.HostileHours
)
