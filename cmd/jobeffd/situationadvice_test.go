package main

// fourCounts are past the inflexion point on 1,024 cores, and waste much on 512.
const fourCounts = `
  64 t=10000,9950,10050 pe=.88
 128 t=5900,5850,5950 pe=.75`

// advice is which count is named, and what it costs.
var advice = []situation{
	{name: "the fastest count is itself wasteful", mails: 1, says: []string{"mail: --ntasks=128 ", "job: 128 cores would have"}, never: []string{"--ntasks=512", "ask for 512", "512 cores would have"}, jobs: fourCounts + `
 512 t=3430,3400,3460 pe=.32
1024 t=4800,4750,4850 pe=.115`},
	{name: "on the wasteful count they are told the same", mails: 1, says: []string{"mail: --ntasks=128 ", "job: 128 cores would have"}, jobs: fourCounts + `
1024 t=4800,4750,4850 pe=.115
 512 t=3430,3400,3460 pe=.32`},
	{name: "the advised count is advised no further", never: []string{triesFewer, "mail: ."}, jobs: `
1024 t=4800,4750,4850 pe=.115 day=40
 512 t=3430,3400,3460 pe=.32 day=40
  64 t=10000,9950,10050 pe=.88 day=40
 128 t=5900,5850,5950 pe=.75`},
	{name: "as the fastest count does, if it is the cheapest", mails: 1, says: []string{"mail: 256 cores would have taken 29 % less"}, jobs: `
128 t=5600,5550,5650 pe=.95
256 t=2850,2820,2880 pe=.93
512 t=4000,3950,4050 pe=.33`},
	{name: "whole nodes, and fewer ranks save nothing", never: []string{triesFewer, "mail: ."}, jobs: `
32 t=10000,9950,10050 pe=.85 alloc=64 nodes=1
64 t=8000,7950,8050 pe=.53`},
	{name: "whole nodes, and fewer of them save", mails: 1, says: []string{"mail: --ntasks=32 --nodes=1", "mail: saved 3[78] %"}, jobs: `
 32 t=10000,9950,10050 pe=.85 alloc=64 nodes=1
128 t=7960,7900,8000 pe=.267`},
	{name: "shared nodes, and fewer ranks save", mails: 1, says: []string{"mail: --ntasks=32 --nodes=1", "mail: saved 3[78] %"}, jobs: `
32 t=10000,9950,10050 pe=.85
64 t=8000,7950,8050 pe=.53`},
	{name: "a rank on each hardware thread, and one per core saves nothing", never: []string{triesFewer, "mail: ."}, jobs: `
 64 t=9000,8950,9050 pe=.85 smt=2 alloc=128 nodes=1
128 t=8100,8050,8150 pe=.47 smt=2 alloc=128 nodes=1 mask=128`},
	{name: "hardware threads, and fewer nodes save", mails: 1, says: []string{"mail: --ntasks=64 --nodes=1"}, jobs: `
 64 t=9000,8950,9050 pe=.85 smt=2 alloc=128 nodes=1
256 t=8100,8050,8150 pe=.236 smt=2 alloc=512 nodes=4`},
	{name: "memory and time on fewer nodes", mails: 1, says: []string{"job: on 1 node, each may need 1[.]0 GiB of memory", "job: 4[.]0 GiB, if that of each task does", "job: may run for 02:3\\d:\\d\\d [(]--time"}, jobs: wasted},
}
