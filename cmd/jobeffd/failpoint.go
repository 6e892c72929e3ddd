//go:build failpoint

package main

import (
	"io"
	"os"
	"strings"
	"syscall"
)

// failpointFile makes jobeffd fail on purpose; the plugin's body (spank/body) reads it, too. With
// the line `committed kill` the daemon kills itself after the next COMMIT of a report, before
// the answer. Only tests build jobeffd with failpoints; the shipped one has none. The file counts
// only if root alone can write it.
const failpointFile = "/etc/jobeff/failpoints"

func init() { committed = failpoint() }

// failpoint reads, once at the start, what to do after a COMMIT; usually nil.
func failpoint() func() {
	f, err := os.OpenFile(failpointFile, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o022 != 0 || st.Sys().(*syscall.Stat_t).Uid != 0 {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	for line := range strings.Lines(string(text)) {
		if err == nil && strings.TrimSpace(line) == "committed kill" {
			return func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
		}
	}
	return nil
}
