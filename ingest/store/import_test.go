package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestImportKeepsLogShort: an import beside a jobeffd that writes nothing, and one without a jobeffd, keep
// SQLite's log short. A log that only grew would fill a small disk.
func TestImportKeepsLogShort(t *testing.T) {
	onlySQLite(t, "its log is a file of SQLite's")
	from := open(t)
	for id := range uint32(100) { // 100 MiB
		if _, err := from.AddReport(ctx, Sender{}, nodeReport(id+1, 1, "a", 0), make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	var export bytes.Buffer
	if err := from.Export(ctx, &export, nil); err != nil {
		t.Fatal(err)
	}
	for name, daemon := range map[string]bool{"beside a jobeffd": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobeff.db")
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if daemon {
				defer s.Close()
			} else {
				s.Close()
			}
			beside, err := OpenBeside(path)
			if err != nil {
				t.Fatal(err)
			}
			defer beside.Close()
			longest := int64(0)
			done, err := beside.Import(ctx, bytes.NewReader(export.Bytes()), func(Imported) {
				if log, err := os.Stat(path + "-wal"); err == nil {
					longest = max(longest, log.Size())
				}
			})
			if err != nil || done.Attempts != 100 {
				t.Fatalf("%+v, %v", done, err)
			}
			if longest > walLimit {
				t.Errorf("the log had %d MiB", longest>>20)
			}
		})
	}
}
