package main

import "strings"

// even are 8 runs that take as long.
const even = "\n64 t=7200,7210,7190,7205,7195,7200,7210,7190 pe=.90"

const (
	// tellsOwner switches on the rule about slower runs.
	tellsOwner = "[[rule]]\nname = \"became-slower\"\nenabled = true\n"
	// stepTold is what the digest says of them.
	stepTold = `digest: takes 10 % longer on 64 cores since`
	anyStep  = `digest: longer on 64 cores since|Why: jobeff compare`
)

// each has every run of some lines say more.
func each(lines, more string) string { return strings.ReplaceAll(lines, "pe=", more+" pe=") }

// slowerStill is what is told of slower runs: of the same work on the same kind of nodes, as long as they are slow.
var slowerStill = []situation{
	{name: "slower with another input that is more work", rules: tellsOwner, never: []string{anyStep, "mail: .", "job: longer than before", "compare: other work"}, says: []string{"compare: the median of 4 earlier runs"},
		jobs: each(even, "name=prod input=a") + "\n64 t=9000,9010,8990,9005,8995 pe=.90 name=prod input=b"},
	{name: "slower with another input that is as much work", mails: 1, rules: tellsOwner, says: []string{stepTold, "mail: takes 10 % longer than before", "compare: 10 % longer than job .*communication efficiency"}, never: []string{"compare: other work"},
		jobs: each(even, "name=prod input=a") + "\n64 t=7920,7930,7910,7925,7915 pe=.82 name=prod input=b"},
	{name: "two inputs in turn, and then one", rules: tellsOwner, never: []string{anyStep, "mail: ."}, jobs: `
64 t=7200,7210,7190,7205 pe=.90 name=prod input=a
64 t=9000 pe=.90 name=prod input=b
64 t=7195,7200,7210,7190 pe=.90 name=prod input=a
64 t=9000,9010,8990,9005,8995 pe=.90 name=prod input=b`},
	{name: "slower beside another input", mails: 1, rules: tellsOwner, says: []string{stepTold, "mail: takes 10 % longer than before", "compare: 10 % longer than job"}, never: []string{"compare: other work"}, jobs: `
64 t=7200,7210,7190,7205 pe=.90 name=prod input=a
64 t=9000,9010,8990 pe=.90 name=prod input=b
64 t=7195,7200,7210,7190 pe=.90 name=prod input=a
64 t=7920,7930,7910,7925 pe=.82 name=prod input=a
64 t=9005,8995 pe=.90 name=prod input=b
64 t=7915 pe=.82 name=prod input=a`},
	{name: "slower with an unknown input, and twice the work", rules: tellsOwner, never: []string{anyStep, "mail: ."},
		jobs: each(even, "input=-") + "\n64 t=14400,14410,14390,14405,14395 pe=.90 input=-"},
	{name: "slower with an unknown input, and as much work", mails: 1, rules: tellsOwner, says: []string{stepTold, "mail: takes 10 % longer than before"}, never: []string{"compare: other work"},
		jobs: each(even, "input=-") + "\n64 t=7920,7930,7910,7925,7915 pe=.82 input=-"},
	{name: "slower with more steps", rules: tellsOwner, never: []string{anyStep, "mail: ."}, jobs: even + "\n64 t=7920,7930,7910,7925,7915 pe=.90 calls=23000"},
	{name: "slower with another program of one name", rules: tellsOwner, never: []string{anyStep, "mail: ."}, says: []string{"compare: the median of 4 earlier runs"},
		jobs: each(even, "name=prod") + "\n64 t=7920,7930,7910,7925,7915 pe=.82 name=prod prog=flow"},
	{name: "slower on old nodes", rules: tellsOwner, never: []string{anyStep, "mail: ."}, jobs: even + "\n64 t=7920,7930,7910,7925,7915 pe=.90 model=old part=old"},
	{name: "slower on old nodes, beside new ones that are as before", rules: tellsOwner, never: []string{anyStep, "mail: ."},
		jobs: even + "\n64 t=7920,7930,7910 pe=.90 model=old\n64 t=7200 pe=.90\n64 t=7925,7915 pe=.90 model=old"},
	{name: "slower, and now and then on old nodes", mails: 1, rules: tellsOwner, says: []string{stepTold, "mail: takes 10 % longer than before"}, jobs: `
64 t=7200,7210,7190,7205 pe=.90
64 t=9000,9010 pe=.90 model=old
64 t=7195,7200,7210,7190 pe=.90
64 t=7920,7930,7910,7925 pe=.82
64 t=9005 pe=.90 model=old
64 t=7915 pe=.82`},
	{name: "slower at another clock", rules: tellsOwner, says: []string{stepTold + `.*same executable and MPI library[.] But the highest frequency of their nodes is 2,000 MHz, not 3,700[.] Why: jobeff compare`, "compare: Highest clock: 3,700 MHz; now 2,000 MHz"},
		never: []string{"mail: .", "job: longer than before"}, jobs: even + "\n64 t=7920,7930,7910,7925,7915 pe=.90 mhz=2000"},
	{name: "slower in another partition", rules: tellsOwner, says: []string{stepTold + `.*But they ran in partition long, not main[.] Why: jobeff compare`, "compare: Partition: main; now long"},
		never: []string{"mail: .", "job: longer than before"}, jobs: even + "\n64 t=7920,7930,7910,7925,7915 pe=.82 part=long"},
	{name: "slower in a partition of both", mails: 1, rules: tellsOwner, says: []string{stepTold}, never: []string{"digest: But they ran"},
		jobs: "64 t=7200,7210,7190 pe=.90 part=long\n64 t=7205,7195,7200,7210,7190 pe=.90\n64 t=7920,7930,7910,7925,7915 pe=.82 part=long"},
	{name: "another clock, and as fast", rules: tellsOwner, never: []string{anyStep, "mail: ."}, jobs: even + "\n64 t=7200,7210,7190,7205,7195 pe=.90 mhz=2000"},
	{name: "another executable, and more work of another input", ago: 7, earlier: each(rebuilt, "name=prod input=a"), says: []string{"digest: the computing itself takes longer", "digest: That need not be the cause: their ranks computed 25 % longer in sum, and the input is another"}, never: []string{"digest: got slower"},
		jobs: "64 t=9000,8950,9050 pe=.90 build=new name=prod input=b"},
	{name: "another executable, in another partition", ago: 7, earlier: rebuilt, says: []string{"digest: That need not be the cause: they ran in partition long, not main"}, jobs: "64 t=10800,10700,10900 pe=.90 build=new part=long"},
	{name: "slower for a while", rules: tellsOwner, never: []string{anyStep, "mail: .", "job: longer than before"},
		jobs: even + "\n64 t=7200,7210,7190,7205,7195,7200 pe=.90 day=1\n64 t=7920,7930,7910,7925,7915 pe=.82 day=4"},
	{name: "slower for a while, and most since are as before", rules: tellsOwner, never: []string{anyStep, "mail: ."},
		jobs: slowed + "\n64 t=7200,7920,7190,7205,7915 pe=.90"},
	{name: "slower still", mails: 1, rules: tellsOwner, says: []string{stepTold, "mail: takes 10 % longer than before"}, jobs: slowed + "\n64 t=7920,7930,7910,7925,7915,7920 pe=.82"},
	{name: "slower, but for a run", mails: 1, rules: tellsOwner, says: []string{stepTold, "mail: takes 10 % longer than before"}, jobs: slowed + "\n64 t=7200 pe=.90\n64 t=7920,7930 pe=.82"},
	{name: "slower for a while, and again", mails: 1, rules: tellsOwner, says: []string{stepTold + `.*5 runs against 9[)]`, "mail: takes 10 % longer than before"},
		jobs: slowed + even + "\n64 t=7205 pe=.90\n64 t=7920,7930,7910,7925,7915 pe=.82"},
	{name: "slower twice, and the second time for a while", mails: 1, rules: tellsOwner, says: []string{stepTold}, never: []string{"digest: takes (9|20|21) % longer on 64 cores"},
		jobs: slowed + "\n64 t=7920 pe=.82\n64 t=8640,8630,8650,8640,8645 pe=.75\n64 t=7920,7930,7910,7925,7915 pe=.82"},
}

// noMedian: why `jobeff compare` of one job finds no earlier run, and what it says of ranks that lacked CPUs.
var noMedian = []situation{
	{name: "its earlier runs lacked CPUs", says: []string{`compare: 3 earlier runs on 64 cores cannot be taken [(]job \d+, the newest: its ranks lacked CPUs`}, never: []string{"compare: same work"},
		jobs: "64 t=7200,7210,7190 pe=.70 busy=.78 queue=.20\n64 t=7200 pe=.90"},
	{name: "its earlier run failed", says: []string{`compare: 1 earlier run on 64 cores cannot be taken [(]job \d+: the job did not finish[)]`}, never: []string{"compare: same work"},
		jobs: "64 t=7200 pe=.90 state=FAILED\n64 t=7200 pe=.90"},
	{name: "it failed itself", says: []string{`compare: job \d+: the job did not finish`}, never: []string{"compare: earlier run"}, jobs: "64 t=7200,7210,7190 pe=.90\n64 t=3600 pe=.90 calls=9000 state=FAILED"},
	{name: "its earlier runs made other steps", says: []string{`compare: 3 earlier runs on 64 cores cannot be taken [(]job \d+, the newest: job \d+ did other work: its ranks made 40,000 collective calls each, not 20,000`},
		jobs: "64 t=7200,7210,7190 pe=.90 name=prod\n64 t=7200 pe=.90 name=prod calls=40000", never: []string{"compare: no run"}},
	{name: "its first run", says: []string{`compare: no run of its workload on 64 cores began before job \d+: name a job`}, jobs: "64 t=7200 pe=.90"},
	{name: "its first run on as many cores", says: []string{`compare: no run of its workload on 64 cores began before job \d+: name a job`}, jobs: "32 t=14000,14100 pe=.95\n64 t=7200 pe=.90"},
	{name: "its first run of that mix", says: []string{`compare: no run of its workload on 64 ranks x 1 thread began before job \d+`}, jobs: "16 t=7200,7210 pe=.90 cpt=4 team=4\n64 t=7200 pe=.90"},
	{name: "some of its earlier runs failed", says: []string{"compare: the median of 2 earlier runs"}, never: []string{"compare: cannot be taken"}, jobs: "64 t=7200,7210 pe=.90\n64 t=7200 pe=.90 state=FAILED\n64 t=7200 pe=.90"},
	{name: "its earlier runs are of another build", says: []string{"compare: the median of 2 earlier runs on as many cores, of other builds"}, jobs: "64 t=7200,7210 pe=.90 build=old\n64 t=7200 pe=.90 build=new"},
	{name: "it waited for CPUs", says: []string{`compare: threads waited for a CPU in 20 % of the time.*But job \d+: its ranks lacked CPUs`}, jobs: "64 t=7200,7210,7190 pe=.90\n64 t=9200 pe=.70 busy=.78 queue=.20"},
	{name: "it had half as many CPUs as ranks", says: []string{`compare: But job \d+: its ranks lacked CPUs`}, jobs: "64 t=7200,7210,7190 pe=.90\n64 t=14400 pe=.90 mask=32"},
	{name: "it had its CPUs", never: []string{"compare: lacked"}, jobs: "64 t=7200,7210,7190 pe=.90\n64 t=9200 pe=.70"},
}

// comparedRuns is what `jobeff compare` says of how much runs differ, and `jobeff workload` of the runs that advice is held against.
var comparedRuns = []situation{
	{name: "its runs differ by somewhat more than one per cent", says: []string{`compare: usually differ by less than 1[.]\d %`}, never: []string{"compare: less than (1|under 1) %"}, jobs: "64 t=7200,7210,7190,7240,7180,7220,7200,7160 pe=.90"},
	{name: "its runs differ by a tenth", says: []string{`compare: usually differ by less than 1\d %`}, jobs: "64 t=7200,6800,7600,7300,6700,7200,7700,6900 pe=.90"},
	{name: "advice for a run that is not the newest", mails: 1, says: []string{"workload: compared with runs on 256 cores, as many as job 1009 had"}, never: []string{"workload: its newest run"}, jobs: past256 + "\n256 t=10900 pe=.314 day=20"},
}
