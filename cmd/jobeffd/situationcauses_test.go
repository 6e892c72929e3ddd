package main

// withoutWork: CPUs had no rank and no thread, or only seem to.
var withoutWork = []situation{
	{name: "eight CPUs for each rank, and no threads", says: []string{"job: ^Most of .* 448 of 512 CPUs had no rank", "page: 448 of 512 CPUs"}, never: []string{"above the 0.80", "mail: ."}, jobs: `
64 t=14400,14300,14500 pe=.95 cpt=8 threads=1 nodes=8`},
	{name: "64 ranks on 256 CPUs", says: []string{"job: ^Most of .* 192 of 256 CPUs had no rank"}, never: []string{"above the 0.80", "mail: ."}, jobs: `
64 t=14400,14300,14500 pe=.95 alloc=256 nodes=4`},
	{name: "one rank on 64 CPUs", says: []string{"job: ^Most of .* 63 of 64 CPUs had no rank"}, never: []string{"mail: ."}, jobs: `
1 t=14400,14300,14500 pe=1 alloc=64`},
	{name: "half of the cores, each with two hardware threads", says: []string{"job: 64 of 128 CPUs had no rank"}, jobs: `
32 t=14400,14300,14500 pe=.95 smt=2 alloc=128 nodes=1`},
	{name: "MPI took more than the CPUs without a rank", says: []string{"job: ^24 of 88 CPUs had no rank", "job: MPI is slow"}, never: []string{"CPUs without work"}, jobs: `
64 t=14400,14300,14500 pe=.3 alloc=88 nodes=2`},
	{name: "a fifth of the CPUs without a rank", says: []string{"job: above the 0.80"}, never: []string{"of 64 CPUs"}, jobs: `
52 t=14400,14300,14500 pe=.95 alloc=64`},
	{name: "a rank on each core, with two hardware threads", says: []string{"job: above the 0.80", "job: cover [45]. % of the allocated core time [(]another [45]. % are further", "page: of them on further hardware threads of its cores [(]not lost[)], [34][0-9.]+ lost"}, never: []string{"without a rank", "of 128 CPUs"}, jobs: `
64 t=14400,14300,14500 pe=.85 smt=2 alloc=128 nodes=1`},
	{name: "a rank on each hardware thread", says: []string{"job: above the 0.80"}, never: []string{"without a rank", "of 128 CPUs", "further hardware"}, jobs: `
128 t=14400,14300,14500 pe=.95 smt=2 alloc=128 nodes=1 mask=128`},
	{name: "threads on the CPUs of each rank", says: []string{"job: above the 0.80"}, never: []string{"without a rank", "of 64 CPUs"}, jobs: `
16 t=14400,14300,14500 pe=.95 cpt=4 team=4 works=.95 barriers=.05`},
	{name: "something else ran on the CPUs without a rank", never: []string{"without work", "of 256 CPUs"}, jobs: `
64 t=14400,14300,14500 pe=.95 alloc=256 nodes=4 totalcpu=.95`},
}

// manyRuns of a workload: the newest of each core count make the curve, and all are told.
var manyRuns = []situation{
	{name: "the oldest of many runs", says: []string{"job: 71 runs, 51 of them looked at: the newest on each core count", "workload: 71 runs", "workload: 1,278 used by all its runs, 63[.]9 of them not useful"},
		never: []string{"not among the runs"}, jobs: `
64 t=1000 pe=.95 x=70
64 t=1900 pe=.95 day=30`},
	{name: "few runs", says: []string{"job: 3 runs on 64 cores", "workload: 768 used by all its runs"}, never: []string{"looked at"}, jobs: `
64 t=14400,14350,14450 pe=.95`},
}

// nearIt: much overhead, and the inflexion point is near or is not known to be.
var nearIt = []situation{
	{name: "much overhead on the most cores", mails: 1, says: []string{"job: inflexion point, .* is near"}, jobs: wasted},
	{name: "much overhead, and more cores were faster", mails: 1, never: []string{"is near"}, jobs: `
 64 t=8800,8750,8850 pe=.85
512 t=7000,6950,7050 pe=.134
256 t=8000,7950,8050 pe=.234`},
	{name: "much overhead in one job", never: []string{"is near"}, jobs: `
 64 t=8800,8750,8850 pe=.85
256 t=8000 pe=.234`},
	{name: "much overhead on the only count", never: []string{"is near"}, jobs: `
256 t=8000,7950,8050 pe=.234`},
}

// oneCause: the first line and the advice blame the same.
var oneCause = []situation{
	{name: "threads that are serial on more cores, and fewer cores save", mails: 1, says: []string{"mail: --ntasks=4 --cpus-per-task=4 ", "job: outside of parallel regions"}, never: []string{"uneven work", blamesMPI}, jobs: `
 4 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=.9 barriers=.02
16 t=10246,10200,10300 pe=.95 cpt=4 team=4 works=.1 barriers=.02`},
	{name: "ranks with threads and unequal work", says: []string{"job: unequal work", "job: Advice none: most of the lost time is uneven work"}, never: []string{triesFewer, "OpenMP lost"}, jobs: `
 4 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=.95
16 t=8000,7950,8050 pe=.428 lb=.44 cpt=4 team=4 works=.95`},
}

// siblings: other runs on the same cores.
var siblings = []situation{
	{name: "another mix was a third faster", says: []string{"job: Mix 16 ranks x 4 threads took 25 % less time than 64 ranks x 1 thread on as many cores [(]3 runs and 3[)]", "page: Mix 16 ranks"}, jobs: `
16 t=12000,11950,12050 pe=.95 cpt=4 team=4 works=1
64 t=16000,15950,16050 pe=.712`},
	{name: "the faster mix was asked about", never: []string{"job: Mix "}, jobs: `
64 t=16000,15950,16050 pe=.712
16 t=12000,11950,12050 pe=.95 cpt=4 team=4 works=1`},
	{name: "a run took three times as long as the others", says: []string{"job: it took 3[.]0 times as long as the median of the 3 other runs on 64 cores"}, jobs: `
64 t=14400,14350,14500 pe=.95
64 t=43200 pe=.317`},
	{name: "a run took a little longer than the others", never: []string{"Unusual"}, jobs: `
64 t=14400,14350,14500 pe=.95
64 t=17000 pe=.80`},
	{name: "two runs, and nobody knows which is odd", never: []string{"Unusual"}, jobs: `
64 t=14400 pe=.95
64 t=43200 pe=.317`},
}

// atTheLimit: jobs that hardly computed, and waited in no single call.
var atTheLimit = []situation{
	{name: "hardly computed up to its limit, in several calls", says: []string{"job: ran up to the time limit. It may have hung: its ranks computed for 4 % of the time"}, never: []string{"mail: .", notToldOf}, jobs: `
256 t=86000 pe=.04 state=TIMEOUT in=MPI_Allreduce day=4`},
	{name: "computed a little more up to its limit", never: []string{"mail: .", "(it|have|ranks) hung"}, jobs: `
256 t=86000 pe=.06 state=TIMEOUT in=MPI_Allreduce day=4`},
	{name: "hardly computed, and came to its end", never: []string{"(it|have|ranks) hung"}, jobs: `
256 t=8600 pe=.04 in=MPI_Allreduce day=4`},
}

// alike: runs on the same cores hardly differ, or too few tell it.
var alike = []situation{
	{name: "two runs on each count that differ by one per cent", mails: 1, says: []string{"mail: 128"}, never: []string{"differ too much", "too few runs"}, jobs: `
128 t=7773,7850 pe=.88
256 t=10880,10990 pe=.314`},
	{name: "two runs on each count that differ by four per cent", mails: 1, says: []string{"page: too few runs"}, never: []string{blamesCores, "differ too much"}, jobs: `
128 t=7773,8090 pe=.88
256 t=10880,11320 pe=.314`},
	{name: "a rise as large as its runs differ", mails: 1, says: []string{"page: differ too much"}, never: []string{blamesCores, "too few runs"}, jobs: `
128 t=7773,9500 pe=.88
256 t=10880,13500 pe=.314`},
}
