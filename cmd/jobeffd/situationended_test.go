package main

// hangs matches the words that a job stands, or stood, still.
const hangs = "seem(s|ed) to hang|(it|have|ranks) hung"

// endedJobs: what is said of jobs that stood still, slept, or reached their limit.
var endedJobs = []situation{
	// Told as hung while they ran.
	{name: "a rank slept while the others waited, and was told as hung before it was cancelled", jobs: `
4 t=40000 pe=.26 first=.99 state=CANCELLED in=MPI_Barrier outside=1 stood=36000 day=4`,
		says: []string{"job: It was cancelled. It seemed to hang: from 2026-11-13 13:", "job: nothing of it moved", "job: Ranks 1-3 were in MPI_Barrier. Rank 0 was outside MPI \\(n001, asleep\\)", "page: seemed to hang"}, never: []string{"mail: .", "seems to hang", "gdb", "pid", notToldOf}},
	{name: "told as hung before the limit came", jobs: `
4 t=40000 pe=.26 first=.99 state=TIMEOUT in=MPI_Barrier outside=1 stood=36000 day=4`, says: []string{"job: time limit", "job: seemed to hang"}, never: []string{"mail: .", "seems to hang", "it was cancelled", notToldOf}},
	{name: "told as hung, and moved again before it was cancelled", jobs: `
4 t=40000 pe=.26 first=.99 state=CANCELLED in=MPI_Barrier outside=1 stood=36000 moved=1 day=4`, says: []string{"job: cancelled"}, never: []string{hangs}},
	{name: "stood still for too short to be told", jobs: `
4 t=40000 pe=.26 first=.99 state=CANCELLED in=MPI_Barrier outside=1 stood=1200 day=4`, says: []string{"job: cancelled"}, never: []string{hangs}},
	{name: "told as hung, and came to its end", jobs: `
4 t=40000 pe=.26 first=.99 in=MPI_Barrier outside=1 stood=36000 day=4`, says: []string{"job: 56 % of the time"}, never: []string{hangs}},
	{name: "told as hung after a rank ran out of memory", jobs: `
4 t=40000 pe=.26 first=.99 state=CANCELLED oom=0 ending=killed in=MPI_Barrier outside=1 stood=36000 day=4`, says: []string{"job: ran out of memory"}, never: []string{hangs}},
	{name: "one rank computed up to the limit", says: []string{"job: 63 of 64 ranks computed for less than 5 %", "job: time limit"}, never: []string{hangs, notToldOf}, jobs: `
64 t=86000 pe=.0155 lb=.0157 slow=rank state=TIMEOUT in=MPI_Bcast limit=86400 day=4`},
	{name: "one rank slept up to the limit", says: []string{"job: may have hung"}, never: []string{notToldOf}, jobs: `
64 t=86000 pe=.0155 lb=.0157 slow=rank state=TIMEOUT in=MPI_Bcast limit=86400 slept=.0154 busy=.9846 day=4`},
	// Useful time without CPU time. What was counted in ranks that are killed is as old as their last call.
	{name: "slept until it was cancelled", says: []string{"job: It was cancelled. Until then, 1 % of the time of 2 ranks went into MPI: parallel efficiency 0.99. Its ranks slept or waited: Slurm counted CPU time for only 1 % of their time",
		"job: used, 0.0\\d lost.{0,60}; at least 1.9\\d of the useful ones without CPU time", "page: without CPU time"}, never: []string{"mail: .", notToldOf}, jobs: `
2 t=3600 pe=.99 lb=1 state=CANCELLED read=.001 totalcpu=.01 day=4`},
	{name: "slept until the limit, and nobody read", says: []string{"job: ran up to the time limit of 01:00:00. .*Its ranks slept or waited: Slurm counted", "job: without CPU time"}, never: []string{"mail: .", notToldOf}, jobs: `
2 t=3590 pe=.99 lb=1 state=TIMEOUT read=0 totalcpu=.01 limit=3600 day=4`},
	{name: "slept and came to its end", says: []string{"job: Its ranks slept, or waited for a file", "job: at least \\d.\\d\\d of the useful ones without CPU time"}, never: []string{"mail: ."}, jobs: `
2 t=3600 pe=.99 lb=1 busy=.01 totalcpu=.01 day=4`},
	{name: "computed until it was cancelled", says: []string{"job: cancelled"}, never: []string{"slept", "without CPU time"}, jobs: `
2 t=3600 pe=.99 lb=1 state=CANCELLED read=.001 totalcpu=.98 day=4`},
	{name: "waited in MPI until it was cancelled, without CPU time", says: []string{"job: cancelled"}, never: []string{"without CPU time"}, jobs: `
64 t=3600 pe=.5 state=CANCELLED busy=.5 totalcpu=.5 day=4`},
	{name: "Slurm counted on one of its nodes only", says: []string{"job: cancelled"}, never: []string{"without CPU time"}, jobs: `
128 t=3600 pe=.99 lb=1 state=CANCELLED read=.001 totalcpu=.5 partnodes=1 day=4`},
	// The limit, and what others took.
	{name: "reached its limit, and others did not", says: []string{"job: It ran up to the time limit of 02:00:00. 3 other jobs of its workload on as many nodes and CPUs came to an end, after 01:10:20 to 01:27:00. ", "page: came to an end, after"}, never: []string{"mail: .", notToldOf, "reached the limit, too"}, jobs: `
64 t=900,950 pe=.95 nodes=2
64 t=4200,5000,5200 pe=.95
64 t=7190 pe=.95 state=TIMEOUT limit=7200 day=2`},
	{name: "reached its limit, as another did", says: []string{"job: 1 other job of its workload on as many nodes and CPUs came to an end, after 01:10:20; 1 other reached the limit, too\\."}, never: []string{"mail: .", notToldOf}, jobs: `
64 t=4200 pe=.95
64 t=7190,7190 pe=.95 state=TIMEOUT limit=7200 day=2`},
	{name: "reached its limit, alone", says: []string{"job: the time limit of 02:00:00. No other job of its workload on as many nodes and CPUs is known that was completed\\."}, never: []string{"mail: .", notToldOf, "reached the limit, too"}, jobs: `
64 t=7190 pe=.95 state=TIMEOUT limit=7200 day=2`},
	{name: "without MPI, and reached its limit", says: []string{"job: the time limit of 02:00:00. 2 other jobs of its name on as many nodes and CPUs came to an end, after 01:00:20 to 01:10:20"}, never: []string{"mail: ."}, jobs: `
4 t=3600,4200 bare=1 alloc=4
4 t=7190 bare=1 alloc=4 state=TIMEOUT limit=7200 day=2`},
	// One that was resized is one job, and ended as its last part did.
	{name: "shrank to half of its nodes for the second of two programs", says: []string{"job: COMPLETED", "job: 256 cores allocated at most: it was resized", "job: 384 used", "job: 2 executions of up to 256 ranks"},
		never: []string{"RESIZING", "did not finish", "on CPUs without a rank", "outside MPI_Init", "512 used", "mail: ."}, jobs: `
256 t=3590 pe=.95 job=a alloc=256 nodes=4 resized=.75
128 t=3590 pe=.95 job=a prog=post on=2`},
	{name: "came to its end below its limit", says: []string{"job: parallel efficiency"}, never: []string{"came to an end", "up to the time limit"}, jobs: `
64 t=4200,7100 pe=.95 limit=7200`},
}
