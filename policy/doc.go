// Package policy explains a job's figures: why they are not good, where its core-hours went, and what to do about
// it. It is pure: data in, data out, without a clock and without I/O. Before it come ingest, which measures jobs,
// and policy/workload, which studies the runs of a job's workload. After it come policy/rule, which judges jobs,
// policy/notice, which decides who is told, and report, which writes what was found.
//
// A job is judged in two steps:
//
//  1. Describe makes a Case of a job.Job and the Study of its workload: its fields,
//     and why others are not known
//  2. Package rule gives a Verdict for each rule of the site, "cannot tell" included
package policy
