// Package packaging makes the packages that sites install, out of what the build left. It stands
// beside the flow: nothing imports it. Its tests install the packages as dpkg and rpm do.
package packaging

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jobeff/test/trial"
)

// debs are the packages of `make packages`, by name.
func debs(t *testing.T) map[string]string {
	t.Helper()
	if testing.Short() {
		t.Skip("the packages are not built for -short")
	}
	files, _ := filepath.Glob("../build/jobeff*_*.deb")
	byName := map[string]string{}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), "_")
		byName[name], _ = filepath.Abs(file)
	}
	if len(byName) != 3 {
		t.Fatalf("%d packages match build/jobeff*_*.deb, and not 3: run `make packages`", len(byName))
	}
	return byName
}

// box runs a script as root on a machine of its own: overlays hide what it does to /etc, /usr and
// /var, and /run is empty, so no systemd runs. $DEBS, $NODE, $SERVER and $CLI name the packages.
func box(t *testing.T, script string, env ...string) string {
	t.Helper()
	trial.MayMount(t)
	const boxed = `set -e
mount -t tmpfs tmpfs /run
mkdir /run/repo
mount --rbind .. /run/repo # the repository may be below /var, or mounted there
for d in etc usr var; do
	mkdir /run/$d /run/$d.work
	mount -t overlay -o lowerdir=/$d,upperdir=/run/$d,workdir=/run/$d.work overlay /$d
done
mkdir -p "${PWD%/*}"
mount --move /run/repo "${PWD%/*}"
mount -t tmpfs tmpfs /run
dpkg() { command dpkg --no-triggers "$@"; } # man-db's would take seconds
install() { dpkg --force-unsafe-io -i "$@" </dev/null; } # a prompt would fail here
exec 2>&1
`
	by := debs(t)
	cmd := exec.Command("unshare", "-m", "bash", "-c", boxed+script)
	cmd.Env = append(os.Environ(), "DEBS="+by["jobeff"]+" "+by["jobeff-node"]+" "+by["jobeffd"], "CLI="+by["jobeff"], "NODE="+by["jobeff-node"], "SERVER="+by["jobeffd"],
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "HERE="+t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// TestInstallRemovePurge: what is installed works. After a purge, all is as it was before.
func TestInstallRemovePurge(t *testing.T) {
	out := box(t, `
files() { find /etc /usr /var/lib /var/spool -not -path '/var/lib/dpkg*' -not -name 'ld.so.cache*' \
	-not -path '/etc/*passwd*' -not -path '/etc/*group*' -not -path '/etc/*shadow*' -not -path '/etc/.pwd.lock' | sort; }
files >$HERE/before
install $DEBS >/dev/null 2>&1
jobeff --version; jobeffd --version
! grep -rl jobeff/failpoints /usr/sbin/jobeff* /usr/lib/jobeff # the tests' own builds have them
id -un jobeff
stat -c '%A %U' /var/spool/jobeff/outbox /run/jobeff
cat /etc/slurm/plugstack.conf.d/zz-jobeff.conf /usr/lib/jobeff/plugstack.d/*.conf | grep -v '^#'
touch /var/spool/jobeff/outbox/kept
mkdir -p /var/lib/jobeff && touch /var/lib/jobeff/jobeff.db
dpkg -r jobeffd jobeff-node jobeff >/dev/null 2>&1
ls -d /var/spool/jobeff/outbox/kept /var/lib/jobeff/jobeff.db /etc/slurm/plugstack.conf.d/zz-jobeff.conf /usr/lib/jobeff || true
dpkg -P jobeffd jobeff-node >/dev/null 2>&1
files >$HERE/after
diff $HERE/before $HERE/after && echo nothing left`)
	version := strings.TrimSpace(run(t, "./version.sh"))
	want := "jobeff version " + version + "\njobeffd version " + version + `
jobeff
drwx------ root
drwx--x--x root
include /usr/lib/jobeff/plugstack.d/*.conf
optional /usr/lib/jobeff/jobeff_spank.so sender=/usr/sbin/jobeff-ingest
ls: cannot access '/usr/lib/jobeff': No such file or directory
/etc/slurm/plugstack.conf.d/zz-jobeff.conf
/var/lib/jobeff/jobeff.db
/var/spool/jobeff/outbox/kept
nothing left
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

func run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out)
}

// keptFiles are the files of /usr/lib/jobeff that jobs name.
const keptFiles = `./haswell/libjobeff.so
./i386/libjobeff.so
./i486/libjobeff.so
./i586/libjobeff.so
./i686/libjobeff.so
./libjobeff.so
./talp-3.5/libdlb.so
./talp-3.5/libdlb_mpi.so
./talp/libdlb.so
./talp/libdlb_mpi.so
./x86_64/libjobeff.so
./xeon_phi/libjobeff.so
`

// TestRemovedUnderJobs: while measured jobs run, their library stays, and nothing that Slurm would load.
func TestRemovedUnderJobs(t *testing.T) {
	out := box(t, `
install $DEBS >/dev/null 2>&1
mkdir -p /run/jobeff/77
dpkg -r jobeff-node | tail -n 1
cd /usr/lib/jobeff && find . -type f -o -type l | sort
install $NODE >/dev/null 2>&1
ls /usr/lib/jobeff/plugstack.d`)
	const want = "jobs run that were measured: remove /usr/lib/jobeff when they have ended\n" + keptFiles + "jobeff.conf\n"
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestPurgeUnderAUsersFileSystem: a user's file system over their record never answers. A purge does not
// wait for it.
func TestPurgeUnderAUsersFileSystem(t *testing.T) {
	out := box(t, `
install $NODE >/dev/null 2>&1
mount --make-rprivate / && mount -t tmpfs tmpfs /run/jobeff && mkdir /run/jobeff/77 && mount -t tmpfs tmpfs /run/jobeff/77
command install -o nobody -m 600 /dev/null /run/jobeff/77/ranks
[ -e /etc/mtab ] || ln -s /proc/self/mounts /etc/mtab
echo user_allow_other >>/etc/fuse.conf && mknod -m 666 /run/fuse c 10 229 && mount --bind /run/fuse /dev/fuse
coproc setpriv --reuid nobody --regid nogroup --clear-groups /usr/bin/python3 -c "$FUSE" /run/jobeff/77/ranks allow_other
read -r said <&${COPROC[0]}
echo "$said"
timeout 20 dpkg --no-triggers -P jobeff-node >/dev/null 2>&1 || echo "dpkg: $?"
ls /run/jobeff || true
grep -c /run/jobeff /proc/mounts || true
kill $COPROC_PID`, "FUSE="+run(t, "cat", "../test/fuse.py"))
	const want = "mounted\nls: cannot access '/run/jobeff': No such file or directory\n0\n"
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestUpgradeFromOnePackage: jobeff used to be one package. It hands its files over, its settings stay, and
// Slurm's line becomes the new one without a question.
func TestUpgradeFromOnePackage(t *testing.T) {
	out := box(t, `
old=$HERE/old
mkdir -p $old/DEBIAN $old/usr/sbin $old/usr/lib/jobeff $old/etc/jobeff $old/etc/slurm/plugstack.conf.d
printf 'Package: jobeff\nVersion: 0.0.0+ge8b3b80\nArchitecture: amd64\nMaintainer: a <a@b>\nDescription: all\n' >$old/DEBIAN/control
printf '/etc/jobeff/jobeff.toml\n/etc/slurm/plugstack.conf.d/zz-jobeff.conf\n' >$old/DEBIAN/conffiles
echo old | tee $old/usr/sbin/jobeffd $old/usr/sbin/jobeff-ingest >$old/usr/lib/jobeff/libjobeff.so
echo '# all defaults' >$old/etc/jobeff/jobeff.toml
echo 'optional jobeff_spank.so' >$old/etc/slurm/plugstack.conf.d/zz-jobeff.conf
dpkg-deb -Znone -b $old $HERE/old.deb >/dev/null
install $HERE/old.deb >/dev/null
echo '# ours' >>/etc/jobeff/jobeff.toml
install $DEBS >/dev/null 2>&1
cat /etc/jobeff/jobeff.toml
grep -v '^#' /etc/slurm/plugstack.conf.d/zz-jobeff.conf
dpkg -S /usr/sbin/jobeffd /usr/lib/jobeff/libjobeff.so /etc/slurm/plugstack.conf.d/zz-jobeff.conf
dpkg --verify jobeff jobeff-node jobeffd | grep -v /usr/share/doc`)
	const want = `# all defaults
# ours
include /usr/lib/jobeff/plugstack.d/*.conf
jobeffd: /usr/sbin/jobeffd
jobeff-node: /usr/lib/jobeff/libjobeff.so
jobeff-node: /etc/slurm/plugstack.conf.d/zz-jobeff.conf
??5?????? c /etc/jobeff/jobeff.toml
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// newer makes a package of a jobeffd whose database this one does not know.
const newer = `
dpkg-deb -R $SERVER $HERE/newer
sed -i 's/^Version: .*/Version: 99/' $HERE/newer/DEBIAN/control
echo 99 >$HERE/newer/usr/share/jobeff/schema
dpkg-deb -Znone -b $HERE/newer $HERE/newer.deb >/dev/null
`

func TestDowngradeRefused(t *testing.T) {
	out := box(t, newer+`
install $CLI $HERE/newer.deb >/dev/null 2>&1
install $SERVER >$HERE/said 2>&1 && echo it was taken
grep '^jobeffd: ' $HERE/said
dpkg-query -W -f '${Version} ${Status}\n' jobeffd
dpkg -r jobeffd >/dev/null
install $SERVER >/dev/null 2>&1 && echo taken after a removal
install $SERVER >/dev/null 2>&1 && echo and again over itself`)
	const want = `99 install ok installed
taken after a removal
and again over itself
`
	said, rest, _ := strings.Cut(out, "\n")
	if !strings.HasPrefix(said, "jobeffd: the one that is installed uses schema 99 of the database, this one knows ") || rest != want {
		t.Errorf("got\n%s\nwant what the script says, then\n%s", out, want)
	}
}

// released skips a test of what `make release` leaves, unless that runs it.
func released(t *testing.T) {
	t.Helper()
	if os.Getenv("JOBEFF_RELEASE") == "" {
		t.Skip("make release runs it, in Debian 11")
	}
	for _, end := range []string{"deb", "rpm"} {
		if files, _ := filepath.Glob("../build/release/jobeff*." + end); len(files) != 3 {
			t.Fatalf("the release has %d packages that end in %s", len(files), end)
		}
	}
}

// TestReleaseNeedsOldGlibc: by its symbols, what is released runs with the glibc of EL8.
func TestReleaseNeedsOldGlibc(t *testing.T) {
	released(t)
	for _, name := range []string{"jobeff", "jobeffd", "jobeff-ingest", "lib/libjobeff.so", "lib/libjobeff_section.so", "lib/talp/libdlb.so", "lib/talp-3.5/libdlb.so", "lib/jobeff_spank.so", "lib/jobeff_spank_body.so"} {
		f, err := elf.Open("../build/" + name)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.ImportedSymbols()
		if err != nil || len(symbols) == 0 {
			t.Fatalf("%s: %d symbols, %v", name, len(symbols), err)
		}
		for _, s := range symbols {
			minor, ok := strings.CutPrefix(s.Version, "GLIBC_2.")
			minor, _, _ = strings.Cut(minor, ".")
			if n, err := strconv.Atoi(minor); ok && (err != nil || n > 28) {
				t.Errorf("%s needs %s@%s", name, s.Name, s.Version)
			}
		}
		f.Close()
	}
}

// TestReproducible: the same sources give the same packages, elsewhere, with another umask and an empty cache.
func TestReproducible(t *testing.T) {
	released(t)
	const build = `umask $UMASK; cd "$HERE" && mkdir tree && git -C "$REPO" ls-files -z -co --exclude-standard | (cd "$REPO" && xargs -0 cp --parents -t "$HERE/tree") &&
		cd tree && make packages >/dev/null && packaging/build.sh deb rpm >/dev/null && packaging/tarball.sh >/dev/null && sha256sum build/jobeff*.*`
	repo, _ := filepath.Abs("..")
	var sums []string
	for _, env := range []string{"UMASK=022", "UMASK=077"} {
		cmd := exec.Command("bash", "-c", build)
		cmd.Env = append(os.Environ(), "REPO="+repo, "HERE="+t.TempDir(), env, "MAKEFLAGS=", "TARGET=build")
		if env == "UMASK=077" {
			cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir(), "TZ=Asia/Tokyo")
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sums = append(sums, string(out))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 7 {
		t.Errorf("one build gave\n%s\nanother\n%s", sums[0], sums[1])
	}
}

// TestPrefix: below another prefix nothing leads to /usr, and Slurm's line names the plugin there.
func TestPrefix(t *testing.T) {
	debs(t)
	dest := t.TempDir()
	cmd := exec.Command("./install.sh")
	cmd.Env = append(os.Environ(), "DESTDIR="+dest, "PREFIX=/opt/je")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	texts := run(t, "grep", "-rhEo", "^(include|optional|ExecStart).*", dest+"/etc", dest+"/opt/je/lib")
	if strings.Contains(texts, "/usr/") || strings.Count(texts, "/opt/je/") != 9 {
		t.Error(texts)
	}
	if _, err := os.Stat(dest + "/usr"); err == nil {
		t.Error("something is in /usr")
	}
}

// TestVersions: a package of a later version is newer, for dpkg and for rpm. A release has its fixture.
func TestVersions(t *testing.T) {
	now := strings.TrimSpace(run(t, "./version.sh"))
	if fixture := "../ingest/store/testdata/" + now; !strings.Contains(now, "~") {
		if _, err := os.Stat(fixture); err != nil {
			t.Errorf("%v: see CONTRIBUTING, Make a release", err)
		}
	}
	dir, before := t.TempDir(), "0.0.9"
	run(t, "mkdir", dir+"/packaging")
	run(t, "cp", "version.sh", dir+"/packaging")
	for _, version := range []string{"0.1.0", "0.2.0~dev", "0.2.0~rc1", "0.2.0", "0.10.0"} {
		if err := os.WriteFile(dir+"/CHANGELOG.md", []byte("# Changelog\n\n## "+version+"\nnew\n\n## 0.0.9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, dir+"/packaging/version.sh"); got != version+"\n" {
			t.Errorf("%s gives %q", version, got)
		}
		if exec.Command("dpkg", "--compare-versions", before, "lt", version).Run() != nil {
			t.Errorf("dpkg: %s is not older than %s", before, version)
		}
		if out, err := exec.Command("rpm", "--eval", "%{lua:print(rpm.vercmp('"+before+"','"+version+"'))}").Output(); err == nil && strings.TrimSpace(string(out)) != "-1" {
			t.Errorf("rpm: %s is not older than %s", before, version)
		}
		before = version
	}
}

// TestConffiles: a conffile that changes would ask a question on each node. The only one never needs to change.
func TestConffiles(t *testing.T) {
	for name, file := range debs(t) {
		want := ""
		if name == "jobeff-node" {
			want = "/etc/slurm/plugstack.conf.d/zz-jobeff.conf"
		}
		out, _ := exec.Command("dpkg-deb", "-I", file, "conffiles").Output() // fails where there are none
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("%s has conffiles %q, want %q", name, got, want)
		}
	}
}

func TestLintian(t *testing.T) {
	by := debs(t)
	if _, err := exec.LookPath("lintian"); err != nil {
		t.Skip("lintian is in test/packages for bookworm only")
	}
	out, err := exec.Command("lintian", "--allow-root", "--fail-on", "error", by["jobeff"], by["jobeff-node"], by["jobeffd"]).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHardened: programs and what runs as root are position-independent, and their tables of functions
// are read-only. libjobeff.so is left out: it resolves late on purpose (preload/build.mk).
func TestHardened(t *testing.T) {
	debs(t) // `make packages` has built them
	for _, name := range []string{"jobeff", "jobeffd", "jobeff-ingest", "lib/jobeff_spank.so", "lib/jobeff_spank_body.so"} {
		f, err := elf.Open("../build/" + name)
		if err != nil {
			t.Fatal(err)
		}
		relro := false
		for _, p := range f.Progs {
			relro = relro || p.Type == elf.PT_GNU_RELRO
		}
		flags, _ := f.DynValue(elf.DT_FLAGS)
		now := len(flags) > 0 && elf.DynFlag(flags[0])&elf.DF_BIND_NOW != 0
		if f.Type != elf.ET_DYN || !relro || !now {
			t.Errorf("%s: %v, RELRO %v, bound at the start %v", name, f.Type, relro, now)
		}
		f.Close()
	}
}

// units lays all units of the packages out below a folder, with systemd's targets.
func units(t *testing.T) (dest string) {
	t.Helper()
	debs(t)
	if !strings.Contains(run(t, "systemd-analyze", "--help"), "--offline") {
		t.Skip("this systemd-analyze (before 250) judges no unit that is not loaded")
	}
	dest = t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", "./install.sh && cp -P /usr/lib/systemd/system/*.target $DESTDIR/usr/lib/systemd/system && install -D /bin/sh $DESTDIR/bin/sh")
	cmd.Env = append(os.Environ(), "DESTDIR="+dest)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dest
}

// TestUnits: systemd finds nothing wrong in the units.
func TestUnits(t *testing.T) {
	dest := units(t)
	files, _ := filepath.Glob(dest + "/usr/lib/systemd/system/*jobeff*.*[a-z]")
	args := []string{"verify", "--root=" + dest, "--man=no"}
	for _, file := range files {
		if filepath.Ext(file) != ".d" {
			args = append(args, filepath.Base(file))
		}
	}
	if out := run(t, append([]string{"systemd-analyze"}, args...)...); len(args) != 14 || out != "" {
		t.Errorf("%q:\n%s", args, out)
	}
}

// TestSandbox: the settings that keep whoever took over jobeffd inside its unit (fault 141 of test/FAULTS.md).
func TestSandbox(t *testing.T) {
	dest := units(t)
	for _, unit := range []string{"jobeffd.service", "jobeffd-read.service"} {
		said := run(t, "systemd-analyze", "security", "--offline=true", "--no-pager", "--json=short", "--root="+dest, unit)
		for _, setting := range []string{"ProtectProc=", "ProtectSystem=", "ProtectHome=", "PrivateTmp=", "PrivateDevices=", "NoNewPrivileges=", "RestrictSUIDSGID=",
			"CapabilityBoundingSet=~CAP_SYS_ADMIN", "SystemCallFilter=~@mount", "SystemCallFilter=~@module", "RestrictAddressFamilies=~AF_PACKET", "RestrictNamespaces=~user"} {
			if !strings.Contains(said, `{"set":true,"name":"`+setting+`"`) {
				t.Errorf("%s: %s is not set", unit, setting)
			}
		}
	}
}

// TestInstallInImage: where an image is built, there may be no /proc, and no systemd runs. The lines of ADMIN 1
// enable the units.
func TestInstallInImage(t *testing.T) {
	out := box(t, `
umount -l /proc
install $DEBS >/dev/null 2>&1
dpkg-query -W -f '${Package} ${db:Status-Status}\n' jobeff jobeff-node jobeffd
systemctl enable run-jobeff.mount jobeff-ingest.timer >/dev/null 2>&1
systemctl is-enabled run-jobeff.mount jobeff-ingest.timer`)
	const want = `jobeff installed
jobeff-node installed
jobeffd installed
enabled
enabled
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestUpgradeEnablesNothing: an upgrade leaves disabled what an admin disabled. systemd cannot run in this
// box, so systemctl is a script that writes down what it is asked.
func TestUpgradeEnablesNothing(t *testing.T) {
	out := box(t, `
mkdir -p /run/systemd/system
cat >/usr/local/sbin/systemctl <<'X'
#!/bin/sh
echo "$@" >>"$HERE/calls"
case "$*" in *is-enabled*) [ ! -e "$HERE/disabled" ] ;; esac
X
chmod +x /usr/local/sbin/systemctl
PATH=/usr/local/sbin:$PATH
units() { grep -E ' (run-jobeff.mount|jobeff-ingest.timer)' $HERE/calls | grep -v is-enabled || true; rm $HERE/calls; }
install $NODE >/dev/null 2>&1
units
install $NODE >/dev/null 2>&1
echo upgraded
units
touch $HERE/disabled
install $NODE >/dev/null 2>&1
echo disabled
units`)
	const want = `enable run-jobeff.mount jobeff-ingest.timer
start run-jobeff.mount
start jobeff-ingest.timer
upgraded
start run-jobeff.mount
start jobeff-ingest.timer
disabled
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
