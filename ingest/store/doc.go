// Package store keeps jobs in a database and is the only code that speaks SQL. The
// database is a file of SQLite's, which one process writes, or a PostgreSQL that several
// daemons share.
//
// A report takes these steps (FLOW 5):
//
//  1. report: AddReport takes a report that the server checked and decoded (report.go)
//  2. lane: commit queues it in the lane of its job; each lane has one committer
//     (writer.go), SQLite one lane (sqlite.go), PostgreSQL several (postgres.go)
//  3. commit: the lane commits what waits at once, and only then answers. addReports
//     takes the reports of one job together, finds the attempt that each belongs to
//     and leaves out nodes that were not the job's (match.go)
//  4. merge: Merge makes the figures of attempts that got reports (merge.go)
//
// AddSlurm joins what sacct said to the same attempts (slurm.go), Retain drops what is
// old (retain.go). Views are read while writers work, and never wait for them (read.go,
// list.go, workload.go, facts.go).
//
// Before this package stand job, slurm and node's reports; behind it the server, which
// answers with its views.
package store
