// Package node makes a node's report of what the processes of a job recorded. It runs at the
// job's end, as root or as nobody, and links neither net/http nor a database:
//
//  1. OpenDir opens the job's run directory as root. RunDir.Fold folds it without
//     privileges: slots of package record become ranks, and ranks become the node's parts
//     of executions. Root's own notes say who ran, when, and how it ended.
//  2. Outbox.Write writes the report durably into the outbox. A report in which nothing was
//     measured becomes a line of a batch there.
//  3. RemoveRunDir removes the run directory and unmounts its record.
//
// FoldFile folds a record that was made by hand, without Slurm. Before this package stand
// preload/record and ingest/job, after it ingest/client, whose Sender empties the outbox.
package node
