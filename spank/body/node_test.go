package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/test/trial"
)

// The user of the jobs in these tests: nobody in particular, but not root.
const user = 12345

// parts are the plugin, its body, a library and the host, built once.
var parts = sync.OnceValues(buildParts)

var partsDir string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(partsDir)
	os.Exit(code)
}

func buildParts() (string, error) {
	dir, err := os.MkdirTemp("", "jobeff-spank")
	if err != nil {
		return "", err
	}
	partsDir = dir
	plugin, err := filepath.Glob("../*.c")
	if err != nil {
		return "", err
	}
	headers, err := filepath.Glob("../../preload/[rl]*/*.h")
	if err != nil {
		return "", err
	}
	plugin = append(plugin, "../../preload/record/make.c", "../../preload/lib/hash.c")
	for _, f := range slices.Concat([]string{"../jobeff_spank.h", "testdata/host.c", "testdata/preload_list.c", "testdata/cgroup.c"}, headers, plugin) {
		if _, err := os.ReadFile(f); err != nil { // so that go test knows what its cached result rests on
			return "", err
		}
	}
	cc := []string{"gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC"}
	if sanitized() {
		cc = append(cc, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
	}
	shared := []string{"-shared", "-fvisibility=hidden", "-o"}
	for _, command := range [][]string{
		slices.Concat(cc, shared, []string{dir + "/jobeff_spank.so"}, plugin, []string{"-ldl"}),
		slices.Concat(cc, []string{"-rdynamic", "-o", dir + "/host", "testdata/host.c", "-ldl"}),
		slices.Concat(cc, []string{"-o", dir + "/preload_list", "testdata/preload_list.c", "../preload_list.c"}),
		slices.Concat(cc, []string{"-o", dir + "/cgroup", "testdata/cgroup.c", "../cgroup.c", "../text.c", "../../preload/record/make.c"}),
		{"gcc", "-shared", "-fPIC", "-x", "c", "-o", dir + "/libjobeff.so", "/dev/null"},
		{"go", "build", "-tags", "failpoint", "-buildmode=c-shared", "-o", dir + "/jobeff_spank_body.so", "."},
		{"chmod", "-R", "a+rX", dir},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	return dir, nil
}

// testNode is a machine's /run/jobeff, /etc/jobeff and /var/spool/jobeff. They stand in their places
// in a mount namespace of their own, in which every process of the node is started.
type testNode struct {
	t     testing.TB
	parts string
	dir   string
	run   string   // options of the tmpfs that /run/jobeff is; set it before anything is started
	boot  func()   // starts pid 1, once
	pid   int      // of pid 1, which holds the namespace
	env   []string // slurmd's
}

func newNode(t testing.TB) *testNode {
	t.Helper()
	trial.MayMount(t)
	built, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(built, "node") // t.TempDir would hide it from the user
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o711)
	n := &testNode{t: t, parts: built, dir: dir, run: "mode=711", env: []string{"SLURM_CLUSTER_NAME=test", "SLURMD_NODENAME=n1",
		"SLURM_JOB_USER=alice", "SLURM_JOB_GID=12345", "SLURM_JOB_PARTITION=main", "SLURM_JOB_ACCOUNT=proj", "SLURM_NODELIST=n[1-2]",
		"SLURM_JOB_NUM_NODES=2", "SLURM_JOB_RESTART_COUNT=0", "SLURM_HET_JOB_ID=40"}}
	n.boot = sync.OnceFunc(n.start)
	for _, d := range []string{"etc", "spool"} {
		if err := os.Mkdir(n.path(d), 0o711); err != nil {
			t.Fatal(err)
		}
		os.Chmod(n.path(d), 0o711)
	}
	return n
}

// path is a file of the node as this process sees it: "run" is /run/jobeff/notes, and "top" is
// /run/jobeff.
func (n *testNode) path(elem ...string) string {
	if len(elem) > 0 && (elem[0] == "run" || elem[0] == "top") {
		n.boot()
		elem[0] = fmt.Sprintf("/proc/%d/root/run/jobeff/%s", n.pid, map[string]string{"run": "notes"}[elem[0]])
		return filepath.Join(elem...)
	}
	return filepath.Join(append([]string{n.dir}, elem...)...)
}

// pid1 makes the node's places the machine's, and keeps them. What is in /run, /etc and
// /var/spool besides is hidden: none of our parts may need it.
const pid1 = `set -e
mount --make-rprivate /
mount --bind "$1" /mnt
for d in /run /etc /var/spool; do mount -t tmpfs tmpfs $d; mkdir $d/jobeff; done
mount -t tmpfs -o "$2" tmpfs /run/jobeff
mount --bind /mnt/etc /etc/jobeff
mount --bind /mnt/spool /var/spool/jobeff
umount /mnt
mount --make-rshared / # as systemd has it
echo up
exec sleep infinity`

// start starts pid 1 and waits for its word.
func (n *testNode) start() {
	cmd := exec.Command("unshare", "-m", "sh", "-c", pid1, "sh", n.dir, n.run)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		n.t.Fatalf("no node: %v", err)
	}
	n.pid = cmd.Process.Pid
}

func (n *testNode) command(words ...string) *exec.Cmd {
	return n.enter(append([]string{n.parts + "/host", n.parts + "/jobeff_spank.so"}, words...)...)
}

// enter is a program on the node.
func (n *testNode) enter(program ...string) *exec.Cmd {
	n.boot()
	cmd := exec.Command("nsenter", append([]string{fmt.Sprintf("--mount=/proc/%d/ns/mnt", n.pid)}, program...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "ASAN_OPTIONS=detect_leaks=0"}, n.env...)
	return cmd
}

// host runs the words and returns what it printed, and what it logged as slurmd would.
func (n *testNode) host(words ...string) (out, logged string) {
	n.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := n.command(words...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		n.t.Fatalf("host %s: %v\n%s%s", strings.Join(words, " "), err, stdout.String(), stderr.String())
	}
	if hasFinding(stderr.String()) {
		n.t.Errorf("host %s: a sanitizer says: %s", strings.Join(words, " "), stderr.String())
	}
	if strings.Contains(stdout.String(), "returned") {
		n.t.Fatalf("host %s: an entry point did not return 0: %s", strings.Join(words, " "), stdout.String())
	}
	return stdout.String(), stderr.String()
}

func script(id int, hook string) []string {
	return []string{"context=script", fmt.Sprint("job=", id), fmt.Sprint("uid=", user), fmt.Sprint("gid=", user), "call=init", "call=" + hook}
}

func (n *testNode) prolog(id int) (logged string) {
	n.t.Helper()
	_, logged = n.host(script(id, "job_prolog")...)
	return logged
}

func (n *testNode) epilog(id int) (logged string) {
	n.t.Helper()
	_, logged = n.host(script(id, "job_epilog")...)
	return logged
}

// stepWords begin a step; more words may stand between it and the rest.
func stepWords(id, step int, before ...string) []string {
	return slices.Concat([]string{"context=remote", fmt.Sprint("job=", id), fmt.Sprint("uid=", user), fmt.Sprint("gid=", user),
		fmt.Sprint("step=", step), "tasks=1", "ntasks=2", "nnodes=2", "nodeid=1", "cpus=1", "call=init"}, before,
		[]string{"call=init_post_opt", "call=user_init"})
}

// step runs a step of one task to its end and returns the task's environment.
func (n *testNode) step(id, step int, before ...string) (env string) {
	n.t.Helper()
	words := append(stepWords(id, step, before...), "call=task_init", "print=env", "pid=77", "task=1", "status=9", "call=task_exit", "call=exit")
	env, _ = n.host(words...)
	return env
}

// claim lets the job's record be one that a process has written to: it is not for root to read.
func (n *testNode) claim(id int) {
	n.t.Helper()
	n.claimFile(n.path("run", fmt.Sprint(id), "record", "ranks"))
}

func (n *testNode) claimFile(record string) {
	n.t.Helper()
	f, err := os.OpenFile(record, os.O_WRONLY, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	const next = 80 // offset in struct je_head
	if _, err := f.WriteAt([]byte{1}, next); err != nil {
		n.t.Fatal(err)
	}
}

// entries lists what is in /run/jobeff/notes of jobs, with the random part of names cut.
func (n *testNode) entries() []string {
	entries, err := os.ReadDir(n.path("run"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if name == "site" {
			continue
		}
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		names = append(names, name)
	}
	return names
}

func (n *testNode) read(elem ...string) string {
	n.t.Helper()
	b, err := os.ReadFile(n.path(elem...))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(b)
}

func (n *testNode) write(text string, mode fs.FileMode, elem ...string) {
	n.t.Helper()
	path := n.path(elem...)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		n.t.Fatal(err)
	}
}

// outbox reads the reports that wait, each a file or a line.
func (n *testNode) outbox() []*job.NodeReport {
	n.t.Helper()
	files, err := filepath.Glob(n.path("spool", "outbox", "*.json*"))
	if err != nil {
		n.t.Fatal(err)
	}
	var reports []*job.NodeReport
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			n.t.Fatal(err)
		}
		if wire.Encoding(b) != "" {
			if b, err = wire.DecompressReport(nil, b); err != nil {
				n.t.Fatal(err)
			}
		}
		for text := json.NewDecoder(bytes.NewReader(b)); text.More(); {
			r := new(job.NodeReport)
			if err := text.Decode(r); err != nil {
				n.t.Fatalf("%s: %v", f, err)
			}
			reports = append(reports, r)
		}
	}
	slices.SortFunc(reports, func(a, b *job.NodeReport) int { return int(a.JobID) - int(b.JobID) })
	return reports
}

// ids are the jobs of the reports that wait.
func (n *testNode) ids() []uint32 {
	var ids []uint32
	for _, r := range n.outbox() {
		ids = append(ids, r.JobID)
	}
	return ids
}
