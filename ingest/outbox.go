package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// WriteOutbox makes a report durable on the node: when it returns without an
// error the file and its name are on the disk. The same run written twice is one
// file. It returns the file's path. A report in which nothing was measured is only
// added to a batch, and not waited for.
func WriteOutbox(spool string, r *NodeReport) (path string, err error) {
	e, err := outboxEntryOf(r, !r.Measured())
	if err != nil {
		return "", err
	}
	return e.write(spool)
}

// Measured says that the report holds what nobody else knows.
func (r *NodeReport) Measured() bool {
	return len(r.Executions) > 0 || r.Processes > 0 || r.LostFull > 0 || r.LostMemory > 0
}

// outboxEntry is a report as the outbox holds it: a file of its own, which is zstd and goes
// over the wire and into the database as it is, or a line of a batch.
type outboxEntry struct {
	name string // of the file of its own
	body []byte
	line bool
}

// outboxEntryOf is a line of a batch for a light report, unless it is long.
func outboxEntryOf(r *NodeReport, light bool) (e outboxEntry, err error) {
	name, err := outboxName(r)
	if err != nil {
		return e, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return e, fmt.Errorf("ingest: report of job %d: %w", r.JobID, err)
	}
	if light && len(text) <= mostBatchLine {
		return outboxEntry{name + reportExt, text, true}, nil
	}
	return outboxEntry{name + packedExt, Compress(text), false}, nil
}

func (e *outboxEntry) write(spool string) (path string, err error) {
	dir := OutboxDir(spool)
	if err := makePrivateDir(dir); err != nil {
		return "", err
	}
	if e.line {
		path, err = addToBatch(dir, e.body)
	} else {
		path, err = filepath.Join(dir, e.name), writeDurable(dir, e.name, e.body)
	}
	if err != nil {
		return "", fmt.Errorf("ingest: report %s: %w", e.name, err)
	}
	return path, nil
}

// What a report's file ends in: text, as refused lines of a batch and old files are, or zstd.
const (
	reportExt = ".json"
	packedExt = ".json.zst"
)

// outboxName is <cluster>-<jobid>-<run>, without what it ends in; the run is random, so
// what else is in the name need not be unique.
func outboxName(r *NodeReport) (string, error) {
	if !isHex32(r.Run) {
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

// isHex32 tells 32 lower-case hex digits, as a run, a nonce and a boot id are.
func isHex32(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// makePrivateDir makes dir and what is above it; dir itself is only its owner's,
// whoever made it before.
func makePrivateDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("ingest: spool: %w", err)
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("ingest: spool: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

// writeDurable writes dir/name so that a reader, also after a crash, sees either
// all of it or nothing: temporary file, fsync, rename, fsync of the directory.
func writeDurable(dir, name string, body []byte) error {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
