// Package slurmid reads and writes what Slurm names jobs, steps, hosts and numbers by: ids and sets of
// them, hostlists and ranges; and it holds the lines of Slurm's queue, which are named so. It knows no job
// that has begun. Nothing of jobeff stands before it; ingest/job and all that names a job come after it.
package slurmid
