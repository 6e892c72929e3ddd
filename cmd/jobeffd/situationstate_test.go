package main

// notToldOf matches what must not be said of a job that something else ended or held up.
const notToldOf = blamesCores + `|` + triesFewer + `|would have (taken|used)`

// statesOfSlurm: what a job ended as, and what it was that ended.
var statesOfSlurm = []situation{
	// Memory.
	{name: "a step ran out of memory, and its job failed", says: []string{"job: memory ran out|ran out of memory", "page: memory ran out|ran out of memory"}, never: []string{"until it failed", "mail: .", notToldOf}, jobs: to128 + `
256 t=7000,7100,7200 pe=.40 state=FAILED oom=0 ending=killed`},
	{name: "a step ran out of memory, and its script went on", says: []string{"job: memory ran out|ran out of memory", "job: more memory"}, never: []string{"mail: .", notToldOf}, jobs: to128 + `
256 t=7000,7100,7200 pe=.40 state=COMPLETED oom=0 ending=killed`},
	{name: "memory ran out beside a program that came to its end", says: []string{"job: 60 % of the time"}, never: []string{"until memory ran out", "(it|step 0) ran out of memory"}, jobs: `
256 t=7000,7100,7200 pe=.40 oom=batch`},
	{name: "a rank ran out of memory, and the others waited until the limit", says: []string{"job: memory ran out|ran out of memory"}, never: []string{"mail: .", "(it|have|ranks) hung", notToldOf}, jobs: `
256 t=86000 pe=.10 state=TIMEOUT in=MPI_Barrier oom=0 day=4 ending=killed`},
	{name: "memory ran out in one step, and the next reached the limit", says: []string{"job: ((up to|until) the|reached its) time limit"}, never: []string{"until memory ran out", "mail: .", notToldOf}, jobs: `
256 t=3600 pe=.60 job=a step=0 oom=0 ending=killed state=TIMEOUT
256 t=7200 pe=.60 job=a step=1 state=TIMEOUT`},
	{name: "fewer cores have too little memory", never: []string{"mail: .", notToldOf, "ask for (64|128)"}, jobs: `
 64 t=900,950 pe=.95 state=OUT_OF_MEMORY
128 t=1400,1500 pe=.90 state=OUT_OF_MEMORY
256 t=7000,7100,7200 pe=.50`},
	{name: "past, though the fewest cores have too little memory", mails: 1, says: []string{"mail: 128"}, never: []string{"ask for 64|--ntasks=64"}, jobs: `
 32 t=900,950 pe=.95 state=OUT_OF_MEMORY` + past256},
	// Nodes.
	{name: "a node failed, and nothing came from it", says: []string{"job: node failed"}, never: []string{"mail: .", notToldOf, "confidence high"}, jobs: `
256 t=7000 pe=.40 state=NODE_FAIL missing=1`},
	// Ranks that were done before.
	{name: "the script failed after its ranks had finished", says: []string{"job: MPI_Finalize"}, never: []string{"until (it failed|then)", "mail: .", triesFewer}, jobs: `
256 t=7000,7100,7200 pe=.40 state=FAILED ending=finalized`},
	{name: "cancelled after its ranks had finished", never: []string{"until (it was cancelled|then)", "mail: ."}, jobs: `
256 t=7000,7100,7200 pe=.40 state=CANCELLED ending=finalized more=3600`},
	{name: "the limit came long after its ranks had finished", never: []string{"((up to|until) the|reached its) time limit", "until then", "(it|have|ranks) hung", "mail: ."}, jobs: `
256 t=7000,7100,7200 pe=.15 state=TIMEOUT ending=finalized in=MPI_Barrier more=3600`},
	// Limits.
	{name: "computed up to the time limit", says: []string{"job: ((up to|until) the|reached its) time limit"}, never: []string{"mail: .", "(it|have|ranks) hung", notToldOf}, jobs: `
256 t=86000,86000 pe=.95 state=TIMEOUT`},
	{name: "communicated up to the time limit, on more cores than others", says: []string{"job: ((up to|until) the|reached its) time limit"}, never: []string{"mail: .", notToldOf}, jobs: to128 + `
256 t=14390,14390,14390 pe=.314 state=TIMEOUT`},
	{name: "half of the ranks were idle up to the time limit", never: []string{"mail: .", notToldOf}, jobs: `
 64 t=7000,6950,7050 pe=.90
128 t=14390,14390 pe=.90 idle=64 lb=.99 state=TIMEOUT`},
	{name: "hung at its deadline", says: []string{"job: hung|stood still", "job: deadline"}, never: []string{"mail: .", notToldOf, "time limit"}, jobs: `
256 t=86000 pe=.10 state=DEADLINE in=MPI_Barrier day=4`},
	{name: "hung at last, after it had computed for long", says: []string{"job: hung"}, never: []string{"mail: .", notToldOf, "wait for each other in turn"}, jobs: `
256 t=86000 pe=.50 state=TIMEOUT in=MPI_Recv stuck=40000 day=4`},
	{name: "in a call for a minute when the limit came", never: []string{"mail: .", notToldOf, "(it|have|ranks) hung"}, jobs: `
256 t=86000 pe=.50 state=TIMEOUT in=MPI_Alltoall stuck=60 day=4`},
	{name: "no rank computed much, and none stood still", never: []string{"mail: .", notToldOf, "never left"}, jobs: `
256 t=86000 pe=.10 state=TIMEOUT in=MPI_Allreduce day=4`},
	// Held up, or begun again.
	{name: "cancelled when it hung", says: []string{"job: cancelled", "job: hung"}, never: []string{"mail: .", notToldOf}, jobs: `
256 t=40000 pe=.12 state=CANCELLED in=MPI_Recv stuck=35000 day=4`},
	{name: "killed for memory, and the others hung", says: []string{"job: memory"}, never: []string{"mail: .", notToldOf, "(it|have|ranks) hung"}, jobs: `
256 t=40000 pe=.12 state=CANCELLED oom=0 in=MPI_Recv stuck=35000 ending=killed day=4`},
	{name: "preempted, and begun again", says: []string{"job: preempted"}, never: []string{"mail: .", notToldOf, "until it was cancelled"}, jobs: `
256 t=7000,7100,7200 pe=.40 state=PREEMPTED`},
	{name: "requeued", says: []string{"job: requeued"}, never: []string{"mail: .", notToldOf}, jobs: `
256 t=7000,7100,7200 pe=.40 state=REQUEUED`},
	{name: "suspended for most of its time", says: []string{"job: suspended for"}, never: []string{"mail: .", notToldOf, `cover (10[1-9]|1[1-9]\d|[2-9]\d\d) %`, "confidence high"}, jobs: to128 + `
256 t=15000,15100,15200 pe=.314 suspended=10000 busy=.33`},
	{name: "suspended for a while on fewer cores", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95
128 t=15773,15700,15850 pe=.88 suspended=8000
256 t=4200,4150,4250 pe=.80`},
	{name: "suspended for a second", mails: 1, says: []string{"mail: 128"}, never: []string{"job: suspended"}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 suspended=1`},
}

// filesAndGPUs: what ranks waited for.
var filesAndGPUs = []situation{
	{name: "rank 0 waits for a file, one of many counts", says: []string{"job: one rank", "job: waited for a file"}, never: []string{"mail: .", "it computed", triesFewer, blamesCores}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 first=.99 in=MPI_Bcast busy=.9961 slept=.0039`},
	{name: "rank 0 computes while the others wait", says: []string{"job: one rank"}, never: []string{"mail: .", "waited for a file", triesFewer, blamesCores}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 first=.99 in=MPI_Bcast`},
	{name: "a GPU that was opened by one rank of a node", says: []string{"job: opened a GPU"}, never: []string{"mail: .", triesFewer, blamesCores}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 opened=1`},
	{name: "GPUs on more cores only", says: []string{"job: GPU"}, never: []string{"mail: .", triesFewer, blamesCores}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 gpus=8`},
}
