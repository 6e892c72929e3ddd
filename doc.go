// Package jobeff is the root of the repository and holds no code of the tool. Data
// flows through the folders below it in this order:
//
//  1. preload: in the job, every rank leaves a record behind
//  2. spank: puts the preload into every job, and reports it at the job's end
//  3. ingest: node folds records into a report, client carries it to the server, store
//     makes jobs of the reports and keeps them
//  4. policy: says what core count a job should have used
//  5. report: says it to people
//  6. cmd: the programs
package jobeff
