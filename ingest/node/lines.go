package node

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"jobeff/preload/record"
)

// The most bytes that are read of root's files, and of one line.
const (
	mostJobBytes  = 64 << 10
	mostStepBytes = 32 << 20
	mostLine      = 4 << 10
)

// eachLine calls do with every line of f that is not longer than mostLine. It skips a last line
// without its end: the node died while writing it.
func eachLine(f *os.File, limit int64, do func(line string)) {
	if f == nil {
		return
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, limit), mostLine)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			do(record.Text(line[:len(line)-1]))
		case errors.Is(err, bufio.ErrBufferFull):
			if !skipLine(r) {
				return
			}
		default:
			return
		}
	}
}

// hex16 is text if it is 16 bytes in hex, else "".
func hex16(text string) string {
	if b, err := hex.DecodeString(text); err != nil || len(b) != 16 {
		return ""
	}
	return strings.ToLower(text)
}

// realTime is a moment of CLOCK_REALTIME in ns, or zero if ns cannot be one.
func realTime(ns uint64) time.Time {
	if ns == 0 || ns > 1<<62 {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

// skipLine skips to the end of the line; false at the end of the file.
func skipLine(r *bufio.Reader) bool {
	for {
		_, err := r.ReadSlice('\n')
		if err == nil {
			return true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return false
		}
	}
}
