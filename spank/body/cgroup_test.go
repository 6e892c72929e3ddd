package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a kernel of today writes for a job of 1 GB of its own, 100 MB of them in /dev/shm, and some GB of file cache.
var (
	jobOfV2 = map[string]string{
		"memory.peak": "4294967296\n", "memory.stat": "anon 900000000\nfile 3100000000\nkernel 5\nshmem 100000000\nworkingset_refault_anon 7\npgfault 12\npgmajfault 3\n",
		"memory.events":   "low 0\nhigh 2\nmax 11\noom 1\noom_kill 1\noom_group_kill 0\n",
		"io.stat":         "8:0 rbytes=1000 wbytes=20 rios=3 wios=4 dbytes=0 dios=0\n253:0 rbytes=900 wbytes=50 rios=3 wios=4 dbytes=0 dios=0\n",
		"memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4000\n",
		"cpu.stat":        "usage_usec 10\nuser_usec 5\nsystem_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
	}
	stepOfV2 = map[string]string{"memory.peak": "4000000000\n", "memory.events": "low 0\nhigh 0\nmax 0\noom 1\noom_kill 1\n", "cpu.stat": jobOfV2["cpu.stat"]}
	toldOfV2 = " peak=4294967296 anon=900000000 shmem=100000000 cache=3100000000 faults=3 swapped=7 high=2 full=11 kills=1" +
		" read=1000 written=50 stalled_us=4000 step_peak=4000000000 step_kills=1 throttled=0 throttled_us=0"

	jobOfV1 = map[string]string{
		"memory.max_usage_in_bytes": "4294967296\n", "memory.failcnt": "11\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
		"memory.stat": "cache 5\nrss 6\nshmem 7\ntotal_cache 3100000000\ntotal_rss 900000000\ntotal_shmem 100000000\ntotal_pgmajfault 3\n",
	}
	stepOfV1   = map[string]string{"memory.max_usage_in_bytes": "4000000000\n", "memory.failcnt": "12\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"}
	killedOfV1 = map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"}
	cpuOfV1    = map[string]string{"cpu.stat": "nr_periods 0\nnr_throttled 5\nthrottled_time 5000000\n"}
	toldOfV1   = " peak=4294967296 anon=900000000 shmem=100000000 cache=3100000000 faults=3 full=11 kills=0" +
		" step_peak=4000000000 step_full=12 step_kills=3 throttled=0 throttled_us=0"
)

// without is a folder in which files are missing.
func without(folder map[string]string, names ...string) map[string]string {
	folder = maps.Clone(folder)
	for _, name := range names {
		delete(folder, name)
	}
	return folder
}

// with is a folder in which a file is another one.
func with(folder map[string]string, name, text string) map[string]string {
	folder = maps.Clone(folder)
	folder[name] = text
	return folder
}

// cut takes figures from what is told.
func cut(told string, names ...string) string {
	var left strings.Builder
	for _, figure := range strings.Fields(told) {
		name, _, _ := strings.Cut(figure, "=")
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			left.WriteString(" " + figure)
		}
	}
	return left.String()
}

// tree is a /sys/fs/cgroup: folders, and the files in them.
type tree map[string]map[string]string

func (tr tree) write(t *testing.T, root string) {
	t.Helper()
	for folder, files := range tr {
		dir := filepath.Join(root, folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// readCgroup is where the job's cgroup is, in the tree, and what is told of it after `later` has changed.
func readCgroup(t *testing.T, own string, now, later tree) (job, told string) {
	t.Helper()
	dir, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	root, ownFile := t.TempDir(), filepath.Join(t.TempDir(), "cgroup")
	if err := os.WriteFile(ownFile, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	now.write(t, root)
	cmd := exec.Command(dir+"/cgroup", ownFile, root)
	in, _ := cmd.StdinPipe()
	pipe, _ := cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	job, _ = out.ReadString('\n')
	later.write(t, root)
	fmt.Fprintln(in)
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(job), root), strings.TrimSuffix(string(rest), "\n")
}

// The job's and the step's cgroups are found in all of Slurm's layouts, and what a kernel does not tell is left out.
func TestCgroups(t *testing.T) {
	const scope = "/system.slice/slurmstepd.scope"
	v2 := func(job string, ofJob, ofStep map[string]string) tree {
		return tree{job: ofJob, job + "/step_0": ofStep, job + "/step_0/slurm": {"memory.peak": "1\n"}, "/": {"cpu.stat": "usage_usec 10\n"}}
	}
	v1 := func(job string, ofJob, ofStep map[string]string) tree {
		return tree{"/memory" + job: ofJob, "/memory" + job + "/step_0": ofStep, "/memory" + job + "/step_0/task_0": killedOfV1, "/cpu,cpuacct/slurmd": cpuOfV1, "/cpu,cpuacct": cpuOfV1}
	}
	const v1Own = "9:memory:/slurm/uid_1000/job_5/step_0\n8:cpuset:/slurm/uid_1000/job_5\n4:cpu,cpuacct:/slurmd\n1:name=systemd:/x\n0::/x\n"
	for name, c := range map[string]struct {
		own        string
		now, later tree
		job, told  string
	}{
		"version 2":                   {"0::" + scope + "/job_5/step_0/slurm\n", v2(scope+"/job_5", jobOfV2, stepOfV2), nil, scope + "/job_5", toldOfV2},
		"a SLUID":                     {"0::" + scope + "/sEKNKTV3WPV500/step_0/slurm\n", v2(scope+"/sEKNKTV3WPV500", jobOfV2, stepOfV2), nil, scope + "/sEKNKTV3WPV500", toldOfV2},
		"several slurmds":             {"0::/system.slice/n2_slurmstepd.scope/job_5/step_0/slurm\n", v2("/system.slice/n2_slurmstepd.scope/job_5", jobOfV2, stepOfV2), nil, "/system.slice/n2_slurmstepd.scope/job_5", toldOfV2},
		"a namespace":                 {"0::/../../kubepods/pod1" + scope + "/job_5/step_0/slurm\n", v2(scope+"/job_5", jobOfV2, stepOfV2), nil, scope + "/job_5", toldOfV2},
		"before 5.19":                 {"0::/job_5/step_0/slurm\n", v2("/job_5", without(jobOfV2, "memory.peak"), without(stepOfV2, "memory.peak")), nil, "/job_5", cut(toldOfV2, "peak", "step_peak")},
		"no PSI":                      {"0::/job_5/step_0/slurm\n", v2("/job_5", without(jobOfV2, "memory.pressure"), stepOfV2), nil, "/job_5", cut(toldOfV2, "stalled_us")},
		"no io":                       {"0::/job_5/step_0/slurm\n", v2("/job_5", with(jobOfV2, "io.stat", ""), stepOfV2), nil, "/job_5", cut(toldOfV2, "read", "written")},
		"no memory controller":        {"0::/job_5/step_0/slurm\n", v2("/job_5", map[string]string{"cpu.stat": jobOfV2["cpu.stat"]}, nil), nil, "/job_5", " throttled=0 throttled_us=0"},
		"throttled":                   {"0::/job_5/step_0/slurm\n", v2("/job_5", jobOfV2, stepOfV2), tree{"/job_5": {"cpu.stat": "nr_throttled 3\nthrottled_usec 900\n"}}, "/job_5", strings.Replace(toldOfV2, "throttled=0 throttled_us=0", "throttled=3 throttled_us=900", 1)},
		"a limit that counts down":    {"0::/job_5/step_0/slurm\n", v2("/job_5", with(jobOfV2, "cpu.stat", "nr_throttled 3\nthrottled_usec 900\n"), stepOfV2), tree{"/job_5": {"cpu.stat": "nr_throttled 1\nthrottled_usec 1\n"}}, "/job_5", cut(toldOfV2, "throttled", "throttled_us")},
		"version 1":                   {v1Own, v1("/slurm/uid_1000/job_5", jobOfV1, stepOfV1), nil, "/memory/slurm/uid_1000/job_5", toldOfV1},
		"version 1, throttled":        {v1Own, v1("/slurm/uid_1000/job_5", jobOfV1, stepOfV1), tree{"/cpu,cpuacct/slurmd": {"cpu.stat": "nr_throttled 7\nthrottled_time 1005000000\n"}}, "/memory/slurm/uid_1000/job_5", strings.Replace(toldOfV1, "throttled=0 throttled_us=0", "throttled=2 throttled_us=1000000", 1)},
		"version 1, several slurmds":  {strings.ReplaceAll(v1Own, "/slurm/", "/slurm_n2/"), v1("/slurm_n2/uid_1000/job_5", jobOfV1, stepOfV1), nil, "/memory/slurm_n2/uid_1000/job_5", toldOfV1},
		"version 1, a part of a tree": {strings.ReplaceAll(v1Own, "/slurm/", "/part/n1/slurm/"), v1("/slurm/uid_1000/job_5", jobOfV1, stepOfV1), nil, "/memory/slurm/uid_1000/job_5", toldOfV1},
		"version 1 of old kernels":    {v1Own, v1("/slurm/uid_1000/job_5", with(jobOfV1, "memory.stat", "total_rss 900000000\n"), without(stepOfV1, "memory.oom_control")), nil, "/memory/slurm/uid_1000/job_5", cut(toldOfV1, "shmem", "cache", "faults", "step_kills")},
		"garbled": {"0::/job_5/step_0/slurm\n", v2("/job_5", map[string]string{"memory.peak": "max\n", "memory.stat": "anon -4\nfile 99999999999999999999\nshmem 7x\npgmajfault\n",
			"memory.events": "oom_kill 1 2\nmax \x00\n", "io.stat": "rbytes=5", "memory.pressure": "full total=x"}, nil), nil, "/job_5", ""},
		"no step":         {"0::/system.slice/slurmd.service\n", tree{"/": nil}, nil, "", ""},
		"a step's folder": {"0::/step_0\n", tree{"/step_0": stepOfV2}, nil, "", " throttled=0 throttled_us=0"},
		"nothing":         {"", tree{"/": nil}, nil, "", ""},
		"no lines":        {"::::\n\n0:\n0::relative/step_0\n" + strings.Repeat("x", 9000), tree{"/": nil}, nil, "", ""},
		"a long path":     {"0::/" + strings.Repeat("x", 2000) + "/step_0\n", tree{"/": nil}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if job, told := readCgroup(t, c.own, c.now, c.later); job != c.job || told != c.told {
				t.Errorf("in %q told\n%q\nwant %q\n%q", job, told, c.job, c.told)
			}
		})
	}
}

// BenchmarkCgroup is what slurmstepd's reading of a step's cgroups takes of a CPU: the median of 1,000 of real ones of this
// machine, whose job has four steps of four tasks.
func BenchmarkCgroup(b *testing.B) {
	dir, err := parts()
	if err != nil {
		b.Fatal(err)
	}
	own, mount := "0::%s/step_0\n", "/sys/fs/cgroup"
	if _, err := os.Stat(mount + "/memory/tasks"); err == nil {
		own, mount = "2:memory:%s/step_0\n1:cpu:/\n", mount+"/memory"
	}
	top := fmt.Sprintf("/jobeff-bench-%d", os.Getpid())
	var made []string
	for _, folder := range []string{"", "/job_1", "/job_1/step_%d", "/job_1/step_%d/task_%d"} {
		for i := range 16 {
			name := mount + top + fmt.Sprintf(folder, []any{i % 4, i / 4}[:strings.Count(folder, "%d")]...)
			if err := os.Mkdir(name, 0o755); err == nil {
				made = append(made, name)
			}
		}
	}
	defer func() {
		for _, name := range slices.Backward(made) {
			os.Remove(name)
		}
	}()
	ownFile := filepath.Join(b.TempDir(), "cgroup")
	if err := os.WriteFile(ownFile, fmt.Appendf(nil, own, top+"/job_1"), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		out, err := exec.Command(dir+"/cgroup", ownFile, "/sys/fs/cgroup", "1000").Output()
		us, bad := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil || bad != nil {
			b.Fatal(err, bad)
		}
		b.ReportMetric(us, "cpu-us")
		b.ReportMetric(0, "ns/op")
	}
}
