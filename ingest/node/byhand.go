package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// ByHand folds records that were made by hand, one for each host, into one job without an id. Where a person could
// misread the figures, it says so in notes: a record may hold several runs, or be older than the last boot.
func ByHand(files []string) (j *job.Job, notes []string, err error) {
	var merger assemble.Merger
	machine := ThisMachine()
	for _, file := range files {
		r, err := FoldFile(file, machine)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%s does not exist: %s", file, whyNone(file))
		}
		if err != nil {
			return nil, nil, err
		}
		if n := len(r.Executions); n > 1 {
			notes = append(notes, fmt.Sprintf("%s holds %d runs of programs, and their sum comes first: remove it before a run that you want to see alone", file, n))
		}
		if host, _ := os.Hostname(); r.Node == host && r.BootID != machine.BootID {
			notes = append(notes, fmt.Sprintf("%s was made before this machine's last boot, so no run since then is in it: remove it before the next one", file))
		}
		merger.Add(r)
	}
	j = merger.Job()
	j.DisplayID = ""
	return j, notes, nil
}

// whyNone explains why the library may have made no record at a path, and what to do. The library itself
// prints nothing (FLOW 2).
func whyNone(path string) string {
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return fmt.Sprintf("there is no folder %s, so no program could make it. Make the folder, and run the program again", dir)
	}
	if unix.Access(dir, unix.W_OK) != nil {
		return fmt.Sprintf("you may not write into %s, so your programs could not make it there. Name another place in JOBEFF_RECORD", dir)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && limit.Cur < record.FileBytes {
		return fmt.Sprintf("files may not be larger than %d bytes here (ulimit -f), and a record needs %d", limit.Cur, record.FileBytes)
	}
	return "no program made it. Was LD_PRELOAD the full path of libjobeff.so, and JOBEFF_RECORD this path? Is the program linked dynamically to an MPI, or has it OpenMP?"
}
