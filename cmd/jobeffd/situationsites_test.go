package main

// sites are situations of a heterogeneous site, of hostile users and of angry PIs.
func sites() []situation {
	return append(stillPast, otherCauses...)
}

// stillPast: fewer cores were better, whatever else there was.
var stillPast = []situation{
	{name: "an array of identical tasks", mails: 1, says: []string{"mail: 20 jobs", "mail: 128"}, jobs: to128 + `
256 t=10880,10800,11000,10900 pe=.314 x=20`},
	{name: "short jobs, past", mails: 1, says: []string{"mail: 40 jobs", "mail: 128"}, jobs: `
 64 t=432,430,435 pe=.95
128 t=233,231,235 pe=.88
256 t=326,324,330 pe=.314 x=40`},
	{name: "rank 0 writes a little, beside a true rise", mails: 1, says: []string{"mail: 128"}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 first=.40`},
	{name: "past so far that no rank computes for long", mails: 1, says: []string{"mail: 128"}, never: []string{"too few parts"}, jobs: to128 + `
256 t=85500,85000,86000 pe=.04 lb=.80`},
	{name: "uneven work beside a true rise", mails: 1, says: []string{"mail: 128"}, jobs: to128 + `
256 t=11400,11300,11500 pe=.30 lb=.85`},
	{name: "a little MPI-IO on any count", mails: 1, says: []string{"mail: 128"}, jobs: `
 64 t=14400,14350,14500 pe=.95 io=.02
128 t=7773,7700,7850 pe=.88 io=.03
256 t=10880,10800,11000 pe=.314 io=.05`},
	{name: "one run on fewer cores met a slow node", mails: 1, says: []string{"mail: 128"}, jobs: to128 + `
128 t=14000 pe=.733 lb=.75 slow=node
256 t=10880,10800,11000 pe=.314`},
	{name: "each start goes on from a file, one name", mails: 1, says: []string{"mail: 128"}, jobs: `
 64 t=14400,14350,14500 pe=.95 name=prod input=r1
128 t=7773,7700,7850 pe=.88 name=prod input=r2
256 t=10880,10800,11000 pe=.314 name=prod input=r3`},
	{name: "past, and the last one was preempted", mails: 1, says: []string{"mail: 128", "job: preempted"}, jobs: past256 + `
256 t=4000 pe=.31 state=PREEMPTED`},
	{name: "2048 cores for what 512 do", mails: 1, says: []string{"mail: 512"}, jobs: `
 512 t=9000,8950,9050 pe=.85
2048 t=7806,7750,7850 pe=.245`},
	{name: "nodes of 48 cores", mails: 1, says: []string{"mail: 96", "mail: --nodes=2"}, jobs: `
 48 t=19200,19100,19300 pe=.95 nodes=1
 96 t=10364,10300,10400 pe=.88 nodes=2
192 t=14522,14400,14600 pe=.314 nodes=4`},
	{name: "one week was slower on any count", mails: 1, says: []string{"mail: 128"}, jobs: `
 64 t=14400 pe=.95 day=20
128 t=7773 pe=.88 day=20
256 t=10880 pe=.314 day=20
 64 t=15900 pe=.95 day=13
128 t=8560 pe=.88 day=13
256 t=11980 pe=.314 day=13
 64 t=14350 pe=.95 day=5
128 t=7700 pe=.88 day=5
256 t=10800,11000 pe=.314 day=5`},
	{name: "an MPI that sleeps while it waits", mails: 1, says: []string{"mail: 128"}, never: []string{"somebody else|others used"}, jobs: `
 64 t=14400,14350,14500 pe=.95 busy=.95
128 t=7773,7700,7850 pe=.88 busy=.88
256 t=10880,10800,11000 pe=.314 busy=.32`},
	{name: "past on half of each node, for its memory", mails: 1, says: []string{"mail: 128", "mail: --nodes=4"}, jobs: `
 64 t=14400,14350,14500 pe=.95 alloc=128 nodes=2
128 t=7773,7700,7850 pe=.88 alloc=256 nodes=4
256 t=10880,10800,11000 pe=.314 alloc=512 nodes=8`},
	{name: "past where hardware threads are counted as CPUs", mails: 1, says: []string{"mail: 128", "mail: --nodes=2"}, jobs: `
 64 t=14400,14350,14500 pe=.95 smt=2 alloc=128 nodes=1
128 t=7773,7700,7850 pe=.88 smt=2 alloc=256 nodes=2
256 t=10880,10800,11000 pe=.314 smt=2 alloc=512 nodes=4`},
	{name: "the larger count in another partition of the same nodes", mails: 1, says: []string{"mail: 128", "workload: large"}, jobs: to128 + `
256 t=10880,10800,11000 pe=.314 part=large`},
}

// otherCauses: something else than the number of cores took the time, or nobody can know.
var otherCauses = []situation{
	{name: "one of four nodes at a third of its speed", says: []string{"(slow|one) node|node n001"}, never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=10900,10850,10950 pe=.459 lb=.5125 slow=node`},
	{name: "two of three runs met a slow node", never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=4850 pe=.705
256 t=9000,9100 pe=.5225 lb=.55 slow=node`},
	{name: "the same cores on more nodes", says: []string{"workload: 8 nodes"}, never: []string{blamesCores, triesFewer}, jobs: `
 64 t=14400,14350,14500 pe=.95
128 t=7773,7700,7850 pe=.88 nodes=2
128 t=12900,12800,13000 pe=.53 nodes=8`},
	{name: "both hardware threads of each core at the larger count", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 smt=2 alloc=128 nodes=1
128 t=7773,7700,7850 pe=.88 smt=2 alloc=256 nodes=2
256 t=12375,12300,12450 pe=.55 smt=2 nodes=2 mask=128`},
	{name: "turbo at few cores", never: []string{blamesCores}, jobs: `
 8 t=85036,85000,85100 pe=.99
16 t=46530,46500,46600 pe=.98
32 t=25642,25600,25700 pe=.97
64 t=14400,14350,14450 pe=.95`},
	{name: "a lower clock and many cores", says: []string{"workload: eco"}, never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 mhz=3000
128 t=7773,7700,7850 pe=.88 mhz=3000
256 t=9800,9750,9850 pe=.419 part=eco mhz=2400`},
	{name: "refined with the core count under one name", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 name=prod input=coarse
128 t=10260,10200,10300 pe=.80 name=prod input=middle
256 t=14069,14000,14100 pe=.35 name=prod input=fine`},
	{name: "a fifth more solver steps on the larger count", never: []string{blamesCores}, jobs: to128 + `
256 t=10800,10750,10850 pe=.38 calls=24000`},
	{name: "rank 0 writes ever larger files", says: []string{"job: one rank"}, never: []string{blamesCores, triesFewer}, jobs: `
 64 t=15000,14950,15050 pe=.91 first=.97
128 t=8600,8550,8650 pe=.80 first=.93
256 t=9900,9850,9950 pe=.36 first=.95`},
	{name: "four runs beside each other in one job", never: []string{"idle cores", triesFewer}, jobs: `
32 t=14400,14300,14500 pe=.90
64 t=13000,13100,12900,13050 pe=.50 job=a alloc=256 beside=1 day=3`},
	{name: "stopped while they waited", never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=9800,9700,9900 pe=.35 busy=.49`},
	{name: "stopped while they computed", never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=9800,9700,9900 pe=.604 lb=.70 busy=.49`},
	{name: "modules from a busy file system at the larger count", never: []string{blamesCores, triesFewer}, jobs: to128 + `
256 t=9500,9400,9600 pe=.55 busy=.60`},
	{name: "they tried three counts in a day, and took the best", never: []string{"mail: ."}, jobs: `
 64 t=14400,14350,14500 pe=.95 day=4
256 t=10880,10800,11000 pe=.314 day=3.9
128 t=7773,7700,7850 pe=.88 day=3.8
128 t=7750,7720,7790 pe=.88 day=2`},
	{name: "memory-bound inside a node, and flagged", never: []string{blamesCores, triesFewer}, jobs: `
16 t=80000,79800,80200 pe=.90
32 t=70000,69800,70200 pe=.80
64 t=85000,84800,85200 pe=.70`},
	{name: "caches help at every doubling", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.80
128 t=5423,5400,5450 pe=.85
256 t=3000,2980,3020 pe=.70`},
	{name: "a faster build on the larger count", never: []string{blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 name=prod
128 t=7773,7700,7850 pe=.88 name=prod
256 t=5700,5650,5750 pe=.30 name=prod build=fast`},
	{name: "short tests on few cores under one name", never: []string{blamesCores}, jobs: `
 64 t=3600,3580,3620 pe=.95 name=prod calls=5000
128 t=1943,1930,1960 pe=.88 name=prod calls=5000
256 t=10880,10800,11000 pe=.314 name=prod`},
	{name: "two users with one name", never: []string{"mail: .", blamesCores}, jobs: `
 64 t=14400,14350,14500 pe=.95 name=prod user=bert
128 t=7773,7700,7850 pe=.88 name=prod user=bert
256 t=10880,10800,11000 pe=.314 name=prod`},
	{name: "two CPUs for each rank, and one thread", never: []string{triesFewer}, jobs: `
64 t=14400,14300,14500 pe=.95 cpt=2 threads=1 nodes=2`},
}
