package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/node"
	"jobeff/ingest/node/gpu"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
	"jobeff/report/words"
	"jobeff/test/mungetest"
	"jobeff/test/pgtest"
	"jobeff/test/trial"
)

// install lays out what a package does, below a folder of the test's own.
func install(t *testing.T) *doctor {
	t.Helper()
	d := &doctor{root: t.TempDir(), cfg: etc.Default(), node: true}
	d.write(t, "/etc/slurm/plugstack.conf", "# ours\ninclude plugstack.conf.d/*.conf\n")
	d.write(t, "/etc/slurm/plugstack.conf.d/zz-jobeff.conf", "optional jobeff_spank.so\n")
	d.compile(t, "/usr/lib/slurm/jobeff_spank.so", "const unsigned jobeff_releases[2] = {22 << 16 | 5 << 8, 26 << 16 | 5 << 8};")
	d.compile(t, "/usr/lib/slurm/jobeff_spank_body.so", "int body;")
	d.compile(t, "/usr/lib/slurm/libjobeff.so", "int library;")
	return d
}

func (d *doctor) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.root+path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.root+path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (d *doctor) compile(t *testing.T, path, source string) {
	t.Helper()
	object, ok := compiled[source]
	if !ok {
		d.write(t, path+".c", source)
		if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", d.root+path, d.root+path+".c").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var err error
		if object, err = os.ReadFile(d.root + path); err != nil {
			t.Fatal(err)
		}
		compiled[source] = object
	}
	d.write(t, path, string(object))
}

// compiled caches shared objects by their source: most checks begin with the same three.
var compiled = map[string][]byte{}

// line is the first check of what, as the doctor prints it.
func (d *doctor) line(what string) string {
	for _, c := range d.checks {
		if c.What == what {
			return strings.ReplaceAll(c.Status.String()+" "+c.Found+" -> "+c.Mend, d.root, "")
		}
	}
	return ""
}

func TestDoctorOnThePlugin(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("files must belong to root, as in an installation")
	}
	for name, c := range map[string]struct {
		broken func(*testing.T, *doctor)
		slurm  string
		what   string
		want   string
	}{
		"whole":                {nil, "22.05.8", "plugin", "ok for Slurm 22.05 to 26.05, 22.05.8 is installed"},
		"whole: library":       {nil, "22.05.8", "library", "ok /usr/lib/slurm/libjobeff.so"},
		"library of $PLATFORM": {libLinks("../libjobeff.so"), "", "library", "ok /usr/lib/slurm/libjobeff.so"},
		"broken link":          {libLinks("../gone.so"), "", "library", "fail /usr/lib/slurm/gone.so does not exist"},
		"closed $PLATFORM": {func(t *testing.T, d *doctor) {
			libLinks("../libjobeff.so")(t, d)
			mode("/usr/lib/slurm/x86_64", 0o700)(t, d)
		}, "", "library", "fail /usr/lib/slurm/x86_64 cannot be read by every user"},
		"no Slurm":        {nil, "", "plugin", "ok for Slurm 22.05 to 26.05; which one"},
		"newest Slurm":    {nil, "26.05.11", "plugin", "ok for Slurm 22.05 to 26.05, 26.05.11"},
		"newer Slurm":     {nil, "26.11.0", "plugin", "fail for Slurm 22.05 to 26.05, but 26.11.0"},
		"older Slurm":     {nil, "21.08.8", "plugin", "fail for Slurm 22.05 to 26.05, but 21.08.8"},
		"no entry":        {remove("/etc/slurm/plugstack.conf.d/zz-jobeff.conf"), "", "plugstack", "fail no plugstack.conf"},
		"no plugin":       {remove("/usr/lib/slurm/jobeff_spank.so"), "", "plugin", "fail jobeff_spank.so is in no plugin directory"},
		"no body":         {remove("/usr/lib/slurm/jobeff_spank_body.so"), "", "body", "fail /usr/lib/slurm/jobeff_spank_body.so does not exist"},
		"no library":      {remove("/usr/lib/slurm/libjobeff.so"), "", "library", "fail /usr/lib/slurm/libjobeff.so does not exist"},
		"library is text": {holds("/usr/lib/slurm/libjobeff.so", "#!"), "", "library", "fail /usr/lib/slurm/libjobeff.so cannot be read as a shared object"},
		"hidden library":  {mode("/usr/lib/slurm/libjobeff.so", 0o600), "", "library", "fail /usr/lib/slurm/libjobeff.so cannot be read by every user"},
		"open library":    {mode("/usr/lib/slurm/libjobeff.so", 0o666), "", "library", "fail /usr/lib/slurm/libjobeff.so can be changed by others"},
		"closed folder":   {mode("/usr/lib/slurm", 0o700), "", "plugin", "fail /usr/lib/slurm cannot be read by every user"},
		"required":        {holds("/etc/slurm/plugstack.conf", "required jobeff_spank.so"), "", "plugstack", "fail /etc/slurm/plugstack.conf makes the plugin `required`"},
		"whole path": {holds("/etc/slurm/plugstack.conf", "optional /usr/lib/slurm/jobeff_spank.so preload=/nowhere/lib.so"), "", "library",
			"fail /nowhere/lib.so does not exist"},
		"PluginDir": {func(t *testing.T, d *doctor) {
			d.write(t, "/etc/slurm/slurm.conf", "PluginDir=/opt/x:/opt/y\n")
			d.compile(t, "/opt/y/jobeff_spank.so", "const unsigned jobeff_releases[2] = {24 << 16 | 11 << 8, 24 << 16 | 11 << 8};")
		}, "24.11.0", "plugin", "ok for Slurm 24.11 to 24.11, 24.11.0"},
		"no SPANK plugin": {func(t *testing.T, d *doctor) {
			d.compile(t, "/usr/lib/slurm/jobeff_spank.so", "int other;")
		}, "", "plugin", "fail /usr/lib/slurm/jobeff_spank.so is not jobeff's plugin"},
		"a loop of includes": {holds("/etc/slurm/plugstack.conf.d/zz-jobeff.conf", "include /etc/slurm/plugstack.conf"), "", "plugstack", "fail no plugstack.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SLURM_CONF", "")
			d := install(t)
			if c.broken != nil {
				c.broken(t, d)
			}
			d.plugin(c.slurm)
			if got := d.line(c.what); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %q\nwant %q…", got, c.want)
			}
		})
	}
}

func remove(path string) func(*testing.T, *doctor) {
	return func(t *testing.T, d *doctor) {
		if err := os.Remove(d.root + path); err != nil {
			t.Fatal(err)
		}
	}
}

func holds(path, s string) func(*testing.T, *doctor) {
	return func(t *testing.T, d *doctor) { d.write(t, path, s) }
}

// libLinks makes the folder that ld.so puts for $PLATFORM.
func libLinks(target string) func(*testing.T, *doctor) {
	return func(t *testing.T, d *doctor) {
		d.write(t, "/usr/lib/slurm/x86_64/.keep", "")
		if err := os.Symlink(target, d.root+"/usr/lib/slurm/x86_64/libjobeff.so"); err != nil {
			t.Fatal(err)
		}
	}
}

func mode(path string, m os.FileMode) func(*testing.T, *doctor) {
	return func(t *testing.T, d *doctor) {
		if err := os.Chmod(d.root+path, m); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDoctorOnHardware: what the kernel counts of clocks, heat and memory is told, and nothing where it tells nothing.
func TestDoctorOnHardware(t *testing.T) {
	const cpu, mc = "/sys/devices/system/cpu/", "/sys/devices/system/edac/mc/"
	clock := func(at, may, made string) map[string]string {
		return map[string]string{cpu + at + "/cpufreq/scaling_max_freq": may, cpu + at + "/cpufreq/cpuinfo_max_freq": made}
	}
	hot := func(times, ms string) map[string]string {
		dir := cpu + "cpu1/thermal_throttle/"
		return map[string]string{dir + "core_throttle_count": "0", dir + "package_throttle_count": times, dir + "package_throttle_total_time_ms": ms,
			cpu + "cpu0/thermal_throttle/core_throttle_count": "3", "/proc/uptime": "7200.52 100.00\n"}
	}
	for name, c := range map[string]struct {
		files []map[string]string
		what  string
		want  string
	}{
		"nothing": {nil, "hardware", "ok the kernel tells neither the clock, nor throttling, nor memory errors here -> "},
		"whole clock": {[]map[string]string{clock("cpu0", "3500000\n", "3500000"), clock("cpu1", "3500000", "3500000")}, "clock",
			"ok the 2 CPUs may reach 3.50 GHz -> "},
		"two kinds of core": {[]map[string]string{clock("cpu0", "5200000", "5200000"), clock("cpu1", "4000000", "4000000")}, "clock",
			"ok of the 2 CPUs some may reach 4.00 GHz, others 5.20 GHz -> "},
		"one held back": {[]map[string]string{clock("cpu0", "3500000", "3500000"), clock("cpu1", "1200000", "3500000"), {cpu + "intel_pstate/no_turbo": "1"}}, "clock",
			"warn of the 2 CPUs some may reach 1.20 GHz, others 3.50 GHz, turbo is off; 1 of them made for up to 3.50 GHz -> unless"},
		"held back by the BIOS": {[]map[string]string{clock("cpu0", "3500000", "3500000"), {cpu + "cpu0/cpufreq/bios_limit": "2000000"}}, "clock",
			"warn the 1 CPU may reach 2.00 GHz; 1 of them made for up to 3.50 GHz"},
		"garbage":          {[]map[string]string{clock("cpu0", "fast", "3500000")}, "hardware", "ok the kernel tells neither"},
		"cool":             {[]map[string]string{{cpu + "cpu0/thermal_throttle/core_throttle_count": "0"}}, "throttling", "ok no core lowered its clock against heat since boot -> "},
		"how long unknown": {[]map[string]string{{cpu + "cpu0/thermal_throttle/core_throttle_count": "12"}}, "throttling", "ok a core lowered its clock against heat up to 12 times since boot; for how long"},
		"a moment":         {[]map[string]string{hot("12", "7199")}, "throttling", "ok no core lowered its clock against heat for longer than 7.199s since boot -> "},
		"hot":              {[]map[string]string{hot("12", "7201")}, "throttling", "warn a core lowered its clock against heat for 7s of the 2h0m0s since boot -> look at"},
		"whole memory":     {[]map[string]string{{mc + "mc0/ce_count": "0", mc + "mc0/ue_count": "0"}}, "memory", "ok the memory controllers counted no error since boot -> "},
		"broken memory": {[]map[string]string{{mc + "mc0/ce_count": "0", mc + "mc0/ue_count": "0", mc + "mc1/ce_count": "1500", mc + "mc1/ue_count": "1"}}, "memory",
			"warn the memory controllers counted 1,500 corrected and 1 uncorrected errors since boot -> see which"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &doctor{root: t.TempDir(), cfg: etc.Default(), node: true}
			for _, files := range c.files {
				for path, text := range files {
					d.write(t, path, text)
				}
			}
			d.hardware()
			if got := d.line(c.what); !strings.HasPrefix(got, c.want) || len(d.checks) != 1 {
				t.Errorf("got  %q of %d checks\nwant %q…", got, len(d.checks), c.want)
			}
			d.checks, d.node = nil, false
			if d.hardware(); len(d.checks) > 0 {
				t.Errorf("off a node: %v", d.checks)
			}
		})
	}
}

// TestDoctorOnGPUs: whether the driver keeps accounts, and how to have it do so at each boot; nothing without a driver.
func TestDoctorOnGPUs(t *testing.T) {
	of := func(whys ...string) string {
		return `{"gpus":[{"uuid":"GPU-0","why":"` + strings.Join(whys, `"},{"uuid":"GPU-0","why":"`) + `"}]}`
	}
	for answer, want := range map[string][]string{
		of("", ""): {"ok the driver keeps accounts of 2 of 2 GPUs -> "},
		of("accounting", "accounting"): {"warn what 2 of 2 GPUs do is not known: the driver's accounting is off -> " +
			"systemctl enable --now nvidia-persistenced, and after it at each boot, as root: nvidia-smi -am 1"},
		of("", "mig", "persistence"): {"ok the driver keeps accounts of 1 of 3 GPUs -> ", "ok what 1 of 3 GPUs do is not known: the driver keeps no accounts of parts of a GPU (MIG) -> ",
			"warn what 1 of 3 GPUs do is not known: persistence mode is off -> systemctl enable"},
		`{"why":"forbidden"}`: {"warn what jobs' GPUs do is not known: only root may ask the driver there -> see whether nvidia-smi answers"},
	} {
		d := &doctor{root: t.TempDir(), cfg: etc.Default(), node: true}
		program := d.root + "/reader"
		d.write(t, "/reader", "#!/bin/sh\necho '"+answer+"'\n")
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		if d.gpus(program); len(d.checks) > 0 {
			t.Errorf("without a driver: %v", d.checks)
		}
		d.write(t, gpu.Driver, "NVRM version\n")
		d.gpus(program)
		if len(d.checks) != len(want) {
			t.Errorf("%s: %v", answer, d.checks)
			continue
		}
		for i, c := range d.checks {
			if got := fmt.Sprintf("%s %s -> %s", c.Status, c.Found, c.Mend); !strings.HasPrefix(got, want[i]) {
				t.Errorf("got  %q\nwant %q…", got, want[i])
			}
		}
	}
}

func TestDoctorOffANode(t *testing.T) {
	d := &doctor{root: t.TempDir(), cfg: etc.Default()}
	t.Setenv("SLURM_CONF", "")
	d.plugin("")
	d.records()
	d.outbox()
	for _, c := range d.checks {
		if c.Status != words.Warn || c.Mend == "" {
			t.Errorf("%s: %s %q, want a warning with what to do", c.What, c.Status, c.Found)
		}
	}
	if len(d.checks) != 3 {
		t.Errorf("%d checks, want 3", len(d.checks))
	}
}

func TestDoctorOnTheRest(t *testing.T) {
	d := install(t)
	d.write(t, etc.KillSwitch, "")
	d.write(t, "/var/spool/jobeff/outbox/test-1-aa.json", "{}")
	d.write(t, "/var/spool/jobeff/outbox/.tmp-1.json", "{}")
	d.write(t, "/var/spool/jobeff/refused/test-2-bb.json", "{}")
	d.write(t, "/var/spool/jobeff/full.log", "2026-11-21T08:00:00Z cut test-3-cc.json\n2026-11-21T08:00:01Z lost test-4-dd.json\n")
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(d.root+"/var/spool/jobeff/outbox/test-1-aa.json", hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	d.killSwitch()
	d.outbox()
	d.munge()
	for what, want := range map[string]string{
		"switch": "warn /etc/jobeff/off is there: no new step on this machine is measured -> rm /etc/jobeff/off",
		"outbox": "warn 1 waiting, the oldest for",
		"munge":  "ok not needed on the unix socket",
	} {
		if got := d.line(what); !strings.HasPrefix(got, want) {
			t.Errorf("got  %q\nwant %q…", got, want)
		}
	}
	if last := d.checks[2]; !strings.HasPrefix(last.Found, "1 in ") {
		t.Errorf("refused reports: %q", last.Found)
	}
	if full := d.checks[3]; full.Status != words.Fail || full.Found != "it was full: of 1 job it kept only that their report was dropped, of 1 nothing" {
		t.Errorf("a full outbox: %+v", full)
	}
}

func TestDoctorOnTheServer(t *testing.T) {
	d := &doctor{cfg: etc.Default()}
	socket := filepath.Join(t.TempDir(), "s")
	d.cfg.Report.To, d.cfg.Client.To = "unix:"+socket, "unix:/nowhere/s"
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) })}
	go srv.Serve(l)
	defer srv.Close()
	d.server(context.Background())
	if len(d.checks) != 2 || d.checks[0].Status != words.OK || d.checks[1].Status != words.Fail {
		t.Fatalf("got %+v, want the first address ok and the second failed", d.checks)
	}
}

// TestDoctorOnSockets: doctor says whether systemd holds the addresses of a running jobeffd. It says nothing of one that does not run.
func TestDoctorOnSockets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for said, want := range map[string]string{
		"active active":     "ok systemd holds the addresses of jobeffd",
		"active inactive":   "warn systemd does not hold the addresses of jobeffd:",
		"active failed":     "warn systemd does not hold the addresses of jobeffd:",
		"inactive inactive": "",
	} {
		script := "#!/bin/sh\n[ $2 = jobeffd.service ] && [ $3 = jobeffd.socket ] || exit 4\nfor is in " + said + "; do echo $is; done\nexit 3\n"
		if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		d := &doctor{cfg: etc.Default()}
		d.sockets(context.Background())
		if got := d.line("sockets"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q…", said, got, want)
		}
	}
}

// TestDoctorOnMungeKey: this machine's munge has another key than the server's. It makes and reads
// credentials, but nobody there believes them.
func TestDoctorOnMungeKey(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts munge")
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	servers := mungetest.Start(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.New(server.Options{Store: db, MungeSocket: servers}).Serve(ctx, l) }()
	defer func() { cancel(); <-done }()
	for socket, want := range map[string]string{servers: "ok made a credential", mungetest.Start(t): "fail what listens at http://" + l.Addr().String() + " does not prove that it is jobeffd (it signed nothing). It answered 401 Unauthorized, the munge credential is not valid"} {
		d := &doctor{cfg: etc.Default()}
		d.cfg.Munge.Socket, d.cfg.Report.To, d.cfg.Client.To = socket, "http://"+l.Addr().String(), ""
		d.server(ctx)
		d.munge()
		if got := d.line("munge"); !strings.HasPrefix(got, want) {
			t.Errorf("got  %q\nwant %q…", got, want)
		}
	}
}

// TestDoctorOnSigners: doctor says whose answers count, and on the server which line names jobeffd's user.
func TestDoctorOnSigners(t *testing.T) {
	const tcp, unix = "http://head:6822", "unix:/run/jobeffd/jobeffd.sock"
	const line = "write server_users = [\"998\"] below [report] in"
	for _, c := range []struct {
		name, to, listen, uid string // uid: of the jobeffd on this machine; "": none
		users                 []string
		want                  string
	}{
		{"one machine", unix, "", "998", nil, ""},
		{"a node", tcp, "", "", nil, "warn [report] server_users is not set: an answer over TCP counts if root or any uid below 1000 signed it -> `jobeff admin doctor` on the server prints the line to write"},
		{"a node that knows", tcp, "", "", []string{"998", "997"}, "ok an answer over TCP counts if 998 or 997 signed it"},
		{"the server", tcp, ":6822", "998", nil, "warn [report] server_users is not set: an answer over TCP counts if root or any uid below 1000 signed it -> " + line},
		{"a server that reports by its socket", unix, ":6822", "998", nil, "warn [report] server_users is not set: an answer over TCP counts if root or any uid below 1000 signed it -> " + line},
		{"the server knows", tcp, ":6822", "998", []string{"998"}, "ok an answer over TCP counts if 998 signed it"},
		{"the server's is another", tcp, ":6822", "998", []string{"997"}, "fail jobeffd here runs as uid 998, but only answers of 997 count: nodes keep their reports, and jobeff shows nothing -> " + line},
		{"a person's", tcp, ":6822", "5001", nil, "fail jobeffd here runs as uid 5001, but only answers of root or any uid below 1000 count: nodes keep their reports, and jobeff shows nothing -> write server_users = [\"5001\"]"},
	} {
		d := &doctor{cfg: etc.Default()}
		d.cfg.Report.To, d.cfg.Client.To, d.cfg.Server.Listen, d.cfg.Report.ServerUsers = c.to, "", c.listen, c.users
		d.cfg.Server.Socket = filepath.Join(t.TempDir(), "sock")
		if c.uid != "" {
			l, err := net.Listen("unix", d.cfg.Server.Socket)
			if err != nil {
				t.Fatal(err)
			}
			h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok","uid":`+c.uid+`}`) })}
			go h.Serve(l)
			t.Cleanup(func() { h.Close() })
		}
		d.signers(t.Context())
		if got := d.line("signers"); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got  %q\nwant %q…", c.name, got, c.want)
		}
	}
}

// TestDoctorOnStandbys: jobeffd's PostgreSQL has a standby, and COMMIT waits for it, or for none, or for
// another one. jobeffd's role sees no details of it until it is granted them.
func TestDoctorOnStandbys(t *testing.T) {
	first := pgtest.Start(t, pgtest.Quick...)
	database := first.Database(t)
	name, _, _ := strings.Cut(strings.TrimPrefix(database, "postgres://postgres@/"), "?")
	do := func(all ...string) {
		t.Helper()
		for _, statement := range all {
			if err := first.Exec("postgres", statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	do("CREATE ROLE jobeff LOGIN", "ALTER DATABASE "+name+" OWNER TO jobeff")
	db, err := store.Open(strings.Replace(database, "postgres@", "jobeff@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := server.ListenUnix(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.New(server.Options{Store: db}).Serve(ctx, l) }()
	defer func() { cancel(); <-done }()
	said := func() string {
		d := &doctor{cfg: etc.Default()}
		d.cfg.Report.To, d.cfg.Client.To = "unix:"+l.Addr().String(), ""
		if d.server(ctx); len(d.checks) == 0 || d.checks[0].Status != words.OK {
			t.Fatalf("%+v", d.checks)
		}
		return d.line("database")
	}
	// A session hears of a new setting a moment later.
	want := func(when, want string) {
		t.Helper()
		for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			got := said()
			if strings.HasPrefix(got, want) && (want != "") == (got != "") {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%s: got  %q\nwant %q…", when, got, want)
			}
		}
	}
	names := func(to string) {
		t.Helper()
		do("ALTER SYSTEM SET synchronous_standby_names = '"+to+"'", "SELECT pg_reload_conf()")
	}
	const none = "warn PostgreSQL has standbys, and COMMIT waits for none of them"
	const away = "warn PostgreSQL waits at each COMMIT for a standby of synchronous_standby_names, and none of these follows it"
	want("alone", "")
	standby := first.Standby(t)
	want("synchronous", "")
	names("")
	want("asynchronous", none)
	names("other")
	want("another, unseen", "")
	do("SET synchronous_commit = local; GRANT pg_read_all_stats TO jobeff") // it would wait, too
	want("another", away)
	names("*")
	want("synchronous again", "")
	standby.Stop()
	want("away", away)
	names("")
	want("alone again", "")
}

// TestDoctorOnOneDoubt: a doubt that only one of two daemons reports is printed once.
func TestDoctorOnOneDoubt(t *testing.T) {
	d := install(t)
	for i, answer := range []string{`{"status":"ok","doubt":"PostgreSQL has standbys","hint":"x","cannot_tell":"all_measured"}`, `{"status":"ok"}`} {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "sock"))
		if err != nil {
			t.Fatal(err)
		}
		h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })}
		go h.Serve(l)
		t.Cleanup(func() { h.Close() })
		*[]*string{&d.cfg.Report.To, &d.cfg.Client.To}[i] = "unix:" + l.Addr().String()
	}
	d.server(t.Context())
	var said []string
	for _, c := range d.checks {
		if c.What == "database" {
			said = append(said, c.Found)
		}
	}
	if len(d.checks) != 4 || len(said) != 1 || said[0] != "PostgreSQL has standbys" || !strings.Contains(d.line("harm"), "cannot tell, because all jobs are measured") {
		t.Errorf("%+v", d.checks)
	}
}

func TestDoctorRunsAnywhere(t *testing.T) {
	t.Setenv("JOBEFF_CONFIG", filepath.Join(t.TempDir(), "missing.toml"))
	var out, errs bytes.Buffer
	if code := run([]string{"admin", "doctor"}, func(string) string { return "" }, &out, &errs); code != cli.ExitError {
		t.Errorf("exit code %d, want %d\n%s%s", code, cli.ExitError, out.String(), errs.String())
	}
	if !strings.HasPrefix(out.String(), "fail  config") || errs.Len() != 0 {
		t.Errorf("out %q, err %q", out.String(), errs.String())
	}
}

func TestDoctorOnRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(path, []byte("[[rule]]\nname = \"low-efficiency\"\ncondition = \"pe < 0.8\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOBEFF_CONFIG", path)
	d := &doctor{}
	d.configuration()
	if d.checks[0].Status != words.Fail || d.checks[0].What != "rules" || !strings.HasPrefix(d.checks[0].Found, path+":3: ") {
		t.Errorf("got %+v", d.checks)
	}
}

func TestDoctorOnMails(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*etc.Config)
		want   string
	}{
		"none asked for": {func(*etc.Config) {}, ""},
		"no way":         {func(c *etc.Config) { c.Digest.To = []string{"a@b"} }, "warn [digest] names people"},
		"to nobody":      {func(c *etc.Config) { c.Mail.Host = "h" }, "warn notice.shadow is true and digest.to is empty"},
		"no shadow":      {func(c *etc.Config) { c.Mail.Host, c.Notice.Shadow = "h", false }, "ok can be sent"},
		"template": {func(c *etc.Config) {
			c.Mail.Host, c.Digest.To, c.Mail.Templates = "h", []string{"a@b"}, t.TempDir()
			if err := os.WriteFile(filepath.Join(c.Mail.Templates, "notice.txt"), []byte("{{.Usr}}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "can't evaluate field Usr"},
	} {
		d := &doctor{cfg: etc.Default()}
		c.change(d.cfg)
		if d.mails(); !strings.Contains(d.line("mail"), c.want) || c.want == "" && d.line("mail") != "" {
			t.Errorf("%s: %s, want %s", name, d.line("mail"), c.want)
		}
	}
}

// TestDoctorOnFullRunDirectories: root's notes, and a job's record beside them, fill up.
func TestDoctorOnFullRunDirectories(t *testing.T) {
	trial.MayMount(t)
	d := &doctor{root: t.TempDir(), cfg: etc.Default(), node: true}
	mount := func(dir, options string) {
		t.Helper()
		dir = d.root + dir
		err := errors.Join(os.MkdirAll(dir, 0o711), syscall.Mount("jobeff-test", dir, "tmpfs", 0, options))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	want := func(what, want string) {
		t.Helper()
		d.checks = nil
		d.records()
		if got := d.line(what); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got  %q\nwant %q…", what, got, want)
		}
	}
	fill := func(file string) {
		t.Helper()
		d.write(t, file, "")
		os.WriteFile(d.root+file, make([]byte, 1<<20), 0o600) // as far as it fits
	}
	mount("/run/jobeff", "mode=711,size=100k")
	mount("/run/jobeff/notes/12/record", "size=8k")
	mount("/run/jobeff/notes/.gone-11-ab/record", "size=8k")
	want("tmpfs", "ok /run/jobeff is 0 % full, 2 records in use")
	want("records", "")
	want("held", "")
	fill("/run/jobeff/notes/12/record/ranks")
	fill("/run/jobeff/notes/.gone-11-ab/record/ranks")
	want("records", "warn 1 of 2 records in /run/jobeff are full")
	want("held", "warn processes hold 8.0 KiB of records of jobs that have ended -> end what")
	want("mounts", "")
	bind := func(from, to string) {
		t.Helper()
		if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(to, syscall.MNT_DETACH) })
	}
	shown := d.root + "/run/jobeff/12" // for the user of job 12, who mounts something of theirs on the record
	os.Mkdir(shown, 0o700)
	bind(d.root+"/run/jobeff/notes/12/record", shown)
	bind("/etc/hostname", shown+"/ranks")
	mount("/run/jobeff/11", "size=8k")
	mount("/run/jobeff/11/ranks", "size=8k")
	want("mounts", "warn 2 mounts in /run/jobeff without a job: they keep memory -> jobeff-ingest tidy")
	if err := node.RemoveStrays(d.root + "/run/jobeff"); err != nil {
		t.Error(err)
	}
	want("mounts", "")
	want("tmpfs", "ok /run/jobeff is 0 % full, 2 records in use")
	want("prolog", "")
	d.write(t, "/run/jobeff/notes/failed", "xx")
	want("prolog", "warn for 2 jobs since boot jobeff's part of the prolog failed")
	fill("/run/jobeff/notes/12/steps")
	want("tmpfs", "warn /run/jobeff is 100 % full")
	if err := syscall.Mount("", d.root+"/run/jobeff", "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	want("tmpfs", "fail /run/jobeff is mounted read-only -> mount -o remount,rw /run/jobeff")
}

// TestDoctorOnALinkedRunDirectory: to follow doctor's advice on a link must not change the folder to which it leads.
func TestDoctorOnALinkedRunDirectory(t *testing.T) {
	d := &doctor{root: t.TempDir(), cfg: etc.Default(), node: true}
	if err := errors.Join(os.Mkdir(d.root+"/run", 0o755), os.Symlink("/etc", d.root+"/run/jobeff")); err != nil {
		t.Fatal(err)
	}
	if d.records(); !strings.HasPrefix(d.line("tmpfs"), "fail /run/jobeff is no directory -> rm /run/jobeff; ") {
		t.Error(d.line("tmpfs"))
	}
}
