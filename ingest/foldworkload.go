package ingest

import (
	"encoding/hex"
	"strings"

	"jobeff/preload/record"
)

// Bounds of what tells a workload.
const (
	mostArgs     = 1025 // 1 KiB of text, and the mark that there is more
	mostWorkload = 64   // bytes of a name, as the plugin takes it
	mostNote     = 200
)

// noRankZero is Execution.InputNote where nothing tells the workload: rank 0 alone looks.
const noRankZero = "rank 0 left no record"

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

// tellWorkload fills in what tells the workload, from the lowest rank here: merging
// keeps that of the lowest rank of all.
func (f *folder) tellWorkload(e *Execution, p *process) {
	s := p.slot
	e.Workload = cleanWorkload(s.Workload)
	if f.facts != nil && f.facts.workloads[p.step] != "" {
		e.Workload = f.facts.workloads[p.step]
	}
	if s.Rank != 0 {
		e.InputNote = noRankZero
		return
	}
	e.ExecutableHash, e.ArgsHash, e.Args = s.ExeHash, s.ArgsHash, s.Args
	e.InputHash, e.Inputs, e.InputNote = s.InputHash, s.Inputs, inputNotes[s.Input]
	if e.InputHash == "" && e.InputNote == "" {
		e.InputNote = inputNotes[record.InputUnreadable]
	}
}

// cleanWorkload makes what tells the workload what it can be, whoever wrote it.
func (x *Execution) cleanWorkload() {
	for _, hash := range []*string{&x.ExecutableHash, &x.ArgsHash, &x.InputHash} {
		if b, err := hex.DecodeString(*hash); err != nil || len(b) != 16 {
			*hash = ""
		}
	}
	x.Args = x.Args[:min(len(x.Args), mostArgs)]
	x.Workload = CleanText(x.Workload, mostWorkload)
	x.Inputs = min(x.Inputs, record.InputsMost)
	x.InputNote = CleanText(x.InputNote, mostNote)
	if x.InputHash == "" {
		x.Inputs = 0
	} else {
		x.InputNote = ""
	}
}

// cleanWorkload is a workload's name as the plugin takes one, else "".
func cleanWorkload(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+:@/-"
	if len(name) > mostWorkload || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(allowed, c) }) {
		return ""
	}
	return name
}
