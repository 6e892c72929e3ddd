package node

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"jobeff/ingest/job"
)

// The spool's two folders, of mode 0700: reports that wait, and reports that were refused for
// good, each with its reason beside it (NAME.reason).
const (
	outboxDir  = "outbox"
	refusedDir = "refused"
)

// OutboxDir is the folder below spool in which reports wait.
func OutboxDir(spool string) string { return filepath.Join(spool, outboxDir) }

// RefusedDir is the folder below spool of reports that were refused.
func RefusedDir(spool string) string { return filepath.Join(spool, refusedDir) }

// How a report's file name ends: text (refused lines of a batch, and old files) or zstd.
const (
	ReportExt = ".json"
	PackedExt = ".json.zst"
)

// OutboxName is <uid>.<cluster>-<jobid>-<nonce>, without an ending. The nonce is random, so the
// rest of the name need not be unique.
func OutboxName(r *job.NodeReport) (string, error) {
	if !job.IsHex32(r.Nonce) {
		return "", fmt.Errorf("ingest: report of job %d: nonce %q is not 32 hex digits", r.JobID, r.Nonce)
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
	return fmt.Sprintf("%d.%s-%d-%s", r.UID, cluster, r.JobID, r.Nonce), nil
}

// ownerOf is the uid of the job whose report a file holds; "" of a batch, and of what is no
// report.
func ownerOf(name string) string {
	uid, _, _ := strings.Cut(name, ".")
	if _, err := strconv.ParseUint(uid, 10, 32); err != nil || strings.HasSuffix(name, BatchExt) {
		return ""
	}
	return uid
}

// NextLock is the file that a waiting sender locks.
func NextLock(spool string) string { return filepath.Join(spool, ".send-next.lock") }

// How a batch's name ends, and the name of the one that lines are added to.
const (
	BatchExt  = ".jsonl"
	OpenBatch = "open" + BatchExt
)

// IsUnknownFile tells whether a file has a report's name (OutboxName) and an ending that this
// program does not know: a newer one wrote it.
func IsUnknownFile(name string) bool {
	if uid := ownerOf(name); uid != "" {
		name = name[len(uid)+1:]
	}
	stem, _, _ := strings.Cut(name, ".")
	return job.IsHex32(stem[strings.LastIndexByte(stem, '-')+1:]) && filepath.Ext(name) != reasonExt && !IsOutboxFile(name)
}

// reasonExt is how the name of a refusal's reason ends.
const reasonExt = ".reason"

// IsOutboxFile tells by its name whether a file is a report or a batch.
func IsOutboxFile(name string) bool {
	return name[0] != '.' && (filepath.Ext(name) == ReportExt || filepath.Ext(name) == BatchExt || strings.HasSuffix(name, PackedExt))
}

// logsDir is the folder, of mode 0700. logsExt is how a file's name ends; its stem is the name of
// its report.
const (
	logsDir = "logs"
	logsExt = ".logs.zst"
)

// LogsDir is the folder below spool in which logs of windows wait.
func LogsDir(spool string) string { return filepath.Join(spool, logsDir) }

// IsLogsFile tells by its name whether a file holds logs.
func IsLogsFile(name string) bool { return name[0] != '.' && strings.HasSuffix(name, logsExt) }
