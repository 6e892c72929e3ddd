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
	if o.Most > 0 && !o.hasRoomForLogs(ownerOf(name), onDisk(int64(len(packed)))) {
		return nil
	}
	return WriteDurable(dir, name+logsExt, packed)
}

// hasRoomForLogs tells whether so many bytes of a user's logs have room.
func (o Outbox) hasRoomForLogs(owner string, bytes int64) bool {
	logs, room := usedIn(LogsDir(o.Spool), owner), o.Most/8
	return logs.all+bytes <= room && logs.own+bytes <= room/2 && usedIn(OutboxDir(o.Spool), "").all+logs.all+bytes <= o.Most
}

// dropLogs deletes all logs; it tells whether there were any.
func (o Outbox) dropLogs() (dropped bool) {
	dir := LogsDir(o.Spool)
	_ = eachFile(dir, func(name string, _ *unix.Stat_t) {
		dropped = os.Remove(filepath.Join(dir, name)) == nil || dropped
	})
	return dropped
}
