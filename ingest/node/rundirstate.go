package node

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
)

// ReadRunDirs looks how full a node's run directories are.
func ReadRunDirs(runDir string) (s job.RunDirState, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(runDir, &fs); err != nil {
		return s, err
	}
	s.Notes = max(percent(fs.Blocks-fs.Bfree, fs.Blocks), percent(fs.Files-fs.Ffree, fs.Files))
	records, err := filepath.Glob(filepath.Join(runDir, "*", recordDir))
	for _, record := range records {
		dir := filepath.Dir(record)
		if !isMount(dir, record) || unix.Statfs(record, &fs) != nil {
			continue
		}
		s.Records++
		switch {
		case strings.HasPrefix(filepath.Base(dir), gonePrefix):
			s.Held += int64(fs.Blocks-fs.Bfree) * fs.Bsize
		case fs.Bfree == 0:
			s.Full++
		}
	}
	return s, err
}

// percent of a whole; 0 of none.
func percent(part, whole uint64) int { return int(100 * part / max(whole, 1)) }
