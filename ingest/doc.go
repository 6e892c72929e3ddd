// Package ingest takes what the processes of a job recorded to what is known of the
// job. On the node, at the job's end:
//
//  1. OpenDir opens the job's run directory as root, RunDir.Fold folds it without
//     privileges: slots of package record become ranks, ranks the node's parts of
//     executions (fold*.go), root's own notes say who, when and how it ended.
//  2. the NodeReport goes durably to the outbox, or as a line to a batch there where
//     nothing was measured, and from there by Sender to jobeffd.
//
// At the server, in package store below this one, JobMerger puts the reports of all
// nodes together: Merge makes parts of one MPI world one Execution, JobMetrics
// computes the POP metrics of METRICS §1.
//
// FoldFile does the same for a record that was made by hand, without Slurm. Before
// this package stands preload, which measures; behind it policy and report.
package ingest
