package main

// blamesMPI matches what is wrong to say where OpenMP lost the time.
const blamesMPI = `MPI is slow|waiting for (the|one) (rank|node)`

// hybrid: ranks with threads that OpenMP ran.
var hybrid = []situation{
	{name: "one thread of four works", mails: 1, says: []string{"mail: Threads idle", "mail: --cpus-per-task=1", "job: Threads idle", "job: parallel efficiency 0.24"},
		never: []string{blamesMPI, blamesCores, triesFewer}, jobs: `
2 t=72000,71900,72100 pe=.95 lb=1 cpt=4 team=4 works=0 barriers=1`},
	{name: "one thread of eight works, its rank's others wait", mails: 1, says: []string{"mail: Threads idle", "mail: --cpus-per-task=1"},
		never: []string{blamesMPI, blamesCores, triesFewer}, jobs: `
2 t=72000,71900,72100 pe=.51 lb=.52 cpt=4 team=4 works=0 barriers=0`},
	{name: "threads that work evenly", never: []string{"Threads idle", blamesMPI, blamesCores, triesFewer, "cannot tell: threads|not measured"}, jobs: `
16 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=.95 barriers=.05`},
	{name: "half of the work in serial parts", says: []string{"job: outside of parallel regions"}, never: []string{blamesMPI, blamesCores}, jobs: `
16 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=.4 barriers=.05`},
	{name: "threads with unequal work", says: []string{"job: barriers", "job: schedule"}, never: []string{blamesMPI, blamesCores, triesFewer}, jobs: `
16 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=.4 barriers=.55`},
	{name: "MPI is to blame, not the threads", says: []string{"job: MPI is slow"}, never: []string{"OpenMP lost", "Threads idle"}, jobs: `
16 t=14400,14350,14500 pe=.50 cpt=4 team=4 works=.95 barriers=.05`},
	{name: "OpenMP without MPI", says: []string{"job: outside of parallel regions", "job: 16 threads"}, never: []string{"(elapsed|outside) .{0,9}MPI_Init", blamesMPI}, jobs: `
1 t=72000,71900,72100 pe=1 cpt=16 team=16 works=.2 barriers=.05 mpi=none`},
	{name: "OpenMP without MPI, well used", never: []string{"Threads idle", "not measured"}, jobs: `
1 t=72000,71900,72100 pe=1 cpt=16 team=16 works=.95 barriers=.05 mpi=none`},
	{name: "ranks with threads past the inflexion", mails: 1, says: []string{"mail: 128", "page: 128"}, jobs: `
16 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=1
32 t=7773,7700,7850 pe=.88 cpt=4 team=4 works=1
64 t=10880,10800,11000 pe=.314 cpt=4 team=4 works=1`},
	{name: "two mixes of one core count", says: []string{"workload: 16 ranks x 4 threads were fastest"}, never: []string{blamesCores, triesFewer}, jobs: `
16 t=14400,14350,14500 pe=.95 cpt=4 team=4 works=1
64 t=15900,15850,16000 pe=.86`},
}
