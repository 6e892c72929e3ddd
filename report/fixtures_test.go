package report

import (
	"jobeff/ingest/job/jobtest"
	"jobeff/report/wordstest"
)

type work = wordstest.Work

const nasty = wordstest.Nasty

// Short names for what is made up, and for the checks.
var (
	began, sec                                       = jobtest.Began, jobtest.Sec
	execution, aJob, fixtures, keep                  = wordstest.Execution, wordstest.AJob, wordstest.Jobs, wordstest.Keep
	withoutMPI, hybrid, ranked, huge                 = wordstest.WithoutMPI, wordstest.Hybrid, wordstest.Ranked, wordstest.Huge
	fixtureRun, fixtureWorkload, workloads           = wordstest.Run, wordstest.Workload, wordstest.Workloads
	fixtureList, arrayTasks, arrayLine, hostileHours = wordstest.List, wordstest.Tasks, wordstest.TasksLine, wordstest.HostileHours
	golden, eachView, views                          = wordstest.Golden, wordstest.EachView, wordstest.Views
	checkFits, checkASCII, checkPage                 = wordstest.CheckFits, wordstest.CheckASCII, wordstest.CheckPage
	pageText, siteLinks, listLinks, shippedVerdicts  = wordstest.PageText, wordstest.SiteLinks, wordstest.ListLinks, wordstest.ShippedVerdicts
	judged, goldenRules, shippedRules                = wordstest.Judged, wordstest.GoldenRules, wordstest.ShippedRules
)
