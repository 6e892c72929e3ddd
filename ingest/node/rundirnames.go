package node

import (
	"golang.org/x/sys/unix"
)

// RunDirPath is where the plugin makes the run directories of a node.
const RunDirPath = "/run/jobeff"

// Run directories of ended jobs are called by a prefix and JOB-NONCE.
const (
	donePrefix = ".done-" // it waits to be folded
	gonePrefix = ".gone-" // its report is in the outbox: it need only be removed
)

// recordDir is the part of a run directory on which the record's own file system is mounted.
const recordDir = "record"

// recordNames are where a run directory has its record. That of a job that began under an
// earlier version lies beside root's notes.
var recordNames = []string{recordDir + "/ranks", "ranks"}

// isMount says whether a file system is mounted on sub, which lies in dir.
func isMount(dir, sub string) bool {
	var outer, inner unix.Stat_t
	return unix.Lstat(dir, &outer) == nil && unix.Lstat(sub, &inner) == nil && outer.Dev != inner.Dev
}
