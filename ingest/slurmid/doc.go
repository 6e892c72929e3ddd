// Package slurmid reads and writes Slurm's names: ids of jobs and steps, sets of them, hostlists and
// ranges. It also has the lines of Slurm's queue, but knows no job that has begun. Nothing of jobeff
// stands before it; ingest/job and all that names a job come after it.
package slurmid
