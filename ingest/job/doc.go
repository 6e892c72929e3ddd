// Package job is what a node says and what a job is: the report of a node, with steps,
// executions, calls, sections and warnings; the ids of jobs; and the bounds that hold a
// hostile report. JobMerger puts the reports of all nodes together: Merge makes parts of
// one MPI world one Execution, JobMetrics computes the POP metrics of METRICS 1.
//
// Before this package stands preload/record, which a process leaves behind. Package node
// makes the reports, client carries them, store and server keep them, and policy and
// report read what they tell.
package job
