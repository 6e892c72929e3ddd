package main

import "strings"

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
	{name: "whole nodes, and fewer of them save", mails: 1, says: []string{"mail: --nodes=1 --ntasks=32 ", "mail: saved 3[78] %"}, jobs: `
 32 t=10000,9950,10050 pe=.85 alloc=64 nodes=1
128 t=7960,7900,8000 pe=.267`},
	{name: "shared nodes, and fewer ranks save", mails: 1, says: []string{"mail: --nodes=1 --ntasks=32 ", "mail: saved 3[78] %"}, jobs: `
32 t=10000,9950,10050 pe=.85
64 t=8000,7950,8050 pe=.53`},
	{name: "a rank on each hardware thread, and one per core saves nothing", never: []string{triesFewer, "mail: ."}, jobs: `
 64 t=9000,8950,9050 pe=.85 smt=2 alloc=128 nodes=1
128 t=8100,8050,8150 pe=.47 smt=2 alloc=128 nodes=1 mask=128`},
	{name: "hardware threads, and fewer nodes save", mails: 1, says: []string{"mail: --nodes=1 --ntasks=64 "}, jobs: `
 64 t=9000,8950,9050 pe=.85 smt=2 alloc=128 nodes=1
256 t=8100,8050,8150 pe=.236 smt=2 alloc=512 nodes=4`},
	{name: "memory and time on fewer nodes", mails: 1, says: []string{"mail: sbatch --nodes=1 --ntasks=64 --cpus-per-task=1 --time=04:2\\d:00 YOUR-SCRIPT", "job: fitted 3 completed runs, with a reserve of \\d+ % on the longest time[.] Memory stays as it was"}, jobs: wasted},
}

// choices are the core counts that a user may choose from.
var choices = []situation{
	{name: "three counts to choose from", mails: 1, jobs: fourCounts + `
 512 t=3430,3400,3460 pe=.32
1024 t=4800,4750,4850 pe=.115`,
		says: []string{"job: as it ran 1,024 01:20:50 - 1,380 0[.]11[*] 3", `job: shortest[+]? 512 00:57:\d\d \S+ to \S+ 49\d 0[.]32[*] 3`, `job: cheapest[+]? 128 01:39:\d\d \S+ to \S+ 21\d 0[.]75[*] 3`,
			`job: efficient[+]? 64 02:48:\d\d \S+ to \S+ 180 0[.]88 3`, "job: cheapest: the fewest core-hours of a run at most twice as long as the shortest",
			"workload: shortest[+]? 512", "workload: efficient[+]? 64", "page: shortest[+]? 512", "page: cheapest[+]? 128", "page: [*]: below 0[.]80"}},
	{name: "a good count, and a shorter run on more cores", jobs: fourCounts + `
512 t=3430,3400,3460 pe=.32 day=40
 64 t=10000 pe=.88`, says: []string{"job: shortest[+]? 512 .* 0[.]32[*] 3"}, never: []string{triesFewer, "mail: .", "(cheapest|efficient) \\d"}},
	{name: "the shortest is the cheapest", mails: 1, jobs: past256, says: []string{"job: shortest[+]? 128 .* 0[.]88 3"}, never: []string{"(cheapest|efficient) \\d"}},
	{name: "a count that nothing ran on is from the curve", mails: 1, jobs: `
  32 t=19055,19000,19100 pe=.93
  64 t=10055,10000,10100 pe=.82
 128 t=6160,6100,6200 pe=.66
 512 t=4165,4130,4200 pe=.25`, says: []string{"job: (cheapest|efficient) \\d+ .* [\\d.]+[*]? (3|curve)"}},
	{name: "one count is no choice", jobs: "64 t=7200,7100,7300 pe=.93", never: []string{"to choose from"}},
	{name: "no choice between weeks' differences", mails: 1, jobs: `
64 t=7200,7100,7300 pe=.93
128 t=7100,7000,7250 pe=.475 day=2`, never: []string{"shortest[+]? 128"}},
	{name: "no choice where only the input differs", jobs: `
 64 t=14400,14350,14500 pe=.95 input=a name=prod calls=40000
256 t=10880,10800,11000 pe=.314 input=b name=prod`, never: []string{"to choose from"}},
	{name: "no choice where every rank does as much", jobs: `
 64 t=7200,7150,7250 pe=.90
128 t=7300,7250,7350 pe=.89
256 t=7400,7350,7450 pe=.88`, never: []string{"to choose from"}},
	{name: "no choice where one rank is the cause", jobs: to128 + `
256 t=5000,4950,5050 pe=.50 lb=.55 slow=rank`, never: []string{"(cheapest|efficient) \\d"}},
}

// advised256 is told to take 256 cores; cheaper64 shows later that fewer are cheaper still.
const (
	advised256 = `
 256 t=8100,8050,8150 pe=.28
1024 t=8000,7950,8050 pe=.07`
	cheaper64 = `
 64 t=9500,9450,9550 pe=.93
256 t=8100,8050,8150 pe=.28`
)

// repeated is what is told of a count that a mail advised.
var repeated = []situation{
	{name: "no mail against what a mail advised", ago: 35, earlier: advised256, jobs: cheaper64, never: []string{"mail: ."}, says: []string{"job: 64 cores would have"}},
	{name: "after half a year they are told", ago: 190, earlier: advised256, jobs: cheaper64, mails: 1, says: []string{"mail: --ntasks=64 "}},
	{name: "another count than the advised one is told", ago: 35, earlier: advised256, mails: 1, says: []string{"mail: --ntasks=64 "}, jobs: `
 64 t=9500,9450,9550 pe=.93
512 t=8000,7950,8050 pe=.14`},
	{name: "the advice was on another machine", ago: 35, earlier: strings.ReplaceAll(advised256, "pe=", "model=old pe="), jobs: cheaper64, mails: 1, says: []string{"mail: --ntasks=64 "}},
	{name: "the advice was on other work under the same name", ago: 35, earlier: strings.ReplaceAll(advised256, "pe=", "name=prod calls=90000 input=b pe="),
		jobs: strings.ReplaceAll(cheaper64, "pe=", "name=prod pe="), mails: 1, says: []string{"mail: --ntasks=64 "}},
}

// advised128 is told to take 128 cores instead of 1,024.
const advised128 = `
 128 t=5900,5850,5950 pe=.75
1024 t=4800,4750,4850 pe=.115`

// afterAdvice is what a digest says of the runs since.
var afterAdvice = []situation{
	{name: "some follow the advice", earlier: advised128, says: []string{"digest: advised 128 cores instead of 1,024 on 3 November 2026, and took 128 in 6 of 8 runs since: 2,3\\d\\d core-hours saved, but not surely [(]90 %: [\\d,]+ more to [\\d,]+ saved[)] this week, 2,3"}, jobs: `
1024 t=4800,4850 pe=.115
 128 t=5900,5850,5950,5900,5850,5950 pe=.75`},
	{name: "all follow the advice", earlier: advised128, says: []string{"digest: took 128 in 3 of 3 runs", "digest: [\\d,]+ core-hours saved [(].*[)] this week"}, jobs: "128 t=5900,5850,5950 pe=.75"},
	{name: "all follow it, with twice the work", earlier: advised128, says: []string{"digest: took 128 in 3 of 3 runs", "digest: [\\d,]+ core-hours saved [(].*[)] this week"}, jobs: "128 t=11800,11700,11900 pe=.75"},
	{name: "nobody follows, and a library made it faster", earlier: advised128, says: []string{"digest: Nothing was saved yet"}, never: []string{"digest: core-hours saved"}, jobs: "1024 t=2400,2350,2450 pe=.23"},
	{name: "they took more cores than before", earlier: advised128, says: []string{"digest: took 2,048 in 3 of 3 runs since: [\\d,]+ core-hours more [(].*[)] this week"}, never: []string{"digest: core-hours saved", "digest: -\\d"}, jobs: "2048 t=4900,4850,4950 pe=.056"},
	{name: "the advice is older than half a year", ago: 190, earlier: advised128, says: []string{"digest: Nothing was saved yet"}, jobs: "128 t=5900,5850,5950 pe=.75"},
}

// rebuilt are runs of an executable that is another a week later.
const rebuilt = "64 t=7200,7150,7250 pe=.90 build=old"

// changes are what a digest says of an executable that changed.
var changes = []situation{
	{name: "another executable is slower", ago: 7, earlier: rebuilt, says: []string{"digest: takes 50 % longer since its executable changed"}, never: []string{"digest: need not be"}, jobs: "64 t=10800,10700,10900 pe=.90 build=new"},
	{name: "another executable is faster", ago: 7, earlier: rebuilt, says: []string{"digest: takes 3[23] % less time since its executable changed"}, never: []string{"digest: need not be"}, jobs: "64 t=4850,4800,4900 pe=.90 build=new"},
	{name: "another executable, three times as slow", ago: 7, earlier: rebuilt, says: []string{"digest: takes 3[.]0 times as long since its executable changed on .* [(]90 %: 2[.]\\d to 3[.]\\d times as long;"}, jobs: "64 t=21600,21500,21700 pe=.90 build=new"},
	{name: "another executable, and another clock", ago: 7, earlier: rebuilt, says: []string{"digest: That need not be the cause: the highest frequency of their nodes is 2,000 MHz, not 3,700"}, jobs: "64 t=10800,10700,10900 pe=.90 build=new mhz=2000"},
	{name: "another executable, and another machine", ago: 7, earlier: rebuilt, says: []string{"digest: That need not be the cause: they ran on .*old.*, not .*7543"}, jobs: "64 t=10800,10700,10900 pe=.90 build=new model=old"},
	{name: "another executable under a name, and another input", ago: 7, earlier: rebuilt + " name=prod input=a", says: []string{"digest: That need not be the cause: their ranks computed 50 % longer in sum, and the input is another"}, jobs: "64 t=10800,10700,10900 pe=.90 build=new name=prod input=b"},
	{name: "another executable, and CPUs that somebody else used", ago: 7, earlier: rebuilt, says: []string{"digest: That need not be the cause: their ranks had a CPU for 50 %"}, jobs: "64 t=10800,10700,10900 pe=.60 build=new busy=.50"},
}

// slowed are 8 even runs, and then 5 that take a tenth longer.
const slowed = `
64 t=7200,7210,7190,7205,7195,7200,7210,7190 pe=.90
64 t=7920,7930,7910,7925,7915 pe=.82`

// slower is what is told of runs that became slower with the same software.
var slower = []situation{
	{name: "runs became slower", jobs: slowed, says: []string{`digest: takes 10 % longer on 64 cores since .*[(]90 %: [\d, to%]+; 5 runs against 8[)], with the same executable and MPI library[.] Why: jobeff compare \d+ \d+`}, never: []string{"mail: .", "job: longer than before"}},
	{name: "runs became slower, and the site tells their owner", mails: 1, jobs: slowed, rules: "[[rule]]\nname = \"became-slower\"\nenabled = true\n",
		says: []string{"mail: takes 10 % longer than before on 64 cores", `mail: jobeff compare \d+ \d+`, `job: jobeff compare \d+ \d+`, `page: jobeff compare \d+ \d+`}},
	{name: "runs became slower, and then the executable changed", says: []string{"digest: longer since its executable changed"}, never: []string{"digest: with the same executable"}, jobs: `
64 t=7200,7210,7190,7205,7195,7200,7210,7190 pe=.90 build=old name=prod
64 t=7920,7930,7910,7925,7915 pe=.82 build=new name=prod`},
	{name: "runs that differ as much at any time", never: []string{"digest: Why: jobeff compare"}, jobs: "64 t=7200,7900,7190,7905,7195,7900,7210,7990,7200,7920,7930,7910,7925 pe=.82"},
}

// uneven lost most to one rank, and no fewer cores are known to mend that.
const uneven = "256 t=14400,14300,14500 pe=.40 lb=.45 slow=rank prog=tilted"

// losses are what is told of core-hours that no advice would save.
var losses = []situation{
	{name: "a large loss without advice in the digest", says: []string{"digest: tilted.* of anna [(]proj[)]: 1,843 of 3,072 core-hours lost by 3 jobs on 256 cores.*waiting for one rank"}, never: []string{"mail: ."}, jobs: uneven},
	{name: "a large loss without advice in a mail about another", mails: 1, several: true, says: []string{"mail: --ntasks=64 ", "mail: lost without advice.*tilted.* 1,84\\d core-hours lost by 3 jobs on 256 cores.*waiting for one rank"}, jobs: wasted + "\n" + uneven},
	{name: "a loss with advice is told once", mails: 1, says: []string{"digest: Instead of 256 cores: 64 cores"}, never: []string{"digest: lost by 3 jobs on 256 cores", "mail: lost by"}, jobs: wasted},
	{name: "what was used well is no loss", says: []string{"digest: No workload"}, never: []string{"digest: lost by .* jobs on"}, jobs: "64 t=14400,14300,14500 pe=.95"},
	{name: "a loss of another user is not in the mail", mails: 1, several: true, says: []string{"mail: --ntasks=64 "}, never: []string{"mail: tilted"}, jobs: wasted + "\n" + uneven + " user=bert"},
	{name: "a loss that is muted is not in the mail", muted: 20, jobs: uneven, never: []string{"mail: ."}},
}
