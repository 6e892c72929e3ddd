//go:build failpoint

package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// failpointFile makes the body fail on purpose. Only tests build it so: what is shipped has no failpoints. The file's
// lines are `POINT KIND [JOB]`: POINT is prolog, epilog (the fold) or ship (the outbox), KIND a key of failures, JOB
// the only job whose directory makes it fail. The body obeys it only if nobody but root can write it.
const failpointFile = "/etc/jobeff/failpoints"

func init() { begin = hitFailpoint }

// failures are the ways to fail. None of them returns.
var failures = map[string]func(){
	// recover() in the caller does not help against another goroutine's panic
	"panic": func() {
		go panic("jobeff failpoint")
		sleepForEver()
	},
	// an error of the runtime, against which nothing helps
	"fatal": func() {
		var m sync.Mutex
		m.Unlock()
	},
	"hang": sleepForEver,
	"oom": func() {
		type hog struct {
			next *hog
			use  [16 << 20]byte
		}
		var all *hog
		for {
			all = &hog{next: all}
			for i := 0; i < len(all.use); i += 4096 {
				all.use[i] = 1
			}
		}
	},
}

func sleepForEver() {
	for {
		time.Sleep(time.Hour)
	}
}

func hitFailpoint(point string, r *request) {
	f, err := os.OpenFile(failpointFile, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o022 != 0 || st.Sys().(*syscall.Stat_t).Uid != 0 {
		return
	}
	if fail := failures[failureAt(io.LimitReader(f, 4096), point, r.dir)]; fail != nil {
		fail()
	}
}

// failureAt is the kind of failure that the file asks for at point, "" for none.
func failureAt(r io.Reader, point, dir string) string {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if (len(f) == 2 || len(f) == 3 && strings.HasPrefix(dir, ".done-"+f[2]+"-")) && f[0] == point {
			return f[1]
		}
	}
	return ""
}
