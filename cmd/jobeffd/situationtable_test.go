package main

import "slices"

// blamesCores matches what is wrong to say where more cores are not the cause, triesFewer what is wrong where
// fewer are not known to help.
const (
	blamesCores = `% longer on [\d,]+ cores than on|more cores (only|just) (make|made) it slower|slower because of (the|its) cores|past (the|its) inflexion`
	triesFewer  = `try fewer cores|ask for [\d,]+ (cores|or fewer)|fewer (cores|ranks) (would|might|may) help`
	asksForCPUs = "[[rule]]\nname = \"cpus\"\ncondition = \"cause == 'contention'\"\ntext = \"{{.cause_text}}\"\n"
	cannotBe    = `efficiency ([2-9]|\d\d)|\b([2-9]|\d\d)\d\d %|-\d+ (s|core-hours)`
)

// Strong scaling of 243 core-hours of work. It ends in one of these ways.
const (
	to128 = `
 64 t=14400,14350,14500 pe=.95
128 t=7773,7700,7850 pe=.88`
	past256 = to128 + `
256 t=10880,10800,11000 pe=.314`
	// wasted is not past the inflexion: 256 cores are a tenth faster than 64.
	wasted = `
 64 t=8800,8750,8850 pe=.85
256 t=8000,7950,8050 pe=.234`
)

// situationKinds are the groups of situations. With -short the first of each happens.
var situationKinds = [][]situation{trulyPast, notPast, otherRuns, lowEfficiency, notFewer, badEndings, statesOfSlurm, filesAndGPUs, contention, hybrid, wrongStart, mails, numbers, sites(), advice, withoutWork, manyRuns, alike, nearIt, oneCause, siblings, atTheLimit, choices, repeated, afterAdvice, changes, slower, losses, sayNothing, withoutMPI, bindings, onlyWhereItFollows, sinceAdvice, comparedRuns, slowerStill, noMedian, rooms, endedJobs, memoryNeeds, timeNeeds, cpuNeeds, people, countsAsked, unusedGPUs}

// situations are all of them.
func situations() []situation { return slices.Concat(situationKinds...) }

// trulyPast: more cores were slower because of the parallelisation.
var trulyPast = []situation{
	{name: "past as plain as can be", mails: 1, jobs: past256, says: []string{"mail: 128", "job: 128", "page: 128", "job: parallel efficiency 0.31", "job: load balance 0.97"}},
	{name: "alltoall bound", mails: 1, says: []string{"mail: (128|256)"}, jobs: `
128 t=8047,8100,8000 pe=.85 in=MPI_Alltoall
256 t=6218,6200,6250 pe=.55 in=MPI_Alltoall
512 t=12215,12100,12300 pe=.14 in=MPI_Alltoall`},
	{name: "named and confirmed", mails: 1, says: []string{"mail: 128", "mail: prod"}, jobs: `
 64 t=14400,14350,14500 pe=.95 name=prod
128 t=7773,7700,7850 pe=.88 name=prod
256 t=10880,10800,11000 pe=.314 name=prod`},
	{name: "small problem on one node", mails: 1, says: []string{"mail: (16|32)"}, never: []string{`--nodes=[2-9]`}, jobs: `
 4 t=40800,40700,40900 pe=.98
 8 t=21050,21000,21100 pe=.95
16 t=11360,11300,11400 pe=.88
32 t=8333,8300,8350 pe=.60
64 t=16700,16600,16800 pe=.15`},
	{name: "executable at another path, same build", mails: 1, says: []string{"mail: 128"}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 dir=/scratch/anna`},
	{name: "one of five runs was lucky", mails: 1, says: []string{"mail: 128"}, jobs: to128 + `
256 t=10880,10800,9300,11000,10900 pe=.314`},
	{name: "one voice where two rules speak", mails: 1, says: []string{"mail: core-hours"}, jobs: `
 64 t=19055,19000,19100 pe=.82
128 t=11160,11100,11200 pe=.70
256 t=7812,7800,7850 pe=.50
512 t=9765,9700,9800 pe=.20`},
	{name: "both larger counts are past", mails: 1, says: []string{"mail: 128"}, jobs: past256 + `
512 t=16000,15900,16200 pe=.107`},
	{name: "superlinear, then past", mails: 1, says: []string{"mail: 128"}, jobs: `
 64 t=14400,14300,14500 pe=.80
128 t=5423,5400,5450 pe=.85
256 t=7200,7150,7250 pe=.30`},
	{name: "two partitions of the same CPU are one curve", mails: 1, says: []string{"mail: 128"}, never: []string{"workload: cannot share"}, jobs: `
 64 t=14400,14350,14500 pe=.95 part=main
128 t=7773,7700,7850 pe=.88 part=long
256 t=10880,10800,11000 pe=.314 part=long`},
	{name: "runs of a year ago agree with new ones", mails: 1, says: []string{"mail: 128"}, jobs: `
 64 t=14400,14350 pe=.95 day=360
128 t=7773,7700 pe=.88 day=350
128 t=7800,7750 pe=.88
256 t=10880,10800,11000 pe=.314`},
	{name: "past on one kind of CPU, slow runs on another", mails: 1, says: []string{"mail: 128"}, jobs: `
64 t=26000,25900,26100 pe=.95 part=old model=E5-2680` + past256},
	{name: "past beside time limits of another workload", mails: 1, says: []string{"mail: solver"}, never: []string{"mail: other"}, jobs: `
256 t=20000,20000 pe=.20 prog=other state=TIMEOUT` + past256},
}

// notPast: the largest count took longer, and the number of cores is not why.
var notPast = []situation{
	{name: "scales, but runs spread by 40 %", never: []string{blamesCores}, jobs: `
 64 t=14400,9800 pe=.95
128 t=4900,5400 pe=.90
256 t=6000,6400 pe=.85`},
	{name: "one of two nodes is slow", says: []string{"(slow|one) node|node n001"}, never: []string{blamesCores, triesFewer}, jobs: `
 32 t=7350,7300,7400 pe=.94
 64 t=3750,3700,3800 pe=.92
128 t=7100,7050,7150 pe=.607 lb=.626 slow=node`},
	{name: "one slow rank", says: []string{"job: (one|slow|single|busiest) rank"}, never: []string{blamesCores, triesFewer}, jobs: `
 32 t=7350,7300,7400 pe=.94
 64 t=3750,3700,3800 pe=.92
128 t=4120,4100,4150 pe=.423 lb=.436 slow=rank`},
	{name: "the larger count ran on an older CPU", never: []string{blamesCores, triesFewer}, says: []string{"workload: E5-2680"}, jobs: `
 32 t=7350,7300,7400 pe=.94
 64 t=3750,3700,3800 pe=.92
128 t=4000,3950,4050 pe=.85 part=old model=E5-2680`},
	{name: "an older CPU, and many cores as well", never: []string{blamesCores}, jobs: to128 + `
256 t=10880,10800,11000 pe=.50 part=old model=E5-2680`},
	{name: "one of the nodes has an older CPU", never: []string{blamesCores, triesFewer}, jobs: `
 64 t=3750,3700,3800 pe=.92
128 t=4500,4450,4550 pe=.652 lb=.709 slow=node model=E5-2680 model2=EPYC`},
	{name: "one of the larger runs had an older CPU", never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=4023,4000 pe=.85
256 t=9000 pe=.80 part=old model=E5-2680`},
	{name: "a node's memory is too slow for its cores", never: []string{blamesCores}, jobs: `
16 t=80000,79800,80200 pe=.95
32 t=70000,69800,70200 pe=.93
64 t=76000,75800,76200 pe=.92`},
	{name: "another partition with a lower clock", never: []string{blamesCores}, says: []string{"workload: eco"}, jobs: `
 32 t=7350,7300,7400 pe=.94
 64 t=3750,3700,3800 pe=.92
128 t=3950,3900,4000 pe=.80 part=eco mhz=2000`},
	{name: "hardware threads as cores", never: []string{blamesCores}, jobs: to128 + `
256 t=8300,8250,8350 pe=.82 nodes=2 smt=2 mask=128`},
	{name: "weak scaling with a rising share per rank", never: []string{blamesCores, triesFewer}, jobs: `
 64 t=3600,3590,3610 pe=.95
128 t=4180,4170,4190 pe=.90
256 t=4870,4860,4880 pe=.85`},
	{name: "weak scaling that loses efficiency", never: []string{blamesCores, triesFewer}, jobs: `
 64 t=3600,3590,3610 pe=.95
128 t=4200,4190,4210 pe=.81
256 t=5400,5390,5410 pe=.63`},
	{name: "neither strong nor weak", never: []string{blamesCores}, jobs: `
 64 t=3600,3590,3610 pe=.95
128 t=2880,2870,2890 pe=.90
256 t=4367,4350,4380 pe=.45`},
	{name: "noisy neighbours at the larger count", says: []string{"wait(ed|s|ing)? for a (CPU|core)|shared"}, never: []string{blamesCores}, jobs: `
 32 t=7350,7300,7400 pe=.94
 64 t=3750,3700,3800 pe=.92
128 t=5200,5100,5300 pe=.55 busy=.55 queue=.42`},
	{name: "a month in which everything took longer", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 day=60
128 t=7773,7700,7850 pe=.88 day=58
256 t=8208,8180,8250 pe=.50`},
	{name: "file system at the larger count", never: []string{blamesCores}, jobs: to128 + `
256 t=8940,8900,9000 pe=.72`},
	{name: "MPI-IO at the larger count", says: []string{`job: MPI_File|I/O`}, never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=9500,9400,9600 pe=.36 io=.5`},
	{name: "the rise is within the spread", never: []string{blamesCores}, jobs: to128 + `
128 t=5800,7773,10400 pe=.80
256 t=6500,8500,11000 pe=.40`},
	{name: "a replicated serial part", never: []string{blamesCores}, jobs: `
 64 t=4000,3990,4010 pe=.90
128 t=4300,4290,4310 pe=.55 lb=.59`},
	{name: "contention beside a true rise", says: []string{"wait(ed|s|ing)? for a (CPU|core)|shared"}, jobs: to128 + `
256 t=10880,10800,11000 pe=.45 busy=.68 queue=.30`},
}

// otherRuns: the larger count is of other work, or too little was run.
var otherRuns = []situation{
	{name: "refined input, known", never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=9000,8950,9050 pe=.75 input=finer`},
	{name: "refined input, unknown", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 input=-
128 t=7773,7700,7850 pe=.88 input=-
256 t=8890,8800,8950 pe=.50 input=-`},
	{name: "input on standard input, twice the work", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 input=-
128 t=7773,7700,7850 pe=.88 input=-
256 t=13676,13600,13700 pe=.55 input=-`},
	{name: "an array with its parameter in the environment", never: []string{blamesCores}, jobs: `
 64 t=3000,9000,15000,6000 pe=.93 input=-
128 t=11000,12500,7000 pe=.55 input=-`},
	{name: "one name for two inputs", never: []string{blamesCores}, jobs: `
 64 t=3600,3590,3610 pe=.95 name=prod
128 t=1940,1930,1950 pe=.88 name=prod
256 t=5130,5100,5150 pe=.50 name=prod input=large`},
	{name: "one name for a debug build", never: []string{blamesCores}, jobs: `
 64 t=3600,3590,3610 pe=.95 name=prod
128 t=1940,1930,1950 pe=.88 name=prod
256 t=4100,4000,4150 pe=.55 name=prod build=debug`},
	{name: "more steps after a restart", never: []string{blamesCores}, jobs: to128 + `
256 t=8890,8800,8950 pe=.50 calls=29000`},
	{name: "one run on each count", jobs: `
 64 t=14400 pe=.95
128 t=7773 pe=.88
256 t=10880 pe=.314`},
	{name: "a scaling test in one job", never: []string{"job: lost your|you lost"}, jobs: `
 1 t=25600 pe=.99 job=a alloc=64
 2 t=13000 pe=.98 job=a
 4 t=6600 pe=.96 job=a
 8 t=3500 pe=.92 job=a
16 t=2000 pe=.80 job=a
32 t=1600 pe=.50 job=a
64 t=2600 pe=.15 job=a`},
	{name: "a scaling test in jobs of one day", jobs: `
 32 t=28000 pe=.97 day=3
 64 t=14400 pe=.95 day=2.9
128 t=7773 pe=.88 day=2.8
256 t=10880 pe=.314 day=2.7`},
	{name: "the faster count was another user's", never: []string{"mail: ."}, jobs: `
 64 t=14400,14350,14500 pe=.95 user=bert
128 t=7773,7700,7850 pe=.88 user=bert
256 t=10880,10800,11000 pe=.314`},
	{name: "ranks with threads on the smaller count", never: []string{blamesCores}, jobs: `
 16 t=14400,14350,14500 pe=.95 cpt=4
 64 t=15000,14900,15100 pe=.70`},
	{name: "every run has arguments of its own", never: []string{blamesCores, triesFewer}, jobs: `
256 t=7200 pe=.40 args=1
256 t=7300 pe=.40 args=2
256 t=7100 pe=.40 args=3`},
}

// lowEfficiency: much was lost, and fewer cores were measured to do.
var lowEfficiency = []situation{
	{name: "fewer cores hardly take longer", mails: 1, jobs: wasted, says: []string{"mail: 64", "job: 64"}},
	{name: "1024 cores for what 256 do", mails: 1, says: []string{"mail: 256"}, jobs: `
 256 t=3780,3750,3800 pe=.381
1024 t=3600,3580,3620 pe=.10`},
	{name: "eight times the efficient count each week", mails: 1, says: []string{"mail: (128|256)"}, jobs: `
 64 t=19055,19000,19100 pe=.82
128 t=11160,11100,11200 pe=.70
256 t=7812,7800,7850 pe=.50
512 t=6510,6500,6550 pe=.30`},
	{name: "the same with noise of 5 %, five runs each", mails: 1, says: []string{"mail: (128|256)"}, jobs: `
 64 t=19055,20000,18100,19800,18700 pe=.82
128 t=11160,11700,10600,11300,10900 pe=.70
256 t=7812,8200,7500,7700,8000 pe=.50
512 t=6510,6200,6800,6400,6700 pe=.30`},
	{name: "1024 cores at 0.12 with noise of 10 %", mails: 1, says: []string{"mail: (128|256)"}, jobs: `
 128 t=6900,7600,7000,6500 pe=.55
 256 t=5100,5600,4700,5300 pe=.37
1024 t=3900,4300,3600,4100 pe=.12`},
	{name: "a hundred jobs of one workload", mails: 1, says: []string{"mail: 100 jobs", "mail: 16"}, jobs: `
16 t=9000,8950,9050 pe=.90
64 t=8437,8400,8480 pe=.24 x=100`},
	{name: "many short jobs", mails: 1, says: []string{"mail: 60 jobs", "mail: 16"}, jobs: `
16 t=750,748,752 pe=.90
64 t=703,700,706 pe=.24 x=60`},
	{name: "half of the ranks are idle in every run", mails: 1, says: []string{"mail: 64"}, jobs: `
 64 t=7000,6950,7050 pe=.90
128 t=7000,6950,7050 pe=.90 idle=64 lb=.99`},
	{name: "two workloads to tell", mails: 1, several: true, says: []string{"mail: solver", "mail: flow", "mail: 32"}, jobs: wasted + `
 32 t=17000,16900,17100 pe=.85 prog=flow
128 t=15500,15400,15600 pe=.233 prog=flow`},
	{name: "one to tell, one that nobody can tell", mails: 1, says: []string{"mail: 64"}, never: []string{"mail: hybrid"}, jobs: `
 64 t=7200,7200 pe=.40 prog=hybrid cpt=4` + wasted},
	{name: "a time limit, and completed runs that say the same", mails: 1, says: []string{"mail: 64"}, jobs: `
 64 t=9200,9150,9250 pe=.85
256 t=8000,8100,8050 pe=.245
256 t=7000 pe=.25 state=TIMEOUT`},
}

// notFewer: much was lost, and fewer cores are not known to help, or surely do not.
var notFewer = []situation{
	{name: "as bad on every count", never: []string{triesFewer}, jobs: `
16 t=20000,19900,20100 pe=.40
64 t=5000,4980,5020 pe=.40`},
	{name: "one count at 0.40", never: []string{triesFewer}, jobs: `
256 t=7200,7100,7300 pe=.40`},
	{name: "the saving may be none", jobs: `
256 t=5000,12500 pe=.50
512 t=4500,9500 pe=.30`},
	{name: "imbalance only", says: []string{"job: (imbalance|unequal)"}, never: []string{triesFewer}, jobs: `
 64 t=20000,19900,20100 pe=.48 lb=.50
256 t=5050,5000,5100 pe=.475 lb=.50`},
	{name: "imbalance only, on one count", says: []string{"job: (imbalance|unequal)"}, never: []string{triesFewer}, jobs: `
256 t=7200,7100,7300 pe=.475 lb=.50`},
	{name: "rank 0 reads a file", never: []string{triesFewer}, jobs: `
256 t=7200,7100,7300 pe=.35 first=.99 in=MPI_Bcast`},
	{name: "rank 0 reads a file, the others sleep", never: []string{triesFewer}, jobs: `
256 t=7200,7100,7300 pe=.35 first=.99 in=MPI_Bcast busy=.37`},
	{name: "an idle master of eight", never: []string{triesFewer, "too few parts"}, jobs: `
8 t=72000,71000,73000 pe=.85 lb=.98 first=.01`},
	{name: "an idle master of two", never: []string{triesFewer, "too few parts"}, jobs: `
2 t=250000 pe=.97 lb=.99 first=.01 day=5`},
	{name: "two I/O servers of 64", never: []string{triesFewer, "too few parts"}, jobs: `
64 t=14400,14300,14500 pe=.80 lb=.98 idle=2`},
	{name: "eight I/O servers of 64", never: []string{triesFewer, "too few parts"}, jobs: `
64 t=14400,14300,14500 pe=.84 lb=.98 idle=8`},
	{name: "two programs in one world", never: []string{triesFewer}, jobs: `
128 t=7200,7100,7300 pe=.80 lb=.98 idle=32 warn=executables`},
	{name: "GPUs that Slurm tracks", never: []string{triesFewer}, jobs: `
 64 t=8800,8750,8850 pe=.85 gpus=4
256 t=8000,7950,8050 pe=.234 gpus=16`},
	{name: "GPUs that Slurm does not track", says: []string{"job: GPU"}, never: []string{triesFewer}, jobs: `
 64 t=8800,8750,8850 pe=.85 opened=1
256 t=8000,7950,8050 pe=.234 opened=1`},
	{name: "threads that nobody asked for", says: []string{"job: threads"}, never: []string{"idle cores", triesFewer}, jobs: `
8 t=28000,27900,28100 pe=.60 alloc=64 threads=8 other=.9 mask=64`},
	{name: "a thread that makes progress", says: []string{"job: progress"}, never: []string{triesFewer}, jobs: `
64 t=7200,7100,7300 pe=.93 alloc=128 nodes=2 threads=2 other=.99 thread=async_progress`},
	{name: "hybrid, threads not measured", says: []string{"cannot tell|not measured"}, never: []string{triesFewer}, jobs: `
64 t=7200,7100,7300 pe=.50 cpt=4`},
	{name: "half of each node, for its memory", never: []string{triesFewer}, jobs: `
64 t=7200,7100,7300 pe=.93 alloc=128 nodes=2`},
	{name: "cores that are counted as hardware threads", never: []string{"idle cores"}, jobs: `
64 t=14400,14300,14500 pe=.93 alloc=128 nodes=1 smt=2`},
	{name: "most ranks were idle once", never: []string{triesFewer}, jobs: `
128 t=7200,7100,7300 pe=.93
128 t=7200 pe=.93 idle=96`},
	{name: "the MPI part is a tenth of the job", never: []string{triesFewer}, jobs: `
64 t=1400,1390,1410 pe=.40 more=12600`},
	{name: "they went to fewer cores by themselves", never: []string{"mail: ."}, jobs: `
256 t=8000,7950,8050 pe=.234 day=6
 64 t=8800,8750,8850 pe=.85 day=2`},
}

// badEndings: the job did not end well, or is not all there.
var badEndings = []situation{
	{name: "a report of some ranks", jobs: to128 + "\n256 t=10880,10800,11000 pe=.314 cov=.85"},
	{name: "a rank is still running", never: []string{"confidence high|high confidence"}, jobs: to128 + "\n256 t=10880,10800,11000 pe=.314 warn=running"},
	{name: "one node's report is missing", never: []string{"confidence high|high confidence"}, jobs: to128 + "\n256 t=10880,10800,11000 pe=.314 missing=1"},
	{name: "out of memory", says: []string{"job: out of memory|more memory"}, never: []string{triesFewer}, jobs: to128 + "\n256 t=7000,7100,7200 pe=.40 state=OUT_OF_MEMORY"},
	{name: "a node failed", never: []string{triesFewer}, jobs: "256 t=7000,7100,7200 pe=.40 state=NODE_FAIL"},
	{name: "failed", never: []string{triesFewer}, jobs: "256 t=7000,7100,7200 pe=.40 state=FAILED"},
	{name: "cancelled", never: []string{triesFewer}, jobs: "256 t=7000,7100,7200 pe=.40 state=CANCELLED"},
	{name: "preempted", never: []string{triesFewer}, jobs: "256 t=7000,7100,7200 pe=.40 state=PREEMPTED"},
	{name: "hung until the time limit", says: []string{"job: hung|hang|stood still"}, never: []string{triesFewer}, jobs: "256 t=86000 pe=.10 state=TIMEOUT in=MPI_Barrier day=4"},
	{name: "a chain of jobs that end by the time limit", never: []string{triesFewer}, jobs: "256 t=14390,14390,14390 pe=.55 state=TIMEOUT"},
	{name: "failed on many cores, fewer were well", never: []string{blamesCores, triesFewer}, jobs: to128 + "\n256 t=900,950,1000 pe=.30 state=FAILED"},
}

// contention: ranks did not have a CPU each, or did not use it.
var contention = []situation{
	{name: "two ranks on each core", says: []string{"job: cpu-bind"}, never: []string{triesFewer}, jobs: `
64 t=14400,14300,14500 pe=.98 lb=.99 busy=.50 queue=.48 mask=32`},
	{name: "two ranks on each core, at 0.60", says: []string{"job: cpu-bind"}, never: []string{triesFewer}, jobs: `
 32 t=14400,14300,14500 pe=.95
 64 t=14000,13900,14100 pe=.60 busy=.50 queue=.48 mask=32`},
	{name: "four ranks on two CPUs", says: []string{"job: -c |--cpus-per-task|--ntasks"}, never: []string{triesFewer}, jobs: `
4 t=100000 pe=.90 busy=.50 queue=.45 alloc=2 mask=2 day=3`},
	{name: "throttled", says: []string{"job: wait(ed|s|ing)? for a (CPU|core)"}, never: []string{triesFewer}, jobs: `
64 t=14400,14300,14500 pe=.70 busy=.78 queue=.20`},
	{name: "ranks that sleep", says: []string{"job: slept|sleep|waited for a file|did not use (its|their) CPU", `workload: n_eff \d+`}, jobs: `
 16 t=28000,27900,28100 pe=.97 busy=.50
 64 t=7200,7150,7250 pe=.94 busy=.50
256 t=2013,2000,2025 pe=.84 busy=.50`},
}

// wrongStart: the job was started in a way that wastes most of it.
var wrongStart = []situation{
	{name: "eight copies of one program", mails: 1, says: []string{"mail: --mpi=pmix"}, never: []string{triesFewer}, jobs: `
1 copies=8 t=72000,71000 pe=.999`},
	{name: "sixteen copies, three jobs", mails: 1, says: []string{"mail: --mpi=pmix", "mail: 3 jobs"}, jobs: `
1 copies=16 t=36000,35000,36500 pe=.999 prog=flow`},
	{name: "eight programs with an input each", never: []string{"mail: .", "does the whole work"}, jobs: `
1 copies=8 inputs=several t=72000,71000 pe=.999`},
	{name: "three of four nodes unused", mails: 1, says: []string{"mail: --nodes=1"}, jobs: `
64 t=14400,14300,14500 pe=.93 alloc=256 nodes=4 on=1`},
	{name: "six of eight nodes unused", mails: 1, says: []string{"mail: --nodes=2"}, jobs: `
128 t=14400,14300,14500 pe=.93 alloc=512 nodes=8 on=2`},
	{name: "four nodes, MPI on one, the others busy", never: []string{"--nodes=1"}, jobs: `
64 t=14400,14300,14500 pe=.93 alloc=256 nodes=4 on=1 totalcpu=.95`},
	{name: "four nodes, MPI on one, nobody knows of the others", never: []string{"--nodes=1"}, jobs: `
64 t=14400,14300,14500 pe=.93 alloc=256 nodes=4 on=1 usage=unknown`},
}

// mails: who is written to, how often, of how much.
var mails = []situation{
	{name: "too little to save", jobs: `
 64 t=880,875 pe=.85
256 t=800,795 pe=.234`},
	{name: "a little more to save", mails: 1, says: []string{"mail: 64"}, jobs: `
 64 t=1100,1095 pe=.85
256 t=1000,995 pe=.234`},
	{name: "a small part of what they used", jobs: `
1024 t=36000 pe=.95 prog=big day=3
  64 t=1067,1060,1075 pe=.85
 256 t=970,965,975 pe=.234`},
	{name: "told two weeks ago", earlier: wasted, jobs: wasted},
	{name: "told five weeks ago, and nothing changed", mails: 1, ago: 35, earlier: wasted, jobs: wasted, says: []string{"mail: 64"}},
	{name: "told, and better since", mails: 1, earlier: wasted, says: []string{"mail: better"}, never: []string{"mail: Instead of"}, jobs: `
64 t=8800,8750,8850,8800,8820 pe=.85`},
	{name: "muted", jobs: wasted, muted: 20},
	{name: "no longer muted", jobs: wasted, muted: -3, mails: 1, says: []string{"mail: 64"}},
	{name: "three hundred workloads", mails: 1, several: true, says: []string{"mail: 295 (more|other)"}, jobs: `
16 t=9000,8950 pe=.90 loads=300
64 t=8437,8400 pe=.24 loads=300`},
	{name: "Slurm has not told of it", jobs: to128 + "\n256 t=10880,10800,11000 pe=.314 noslurm=1"},
	{name: "two users of one program", mails: 2, several: true, says: []string{"mail: To: <anna@.* 64", "mail: To: <bert@.* 32"},
		never: []string{"mail: To: <anna@.*Instead of 128", "mail: To: <bert@.*Instead of 256"}, jobs: `
 32 t=17000,16900,17100 pe=.85 user=bert
128 t=15500,15400,15600 pe=.233 user=bert` + wasted},
	{name: "a rule of the site's own", mails: 1, several: true, jobs: "256 t=7200,7100,7300 pe=.40", says: []string{"mail: --ntasks=64"},
		rules: "[[rule]]\nname = \"site\"\ncondition = \"ranks > 1 and parallel_efficiency < 0.5\"\ntext = \"Submit it with --ntasks=64, as our guide says.\"\n"},
	{name: "a rule of the site's own on ranks that share cores", mails: 1, jobs: "64 t=14400,14300,14500 pe=.98 lb=.99 busy=.50 queue=.48 mask=32",
		says: []string{"mail: share 32 CPUs", "mail: mpirun -n 64 --map-by socket:PE=1 --bind-to core YOUR-PROGRAM"}, rules: asksForCPUs},
	{name: "a rule of the site's own on too few CPUs", mails: 1, jobs: "4 t=100000 pe=.90 busy=.50 queue=.45 alloc=2 mask=2 day=3",
		says: []string{"mail: share 2 CPUs", "mail: sbatch --nodes=1 --ntasks=4 --cpus-per-task=1 --time=.* YOUR-SCRIPT"}, rules: asksForCPUs},
	{name: "the site leaves a user out", jobs: past256,
		rules: "[[rule]]\nname = \"past-inflexion\"\ncondition = \"user != 'anna' and past_inflexion\"\n[[rule]]\nname = \"low-efficiency\"\ncondition = \"user != 'anna' and ranks > 1 and parallel_efficiency < 0.8\"\n"},
	{name: "short tries while they write the program", jobs: "16 t=300 pe=.30 x=20 args=try"},
}

// numbers: what cannot be, and how figures are written.
var numbers = []situation{
	{name: "an efficiency above one", never: []string{cannotBe}, jobs: "64 t=7200,7100,7300 pe=4.22"},
	{name: "one rank computed longer than it ran", never: []string{cannotBe}, jobs: "64 t=7200,7100,7300 pe=.60 first=8"},
	{name: "a negative time", never: []string{cannotBe}, jobs: "64 t=7200,7100,7300 pe=-.50 lb=1"},
	{name: "just below 0.80", never: []string{"0[.]80[0-9]*, below"}, jobs: "64 t=14400,14300,14500 pe=.7996"},
	{name: "a section of no weight", never: []string{"job: pack"}, jobs: "256 t=7200,7100,7300 pe=.40 section=.000001"},
}
