package report

import (
	"jobeff/ingest/job/jobtest"
	"jobeff/report/wordstest"
)

type work = wordstest.Work

const nasty = wordstest.Nasty

// Short names for what is made up, and for the checks.
var (
	began, sec, execution, aJob                      = jobtest.Began, jobtest.Sec, wordstest.Execution, wordstest.AJob
	fixtures, withoutMPI, hybrid, ranked             = wordstest.Jobs, wordstest.WithoutMPI, wordstest.Hybrid, wordstest.Ranked
	huge, fixtureRun, fixtureWorkload, workloads     = wordstest.Huge, wordstest.Run, wordstest.Workload, wordstest.Workloads
	fixtureList, arrayTasks, arrayLine, hostileHours = wordstest.List, wordstest.Tasks, wordstest.TasksLine, wordstest.HostileHours
	golden, eachView, views, checkFits               = wordstest.Golden, wordstest.EachView, wordstest.Views, wordstest.CheckFits
	checkASCII, checkPage, pageText, siteLinks       = wordstest.CheckASCII, wordstest.CheckPage, wordstest.PageText, wordstest.SiteLinks
	listLinks, shippedVerdicts, judged, goldenRules  = wordstest.ListLinks, wordstest.ShippedVerdicts, wordstest.Judged, wordstest.GoldenRules
	shippedRules                                     = wordstest.ShippedRules
)
