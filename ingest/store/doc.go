// Package store keeps jobs in a database and is the only code that speaks SQL. The
// database is a file of SQLite's, which one process writes, or a PostgreSQL that several
// daemons share.
//
// A report takes these steps (FLOW 5):
//
//  1. report: AddReport takes a report that the server checked and decoded (report.go)
//  2. gather: reports of one job that wait share one place in the queue, so a job of N
//     nodes costs a few transactions, not N (gather.go)
//  3. lane: doJob queues the work in the lane of its job; each lane has one committer
//     (writer.go), SQLite one lane (sqlite.go), PostgreSQL several (postgres.go)
//  4. commit: the lane commits what waits at once, and only then answers. addReports
//     finds the attempt that each report belongs to (match.go), leaves out nodes that
//     were not the job's (foreign.go) and merges at once where few nodes reported
//  5. settle: Settle merges attempts of many nodes once, outside the lane (merge.go)
//
// AddSlurm joins what sacct said to the same attempts (slurm.go), Retain drops what is
// old (retain.go). Views are read beside the writers and never wait for them (read.go,
// list.go, workload.go, facts.go).
//
// Before this package stand job, slurm and node's reports; behind it the server, which
// answers with its views.
package store
