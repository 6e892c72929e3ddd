// Package policy judges jobs and says what core count they should have used. It is
// pure: data in, data out, no clock and no I/O but reading files through an io.Reader.
// Before it in the flow stands ingest, which measures jobs; after it report, which
// says to people what policy found.
//
// A workload, the runs that one key brought together, in these:
//
//  1. kin.go leaves out what is no point, and splits off what cannot share a curve
//  2. NewStudy counts what was measured on each core count, tells strong from weak
//     scaling, draws the curve (package curve) and bounds the speedup by sections
//  3. Study.Recommend says which fewer cores would have served a job better
//
// A job is judged in these:
//
//  1. Compile type-checks the rules of the configuration (etc.Rule) against Fields
//  2. Describe makes a Case of a job.Job and the Study of its workload: its fields,
//     and why others are not known
//  3. Rules.Judge gives a Verdict for each rule, "cannot tell" included
//  4. Notices decides whom to tell of which, and why not of the others
//
// Symbols and equation numbers are those of METRICS 4.
package policy
