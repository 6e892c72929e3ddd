package vm

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
	"jobeff/test/trial"
)

// machine is a booted Debian. Its root runs what a test says.
type machine struct {
	dir   string // what QEMU writes: console
	qemu  *exec.Cmd
	agent net.Conn
	said  *bufio.Reader
	runs  int
}

// newDisk makes a disk to boot from; the environment is image.sh's.
func newDisk(t *testing.T, env ...string) string {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	cmd := exec.Command("./image.sh", root, disk)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("image.sh: %v\n%s", err, out)
	}
	return disk
}

// drive is a disk as QEMU takes it. A flush costs nothing: these machines lose no power.
func drive(disk string) []string {
	return []string{"-drive", "file=" + disk + ",format=raw,if=virtio,cache=unsafe"}
}

// boot starts a machine until the test ends, and waits for its root; further arguments are QEMU's.
func boot(t *testing.T, args ...string) *machine {
	t.Helper()
	m := launch(t, args...)
	m.booted(t)
	return m
}

// launch is boot without waiting.
func launch(t *testing.T, args ...string) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	console, socket := filepath.Join(m.dir, "console"), filepath.Join(m.dir, "agent")
	args = append([]string{"-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3G", "-nodefaults", "-display", "none",
		"-kernel", inBoot(t, "vmlinuz-*"), "-initrd", inBoot(t, "initrd.img-*"),
		"-append", "root=/dev/vda rw console=ttyS0 systemd.unified_cgroup_hierarchy=1 mitigations=off no_timer_check tsc=reliable tsc_early_khz=" + ticks(t) + " quiet",
		"-serial", "file:" + console, "-serial", "unix:" + socket + ",server=on,wait=off"}, args...)
	qemu := exec.CommandContext(t.Context(), "qemu-system-x86_64", args...)
	qemu.Stderr = os.Stderr
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	m.qemu = qemu
	t.Cleanup(func() {
		m.kill()
		if out, err := os.ReadFile(console); t.Failed() && err == nil {
			t.Logf("the console:\n%s", out)
		}
	})
	until(t, "QEMU's socket", func() bool {
		agent, err := net.Dial("unix", socket)
		m.agent = agent
		return err == nil
	})
	m.said = bufio.NewReader(m.agent)
	return m
}

// kill ends the machine as a power cut does; its disk keeps what it wrote.
func (m *machine) kill() {
	m.qemu.Process.Kill()
	m.qemu.Wait()
}

// ticks is how fast the processor's time stamp counter runs, kHz. A machine has the same.
func ticks(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tsc")
	out, err := exec.Command("gcc", "-O1", "-o", program, "../apps/tsc.c").CombinedOutput()
	if err == nil {
		out, err = exec.Command(program).CombinedOutput()
	}
	if err != nil {
		t.Fatalf("tsc.c: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func inBoot(t *testing.T, pattern string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root, "boot", pattern))
	if len(files) != 1 {
		t.Fatalf("%v: not one %s in %s", files, pattern, root)
	}
	return files[0]
}

// booted waits until the machine runs scripts.
func (m *machine) booted(t *testing.T) {
	t.Helper()
	_, versions := m.hear(t, "##READY", func(string) {})
	t.Logf("result: %s", versions)
}

// hear returns what comes before the line that begins with word, and the rest of that line. Each line is told to each, too.
func (m *machine) hear(t *testing.T, word string, each func(line string)) (before, rest string) {
	t.Helper()
	var all strings.Builder
	for {
		m.agent.SetReadDeadline(time.Now().Add(patience))
		line, err := m.said.ReadString('\n')
		if err != nil {
			t.Fatalf("no %s from the machine: %v\n%s", word, err, all.String())
		}
		if rest, found := strings.CutPrefix(line, word); found {
			return strings.TrimSuffix(all.String(), "\n"), strings.TrimSpace(rest)
		}
		all.WriteString(line)
		each(line)
	}
}

// try runs a script as root, and returns what it printed and its exit code.
func (m *machine) try(t *testing.T, script string) (said string, code int) {
	t.Helper()
	return m.follow(t, script, func(string) {})
}

// follow is try; it tells each line at once.
func (m *machine) follow(t *testing.T, script string, each func(line string)) (said string, code int) {
	t.Helper()
	m.runs++
	fmt.Fprintf(m.agent, "%d %s\n", m.runs, base64.StdEncoding.EncodeToString([]byte(script)))
	said, end := m.hear(t, fmt.Sprintf("##END %d ", m.runs), each)
	code, err := strconv.Atoi(end)
	if err != nil {
		t.Fatal(err)
	}
	return said, code
}

// must is try for a script that has to succeed.
func (m *machine) must(t *testing.T, script string) string {
	t.Helper()
	said, code := m.try(t, "set -e\n"+script)
	if code != 0 {
		t.Fatalf("%s\nexit %d:\n%s", script, code, said)
	}
	return said
}

// reboot shuts the machine down and waits for it. Its Slurm may not be there yet.
func (m *machine) reboot(t *testing.T) {
	t.Helper()
	fmt.Fprintf(m.agent, "0 %s\n", base64.StdEncoding.EncodeToString([]byte("systemctl reboot")))
	m.booted(t)
}

// patience is how long a machine may take for anything; under QEMU all takes twenty times as long.
const patience = 15 * time.Minute

// until calls ready until it is true; what says what the test waits for.
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	const pause = 3 * time.Second
	trial.Until(t, what, int(patience/pause), pause, ready)
}

// submit gives alice's script to sbatch, and returns the job's id. What it prints is in ~alice/ID.out.
func (m *machine) submit(t *testing.T, script, args string) string {
	t.Helper()
	return strings.TrimSpace(m.must(t, "cat >/run/job.sh <<'END'\n#!/bin/bash\n"+script+"\nEND\n"+
		"runuser -l alice -c 'sbatch --parsable -o %j.out "+args+"' </run/job.sh"))
}

// job is what jobeff tells alice of her job, once sacct has told how it ended. The node's report may still be missing.
func (m *machine) job(t *testing.T, id string) *view.Job {
	t.Helper()
	d := new(view.Job)
	until(t, "jobeff's word of job "+id, func() bool {
		said, code := m.try(t, "runuser -l alice -c 'jobeff --json "+id+"' 2>/dev/null")
		*d = view.Job{}
		return code == 0 && json.Unmarshal([]byte(said), d) == nil && d.State != "" && d.State != "RUNNING" && d.State != "PENDING"
	})
	return d
}

// reported is job, with the node's report.
func (m *machine) reported(t *testing.T, id string) (d *view.Job) {
	t.Helper()
	until(t, "the report of job "+id, func() bool {
		d = m.job(t, id)
		return d.NodesReported > 0 && !strings.Contains(d.NoData, "being merged")
	})
	return d
}

// mpiProgram is the tests' usual program, which machines compile once: ROUNDS MILLISECONDS.
func (m *machine) mpiProgram(t *testing.T) string {
	t.Helper()
	m.must(t, "[ -x /home/alice/rounds ] || mpicc.openmpi -O1 -o /home/alice/rounds /root/jobeff/test/apps/rounds.c")
	return "/home/alice/rounds"
}

// endToEnd runs tests of ../ in the machine, and takes over how each ended.
func (m *machine) endToEnd(t *testing.T, tests ...string) {
	t.Helper()
	failed := false
	script := "cd /root/jobeff/test && ./e2e.test -test.v -test.timeout 0 -test.parallel 2 -slow 10 -test.run '" + strings.Join(tests, "|") + "' 2>&1"
	said, code := m.follow(t, script, func(line string) {
		var how, name string
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "--- %s %s (", &how, &name); n != 2 {
			return
		}
		t.Logf("result: %s", strings.TrimSpace(line))
		t.Run(name, func(t *testing.T) {
			switch how {
			case "FAIL:":
				t.Fail()
				failed = true
			case "SKIP:":
				t.Skip()
			}
		})
	})
	if failed || code != 0 {
		t.Errorf("exit %d:\n%s", code, said)
	}
}
