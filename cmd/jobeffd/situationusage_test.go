package main

// These are for what Slurm's figures alone show. asks matches what must not be said to a job that used what it
// had, or of which too little is known. moreNodes and longLimit each take a rule out of the shadow.
const (
	asks      = `ask for|kept [\d.]+ of its|seen to need|needed at least|other work|several pieces|would have held|leave a reserve`
	moreNodes = "[[rule]]\nname = \"spare-nodes\"\nshadow = false\n"
	longLimit = "[[rule]]\nname = \"long-time-limit\"\nshadow = false\n"
)

// sayNothing: jobs without a record of a program, of which nothing may be asked.
var sayNothing = []situation{
	{name: "a busy job without MPI", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.95 given=32 held=20 limit=10000"},
	{name: "half of the cores busy", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.5 given=32 held=20"},
	{name: "one of two hardware threads", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=2 totalcpu=.5 given=4 held=2"},
	{name: "one of four hardware threads, and Slurm gives whole cores", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=4 smt=4 totalcpu=.25 given=4 held=2"},
	{name: "a busy thread on each core of two nodes", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=256 smt=4 nodes=2 totalcpu=.25 given=64 held=40", rules: moreNodes},
	{name: "Slurm counted nothing", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 usage=unknown given=64"},
	{name: "no step was sampled", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=64 held=0"},
	{name: "one core, and it failed", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 given=64 held=1 state=FAILED"},
	{name: "one core, and it was cancelled", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 given=64 held=1 state=CANCELLED"},
	{name: "little memory, and a step ran out of it", never: []string{"seen to need"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=64 held=1 oom=0"},
	{name: "memory of 1,228 %", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=4 totalcpu=.9 given=4 held=49.12"},
	{name: "one core beside a GPU", never: []string{"kept [\\d.]+ of its"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 given=16 held=14 gpus=1"},
	{name: "one core for five minutes", never: []string{asks}, jobs: "1 t=300 bare=1 alloc=16 totalcpu=.06 given=64 held=1"},
	{name: "one core, and Slurm has not told of it", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 given=64 held=1 noslurm=1"},
	{name: "whole nodes with little memory used", never: []string{"seen to need", `memory efficiency`}, jobs: "64 t=7200,7210 pe=.95 given=256 held=4"},
	{name: "twenty short tasks", never: []string{asks}, jobs: "1 t=12 x=20 bare=1 task=1 alloc=1 totalcpu=.9 given=2 held=1"},
	{name: "many long tasks", never: []string{asks}, jobs: "1 t=1200 x=120 bare=1 task=1 alloc=1 totalcpu=.9 given=2 held=1"},
	{name: "many tasks that fail at once", never: []string{asks}, jobs: "1 t=2 x=120 bare=1 task=1 alloc=1 totalcpu=.9 given=2 held=1 state=FAILED"},
	{name: "two busy nodes without MPI", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=32 nodes=2 totalcpu=.9 given=64 held=40", rules: moreNodes},
	{name: "two nodes for their memory", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=32 nodes=2 totalcpu=.3 given=64 held=60", rules: moreNodes},
	{name: "ranks that sleep on two nodes", never: []string{"would have held"}, jobs: "128 t=7200 pe=.9 totalcpu=.1 given=256 held=4", rules: moreNodes},
	{name: "a limit that it reached", never: []string{"ask for (more mem|less|fewer)"}, says: []string{"job: Ask for more time[.].*reached its limit after 02:00:00.*--time=04:00:00"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=32 held=20 limit=7200 state=TIMEOUT", rules: longLimit},
	{name: "an unlimited job", never: []string{asks}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=32 held=20", rules: longLimit},
}

// withoutMPI: jobs without a record of a program that are told something.
var withoutMPI = []situation{
	{name: "one busy core of sixteen", says: []string{"job: kept 0.96 of its 16 CPUs busy", "page: kept 0.96 of its 16 CPUs busy"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.06 given=16 held=14"},
	{name: "memory asked for and not used", says: []string{"job: seen to need 2.0 GiB of the 64.0 GiB"}, never: []string{"kept"}, jobs: "1 t=7200 bare=1 alloc=4 totalcpu=.9 given=64 held=2"},
	{name: "36 of 720 cores", says: []string{"job: counted 36.0 busy CPUs on the mean, and 40.0 GiB of memory, on its 20 nodes: 2 nodes would have held a fifth more than that. How many", "job: CPU efficiency 0.05"},
		jobs: "1 t=7200 bare=1 alloc=720 nodes=20 partnodes=1 totalcpu=.05 given=1000 held=40", rules: moreNodes},
	{name: "a limit far above the run", says: []string{"job: 02:00:20 of the 3-00:00:00"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=32 held=20 limit=259200", rules: longLimit},
	{name: "a limit far above the run, in shadow", never: []string{"job: leave a reserve"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=32 held=20 limit=259200"},
	{name: "many short tasks", says: []string{"job: ran for 32.0 s on the mean"}, jobs: "1 t=12 x=120 bare=1 task=1 alloc=1 totalcpu=.9 given=2 held=1"},
}

// bindings: busy threads on too few of the job's CPUs, under each launcher.
var bindings = []situation{
	{name: "srun bound all to core 0", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1 by=pmix:slurm.pmix.",
		says: []string{"job: srun --ntasks=8 --cpus-per-task=1 --cpu-bind=cores --distribution=block:cyclic YOUR-PROGRAM"}},
	{name: "srun bound all to core 0, with hardware threads", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1 smt=2 alloc=16 by=pmix:slurm.pmix.",
		says: []string{"job: srun --ntasks=8 --cpus-per-task=1 --threads-per-core=1 --cpu-bind=cores"}},
	{name: "srun bound all to core 0, and CPUs may be hardware threads", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1 smt=2 by=pmix:slurm.pmix.",
		says: []string{"job: may be a hardware thread[.]", "job: srun --ntasks=8 --cpus-per-task=1 --cpu-bind=threads YOUR-PROGRAM"}},
	{name: "Open MPI bound all to core 0, and CPUs may be hardware threads", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1 smt=2", never: []string{"mpirun", "a core for each"}},
	{name: "Open MPI bound all to core 0", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1", says: []string{"job: mpirun -n 8 --map-by socket:PE=1 --bind-to core YOUR-PROGRAM"}},
	{name: "an unknown launcher bound all to core 0", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1 by=start:", says: []string{"job: launcher is not known"},
		never: []string{"YOUR-PROGRAM"}},
	{name: "too few CPUs are no binding", jobs: "8 t=7200,7210 pe=.98 lb=.99 busy=.12 queue=.85 mask=1 alloc=1", never: []string{"mpirun", "srun --ntasks"}},
}
