// Package policy judges a job by the rules of the site. It is pure: data in, data out. It knows
// no clock and does no I/O. Before it stand etc, which reads the rules, ingest, which measures
// jobs, and policy/workload, which studies the runs of a job's workload. After it
// policy/notice decides who is told, and report writes what was found.
//
// A job is judged in three steps:
//
//  1. Compile type-checks the rules of the configuration (etc.Rule) against Fields
//  2. Describe makes a Case of a job.Job and the Study of its workload: its fields,
//     and why others are not known
//  3. Rules.Judge gives a Verdict for each rule, "cannot tell" included
package policy
