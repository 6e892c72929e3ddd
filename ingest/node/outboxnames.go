package node

import (
	"fmt"
	"path/filepath"
	"strings"

	"jobeff/ingest/job"
)

// The spool's two folders, made 0700: what waits to be sent, and what the server
// refused for good, each file with its reason beside it (NAME.reason).
const (
	outboxDir  = "outbox"
	refusedDir = "refused"
)

// OutboxDir is the folder below spool in which reports wait.
func OutboxDir(spool string) string { return filepath.Join(spool, outboxDir) }

// RefusedDir is the folder below spool of reports that the server refused.
func RefusedDir(spool string) string { return filepath.Join(spool, refusedDir) }

// What a report's file ends in: text, as refused lines of a batch and old files are, or zstd.
const (
	ReportExt = ".json"
	PackedExt = ".json.zst"
)

// OutboxName is <cluster>-<jobid>-<run>, without what it ends in; the run is random, so
// what else is in the name need not be unique.
func OutboxName(r *job.NodeReport) (string, error) {
	if !job.IsHex32(r.Run) {
		return "", fmt.Errorf("ingest: report of job %d: run %q is not 32 hex digits", r.JobID, r.Run)
	}
	cluster := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, r.Cluster)
	if len(cluster) > 64 {
		cluster = cluster[:64]
	}
	return fmt.Sprintf("%s-%d-%s", cluster, r.JobID, r.Run), nil
}

// NextLock is the file that the sender which waits for its turn holds.
func NextLock(spool string) string { return filepath.Join(spool, ".send-next.lock") }

// What a batch ends in, and the one that lines are added to, see addToBatch.
const (
	BatchExt  = ".jsonl"
	OpenBatch = "open" + BatchExt
)

// IsOutboxFile tells a report or a batch by its name.
func IsOutboxFile(name string) bool {
	return name[0] != '.' && (filepath.Ext(name) == ReportExt || filepath.Ext(name) == BatchExt || strings.HasSuffix(name, PackedExt))
}
