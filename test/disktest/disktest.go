// Package disktest gives tests a disk whose power can be cut, and that can fail: ext4 on a loop
// device, on a file that qemu-storage-daemon serves by FUSE. Its driver blklogwrites logs each write
// and each flush of the kernel's, in their order. Only tests import it.
package disktest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jobeff/test/trial"
)

// Disk is a disk with a file system.
type Disk struct {
	Dir     string // where it is mounted
	files   string // the folder of its files
	process *trial.Server
	qmp     net.Conn
	answers *json.Decoder

	// These are set once the disk has stopped.
	log     *os.File
	at      int64  // where the next entry of the log begins, bytes
	durable []byte // what the disk holds after the last flush before that
	later   []write
}

// write is a write that no flush has followed yet.
type write struct {
	at   int64 // on the disk, bytes
	data []byte
}

// Start makes a disk of so many bytes and mounts it until the test ends. The test is skipped with
// -short, without root, and without qemu-storage-daemon, unless JOBEFF_TEST_ALL is set.
func Start(t testing.TB, size int64) *Disk {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a qemu-storage-daemon")
	}
	trial.MayMount(t)
	if _, err := exec.LookPath("qemu-storage-daemon"); err != nil {
		if os.Getenv("JOBEFF_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	d := &Disk{files: t.TempDir(), Dir: newDir(t)}
	create(t, d.file("image"), size)
	must(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.file("image")) // else the kernel would write by itself, and a fault might hit that
	must(t, "cp", "--sparse=always", d.file("image"), d.file("before"))
	create(t, d.file("log"), 0)
	create(t, d.file("disk"), 0)
	d.serve(t)
	d.Mount(t)
	return d
}

// newDir makes a folder that a database's user may enter, too.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "disktest") // short: a socket's path has 108 bytes
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

func (d *Disk) file(name string) string { return filepath.Join(d.files, name) }

func create(t testing.TB, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func must(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// serve runs the daemon. "logged" notes what happens to it; "disk" is above it, so that Fail can
// come between them.
func (d *Disk) serve(t testing.TB) {
	t.Helper()
	file := func(name string) string {
		return fmt.Sprintf("driver=file,node-name=%s,filename=%s,cache.no-flush=on", name, d.file(name))
	}
	cmd := exec.Command("qemu-storage-daemon", "--blockdev", file("image"), "--blockdev", file("log"),
		"--blockdev", "driver=blklogwrites,node-name=logged,file=image,log=log",
		"--blockdev", "driver=raw,node-name=disk,file=logged",
		"--export", "type=fuse,id=disk,node-name=disk,writable=on,mountpoint="+d.file("disk"),
		"--chardev", "socket,id=qmp,server=on,wait=off,path="+d.file("qmp"), "--monitor", "chardev=qmp")
	t.Cleanup(func() { syscall.Unmount(d.file("disk"), syscall.MNT_DETACH) })
	d.process = trial.Serve(t, cmd, func() bool {
		info, err := os.Stat(d.file("disk"))
		if err != nil || info.Size() == 0 {
			return false
		}
		d.qmp, err = net.Dial("unix", d.file("qmp"))
		return err == nil
	})
	t.Cleanup(func() { d.process.End(syscall.SIGTERM) })
	d.answers = json.NewDecoder(d.qmp)
	if err := d.ask("qmp_capabilities", map[string]any{}); err != nil {
		t.Fatal(err)
	}
}

// ask runs a command of the daemon.
func (d *Disk) ask(command string, arguments map[string]any) error {
	err := json.NewEncoder(d.qmp).Encode(map[string]any{"execute": command, "arguments": arguments})
	for err == nil {
		var said struct{ Return, Error json.RawMessage } // neither: a greeting or an event
		if err = d.answers.Decode(&said); err == nil && said.Error != nil {
			err = fmt.Errorf("%s: %s", command, said.Error)
		}
		if said.Return != nil {
			return nil
		}
	}
	return err
}

// Mount mounts the disk at Dir. At its first error ext4 becomes read-only, as on most machines.
func (d *Disk) Mount(t testing.TB) {
	t.Helper()
	mount(t, d.file("disk"), d.Dir, "errors=remount-ro")
}

// mount takes a new loop device each time. A process that makes a mount namespace meanwhile copies all mounts,
// and its copy keeps a failed file system as it is.
func mount(t testing.TB, image, dir, options string) {
	t.Helper()
	device, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Fatalf("losetup: %v", err)
	}
	loop := strings.TrimSpace(string(device))
	must(t, "mount", "-o", options, loop, dir)
	t.Cleanup(func() {
		syscall.Unmount(dir, syscall.MNT_DETACH)
		exec.Command("losetup", "-d", loop).Run()
	})
}

// Repair does what a reboot does: unmount, check and mount.
func (d *Disk) Repair(t testing.TB) {
	t.Helper()
	must(t, "umount", d.Dir)
	exec.Command("e2fsck", "-fy", d.file("disk")).Run() // its exit code is not 0 if it mended something
	d.Mount(t)
}

// Fail makes the next writes ("write") or flushes ("flush") of the disk end with EIO.
func (d *Disk) Fail(t testing.TB, kind string, times int) {
	t.Helper()
	errs := make([]any, times)
	for i := range errs {
		errs[i] = map[string]any{"event": "none", "iotype": kind, "errno": int(syscall.EIO), "once": true}
	}
	d.inject(t, errs)
}

// FailIn makes each write to the present blocks of a file end with EIO, until Mend.
func (d *Disk) FailIn(t testing.TB, file string) {
	t.Helper()
	out, err := exec.Command("filefrag", "-b1024", "-e", file).Output()
	if err != nil {
		t.Fatalf("filefrag: %v", err)
	}
	var errs []any
	for _, at := range extent.FindAllStringSubmatch(string(out), -1) {
		first, _ := strconv.ParseInt(at[1], 10, 64)
		last, _ := strconv.ParseInt(at[2], 10, 64)
		for b := first; b <= last; b++ {
			errs = append(errs, map[string]any{"event": "none", "iotype": "write", "errno": int(syscall.EIO), "sector": b * 1024 / sector})
		}
	}
	if len(errs) == 0 {
		t.Fatalf("filefrag tells no place of %s:\n%s", file, out)
	}
	d.inject(t, errs)
}

// extent matches a line of filefrag. Its second range holds blocks of the disk.
var extent = regexp.MustCompile(`(?m)^ *\d+: +\d+\.\. *\d+: +(\d+)\.\. *(\d+):`)

// inject puts a driver between "disk" and "logged" that fails with these errors.
func (d *Disk) inject(t testing.TB, errs []any) {
	t.Helper()
	err := d.ask("blockdev-add", map[string]any{"driver": "blkdebug", "node-name": "broken", "image": "logged", "inject-error": errs})
	if err == nil {
		err = d.above("broken")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Mend ends what Fail or FailIn began. The daemon flushes first, so Mend repeats until the flushes that
// still have to fail are used up.
func (d *Disk) Mend(t testing.TB) {
	t.Helper()
	err := d.above("logged")
	for err != nil && strings.Contains(err.Error(), "flushing") {
		err = d.above("logged")
	}
	if err == nil {
		err = d.ask("blockdev-del", map[string]any{"node-name": "broken"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (d *Disk) above(node string) error {
	return d.ask("blockdev-reopen", map[string]any{"options": []any{map[string]any{"driver": "raw", "node-name": "disk", "file": node}}})
}

// Position returns the length of the log, bytes. All that an earlier fsync confirmed is before it.
func (d *Disk) Position(t testing.TB) int64 {
	info, err := os.Stat(d.file("log"))
	if err != nil {
		t.Error(err)
		return 0
	}
	return info.Size()
}

// Stop ends the disk, so that Cut can read its log.
func (d *Disk) Stop(t testing.TB) {
	t.Helper()
	must(t, "umount", d.Dir)
	d.process.End(syscall.SIGTERM)
	var err error
	if d.log, err = os.Open(d.file("log")); err == nil {
		d.durable, err = os.ReadFile(d.file("before"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.log.Close() })
	d.at = sector // the first sector describes the log
}

// The log consists of sectors, as the disk does. Each entry begins with a sector for its head. It is a flush, a
// write with its data, or a range that was discarded.
const (
	sector    = 512
	isFlush   = 1
	isDiscard = 4
	block     = 4096 // what a disk writes as a whole
)

// Cut mounts what a stopped disk holds if its power was cut at a position of its log. That is everything up to
// the last flush. Of the later blocks, chance picks those that are lost; lost counts them. Cut first checks the
// file system. The mount lasts until the test ends. Each position must be behind the one of the call before.
func (d *Disk) Cut(t testing.TB, position int64, chance *rand.Rand) (dir string, lost int) {
	t.Helper()
	if err := d.read(position); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "image")
	create(t, image, int64(len(d.durable)))
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at := range len(d.durable) / block {
		if b := d.durable[at*block:][:block]; !bytes.Equal(b, make([]byte, block)) {
			f.WriteAt(b, int64(at*block))
		}
	}
	share := chance.Float64()
	for _, w := range d.later {
		for at := 0; at < len(w.data); at += block {
			if chance.Float64() < share {
				f.WriteAt(w.data[at:min(at+block, len(w.data))], w.at+int64(at))
			} else {
				lost++
			}
		}
	}
	// A machine does this when it boots. Mounting would replay the journal, too. But whoever makes a mount
	// namespace meanwhile would copy the mount, and the image would stay dirty.
	if err := exec.Command("e2fsck", "-p", image).Run(); err != nil && err.(*exec.ExitError).ExitCode() != 1 {
		t.Errorf("e2fsck -p: %v", err)
	}
	if out, err := exec.Command("e2fsck", "-fn", image).CombinedOutput(); err != nil {
		t.Errorf("the file system is damaged: %v\n%s", err, out)
	}
	dir = newDir(t)
	mount(t, image, dir, "nobarrier") // this machine's power stays
	return dir, lost
}

// read reads the log's entries up to a position.
func (d *Disk) read(position int64) error {
	for {
		var head struct{ Sector, Sectors, Flags, _ uint64 }
		err := binary.Read(io.NewSectionReader(d.log, d.at, sector), binary.LittleEndian, &head)
		if err == io.EOF {
			return nil
		}
		size := int64(head.Sectors) * sector
		if head.Flags&isDiscard != 0 {
			size = 0
		}
		if err != nil || head.Flags > 15 || head.Sector*sector+uint64(size) > uint64(len(d.durable)) {
			return fmt.Errorf("no entry of a log at %d: %+v, %v", d.at, head, err)
		}
		end := d.at + sector + size
		if end > position {
			return nil
		}
		if size > 0 {
			w := write{int64(head.Sector) * sector, make([]byte, size)}
			if _, err := d.log.ReadAt(w.data, d.at+sector); err != nil {
				return err
			}
			d.later = append(d.later, w)
		}
		if head.Flags&isFlush != 0 {
			for _, w := range d.later {
				copy(d.durable[w.at:], w.data)
			}
			d.later = nil
		}
		d.at = end
	}
}
