package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// alarmFile lies in the spool, which only root may enter, while jobeffd says that an alarm is up
// (wire.AlarmHeader).
func alarmFile(spool string) string { return filepath.Join(spool, "alarm") }

// KeepAlarm notes for the node's prologs whether jobeffd last said that an alarm is up. A node that
// hears nothing goes on as before.
func KeepAlarm(spool string, up bool) error {
	var err error
	if up {
		err = os.WriteFile(alarmFile(spool), nil, 0o600)
	} else if err = os.Remove(alarmFile(spool)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("ingest: jobeffd's alarm: %w", err)
	}
	return nil
}

// Alarm reports what KeepAlarm noted.
func Alarm(spool string) (up bool) {
	_, err := os.Lstat(alarmFile(spool))
	return err == nil
}
