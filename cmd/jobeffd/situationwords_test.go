package main

// nearOf256 is what is said where the inflexion point is near.
const nearOf256 = "More than 60 % of the time on 256 cores is overhead: the inflexion point"

// onlyWhereItFollows: words that hold of some jobs, and not of others that look like them.
var onlyWhereItFollows = []situation{
	{name: "waiting in MPI, of a job without MPI", says: []string{"job: CPU efficiency 0.90"}, never: []string{"waiting in MPI"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=32 held=20"},
	{name: "waiting in MPI", says: []string{"job: CPU efficiency .*; waiting in MPI counts as busy"}, jobs: "64 t=7200,7100,7300 pe=.93"},
	{name: "near its inflexion point", mails: 1, says: []string{"job: " + nearOf256, "page: " + nearOf256}, jobs: `
 64 t=14400,14350,14500 pe=.90
256 t=7050,7000,7100 pe=.33`},
	{name: "its like are near it, and it has 30 % in MPI", mails: 1, says: []string{"job: 30 % of the time"}, never: []string{"is near"}, jobs: `
 64 t=14400,14350,14500 pe=.90
256 t=7000,7100,7050 pe=.33
256 t=7050 pe=.70`},
	{name: "near it, but fewer cores were a little faster", mails: 1, never: []string{"is near"}, jobs: `
 64 t=14400,14350,14500 pe=.90
128 t=6900,6850,6950 pe=.68
256 t=7000,7100,7050 pe=.33`},
	{name: "a mean of busy CPUs", never: []string{"would have held that"}, says: []string{"job: 8.00 busy CPUs on the mean, and 20.0 GiB of memory, on its 4 nodes: 1 node would have held a fifth more than that[.] How many CPUs its busiest moments had is not known"},
		jobs: "1 t=7200 bare=1 alloc=64 nodes=4 totalcpu=.125 given=256 held=20", rules: moreNodes},
	{name: "many tasks of no time", says: []string{"job: The tasks of its array ran for 0 s on the mean", "page: it ran 00:00:00, the rule wants"}, never: []string{"the job's end is not known"}, jobs: "1 t=-20 x=120 bare=1 task=1 alloc=1 totalcpu=0 given=2 held=1"},
	{name: "ninety-nine short tasks", never: []string{asks}, jobs: "1 t=12 x=99 bare=1 task=1 alloc=1 totalcpu=.9 given=2 held=1"},
}

// sinceAdvice is what was saved since a notice, where runs ran out of something. Each that came to its end saves about
// 577 core-hours, and each that did not cost 178.
var sinceAdvice = []situation{
	{name: "since then most ran out of memory", earlier: advised128, says: []string{"digest: took 128 in 8 of 8 runs since: 8\\d\\d core-hours saved"}, jobs: `
128 t=5900,5850,5950 pe=.75
128 t=5000 x=5 pe=.75 state=OUT_OF_MEMORY`},
	{name: "since then a step of most ran out of memory", earlier: advised128, says: []string{"digest: took 128 in 8 of 8 runs since: 8\\d\\d core-hours saved"}, jobs: `
128 t=5900,5850,5950 pe=.75
128 t=5000 x=5 pe=.75 state=FAILED oom=0 ending=killed`},
	{name: "since then most ran out of time", earlier: advised128, says: []string{"digest: took 128 in 15 of 15 runs since: 1,4\\d\\d core-hours more"}, never: []string{"digest: [\\d,]+ core-hours saved"}, jobs: `
128 t=5900,5850,5950 pe=.75
128 t=7500 x=12 pe=.75 state=TIMEOUT`},
	{name: "since then most were cancelled", earlier: advised128, says: []string{"digest: took 128 in 3 of 3 runs since: 1,7\\d\\d core-hours saved"}, jobs: `
128 t=5900,5850,5950 pe=.75
128 t=5000 x=5 pe=.75 state=CANCELLED`},
	{name: "since then they ran out of time when all was done", earlier: advised128, says: []string{"digest: took 128 in 3 of 3 runs since: 1,7\\d\\d core-hours saved"}, jobs: `
128 t=5900,5850,5950 pe=.75 state=TIMEOUT ending=finalized more=600`},
}
