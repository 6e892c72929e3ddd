package main

// noRequest matches what must not be printed where no request follows.
const noRequest = `YOUR-SCRIPT|Ask for`

// memoryNeeds are jobs whose nodes tell what memory they needed.
var memoryNeeds = []situation{
	{name: "five runs need 2 of 32 GiB", says: []string{"job: Ask for less memory[.]", "job: --mem=28", "workload: Ask for less memory", "page: --mem=28"}, never: []string{"more memory"},
		jobs: "1 t=3600 x=5 bare=1 alloc=4 totalcpu=.9 given=32 kept=2"},
	{name: "one run needed 2 of 32 GiB", says: []string{"job: Ask for less memory[.] It would have fitted 1 completed run, with a reserve of 4\\d % on the most memory"},
		jobs: "1 t=3600 bare=1 alloc=4 totalcpu=.9 given=32 kept=2"},
	{name: "they need 26 of 32 GiB", says: []string{"job: Leave the request as it is", "job: --mem=32768M"}, never: []string{"Ask for (less|more)"},
		jobs: "1 t=3600 x=9 bare=1 alloc=4 totalcpu=.9 given=32 kept=24,26"},
	{name: "two of 23 runs need 58 of 64 GiB", says: []string{"job: 21 of these needed much less, and what tells them apart is not known", "job: --mem=[678]"}, never: []string{"Ask for less memory"},
		jobs: "1 t=3600 x=23 bare=1 alloc=4 totalcpu=.9 given=64 kept=4,4,4,4,4,58,4,4,4,4,4,4"},
	{name: "three of 24 need 58 of 128 GiB", says: []string{"job: --mem=[678]\\d{4}M", "job: for such a one, --mem=[45]\\d{3}M is enough"},
		jobs: "1 t=3600 x=24 bare=1 alloc=4 totalcpu=.9 given=128 kept=4,4,4,4,4,58,4,4"},
	{name: "the run before ran out of memory", says: []string{"job: --mem=16384M", "job: Job 1000 ran out of 8[.]0 GiB on a node [(]1 of 2 jobs did[)]; how much it needed is not known, and at least twice that is asked for"}, never: []string{"--mem=[4-9]\\d{3}M"}, jobs: `
1 t=3600 bare=1 alloc=4 totalcpu=.9 given=8 kept=8 state=OUT_OF_MEMORY
1 t=3600 bare=1 alloc=4 totalcpu=.9 given=64 kept=4`},
	{name: "it ran out of memory itself", says: []string{"job: Ask for more memory", "job: --mem=16384M"}, never: []string{"less memory"}, jobs: `
1 t=3600 x=3 bare=1 alloc=4 totalcpu=.9 given=8 kept=4
1 t=1800 bare=1 alloc=4 totalcpu=.9 given=8 kept=8 state=OUT_OF_MEMORY`},
	{name: "one of thirty ran out of memory long ago", says: []string{"job: Ask for less memory", "job: 1 of 30 jobs did[)]; no less than that is asked for", "job: --mem=8192M"}, jobs: `
1 t=3600 bare=1 alloc=4 totalcpu=.9 given=8 kept=8 state=OUT_OF_MEMORY
1 t=3600 x=29 bare=1 alloc=4 totalcpu=.9 given=32 kept=4`},
	{name: "it ran out of memory, and a larger one answered", says: []string{"job: --mem=1[2-5]\\d{3}M", "job: fitted 1 completed run"}, never: []string{"twice that"}, jobs: `
1 t=3600 bare=1 alloc=4 totalcpu=.9 given=8 kept=8 state=OUT_OF_MEMORY
1 t=3600 bare=1 alloc=4 totalcpu=.9 given=32 kept=9`},
	{name: "all of its memory was full, and it was completed", never: []string{"less memory"}, jobs: "1 t=3600 x=6 bare=1 alloc=4 totalcpu=.9 given=8 kept=2 full=1"},
	{name: "a task whose array's others need 30 of 32 GiB", never: []string{"job: Ask for less memory"}, says: []string{"job: --mem=3[2-9]\\d{3}M|--mem=4"},
		jobs: "1 t=600 x=10 bare=1 task=1 alloc=4 totalcpu=.9 given=32 kept=30,30,30,30,30,30,30,30,30,4"},
	{name: "memory that no node told", says: []string{"job: Memory stays as it was: how much memory it needed was not read"}, never: []string{"--mem", "less memory"},
		jobs: "1 t=3600 x=6 bare=1 alloc=4 totalcpu=.9 given=32 held=4"},
	{name: "most nodes told", says: []string{"job: [(]known of 6[)]", "job: --mem="}, jobs: `
1 t=3600 x=3 bare=1 alloc=4 totalcpu=.9 given=32 held=4
1 t=3600 x=6 bare=1 alloc=4 totalcpu=.9 given=32 kept=4`},
	{name: "whole nodes, whose memory nobody else could have had", never: []string{"--mem", "Ask for less memory"}, says: []string{"job: it had whole nodes"},
		jobs: "64 t=7200,7210,7220 pe=.95 given=256 kept=20"},
	{name: "a whole node was too small for it", says: []string{"job: Ask for 2 nodes: it ran out of all the memory of 1", "job: --nodes=2 --ntasks=64"}, never: []string{"--mem=", "more memory"},
		jobs: "64 t=7200 pe=.95 given=256 kept=256 state=OUT_OF_MEMORY"},
	{name: "no more than the node has", says: []string{"job: No node that it may have gives more", "job: --mem=26[12]\\d{3}M"}, never: []string{"--mem=[3-9]\\d{5}M"},
		jobs: "32 t=7200 pe=.95 given=200 kept=200 state=OUT_OF_MEMORY"},
}

// timeNeeds are jobs and their limits.
var timeNeeds = []situation{
	{name: "two hours of three days", says: []string{"job: Ask for less time", "job: --time=0[2-4]:", "job: of its time limit of 3-00:00:00"}, never: []string{"more time"},
		jobs: "1 t=7200 x=6 bare=1 alloc=4 totalcpu=.9 limit=259200"},
	{name: "two hours of three", says: []string{"job: Leave the request as it is", "job: --time=03:00:00"}, never: []string{"Ask for"},
		jobs: "1 t=7200,7210,7190,7205,7195,7200 bare=1 alloc=4 totalcpu=.9 limit=10800"},
	{name: "an hour more than it had", says: []string{"job: Ask for more time", "job: --time=04:00:00"}, jobs: `
1 t=6000,6010,6100 bare=1 alloc=4 totalcpu=.9 limit=7200
1 t=7190 bare=1 alloc=4 totalcpu=.9 limit=7200 state=TIMEOUT`},
	{name: "a checkpoint at each limit", says: []string{"job: go on from a checkpoint", "job: --time=02:00:00"}, never: []string{"more time|less time"},
		jobs: "1 t=7160 x=6 bare=1 alloc=4 totalcpu=.9 limit=7200"},
	{name: "requeued at each limit", says: []string{"job: go on from a checkpoint", "job: --time=02:00:00"}, never: []string{"more time|less time"},
		jobs: "1 t=7190 x=6 bare=1 alloc=4 totalcpu=.9 limit=7200 state=TIMEOUT"},
	{name: "one of thirty reached its limit long ago", says: []string{"job: --time=0[4-9]", "job: Job 1000 reached its limit after 04:00:00 [(]1 of 30 jobs did[)]; no less than that is asked for"}, jobs: `
1 t=14390 bare=1 alloc=4 totalcpu=.9 limit=14400 state=TIMEOUT
1 t=3600 x=29 bare=1 alloc=4 totalcpu=.9 limit=86400`},
	{name: "it hung, and its limit is not asked for", never: []string{"--time", "more time"}, says: []string{"job: it may have hung"},
		jobs: "64 t=7200,7210 pe=.02 in=MPI_Recv limit=7200 state=TIMEOUT stuck=6000"},
	{name: "a limit far above what all others took", says: []string{"job: the others needed so much less that more is not known to help", "job: --time=1-00:00:00"}, never: []string{"more time"}, jobs: `
1 t=3600 x=8 bare=1 alloc=4 totalcpu=.9 limit=86400
1 t=86390 bare=1 alloc=4 totalcpu=.9 limit=86400 state=TIMEOUT`},
	{name: "a task that ran out of memory among many that did not", says: []string{"job: Ask for more memory", "job: --mem=16384M"}, jobs: `
1 t=600 x=12 bare=1 task=1 alloc=4 totalcpu=.9 given=8 kept=2
1 t=600 bare=1 alloc=4 totalcpu=.9 given=8 kept=8 state=OUT_OF_MEMORY`},
	{name: "a single run of two hours keeps its limit", says: []string{"job: --time=02:30:00"}, never: []string{"more time"}, jobs: "1 t=7200 bare=1 alloc=4 totalcpu=.9 limit=9000"},
	{name: "times that spread", says: []string{"job: Ask for more time"}, jobs: "1 t=7000,2000,9000,3000,5000,8000,4000,9500 bare=1 alloc=4 totalcpu=.9 limit=9600"},
}

// cpuNeeds are the cores of jobs without MPI.
var cpuNeeds = []situation{
	{name: "twelve runs kept 15 of 16 busy, and one did not", says: []string{"job: kept 0[.]96 of its 16 CPUs", "job: --cpus-per-task=16"}, never: []string{"one CPU", "fewer CPUs", "--cpus-per-task=1 "}, jobs: `
1 t=7200 x=12 bare=1 alloc=16 totalcpu=.94 given=16 kept=4
1 t=7200 bare=1 alloc=16 totalcpu=.06 given=16 kept=4`},
	{name: "all runs kept one of 16 busy", says: []string{"job: Ask for less memory and fewer CPUs", "job: --ntasks=1 --cpus-per-task=1 ", "page: fewer CPUs"}, never: []string{"--cpus-per-task=16"},
		jobs: "1 t=7200 x=6 bare=1 alloc=16 totalcpu=.06 given=32 kept=4"},
	{name: "one CPU of two", says: []string{"job: --cpus-per-task=2"}, never: []string{"fewer CPUs"}, jobs: "1 t=7200 x=6 bare=1 alloc=2 totalcpu=.5"},
	{name: "tasks and CPUs that do not part evenly", never: []string{"--ntasks", "--cpus-per-task"}, says: []string{"job: --nodes=1 --time"}, jobs: "3 t=7200,7210 pe=.95 alloc=4"},
	{name: "half of the CPUs busy", says: []string{"job: --cpus-per-task=16"}, never: []string{"fewer CPUs"}, jobs: "1 t=7200 x=6 bare=1 alloc=16 totalcpu=.5 given=32 kept=20"},
}

// people are sessions, and what else is no batch script.
var people = []situation{
	{name: "a session of salloc", says: []string{"job: it was no batch script"}, never: []string{noRequest}, jobs: "1 t=7200 bare=1 alloc=4 totalcpu=.9 given=64 kept=2 limit=259200 session=1"},
	{name: "a session that kept one of 16 CPUs busy", never: []string{noRequest, "kept .* of its 16", "that it asked for"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 limit=259200 session=1", rules: longLimit},
	{name: "a script that kept one of 16 CPUs busy", says: []string{"job: kept 0[.]96 of its 16", "job: of the 3-00:00:00 that it asked for"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 limit=259200", rules: longLimit},
	{name: "MPI in a session", says: []string{"job: it was no batch script"}, never: []string{"job: YOUR-SCRIPT"}, jobs: "16 t=7200,7210 pe=.95 limit=259200 session=1"},
	{name: "a session after batch scripts", says: []string{"job: it was no batch script", "workload now: YOUR-SCRIPT"}, never: []string{"job: YOUR-SCRIPT"}, several: true, jobs: `
16 t=7200,7210,7190 pe=.95 limit=259200
16 t=7200 pe=.95 limit=259200 session=1`},
	{name: "sixteen ranks that slept", says: []string{"job: On the mean it kept 0[.]798 of its 16"}, jobs: "16 t=7200 pe=.95 busy=.05 slept=.9"},
	{name: "one rank, sixteen CPUs", says: []string{"job: whether it started enough"}, jobs: "1 t=7200 pe=.95 alloc=16"},
	{name: "a batch script", says: []string{"job: YOUR-SCRIPT"}, jobs: "1 t=7200 bare=1 alloc=4 totalcpu=.9 given=64 kept=2 limit=259200"},
	{name: "it failed at once", says: []string{"job: no job of this size was completed"}, never: []string{noRequest}, jobs: "1 t=20 x=3 bare=1 alloc=4 totalcpu=.9 given=8 kept=1 state=FAILED"},
	{name: "it failed, and others were completed", says: []string{"job: --mem=", "job: fitted 6 completed runs"}, jobs: `
1 t=3600 x=6 bare=1 alloc=4 totalcpu=.9 given=32 kept=4
1 t=20 bare=1 alloc=4 totalcpu=.9 given=32 kept=1 state=FAILED`},
	{name: "cancelled, and another core count may be better", says: []string{"job: did not come to its end, so its core count is not compared"}, never: []string{"job: YOUR-SCRIPT"}, jobs: past256 + `
256 t=4000 pe=.31 state=CANCELLED`, mails: 1},
	{name: "GPUs keep their CPUs", says: []string{"job: --cpus-per-task=16"}, never: []string{"fewer CPUs"}, jobs: "1 t=7200 x=6 bare=1 alloc=16 totalcpu=.5 given=32 kept=20 gpus=1"},
}

// fewerGPUs matches what asks for fewer GPUs.
const fewerGPUs = "--gpus=|no GPU|GPUs? instead of"

// unusedGPUs are jobs with GPUs, most of which did little. The last ones may not be told so.
var unusedGPUs = []situation{
	{name: "two of four GPUs not used", says: []string{"job: No process used 2 of its 4 GPUs", "page: unused-gpus", "job: Ask for less memory, 2 GPUs instead of 4", "workload: 2 GPUs instead of 4", "job: --mem=\\d+M (--time=\\S+ )?--gpus=2 "},
		jobs: "1 t=7200 x=3 bare=1 alloc=16 totalcpu=.5 given=64 kept=4 limit=259200 gpus=4 kernels=.5,.5,none,none"},
	{name: "no GPU used, and no mail without core-hours", says: []string{"job: No process used its 2 GPUs", "job: no GPU", "page: Leave out what the script says of GPUs"}, never: []string{"mail: .", "--gpus="},
		jobs: "1 t=7200 x=3 bare=1 alloc=16 totalcpu=.5 given=20 kept=14 gpus=2 kernels=none,none"},
	{name: "unused GPUs that the site wants told", mails: 1, rules: "[[rule]]\nname = \"unused-gpus\"\ntext = \"GPUs are few here. {{.cause_text}}\"\n", says: []string{"mail: GPUs are few here[.] No process used 2 of its 4 GPUs", "mail: --gpus=2 "},
		jobs: "1 t=7200 x=3 bare=1 alloc=16 totalcpu=.5 given=64 kept=4 gpus=4 kernels=.5,.5,none,none"},
	{name: "ranks that left their GPUs idle", says: []string{"job: device-efficiency", "job: host side 0.95", "job: A kernel ran on its 4 GPUs in 6 % of the time", "page: nsys"}, never: []string{fewerGPUs, triesFewer, blamesCores},
		jobs: "4 t=7200,7210 pe=.95 alloc=16 gpus=4 kernels=.05,.06,.06,.05"},
	{name: "an earlier run used all GPUs", says: []string{"job: No process used 2 of its 4 GPUs"}, never: []string{fewerGPUs}, jobs: `
1 t=7200 bare=1 alloc=16 totalcpu=.5 given=20 kept=14 gpus=4 kernels=.5,.5,.5,.5
1 t=7200 bare=1 alloc=16 totalcpu=.5 given=20 kept=14 gpus=4 kernels=.5,.5,none,none`},
	{name: "of one GPU nothing is known", says: []string{"job: its figures are the host's alone"}, never: []string{fewerGPUs, "its 4 GPUs in", "job: unused-gpus|device-efficiency"},
		jobs: "1 t=7200 x=3 bare=1 alloc=16 totalcpu=.5 given=20 kept=14 gpus=4 kernels=none,none,none,?"},
	{name: "whole nodes with GPUs", says: []string{"job: its figures are the host's alone"}, never: []string{fewerGPUs, "job: unused-gpus|device-efficiency"},
		jobs: "1 t=7200 x=3 bare=1 alloc=64 totalcpu=.5 given=120 kept=100 gpus=4 kernels=.5,none,none,none"},
	{name: "a job with unused GPUs that failed", says: []string{"job: It failed"}, never: []string{fewerGPUs, "job: unused-gpus"},
		jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.5 given=20 kept=14 gpus=4 kernels=none,none,none,none state=FAILED"},
	{name: "GPUs of a short job", never: []string{fewerGPUs, "job: unused-gpus"}, jobs: "1 t=300 x=3 bare=1 alloc=16 totalcpu=.5 given=20 kept=14 gpus=4 kernels=none,none,none,none"},
}

// countsAsked are other core counts, with what they need there.
var countsAsked = []situation{
	{name: "memory and time as they were on the advised count", mails: 1, says: []string{"mail: --nodes=2 --ntasks=128 --ntasks-per-node=64 --cpus-per-task=1 --mem=1[45]\\d{4}M --time=0[34]:", "job: fitted 3 completed runs"}, jobs: `
 64 t=14400,14350,14500 pe=.95 kept=200
128 t=7773,7700,7850 pe=.88 kept=100
256 t=10880,10800,11000 pe=.314 kept=50`},
	{name: "the advised count ran out of memory", never: []string{"Ask for 128", "128 cores would have", "mail: ."}, jobs: `
128 t=7773,7700 pe=.88 day=9
128 t=3000,3100,3050 pe=.88 state=OUT_OF_MEMORY day=8
256 t=10880,10800,11000 pe=.314`},
	{name: "the advised count once reached its limit", mails: 1, says: []string{"mail: 128"}, jobs: `
 64 t=14400,14350,14500 pe=.95
128 t=7773 pe=.88 state=TIMEOUT limit=7800 day=9
128 t=7773,7700,7850,7760,7720,7790 pe=.88 day=8
256 t=10880,10800,11000 pe=.314`},
	{name: "a count that waits is left as it is", says: []string{"job: Leave the request as it is", "job: jobeff (where|explain)"}, never: []string{triesFewer}, jobs: "64 t=7200,7210,7220 pe=.60"},
	{name: "no count is known to be better, and less time is", says: []string{"job: Ask for less time"}, never: []string{triesFewer}, jobs: "64 t=7200,7210,7220 pe=.93 limit=86400"},
}
