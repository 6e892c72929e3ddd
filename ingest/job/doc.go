// Package job holds what a node reports and what a job is: a node's report, with steps,
// executions, calls, sections and warnings; the ids of jobs; and the bounds that make a
// hostile report harmless. JobMerger merges the reports of all nodes: Merge joins the parts of
// one MPI world into one Execution, and JobMetrics computes the POP metrics of METRICS 1.
//
// Before this package stands preload/record, which a process leaves behind. Package node makes
// the reports, client carries them, store and server keep them, and policy and report read
// them.
package job
