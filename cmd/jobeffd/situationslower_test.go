package main

// comparedRuns is what `jobeff compare` says of how much runs differ, and `jobeff workload` of the runs that advice is held against.
var comparedRuns = []situation{
	{name: "its runs differ by somewhat more than one per cent", says: []string{`compare: usually differ by less than 1[.]\d %`}, never: []string{"compare: less than (1|under 1) %"}, jobs: "64 t=7200,7210,7190,7240,7180,7220,7200,7160 pe=.90"},
	{name: "its runs differ by a tenth", says: []string{`compare: usually differ by less than 1\d %`}, jobs: "64 t=7200,6800,7600,7300,6700,7200,7700,6900 pe=.90"},
	{name: "advice for a run that is not the newest", mails: 1, says: []string{"workload: compared with runs on 256 cores, as many as job 1009 had"}, never: []string{"workload: its newest run"}, jobs: past256 + "\n256 t=10900 pe=.314 day=20"},
}
