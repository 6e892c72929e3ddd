// Package workload studies the runs of one workload and says what core count they should have used.
// Before it come ingest/job, which holds the runs, and policy/curve, which fits their times. After
// it policy asks for a job's place among the runs, policy/notice counts what was saved, and report
// writes the study.
//
//  1. kin.go leaves out what is no point, and splits off what cannot share a curve
//  2. NewStudy counts what was measured on each core count, tells strong from weak
//     scaling, draws the curve and bounds the speedup by sections
//  3. same.go says whether two core counts can be compared, past.go whether more cores were
//     slower because of the parallelisation, and Study.Recommend which fewer cores would
//     have served a job better
//  4. CompareExecutables finds programs and MPI libraries that became slower or faster;
//     FollowAdvice counts what users saved since they were advised
//
// Symbols and equation numbers are those of METRICS section 4.
package workload
