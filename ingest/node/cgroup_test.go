package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// exitsOf is a log of exits with these figures, each of a step.
func exitsOf(figures ...string) string {
	var log strings.Builder
	for _, f := range figures {
		step, told, _ := strings.Cut(f, ":")
		log.WriteString("exit " + step + " 20000000000 1700000020000000000 pid=7 task=0 status=0 " + told + "\n")
	}
	return log.String()
}

// TestCgroupLog: what root noted at the ends of tasks and while they ran becomes an interval, and what a kernel did not tell
// stays unknown.
func TestCgroupLog(t *testing.T) {
	const gb = 1e9
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	const whole = "0:peak=4000000000 anon=900000000 shmem=100000000 cache=3100000000 faults=3 full=0 kills=0 rss=950000000"
	for name, c := range map[string]struct {
		exits  []string
		memory string
		want   *job.Cgroup
	}{
		"a task": {[]string{whole}, "", &job.Cgroup{Nodes: 1, Low: gb, High: 4 * gb, Peaks: 1, NodeLow: gb, NodeHigh: 4 * gb, Process: 950e6, Cache: 3 * gb, Caches: 1, Events: 1, Faults: 3}},
		"side by side, and one after the other": {[]string{whole, "1:peak=5000000000 anon=100 shmem=0 cache=0 faults=5 full=2 kills=1 rss=1", "1:peak=5000000000 anon=1 shmem=0 full=2 kills=1"}, "",
			&job.Cgroup{Nodes: 1, Low: gb, High: 5 * gb, Peaks: 1, NodeLow: gb, NodeHigh: 5 * gb, Process: 950e6, Cache: 3 * gb, Caches: 1, Events: 1, Faults: 5, Full: 2, Kills: 1}},
		"readings": {[]string{whole}, "samples                   25\nown           1200000000\ncache                  7\npeak          4100000000\n",
			&job.Cgroup{Nodes: 1, Low: 1.2 * gb, High: 4.1 * gb, Peaks: 1, NodeLow: 1.2 * gb, NodeHigh: 4.1 * gb, Samples: 25, Process: 950e6, Cache: 3 * gb, Caches: 1, Events: 1, Faults: 3}},
		"readings alone": {nil, "cgroup /x\nsamples 1\nown 5\ncache 7\npeak 0\n", &job.Cgroup{Nodes: 1, Low: 5, NodeLow: 5, Samples: 1, Cache: 7, Caches: 1}},
		"no readings":    {nil, "cgroup /x\n", nil},
		"no peak":        {[]string{"0:anon=5 shmem=1 cache=1 full=0 kills=0"}, "", &job.Cgroup{Nodes: 1, Low: 6, NodeLow: 6, Caches: 1, Events: 1}},
		"no kills":       {[]string{"0:peak=9 anon=5 shmem=1 cache=3 full=0"}, "", &job.Cgroup{Nodes: 1, Low: 6, High: 9, Peaks: 1, NodeLow: 6, NodeHigh: 9, Cache: 2, Caches: 1}},
		"no shmem":       {[]string{"0:peak=9 anon=5 rss=4"}, "", &job.Cgroup{Nodes: 1, Low: 5, High: 9, Peaks: 1, NodeLow: 5, NodeHigh: 9, Process: 4}},
		"only rusage":    {[]string{"0:rss=4", "batch:rss=3"}, "", &job.Cgroup{Nodes: 1, Low: 4, NodeLow: 4, Process: 4}},
		"a mapped file":  {[]string{"0:peak=9 rss=40"}, "", &job.Cgroup{Nodes: 1, Low: 9, High: 9, Peaks: 1, NodeLow: 9, NodeHigh: 9, Process: 40}},
		"version 1 counts kills and limits of each step": {[]string{"0:peak=9 full=1 kills=0 step_full=3 step_kills=1", "1:peak=9 full=1 kills=0 step_full=4 step_kills=2"}, "",
			&job.Cgroup{Nodes: 1, High: 9, Peaks: 1, NodeHigh: 9, Events: 1, Full: 7, Kills: 3}},
		"held up": {[]string{"0:peak=9 stalled_us=2000 throttled=3 throttled_us=7000", "1:peak=9 stalled_us=3000 throttled=0 throttled_us=0"}, "",
			&job.Cgroup{Nodes: 1, High: 9, Peaks: 1, NodeHigh: 9, Stalled: ms(3), Throttled: ms(7)}},
		"not held up": {[]string{"0:peak=9 throttled=0 throttled_us=0"}, "", &job.Cgroup{Nodes: 1, High: 9, Peaks: 1, NodeHigh: 9, Throttled: ms(0)}},
		"nothing":     {[]string{"0:"}, "", nil},
		"garbled":     {[]string{"0:peak=-1 anon=9999999999999999999999 shmem=0x1 rss= stalled_us=9007199254740991999"}, "samples -1\nown\n\x00\nsamples 1e3\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"decision": "on\n", "job": jobText(), "steps": exitsOf(c.exits...)}
			if c.memory != "" {
				files["memory"] = c.memory
			}
			d, err := OpenDir(writeRunDir(t, files))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			m := testMachine(100)
			m.ThreadsPerCore = 2
			r, err := d.Fold(m)
			if err != nil {
				t.Fatal(err)
			}
			if c.want != nil {
				c.want.CPUs, c.want.Cores = 2, 1
			}
			if diff := cmp.Diff(c.want, r.Cgroup); diff != "" {
				t.Error(diff)
			}
			before := r.Cgroup
			if err := wire.Validate(r); err != nil || r.Cgroup != before {
				t.Errorf("the server refuses it: %v", err)
			}
		})
	}
}

// TestReadMemory: readings keep the most, of kernels with cgroups of either version.
func TestReadMemory(t *testing.T) {
	root := t.TempDir() + "/"
	note := filepath.Join(t.TempDir(), "memory")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string) {
		t.Helper()
		readMemoryOf(note, root)
		text, _ := os.ReadFile(note)
		if got := strings.Join(strings.Fields(string(text)), " "); got != strings.TrimSpace("cgroup "+root+"job "+want) {
			t.Errorf("noted %q, want %q", got, want)
		}
	}
	stat := filepath.Join(root, "job/memory.stat")
	if err := os.Mkdir(filepath.Dir(stat), 0o700); err != nil {
		t.Fatal(err)
	}
	write(note, "cgroup "+root+"job\n")
	read("") // the cgroup is gone
	write(stat, "anon 50\nfile 70\nshmem 20\n")
	read("samples 1 own 70 cache 50 peak 0")
	write(stat, "anon 10\nfile 170\nshmem 30\n")
	write(filepath.Join(root, "job/memory.peak"), "1000\n")
	read("samples 2 own 70 cache 140 peak 1000")
	write(stat, "cache 1\nrss 2\nshmem 3\ntotal_cache 90\ntotal_rss 60\ntotal_shmem 40\n")
	read("samples 3 own 100 cache 140 peak 1000")
	write(stat, "total_cache 90\ntotal_rss 6000\n") // an old kernel, whose shared memory is not known
	read("samples 3 own 100 cache 140 peak 1000")
	for _, odd := range []string{"", "cgroup " + root + "job", "cgroup /etc\n", "samples 5\n"} {
		write(stat, "anon 50\nfile 70\nshmem 20\n")
		write(note, odd)
		readMemoryOf(note, root)
		if text, _ := os.ReadFile(note); string(text) != odd {
			t.Errorf("%q became %q", odd, text)
		}
	}
}
