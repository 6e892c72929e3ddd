package node

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// Host is where root sees processes and cgroups; a test has its own.
type Host struct {
	Proc, Cgroup string
	Now          func(record.Clock) (record.Pair, bool) // nil: a fold follows at once
}

// ThisHost is the one that this process runs on.
var ThisHost = Host{"/proc", "/sys/fs/cgroup", record.Now}

// seen are the processes of a job, as root saw them: those in the job's cgroups, and those of its user in
// no job's cgroup, since there may be no cgroups.
type seen struct {
	at     record.Pair // when root looked; zero: when the fold reads its clocks
	procs  map[int]*proc
	doubts []string // codes of package hang
}

// proc is one process.
type proc struct {
	state   byte   // see proc(5)
	start   uint64 // when it began, clock ticks after boot
	bytes   uint64 // read and written
	gpu     bool   // it is not running, and has one open
	threads []thread
}

// thread is one thread of a process.
type thread struct {
	tid   int
	cpu   uint64 // ns
	start uint64 // as proc's; 0: not looked up
}

// longRun is the CPU time, ns, above which a thread's start is looked up.
const longRun = 1e6

// See looks at the processes of a job, as root. FoldLive then finds out how far they are.
func See(h Host, d *RunDir) {
	var r job.NodeReport
	if readJob(d.job, &r); r.JobID == 0 {
		return
	}
	d.seen = &seen{procs: map[int]*proc{}}
	if h.Now != nil {
		d.seen.at, _ = h.Now(record.ClockMonotonic)
	}
	l := &look{Host: h, seen: d.seen, id: r.JobID, uid: r.UID, frozen: map[string]bool{}}
	all, err := os.Open(h.Proc)
	if err != nil {
		return
	}
	defer all.Close()
	names, _ := all.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			l.at(pid, name)
		}
	}
}

// look is one look at all processes.
type look struct {
	Host
	*seen
	id, uid uint32          // of the job
	frozen  map[string]bool // cgroups, by path
	buf     [16 << 10]byte
}

// at looks at one process.
func (l *look) at(pid int, name string) {
	dir := filepath.Join(l.Proc, name)
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil {
		return
	}
	isRoots := st.Uid == 0
	if !isRoots && st.Uid != l.uid || isRoots && !l.isProgram(dir) {
		return
	}
	id, frozen, ok := l.cgroups(dir)
	if id != l.id && (id != 0 || isRoots) || isRoots && !l.isUsers(dir) {
		return
	}
	p, readable := l.process(dir)
	if frozen {
		l.doubts = append(l.doubts, hang.DoubtFrozen)
	}
	switch {
	case !readable || !ok:
		if unix.Lstat(dir, &st) == nil { // else it has just ended: another look sees that it is gone
			l.doubts = append(l.doubts, hang.DoubtUnread)
		}
	case p.state == 'Z' || p.state == 'X':
	default:
		l.procs[pid] = p
	}
}

// isProgram tells a program from a thread of the kernel.
func (l *look) isProgram(dir string) bool {
	_, err := unix.Readlink(filepath.Join(dir, "exe"), l.buf[:])
	return err == nil
}

// isUsers reports whether a process that only root may look at is a user's: it runs a program that this user may
// not read.
func (l *look) isUsers(dir string) bool {
	_, uid, _ := bytes.Cut(l.read(dir, "status"), []byte("\nUid:\t"))
	return len(uid) > 0 && !bytes.HasPrefix(uid, []byte("0\t"))
}

// cgroups returns which job's cgroup a process is in (0: none's), and whether one of its cgroups is frozen.
func (l *look) cgroups(dir string) (id uint32, frozen, ok bool) {
	text := string(l.read(dir, "cgroup"))
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		for part := range strings.SplitSeq(path, "/") {
			if number, is := strings.CutPrefix(part, "job_"); is {
				if n, err := strconv.ParseUint(number, 10, 32); err == nil {
					id = uint32(n)
				}
			}
		}
		if controllers == "" || slices.Contains(strings.Split(controllers, ","), "freezer") {
			frozen = frozen || l.isFrozen(path)
		}
	}
	return id, frozen, text != ""
}

// isFrozen looks at cgroups of version 2, alone or together with version 1, and at those of version 1.
func (l *look) isFrozen(path string) bool {
	is, known := l.frozen[path]
	if !known {
		for _, of := range []string{"", "unified"} {
			is = is || bytes.Contains(l.read(filepath.Join(l.Cgroup, of, path), "cgroup.events"), []byte("frozen 1"))
		}
		state := l.read(filepath.Join(l.Cgroup, "freezer", path), "freezer.state")
		is = is || bytes.HasPrefix(state, []byte("FR"))
		l.frozen[path] = is
	}
	return is
}

// process reads what a process has done. It stops early for a zombie.
func (l *look) process(dir string) (p *proc, ok bool) {
	p = new(proc)
	if p.state, p.start, ok = l.stat(dir); !ok || p.state == 'Z' || p.state == 'X' {
		return p, ok
	}
	io := l.read(dir, "io")
	for line := range bytes.Lines(io) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch string(name) {
		case "rchar", "wchar", "read_bytes", "write_bytes":
			n, _ := strconv.ParseUint(string(value), 10, 64)
			p.bytes += n
		}
	}
	tasks := filepath.Join(dir, "task")
	for _, name := range l.list(tasks) {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		t := thread{tid: tid}
		run, _, _ := bytes.Cut(l.read(tasks, name+"/schedstat"), []byte(" "))
		if t.cpu, err = strconv.ParseUint(string(run), 10, 64); err != nil {
			return p, false
		}
		if t.cpu > longRun {
			_, t.start, _ = l.stat(filepath.Join(tasks, name))
		}
		p.threads = append(p.threads, t)
	}
	slices.SortFunc(p.threads, func(a, b thread) int { return a.tid - b.tid })
	p.gpu = p.state != 'R' && l.hasGPU(dir)
	return p, len(io) > 0 && len(p.threads) > 0
}

// stat reads the state and the start of a process or of a thread. The name in the file may hold anything.
func (l *look) stat(dir string) (state byte, start uint64, ok bool) {
	b := l.read(dir, "stat")
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, false
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return fields[0][0], start, err == nil
}

// hasGPU looks for a GPU's open device file, as the library does (cpu.c).
func (l *look) hasGPU(dir string) bool {
	fds := filepath.Join(dir, "fd")
	for _, name := range l.list(fds) {
		n, err := unix.Readlink(filepath.Join(fds, name), l.buf[:])
		if err != nil || !bytes.HasPrefix(l.buf[:n], []byte("/dev/")) {
			continue
		}
		device := string(l.buf[5:n])
		number, nvidia := strings.CutPrefix(device, "nvidia")
		if nvidia && number != "" && number[0] >= '0' && number[0] <= '9' || strings.HasPrefix(device, "dri/renderD") || device == "kfd" {
			return true
		}
	}
	return false
}

func (l *look) list(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// read reads the beginning of a small file, in a buffer that the next call takes again. os.ReadFile makes twice as many
// system calls.
func (l *look) read(dir, name string) []byte {
	fd, err := unix.Open(dir+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, l.buf[:])
	if err != nil {
		return nil
	}
	return l.buf[:n]
}
