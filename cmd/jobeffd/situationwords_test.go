package main

// onlyWhereItFollows: words that hold of some jobs, and not of others that look like them.
var onlyWhereItFollows = []situation{
	{name: "waiting in MPI, of a job without MPI", says: []string{"job: CPU efficiency 0.90"}, never: []string{"waiting in MPI"}, jobs: "1 t=7200 bare=1 alloc=16 totalcpu=.9 given=32 held=20"},
	{name: "waiting in MPI", says: []string{"job: CPU efficiency .*; waiting in MPI counts as busy"}, jobs: "64 t=7200,7100,7300 pe=.93"},
}
