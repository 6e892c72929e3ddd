package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Patroni is three PostgreSQL servers, one of which Patroni lets lead. Each is a machine, with its own
// processes, network and etcd. No route leads out of their network, so every test may use the same one. A
// program that needs their addresses must run inside it; their sockets work from anywhere.
type Patroni struct {
	Members []*Member
	network *exec.Cmd // the process that holds the network, with the switch of all cables
	cables  int
}

// Member is a machine of Patroni.
type Member struct {
	Name          string
	of            *Patroni
	dir, address  string
	init          *exec.Cmd // nil: it is down
	cable         string    // its end at the switch
	etcd, patroni string    // commands
}

// PatroniTTL is the silence of a leader after which Patroni lets another one lead.
const PatroniTTL = 20 * time.Second

// PatroniSettings are the settings that ADMIN.md recommends.
const PatroniSettings = `bootstrap:
  dcs:
    ttl: 20
    loop_wait: 4
    retry_timeout: 8
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      remove_data_directory_on_rewind_failure: true
      parameters:
        synchronous_commit: "on"
        wal_keep_size: 1GB`

const patroniConf = `scope: jobeff
name: %[1]s
restapi: {listen: "%[2]s:8008", connect_address: "%[2]s:8008"}
etcd: {hosts: ["10.80.0.1:2379", "10.80.0.2:2379", "10.80.0.3:2379"]} # not etcd3: see ADMIN.md
%[3]s
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums, no-sync]
postgresql:
  listen: "%[2]s:5432"
  connect_address: "%[2]s:5432"
  data_dir: %[4]s/data
  bin_dir: %[5]s
  pgpass: %[4]s/pgpass
  authentication: {superuser: {username: postgres}, replication: {username: postgres}}
  pg_hba: ["local all all trust", "host all all 10.80.0.0/24 trust", "host replication all 10.80.0.0/24 trust"]
  parameters: {unix_socket_directories: "%[4]s"}
`

// StartPatroni makes the three and runs them until the test ends. It needs root and Debian's packages
// patroni and etcd-server.
func StartPatroni(t testing.TB) *Patroni {
	t.Helper()
	p := &Patroni{network: exec.Command("bash", "-c", `ip link set lo up && ip link add switch type bridge && ip link set switch up &&
		ip address add 10.80.0.254/24 dev switch && echo up && exec sleep infinity`)}
	p.network.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	p.network.Stderr = os.Stderr
	said, err := p.network.StdoutPipe()
	if err = errors.Join(err, p.network.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.network.Process.Kill(); p.network.Wait() })
	if _, err := said.Read(make([]byte, 9)); err != nil {
		t.Fatal("no network: ", err)
	}
	var peers []string
	for i := range 3 {
		m := &Member{Name: fmt.Sprint("db", i+1), of: p, dir: newDir(t, ""), address: fmt.Sprint("10.80.0.", i+1)}
		p.Members = append(p.Members, m)
		peers = append(peers, fmt.Sprintf("%s=http://%s:2380", m.Name, m.address))
	}
	for _, m := range p.Members {
		conf := fmt.Sprintf(patroniConf, m.Name, m.address, PatroniSettings, m.dir, filepath.Dir(program(t, "postgres")))
		if err := os.WriteFile(filepath.Join(m.dir, "patroni.yml"), []byte(conf), 0o644); err != nil { // #nosec G306 -- for the user postgres
			t.Fatal(err)
		}
		m.patroni = "patroni patroni.yml"
		m.etcd = fmt.Sprintf("etcd --name %[1]s --data-dir etcd --listen-peer-urls http://%[2]s:2380 --initial-advertise-peer-urls http://%[2]s:2380"+
			" --listen-client-urls http://%[2]s:2379 --advertise-client-urls http://%[2]s:2379 --initial-cluster %[3]s"+
			" --enable-v2 --heartbeat-interval 200 --election-timeout 2000", m.Name, m.address, strings.Join(peers, ","))
		m.Start(t)
		t.Cleanup(m.Kill)
	}
	return p
}

// machine is the first process of a machine. Like systemd, it starts its services again when they end. As after
// a real start, no sockets are left, and old process numbers are not soon used again.
const machine = `mount --make-rprivate / && mount -t proc proc /proc && ip link set lo up && echo "$5" >/proc/sys/kernel/ns_last_pid || exit
rm -f "$2"/.s.PGSQL.*
until ip address add "$1/24" dev eth0; do sleep .05; done 2>/dev/null
ip link set eth0 up
cd "$2"
for service in "$3" "$4"; do
	while :; do setpriv --reuid postgres --regid postgres --init-groups $service; sleep 1; done >>"${service%% *}.log" 2>&1 &
done
while :; do sleep 3600 & wait $!; done # bash reaps orphans here`

// Start switches a machine on that is down. Its disk is as it was.
func (m *Member) Start(t testing.TB) {
	t.Helper()
	m.of.cables++
	m.init = exec.Command("bash", "-c", machine, "init", m.address, m.dir, m.etcd, m.patroni, fmt.Sprint(1000*m.of.cables))
	m.init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	m.init.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
	m.init.Stderr = os.Stderr
	if err := m.init.Start(); err != nil {
		t.Fatal(err)
	}
	m.cable = fmt.Sprint("cable", m.of.cables)
	m.of.ip(t, "link", "add", m.cable, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(m.init.Process.Pid))
	m.of.ip(t, "link", "set", m.cable, "up")
	m.Join(t)
}

// Kill ends all processes of a machine at once, with SIGKILL.
func (m *Member) Kill() {
	if m.init != nil {
		m.init.Process.Kill() // the first process takes all others with it
		m.init.Wait()
		m.init = nil
	}
}

// Cut pulls a machine's cable out of the switch.
func (m *Member) Cut(t testing.TB) { m.of.ip(t, "link", "set", m.cable, "nomaster") }

// Join puts a machine's cable back into the switch.
func (m *Member) Join(t testing.TB) { m.of.ip(t, "link", "set", m.cable, "master", "switch") }

// Freeze stops Patroni and PostgreSQL where they are. The kernel still answers for them.
func (m *Member) Freeze(testing.TB) {
	freeze(func() []int { return m.processes("patroni", "postgres") })
}

// Thaw ends Freeze.
func (m *Member) Thaw(testing.TB) {
	for _, pid := range m.processes("patroni", "postgres") {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// KillPostgres kills all processes of PostgreSQL, and nothing else.
func (m *Member) KillPostgres(testing.TB) {
	for _, pid := range m.processes("postgres") {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processes returns the processes of a machine that have one of these names.
func (m *Member) processes(names ...string) (pids []int) {
	space := func(pid string) string { at, _ := os.Readlink("/proc/" + pid + "/ns/pid"); return at }
	own := space(fmt.Sprint(m.init.Process.Pid))
	all, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, path := range all {
		comm, _ := os.ReadFile(path)
		for _, name := range names {
			if pid := filepath.Base(filepath.Dir(path)); strings.TrimSpace(string(comm)) == name && space(pid) == own {
				n, _ := strconv.Atoi(pid)
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// ip runs ip in the network of the switch.
func (p *Patroni) ip(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("nsenter", append(p.Inside("ip")[1:], args...)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// Inside returns the command line that runs a program in the network of the three.
func (p *Patroni) Inside(program string) []string {
	return []string{"nsenter", "--target", fmt.Sprint(p.network.Process.Pid), "--net", "--", program}
}

// URL returns the address of a database for programs inside the network of the three. It leads to the first
// server that has these target_session_attrs.
func (p *Patroni) URL(database, attrs string) string {
	to := url.Values{"target_session_attrs": {attrs}, "sslmode": {"disable"}}
	for _, m := range p.Members {
		to.Set("host", strings.TrimPrefix(to.Get("host")+","+m.address, ","))
	}
	return "postgres://postgres@/" + database + "?" + to.Encode()
}

// URL returns the address of a database on this machine, for programs anywhere.
func (m *Member) URL(database string) string { return URL(database, m.dir) }

// Settled waits until one of the three leads and the others follow it, one of them synchronously.
func (p *Patroni) Settled(t testing.TB) *Member {
	return p.await(t, "one leads and two follow", func(m *Member) bool { return m.leads("streaming = 2 AND sync = 1") })
}

// Led waits until another member leads and has a synchronous standby.
func (p *Patroni) Led(t testing.TB, not *Member) *Member {
	return p.await(t, "another leads", func(m *Member) bool { return m != not && m.leads("sync = 1") })
}

// leads reports whether a machine answers that it leads, and that a condition holds for those that follow.
func (m *Member) leads(condition string) (is bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, m.URL("postgres"))
	if err != nil {
		return false
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, `SELECT NOT pg_is_in_recovery() AND `+condition+` FROM (SELECT count(*) FILTER (WHERE state = 'streaming') AS streaming,
		count(*) FILTER (WHERE sync_state = 'sync') AS sync FROM pg_stat_replication) s`).Scan(&is)
	return err == nil && is
}

// await waits until `is` holds for exactly one member. It gives up after ten minutes, and shows what Patroni said.
func (p *Patroni) await(t testing.TB, what string, is func(*Member) bool) *Member {
	t.Helper()
	for late := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var those []*Member
		for _, m := range p.Members {
			if m.init != nil && is(m) {
				those = append(those, m)
			}
		}
		if len(those) == 1 {
			return those[0]
		}
		if time.Now().After(late) {
			var said []error
			for _, m := range p.Members {
				tail, err := exec.Command("tail", "-n", "30", filepath.Join(m.dir, "patroni.log"), filepath.Join(m.dir, "etcd.log")).CombinedOutput()
				said = append(said, fmt.Errorf("%s: %s", m.Name, tail), err)
			}
			t.Fatalf("waited ten minutes until %s: %v", what, errors.Join(said...))
		}
	}
}
