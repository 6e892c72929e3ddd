// Package policy tells what can be said of a job beside its figures: why they are not good, where its core-hours
// went, and what to do about it. It is pure: data in, data out. It knows no clock and does no I/O. Before it stand
// ingest, which measures jobs, and policy/workload, which studies the runs of a job's workload. After it
// policy/rule judges jobs, policy/notice decides who is told, and report writes what was found.
//
// A job is judged in two steps:
//
//  1. Describe makes a Case of a job.Job and the Study of its workload: its fields,
//     and why others are not known
//  2. Package rule gives a Verdict for each rule of the site, "cannot tell" included
package policy
