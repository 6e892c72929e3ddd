package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// rpms returns the files of this build's rpms, with a space between.
func rpms(t *testing.T) string {
	t.Helper()
	if os.Getenv("JOBEFF_RELEASE") != "" {
		t.Skip("Debian 11's systemd-sysusers writes nothing where /proc is not mounted; make test has the same scripts")
	}
	debs(t) // the build is there
	files, err := builtRpms()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}

var builtRpms = sync.OnceValues(func() ([]string, error) {
	dir, _ := filepath.Abs("../build/rpm")
	cmd := exec.Command("./build.sh", "rpm")
	cmd.Env = append(os.Environ(), "TARGET="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build.sh rpm: %w\n%s", err, out)
	}
	return filepath.Glob(dir + "/jobeff*.rpm")
})

// el runs a script as root beside $EL, the root of a machine that is laid out as EL's are: rpm knows
// their folders, and /bin/sh is bash. The programs in it are Debian's. No systemd runs there, and
// /proc is not mounted; systemctl writes down what it is asked where /run/asked is.
func el(t *testing.T, script string) string {
	t.Helper()
	return box(t, `
EL=$HERE/el
export LC_ALL=C
rpm() { command rpm --root $EL --dbpath /var/lib/rpm "$@" 2> >(grep -v '^rpm: ' >&2 || true); } # Debian's rpm warns of itself
needs=$(command rpm -qp --requires $RPMS 2>/dev/null | grep ^libc.so | sort -u | tr '\n' ' ')
rpmbuild -bb --quiet --define "_topdir $HERE/el.build" --define "needs $needs" testdata/el.spec >$HERE/el.log 2>&1 || { cat $HERE/el.log; exit 1; }
mkdir $EL
rpm -i $HERE/el.build/RPMS/*/el-*.rpm
mknod -m 666 $EL/dev/null c 1 3
for program in bash cat chmod cp ldconfig ls mkdir rm rmdir stat systemctl systemd-sysusers systemd-tmpfiles truncate umount; do
	program=$(readlink -f $(type -P $program))
	cp $program $EL/usr/bin
	ldd $program | grep -o "/[^ ]*" | xargs -r cp -nLt $EL/usr/lib64
done
ln -s bash $EL/usr/bin/sh
echo /usr/lib64 >$EL/etc/ld.so.conf
printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:Kernel Overflow User:/:/sbin/nologin\n' >$EL/etc/passwd
printf 'root:x:0:\nnobody:x:65534:\n' >$EL/etc/group
ldconfig -r $EL
files() { (cd $EL && find . -not -path './var/lib/rpm/*' -not -path './etc/*passwd*' -not -path './etc/*group*' -not -path './etc/*shadow*' -not -path ./etc/.pwd.lock | sort); }
`+script, "RPMS="+rpms(t))
}

// TestRpms: the rpms fit between EL's folders. What they make belongs to root and is what sysusers.d
// and tmpfiles.d say. An erasure leaves only what is the site's: settings, reports, the database.
func TestRpms(t *testing.T) {
	out := el(t, `
files >$HERE/before
rpm -i $RPMS 2>&1 | grep -v '^Creating' || true # systemd's words differ
rpm -V jobeff jobeff-node jobeffd
rpm -q --qf '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME}\n]' jobeff jobeff-node jobeffd | sort -u
rpm -q --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' jobeff jobeff-node jobeffd | sed -n 's/^d.* //p' | sort -u
grep -h ^jobeff: $EL/etc/passwd $EL/etc/group | sed 's/:[1-9][0-9][0-9]\b/:N/g'
chroot $EL jobeffd --version >/dev/null
ldconfig -r $EL # as EL's glibc does when a library comes
ldconfig -r $EL -p | grep -o 'libjobeff_section.so.*'
mkdir $EL/proc && mount --rbind /proc $EL/proc # as at a boot
chroot $EL systemd-tmpfiles --create jobeff.conf
umount -l $EL/proc && rmdir $EL/proc
(cd $EL && stat -c '%A %U %n' run/jobeff var/spool/jobeff var/spool/jobeff/*)
echo '# ours' >>$EL/etc/slurm/plugstack.conf.d/zz-jobeff.conf
touch $EL/var/spool/jobeff/outbox/kept
mkdir $EL/var/lib/jobeff
chroot $EL systemctl --quiet enable run-jobeff.mount jobeff-ingest.timer jobeffd jobeffd-read
rpm -U --force $RPMS
rpm -V jobeff jobeff-node jobeffd || true
echo 99 >$EL/usr/share/jobeff/schema
rpm -U --force $RPMS 2>&1 | grep -o 'jobeffd: the one that is installed uses schema 99'
rpm -e jobeffd jobeff-node jobeff 2>&1 | grep -v '^Removed'
rpm -qa | grep jobeff && exit 1
files | diff $HERE/before - | grep '^[<>]'`)
	const want = `-rw-r--r-- root root
-rwxr-xr-x root root
drwxr-xr-x root root
l--------- root root
/etc/jobeff
/etc/slurm/plugstack.conf.d
/usr/lib/jobeff
/usr/lib/jobeff/haswell
/usr/lib/jobeff/i386
/usr/lib/jobeff/i486
/usr/lib/jobeff/i586
/usr/lib/jobeff/i686
/usr/lib/jobeff/plugstack.d
/usr/lib/jobeff/talp
/usr/lib/jobeff/talp-3.5
/usr/lib/jobeff/x86_64
/usr/lib/jobeff/xeon_phi
/usr/lib/systemd/system/jobeffd-read.service.d
/usr/lib/systemd/system/jobeffd.service.d
/usr/share/doc/jobeff
/usr/share/doc/jobeff-node
/usr/share/doc/jobeff/doc
/usr/share/doc/jobeff/doc/ci
/usr/share/doc/jobeff/ondemand
/usr/share/doc/jobeff/ondemand/jobeff
/usr/share/doc/jobeff/ondemand/widgets
/usr/share/doc/jobeffd
/usr/share/doc/jobeffd/examples
/usr/share/jobeff
/usr/share/selinux
/usr/share/selinux/packages
jobeff:x:N:N:jobeff accounting daemon:/var/lib/jobeff:/usr/sbin/nologin
jobeff:x:N:
libjobeff_section.so (libc6,x86-64) => /usr/lib64/libjobeff_section.so
drwx--x--x root run/jobeff
drwx------ root var/spool/jobeff
drwx------ root var/spool/jobeff/outbox
drwx------ root var/spool/jobeff/refused
S.5....T.  c /etc/slurm/plugstack.conf.d/zz-jobeff.conf
jobeffd: the one that is installed uses schema 99
warning: /etc/slurm/plugstack.conf.d/zz-jobeff.conf saved as /etc/slurm/plugstack.conf.d/zz-jobeff.conf.rpmsave
> ./etc/slurm
> ./etc/slurm/plugstack.conf.d
> ./etc/slurm/plugstack.conf.d/zz-jobeff.conf.rpmsave
> ./etc/systemd
> ./etc/systemd/system
> ./run/jobeff
> ./var/lib/jobeff
> ./var/spool/jobeff
> ./var/spool/jobeff/outbox
> ./var/spool/jobeff/outbox/kept
> ./var/spool/jobeff/refused
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestRpmUnits: where systemd runs, an installation enables the node's units, an upgrade leaves them as
// they are, and an erasure disables them. The files that running jobs name stay.
func TestRpmUnits(t *testing.T) {
	out := el(t, `
mkdir -p $EL/run/systemd/system $EL/run/jobeff/77
printf '%s\n' '#!/bin/sh' '[ -e /run/off ] && [ "$2" = is-enabled ] && exit 1' 'echo "$@" >>/run/asked' >$EL/usr/bin/systemctl
asked() { echo "$1:"; grep -v is- $EL/run/asked; rm $EL/run/asked; }
rpm -i $RPMS >/dev/null 2>&1
asked installed
rpm -U --force $RPMS
asked upgraded
touch $EL/run/off
rpm -U --force $RPMS
asked 'upgraded where they are disabled'
rpm -e jobeffd jobeff-node jobeff
asked erased
cd $EL/usr/lib/jobeff && find . -type f -o -type l | sort`)
	const want = `installed:
daemon-reload
enable run-jobeff.mount jobeff-ingest.timer
start run-jobeff.mount
start jobeff-ingest.timer
daemon-reload
--quiet enable jobeffd.socket
--quiet enable jobeffd-read.socket
try-restart jobeffd.service jobeffd-read.service
upgraded:
daemon-reload
start run-jobeff.mount
start jobeff-ingest.timer
daemon-reload
--quiet enable jobeffd.socket
--quiet enable jobeffd-read.socket
try-restart jobeffd.service jobeffd-read.service
daemon-reload
upgraded where they are disabled:
daemon-reload
daemon-reload
try-restart jobeffd.service jobeffd-read.service
daemon-reload
jobs run that were measured: remove /usr/lib/jobeff when they have ended
erased:
stop jobeff-ingest.timer
disable run-jobeff.mount jobeff-ingest.timer
daemon-reload
stop jobeffd.socket jobeffd.service jobeffd-read.socket jobeffd-read.service
disable jobeffd.socket jobeffd.service jobeffd-read.socket jobeffd-read.service
daemon-reload
` + keptFiles
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestRpmlint runs in a box, since rpmlint unpacks the rpms with cpio, and nfpm's file names begin at /.
func TestRpmlint(t *testing.T) {
	if _, err := exec.LookPath("rpmlint"); err != nil {
		t.Skip("rpmlint is in test/packages for bookworm only")
	}
	box(t, "rpmlint --strict -c rpmlint.toml $RPMS", "RPMS="+rpms(t))
}

// TestSELinuxModule compiles the module for SELinux with the parts of EL's policy that it names. Debian's policy lacks them.
func TestSELinuxModule(t *testing.T) {
	if _, err := exec.LookPath("secilc"); err != nil {
		t.Skip("secilc is in test/packages for bookworm only")
	}
	contexts := t.TempDir() + "/contexts"
	run(t, "secilc", "-o", os.DevNull, "-f", contexts, "testdata/el.cil", "jobeff.cil")
	if got := run(t, "cat", contexts); got != "/run/jobeff/.*\t<<none>>\n" {
		t.Errorf("file contexts: %q", got)
	}
}
