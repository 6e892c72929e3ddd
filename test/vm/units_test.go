package vm

import (
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/report/view"
)

// TestUnits: jobeff's units and packages under the systemd of a running machine, one after another.
func TestUnits(t *testing.T) {
	m := boot(t, drive(newDisk(t))...)
	m.must(t, "slurm-ready")
	for _, part := range []struct {
		name string
		test func(*testing.T, *machine)
	}{
		{"configuration", testConfiguration}, {"sandbox", testSandbox}, {"socket", testSocket}, {"sockets_held", testSocketsHeld}, {"watchdog", testWatchdog}, {"interim", testInterim}, {"upgrade", testUpgrade},
		{"clock_step", testClockStep}, {"reboot", testReboot}, {"removal", testRemoval}, {"readme", testReadme},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, m) })
	}
}

// active succeeds where all units run that the packages bring and an admin switches on. systemctl alone looks for one of them.
const active = "for unit in jobeffd.service jobeffd.socket jobeffd-read.service jobeffd-read.socket run-jobeff.mount jobeff-ingest.timer; do systemctl is-active $unit || exit 1; done"

// ranks starts rounds of 20 ms on two ranks.
func (m *machine) ranks(t *testing.T, rounds int) string {
	t.Helper()
	return fmt.Sprintf("srun --mpi=pmix %s %d 20", m.mpiProgram(t), rounds)
}

// wantWhole checks that the job ended well, with so many executions that are known from begin to end.
func wantWhole(t *testing.T, d *view.Job, executions int) {
	t.Helper()
	if d.State != "COMPLETED" || len(d.Executions) != executions {
		t.Fatalf("job %s: %s, %d executions, want %d (no data: %q)", d.ID, d.State, len(d.Executions), executions, d.NoData)
	}
	for _, e := range d.Executions {
		if e.Size != 2 || e.Endings["finalized"] != 2 || e.ParallelEfficiency == nil {
			t.Errorf("job %s: size %d, endings %v", d.ID, e.Size, e.Endings)
		}
	}
}

// run submits a job with one execution, waits until it is told, and checks it.
func (m *machine) run(t *testing.T) (id string) {
	t.Helper()
	id = m.submit(t, m.ranks(t, 5), "-n2")
	wantWhole(t, m.reported(t, id), 1)
	return id
}

// running starts a job whose first execution takes 40 s and whose second one begins when ~alice/go is there.
func (m *machine) running(t *testing.T) (id string) {
	t.Helper()
	m.must(t, "rm -f /home/alice/go")
	id = m.submit(t, m.ranks(t, 2000)+"\nuntil [ -e go ]; do sleep 1; done\n"+m.ranks(t, 5), "-n2 --no-requeue")
	until(t, "the ranks of job "+id, func() bool { return strings.Contains(m.output(t, id), "size 2") })
	return id
}

func (m *machine) output(t *testing.T, id string) string {
	t.Helper()
	return m.must(t, "cat /home/alice/"+id+".out || true")
}

// finish lets a job of running end, and returns what jobeff tells.
func (m *machine) finish(t *testing.T, id string) *view.Job {
	t.Helper()
	if state := m.must(t, "squeue -h -j "+id+" -o %T"); strings.TrimSpace(state) != "RUNNING" {
		t.Errorf("job %s is %s", id, state)
	}
	m.must(t, "touch /home/alice/go")
	d := m.reported(t, id)
	if out := m.output(t, id); out != "size 2\nsize 2\n" {
		t.Errorf("job %s wrote %q", id, out)
	}
	return d
}

// testInterim: the sandbox of the unit lets it read what it must of a job that runs: its ranks, its processes' bytes, its memory.
func testInterim(t *testing.T, m *machine) {
	m.must(t, "systemctl stop jobeff-ingest.timer jobeff-interim.timer; printf '[report]\\ninterim = \"1m\"\\n' >>/etc/jobeff/jobeff.toml")
	defer m.must(t, "systemctl start jobeff-ingest.timer")
	id := m.running(t)
	var r *job.NodeReport
	until(t, "an interim report of job "+id, func() bool {
		m.must(t, "systemctl start jobeff-interim.service")
		packed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(m.must(t, "cat /var/spool/jobeff/outbox/*.interim.json.zst 2>/dev/null | base64 -w 0")))
		if err != nil || len(packed) == 0 {
			m.must(t, "touch -d yesterday /var/spool/jobeff/.interim.lock") // it asks again for this moment
			return false
		}
		unpacker, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer unpacker.Close()
		body, err := unpacker.DecodeAll(packed, nil)
		if err == nil {
			r, err = wire.DecodeReport(body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	})
	if r.Progress == nil || len(r.Progress.Doubts) > 0 || r.Progress.Bytes == 0 {
		t.Errorf("its processes were not read: %+v", r.Progress)
	}
	if said := m.must(t, "cat /run/jobeff/notes/"+id+"/memory"); !regexp.MustCompile(`(?m)^samples +[1-9]`).MatchString(said) {
		t.Errorf("its memory was not read:\n%s", said)
	}
	wantWhole(t, m.finish(t, id), 2)
}

// testConfiguration: a reader without an address of its own is not started again and again; with one it runs.
func testConfiguration(t *testing.T, m *machine) {
	m.must(t, "systemctl enable jobeffd-read")
	if said, code := m.try(t, "systemctl start jobeffd-read"); code == 0 {
		t.Errorf("jobeffd-read runs without an address: %s", said)
	}
	is := m.must(t, "systemctl show -p ActiveState,ExecMainStatus,NRestarts jobeffd-read | sort | xargs")
	if strings.TrimSpace(is) != "ActiveState=failed ExecMainStatus=78 NRestarts=0" {
		t.Errorf("jobeffd-read without an address: %s", is)
	}
	until(t, "jobeffd-read's word", func() bool {
		_, code := m.try(t, "journalctl -u jobeffd-read | grep 'set client.to'")
		return code == 0
	})
	m.must(t, "printf '[client]\\nto = \"unix:/run/jobeffd-read/jobeffd.sock\"\\n' >>/etc/jobeff/jobeff.toml; systemctl start jobeffd-read; systemctl restart jobeffd; slurm-ready; "+active)
}

// probe is a unit that differs from a daemon's only in its program, its folders, and that its user is root: what the sandbox
// does not refuse it may do. systemd leaves /run out of it, where only the user's rights count. It prints the folders in which it can make a file.
const probe = `
at=/run/systemd/system
cat >/run/probe.sh <<'END'
for d in / /boot /etc /etc/jobeff /etc/slurm /home/alice /root /srv /usr /usr/lib/jobeff /var /var/lib /var/lib/slurm /var/log /var/spool /var/spool/jobeff \
	/sys/fs/cgroup /var/lib/probe /tmp /var/tmp; do
	if (: >$d/probe-of-jobeffd) 2>/dev/null; then echo $d; fi
done
END
change='s/=jobeff$/=root/; s/^StateDirectory=.*/StateDirectory=probe/; /^Requires=/d; /^Also=/d; s|^ExecStart=.*|ExecStart=/bin/bash /run/probe.sh|
	s/^Type=.*/Type=oneshot\nStandardOutput=file:%t\/probe.out/; /^Watchdog/d; /^Restart/d'
sed "$change" /usr/lib/systemd/system/jobeffd.service >$at/probe.service
mkdir -p $at/probe.service.d
sed "$change" /usr/lib/systemd/system/jobeffd.service.d/*.conf >$at/probe.service.d/sandbox.conf
systemctl daemon-reload
systemctl start probe
cat /run/probe.out
ls /tmp/probe-of-jobeffd /var/tmp/probe-of-jobeffd 2>/dev/null || true`

func testSandbox(t *testing.T, m *machine) {
	if wrote := strings.Fields(m.must(t, probe)); strings.Join(wrote, " ") != "/var/lib/probe /tmp /var/tmp" {
		t.Errorf("root in jobeffd's sandbox can write into %v", wrote)
	}
	m.must(t, "runuser -u jobeff -- test ! -w /run/jobeffd")                                                                 // its socket is root's
	for unit, most := range map[string]int{"jobeffd.service": 20, "jobeffd-read.service": 20, "jobeff-ingest.service": 50} { // tenths
		said, code := m.try(t, fmt.Sprintf("systemd-analyze security --no-pager --threshold=%d %s", most, unit))
		t.Log(unit, regexp.MustCompile(`Overall exposure.*`).FindString(said))
		if code != 0 {
			t.Errorf("%s is more exposed than %d/10:\n%s", unit, most, said)
		}
	}
}

// testSocket: the kernel says who asks; a job that ends while jobeffd is away is told once it is back.
func testSocket(t *testing.T, m *machine) {
	id := m.run(t)
	if said, code := m.try(t, "runuser -u bob -- jobeff "+id); code == 0 || !strings.Contains(said, "not found") {
		t.Errorf("bob asks for alice's job: exit %d\n%s", code, said)
	}
	m.must(t, "systemctl stop jobeffd.socket jobeffd-read.socket")
	if said, code := m.try(t, "runuser -u alice -- jobeff "+id); code == 0 || !strings.Contains(said, "does not answer") {
		t.Errorf("alice asks nobody: exit %d\n%s", code, said)
	}
	late := m.submit(t, m.ranks(t, 5), "-n2 -W")
	until(t, "the report on the node", func() bool { _, code := m.try(t, "ls /var/spool/jobeff/outbox/*"); return code == 0 })
	m.must(t, "systemctl start jobeffd jobeffd-read")
	wantWhole(t, m.reported(t, late), 1)
}

// testWatchdog: systemd kills a daemon that stands still, and starts it again.
func testWatchdog(t *testing.T, m *machine) {
	restarts := func() string { return m.must(t, "systemctl show -P NRestarts jobeffd jobeffd-read | xargs") }
	if before := restarts(); strings.TrimSpace(before) != "0 0" {
		t.Errorf("restarts before: %s", before)
	}
	m.must(t, "for unit in jobeffd jobeffd-read; do kill -STOP $(systemctl show -P MainPID $unit); done")
	until(t, "the daemons' restart", func() bool { return strings.TrimSpace(restarts()) == "1 1" })
	until(t, "the daemons", func() bool { _, code := m.try(t, active); return code == 0 })
	if out := m.must(t, "journalctl -u jobeffd -u jobeffd-read | grep -c 'Watchdog timeout'"); strings.TrimSpace(out) != "2" {
		t.Errorf("%s lines of a watchdog, want 2", out)
	}
	m.run(t)
}

// standing is what an upgrade must not touch: the mount, and Slurm's daemons.
const standing = "grep ' /run/jobeff ' /proc/self/mountinfo | cut -d' ' -f1; systemctl show -P MainPID slurmd slurmctld"

// testUpgrade: from an older version, with all units and a job running. The older one has no sockets.
func testUpgrade(t *testing.T, m *machine) {
	m.must(t, `systemctl stop jobeffd.socket jobeffd-read.socket; systemctl disable jobeffd.socket jobeffd-read.socket
dpkg -i --force-downgrade /root/jobeff/older/*.deb; rm -r /etc/systemd/system/jobeffd.socket.d; systemctl daemon-reload; systemctl start jobeffd jobeffd-read
ss -Hltnp sport = :6822 | grep '"jobeffd"' && ss -Hlxp src /run/jobeffd/jobeffd.sock | grep '"jobeffd"'`)
	id := m.running(t)
	before, daemon := m.must(t, standing), m.must(t, "systemctl show -P MainPID jobeffd jobeffd-read")
	m.must(t, `dpkg -i /root/jobeff/build/*.deb; ss -Hltnp sport = :6822 | grep '"systemd"'; systemctl is-enabled jobeffd.socket jobeffd-read.socket; `+active)
	if after := m.must(t, standing); after != before {
		t.Errorf("the mount and Slurm's daemons were %q, and are %q", before, after)
	}
	if m.must(t, "systemctl show -P MainPID jobeffd jobeffd-read") == daemon {
		t.Error("the daemons are still the old ones")
	}
	wantWhole(t, m.finish(t, id), 2)
}

// testClockStep: the clock goes an hour ahead while ranks run, and back before the next job.
func testClockStep(t *testing.T, m *machine) {
	id := m.running(t)
	m.must(t, "date -s '+1 hour'")
	d := m.finish(t, id)
	wantWhole(t, d, 2)
	for _, e := range d.Executions {
		if e.Elapsed == nil || *e.Elapsed > 1800 {
			t.Errorf("an execution of a minute took %v s", e.Elapsed)
		}
	}
	m.must(t, "date -s '-1 hour'; systemctl restart slurmctld; slurm-ready")
	m.run(t)
	m.must(t, active)
}

// testReboot: what had ended is told after the boot, sent before it or not, and the job that ran is counted.
func testReboot(t *testing.T, m *machine) {
	told := m.run(t)
	m.must(t, "systemctl stop jobeffd.socket jobeffd-read.socket")
	waits := m.submit(t, m.ranks(t, 5), "-n2 -W")
	ran := m.running(t)
	m.reboot(t)
	until(t, "the daemons", func() bool { _, code := m.try(t, active); return code == 0 })
	// Slurm goes on to count the job as running, until its node is down; as slurmd starts, it is up again
	until(t, "Slurm's controller", func() bool {
		_, code := m.try(t, "scontrol update nodename=n1 state=down reason=boot")
		return code == 0
	})
	m.must(t, "systemctl restart slurmd; slurm-ready")
	wantWhole(t, m.reported(t, told), 1)
	wantWhole(t, m.reported(t, waits), 1)
	d := m.job(t, ran)
	t.Logf("the job that ran: %s, %d executions, no data: %q", d.State, len(d.Executions), d.NoData)
	if len(d.Executions) == 0 && d.NoData == "" {
		t.Error("nothing is said of the job that ran")
	}
	m.run(t)
	if out := m.must(t, "jobeff admin doctor"); !strings.Contains(out, " 0 failed") {
		t.Errorf("doctor:\n%s", out)
	}
}

// testRemoval: a job runs while its node's package is removed; purged, jobeff leaves nothing but the site's settings; installed
// again, it measures.
func testRemoval(t *testing.T, m *machine) {
	id := m.running(t)
	m.must(t, "dpkg -r jobeff-node && ! systemctl is-active jobeff-ingest.timer && ! systemctl is-enabled run-jobeff.mount")
	m.must(t, "touch /home/alice/go")
	until(t, "the end of job "+id, func() bool { return strings.TrimSpace(m.must(t, "squeue -h -j "+id)) == "" })
	if out := m.output(t, id); out != "size 2\nsize 2\n" {
		t.Errorf("job %s wrote %q", id, out)
	}
	m.must(t, "dpkg --purge jobeff-node jobeffd jobeff")
	left := m.must(t, `for f in /run/jobeff* /var/lib/jobeff /var/spool/jobeff /usr/lib/jobeff /usr/lib/systemd/system/*jobeff* /etc/systemd/system/*/*jobeff*; do
		if [ -e $f ] || [ -L $f ]; then echo $f; fi; done; grep jobeff /proc/mounts || true; pgrep -a jobeff || true; systemctl --failed --plain --no-legend`)
	if left != "" {
		t.Errorf("a purge leaves\n%s", left)
	}
	without := m.submit(t, m.ranks(t, 5), "-n2 -W")
	if out := m.output(t, without); out != "size 2\n" {
		t.Errorf("without jobeff a job writes %q", out)
	}
	m.must(t, "dpkg -i /root/jobeff/build/*.deb; systemctl enable --now jobeffd jobeffd-read; systemctl restart slurmd; slurm-ready; "+active)
	m.run(t)
}

// testReadme follows README's Install on a machine without jobeff, each line as printed, up to the first job.
func testReadme(t *testing.T, m *machine) {
	m.must(t, "dpkg --purge jobeff-node jobeffd jobeff; rm -rf /etc/jobeff; systemctl restart slurmd")
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, install, _ := strings.Cut(string(readme), "\n## Install\n")
	install, _, _ = strings.Cut(install, "\n## ")
	lines := regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(install, -1)
	if len(lines) < 5 {
		t.Fatalf("README's Install has the lines %q", lines)
	}
	for _, line := range lines {
		m.must(t, "cd /root/jobeff/build; "+strings.Replace(line[1], "apt install", "echo y | apt install", 1)) // it asks
	}
	m.must(t, "slurm-ready")
	m.run(t)
	if out := m.must(t, "jobeff admin doctor"); !strings.Contains(out, " 0 failed") {
		t.Errorf("doctor:\n%s", out)
	}
}
