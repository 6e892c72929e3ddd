package node

import (
	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// NoRankZero is Execution.InputNote without rank 0, which alone reads what tells the workload.
const NoRankZero = "rank 0 left no record"

// inputNotes say why an input is not known, for Execution.InputNote.
var inputNotes = map[record.Input]string{
	record.InputNotLooked:  "libjobeff.so did not look: it is an older one, or there was no /proc",
	record.InputNone:       "no argument names a file",
	record.InputMany:       "the arguments name more than 16 files",
	record.InputLate:       "the files were not read within 50 ms",
	record.InputUnreadable: "a file that the arguments name could not be read",
	record.InputInUse:      "a file that the arguments name was open for changes, or standard input",
	record.InputFUSE:       "a file that the arguments name is on a FUSE file system, where nothing is read",
	record.InputLong:       "the command line is longer than 64 KiB",
}

// tellWorkload fills in what tells the workload, from the lowest rank on this node. Merging
// keeps that of the lowest rank of all nodes.
func (f *folder) tellWorkload(e *job.Execution, p *process) {
	s := p.slot
	e.Workload = job.CleanWorkload(s.Workload)
	if f.facts != nil && f.facts.workloads[p.step] != "" {
		e.Workload = f.facts.workloads[p.step]
	}
	if s.Rank != 0 {
		e.InputNote = NoRankZero
		return
	}
	e.ExecutableHash, e.ArgsHash, e.Args = s.ExeHash, s.ArgsHash, s.Args
	e.InputHash, e.Inputs, e.InputNote = s.InputHash, s.Inputs, inputNotes[s.Input]
	if e.InputHash == "" && e.InputNote == "" {
		e.InputNote = inputNotes[record.InputUnreadable]
	}
}
