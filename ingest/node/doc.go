// Package node takes what the processes of a job recorded to the node's report. It runs as
// root, or as nobody, at the job's end, and links neither net/http nor a database:
//
//  1. OpenDir opens the job's run directory as root, RunDir.Fold folds it without
//     privileges: slots of package record become ranks, ranks the node's parts of
//     executions (fold*.go), root's own notes say who, when and how it ended.
//  2. Outbox.Write puts the report durably into the outbox, or as a line into a batch
//     there where nothing was measured.
//
// FoldFile does the same for a record that was made by hand, without Slurm. Before this
// package stand preload/record and job; behind it client, whose Sender empties the outbox.
package node
