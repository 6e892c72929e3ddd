package node

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
)

// What the kernel counted in a job's cgroups is read in two ways. The plugin's C reads it when tasks
// end (spank/cgroup.c), and adds it to their exits. The peak of all memory is right then, but the
// tasks' own memory is mostly gone. So while the job runs, jobeff-ingest reads each minute what is not
// file cache, and keeps the most of it.

// cgroupLog adds up what one node knows.
type cgroupLog struct {
	sum   job.Cgroup
	known bool
	kills int            // of all steps
	full  map[string]int // by step
}

// bytes returns a number of an event, which may be too large for 32 bits; 0: it has none.
func (e event) bytes(key string) int64 {
	n, _ := e.counted(key)
	return n
}

// counted returns a number of an event; false: it has none.
func (e event) counted(key string) (int64, bool) {
	n, err := strconv.ParseUint(e.values[key], 10, 53)
	return int64(n), err == nil
}

// exit takes what was read at a task's end. Most of the numbers only grow, and several steps read the
// cgroup of the same job, so the largest counts.
func (c *cgroupLog) exit(e event) {
	at := e.bytes
	most := func(to *int64, n int64) { *to = max(*to, n) }
	count := func(to *int, key string) { *to = max(*to, int(at(key))) }
	own, owned := ownMemory(e.counted)
	rss, ran := e.counted("rss")
	peak, peaked := e.counted("peak")
	c.known = c.known || owned || ran || peaked
	most(&c.sum.Low, own)
	most(&c.sum.Low, rss)
	most(&c.sum.Process, rss)
	most(&c.sum.High, peak)
	if owned {
		c.cached(at("cache") - at("shmem"))
	}
	_, full := e.counted("full")
	if _, kills := e.counted("kills"); full && kills {
		c.sum.Events = 1
	}
	c.sum.Full = max(c.sum.Full, int(at("full")+at("high")))
	if n := int(at("step_full")); n > 0 {
		if c.full == nil {
			c.full = map[string]int{}
		}
		c.full[e.step] = max(c.full[e.step], n)
	}
	count(&c.sum.Kills, "kills")
	count(&c.sum.Faults, "faults")
	count(&c.sum.Swapped, "swapped")
	most(&c.sum.Read, at("read"))
	most(&c.sum.Written, at("written"))
	c.sum.Stalled, c.sum.Throttled = longest(c.sum.Stalled, e, "stalled_us"), longest(c.sum.Throttled, e, "throttled_us")
}

// longest is the longer of so and the event's time, which is in us. Steps that run side by side have
// the same limit, so their times do not add up.
func longest(so *time.Duration, e event, key string) *time.Duration {
	us, ok := e.counted(key)
	if !ok || us > math.MaxInt64/1000 {
		return so
	}
	d := time.Duration(us) * time.Microsecond
	if so != nil && *so >= d {
		return so
	}
	return &d
}

// ownMemory is the memory that the kernel cannot drop: anonymous and shared. Shared memory includes files in
// /dev/shm.
func ownMemory(counted func(string) (int64, bool)) (int64, bool) {
	anon, ok1 := counted("anon")
	shmem, ok2 := counted("shmem")
	return anon + shmem, ok1 && ok2
}

func (c *cgroupLog) cached(n int64) {
	c.sum.Cache, c.sum.Caches = max(c.sum.Cache, n), 1
}

// readings takes what ReadMemory noted.
func (c *cgroupLog) readings(f *os.File) {
	m := map[string]int64{}
	eachLine(f, mostJobBytes, func(line string) {
		key, value, _ := strings.Cut(line, " ")
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 53); err == nil {
			m[key] = int64(n)
		}
	})
	if m["samples"] == 0 {
		return
	}
	c.known = true
	c.sum.Samples = int(m["samples"])
	c.sum.Low, c.sum.High = max(c.sum.Low, m["own"]), max(c.sum.High, m["peak"])
	c.cached(m["cache"])
}

// report returns what the node knows of the job's cgroups; nil: nothing.
func (c *cgroupLog) report() *job.Cgroup {
	if !c.known {
		return nil
	}
	r := c.sum
	r.Nodes, r.Kills = 1, max(r.Kills, c.kills)
	full := 0
	for _, n := range c.full {
		full += n
	}
	r.Full = max(r.Full, full)
	if r.High > 0 {
		r.Peaks = 1
		r.Low = min(r.Low, r.High) // a process may map files whose cache counts elsewhere
	}
	r.NodeLow, r.NodeHigh = r.Low, r.High
	return &r
}

// memoryName is the note that says where a job's cgroup is, and what was read of it while the job ran. The plugin
// makes it with the first line.
const (
	memoryName  = "memory"
	memoryForm  = "samples %20d\nown %20d\ncache %20d\npeak %20d\n"
	cgroupsPath = "/sys/fs/cgroup/"
)

// ReadMemory reads, as root, how much memory the jobs that run hold, and notes the most. What cannot be read is left
// out: a job may end meanwhile.
func ReadMemory(runDir string) {
	for _, id := range jobsIn(runDir) {
		readMemoryOf(filepath.Join(runDir, id, memoryName), cgroupsPath)
	}
}

// readMemoryOf reads the memory of one job. It accepts only a cgroup below tree.
func readMemoryOf(note, tree string) {
	fd, err := unix.Open(note, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), note)
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, mostJobBytes))
	head, _, ended := strings.Cut(string(text), "\n")
	dir, is := strings.CutPrefix(head, "cgroup ")
	if !ended || !is || !strings.HasPrefix(dir, tree) {
		return
	}
	own, cache, ok := memoryNow(dir)
	if !ok {
		return
	}
	var so cgroupLog
	so.readings(f)
	peak := max(so.sum.High, cgroupNumber(dir, "memory.peak"), cgroupNumber(dir, "memory.max_usage_in_bytes"))
	fmt.Fprintf(io.NewOffsetWriter(f, int64(len(head)+1)), memoryForm, so.sum.Samples+1, max(so.sum.Low, own), max(so.sum.Cache, cache), peak)
}

// memoryNow is what a job's cgroup holds: what the kernel cannot drop, and file cache.
func memoryNow(dir string) (own, cache int64, ok bool) {
	stat := map[string]int64{}
	for line := range strings.Lines(cgroupText(dir, "memory.stat")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			stat[key] = n
		}
	}
	for to, from := range map[string]string{"anon": "total_rss", "shmem": "total_shmem", "file": "total_cache"} {
		if n, v1 := stat[from]; v1 {
			stat[to] = n
		}
	}
	own, ok = ownMemory(func(key string) (int64, bool) {
		n, known := stat[key]
		return n, known
	})
	return own, max(stat["file"]-stat["shmem"], 0), ok
}

func cgroupNumber(dir, name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(cgroupText(dir, name)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// cgroupText returns the text of a file of a cgroup; "": it cannot be read.
func cgroupText(dir, name string) string {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostJobBytes))
	if err != nil {
		return ""
	}
	return string(text)
}
