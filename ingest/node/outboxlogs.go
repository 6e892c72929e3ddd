package node

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
)

// Logs of windows wait in a folder beside the outbox. They only add to a report, so they never
// take room from one: they have an eighth of it, and go first when a report has no room.

// WriteLogs writes the logs that belong to a report durably, if they have room.
func (o Outbox) WriteLogs(r *job.NodeReport, packed []byte) error {
	if len(packed) == 0 || len(packed) > job.MaxLogsBytes {
		return nil
	}
	name, err := OutboxName(r)
	if err != nil {
		return err
	}
	dir := LogsDir(o.Spool)
	if err := MakePrivateDir(dir); err != nil {
		return err
	}
	bytes := onDisk(int64(len(packed)))
	logs, room := usedIn(dir, ownerOf(name)), o.Most/8
	if o.Most > 0 && (logs.all+bytes > room || logs.own+bytes > room/2 || o.usage("").all+bytes > o.Most) {
		return nil
	}
	return WriteDurable(dir, name+logsExt, packed)
}

// dropLogs deletes all logs; it tells whether there were any.
func (o Outbox) dropLogs() (dropped bool) {
	dir := LogsDir(o.Spool)
	_ = eachFile(dir, func(name string, _ *unix.Stat_t) {
		dropped = os.Remove(filepath.Join(dir, name)) == nil || dropped
	})
	return dropped
}
