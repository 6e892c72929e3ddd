package node_test

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// process is one of a made-up job.
type process struct {
	pid, parent int
	comm, step  string
	from        float64
	attempt     int // of the job
	life        []span
	mate        []span  // of a further thread that calls MPI
	rank, size  int     // size 0: it has no MPI
	world       string  // the same for the ranks of one program
	init        float64 // how long MPI_Init takes
	progress    float64 // CPUs of the thread that MPI_Init starts
	stops       []stop
	traced      bool // what stops it is a debugger
	gpu         bool // it has one open
	hidden      bool // /proc shows it under no number that the record knows
	noIO        bool // /proc/PID/io cannot be read
	killed      bool // … in the last thing that it does; else it ends by MPI_Finalize
	zombie      bool // nobody waits for it
}

// enters is how much own time passes until a process calls MPI_Init.
const enters = .3

// when is the moment at which a process has had so much own time.
func (p *process) when(own float64) float64 {
	t := p.from + own
	for _, s := range p.stops {
		if s.from < t {
			t += s.to - s.from
		}
	}
	return t
}

// lives is all its own time.
func (p *process) lives() (own float64) {
	own = p.init
	for _, s := range p.life {
		own += s.lasts
	}
	return own
}

// at is what a process has done by a moment; false: it has not begun, or is over.
func (p *process) at(t float64) (d done, own float64, runs bool) {
	own = t - p.from - within(p.stops, p.from, t)
	if t < p.from {
		return d, own, false
	}
	if own < p.init {
		d = done{open: -1, cpu: own, now: span{busy: 1}}
		if own >= enters {
			d.open, d.openAt = rows["MPI_Init"], enters
		}
		return d, own, true
	}
	end := p.lives()
	if p.killed {
		own = min(own, end)
		d = after(p.life, min(own-p.init, end-p.init-1e-6), p.init)
		return d, own, own < end
	}
	d = after(p.life, own-p.init, p.init)
	return d, own, !d.over
}

// Kinds of cgroups.
const (
	noCgroups = iota
	cgroupV1
	cgroupV2
	cgroupHybrid
)

// machine is a node of a made-up job: its clocks, and what its files say.
type machine struct {
	name    string
	of      int // nodes of the job
	dir     string
	boot    float64 // CLOCK_MONOTONIC when the job begins
	sets    []float64
	by      []float64 // CLOCK_REALTIME is set at these moments, by so much
	tsc     bool      // ranks count in ticks of 3 GHz
	cgroups int
	procs   []*process
	frozen  []stop // the job's cgroup

	files map[string]string // what was written, by path
	dirs  map[string]bool
	asked time.Time // the last moment of which it made a report
}

const (
	epoch  = 1_700_000_000 // CLOCK_REALTIME when a job begins, if nobody sets it
	jobID  = 123
	jobUID = 1000
	bootID = "b0070000000000000000000000000000"
)

func (m *machine) real(t float64) uint64 {
	shows := t
	for i, at := range m.sets {
		if t >= at {
			shows += m.by[i]
		}
	}
	return uint64(epoch*1e9 + int64(shows*1e9))
}

// pair is a moment on the clocks of the node and of its ranks.
func (m *machine) pair(t float64) record.Pair {
	return record.Pair{Ticks: m.ticks(t), Mono: ns(m.boot + t), Real: m.real(t)}
}

func (m *machine) ticks(t float64) uint64 { return ns(m.boot+t) * m.rate() }

func (m *machine) rate() uint64 {
	if m.tsc {
		return 3
	}
	return 1
}

// owner is the job's user.
func owner() int {
	if uid := os.Getuid(); uid != 0 {
		return uid
	}
	return jobUID
}

// put writes a file of the node, unless it says so already.
func (m *machine) put(t testing.TB, path, text string) {
	if old, ok := m.files[path]; ok && old == text {
		return
	}
	full := filepath.Join(m.dir, path)
	if dir := filepath.Dir(full); !m.dirs[dir] {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		m.dirs[dir] = true
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	m.files[path] = text
}

// mkdir makes a process's folder, which is its owner's. Only root can give it away.
func (m *machine) mkdir(t testing.TB, dir string) {
	full := filepath.Join(m.dir, dir)
	err := os.MkdirAll(full, 0o755)
	if err == nil && os.Getuid() == 0 {
		err = os.Chown(full, jobUID, jobUID)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) link(t testing.TB, path, to string) {
	if m.files[path] == to {
		return
	}
	full := filepath.Join(m.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	os.Remove(full)
	if err := os.Symlink(to, full); err != nil {
		t.Fatal(err)
	}
	m.files[path] = to
}

// cgroup is the path of a step's cgroup, as /proc and the file system have it.
func (m *machine) cgroup(step string) (lines, file string) {
	switch m.cgroups {
	case cgroupV1:
		path := fmt.Sprintf("/slurm/uid_%d/job_%d/step_%s", jobUID, jobID, step)
		return fmt.Sprintf("9:memory:%s/task_0\n7:freezer:%s\n4:cpu,cpuacct:/\n1:name=systemd:/system.slice/slurmd.service\n0::/system.slice/slurmd.service\n", path, path),
			"cgroup/freezer" + path + "/freezer.state"
	case cgroupV2, cgroupHybrid:
		path := fmt.Sprintf("/system.slice/%s_slurmstepd.scope/job_%d/step_%s/user/task_0", m.name, jobID, step)
		if m.cgroups == cgroupHybrid {
			return "5:cpuset:/\n0::" + path + "\n", "cgroup/unified" + path + "/cgroup.events"
		}
		return "0::" + path + "\n", "cgroup" + path + "/cgroup.events"
	}
	return "0::/\n", ""
}

func (m *machine) freezer(frozen bool) string {
	switch {
	case m.cgroups == cgroupV1 && frozen:
		return "FROZEN\n"
	case m.cgroups == cgroupV1:
		return "THAWED\n"
	case frozen:
		return "populated 1\nfrozen 1\n"
	}
	return "populated 1\nfrozen 0\n"
}

// writeProc writes what the kernel says at a moment.
func (m *machine) writeProc(t testing.TB, now float64) {
	for _, p := range m.procs {
		d, own, runs := p.at(now)
		dir := fmt.Sprint("proc/", p.number())
		if now < p.from || !runs && !p.zombie {
			if m.files[dir+"/stat"] != "" {
				m.remove(t, dir)
			}
			continue
		}
		frozen := isIn(m.frozen, now)
		lines, file := m.cgroup(p.step)
		if m.files[dir+"/cgroup"] == "" {
			m.mkdir(t, dir)
		}
		m.put(t, dir+"/cgroup", lines)
		if file != "" {
			m.put(t, file, m.freezer(frozen))
		}
		m.put(t, dir+"/status", fmt.Sprintf("Name:\t%s\nUid:\t%[2]d\t%[2]d\t%[2]d\t%[2]d\n", p.comm, owner()))
		m.link(t, dir+"/exe", "/home/alice/"+p.world)
		m.link(t, dir+"/fd/0", "/dev/null")
		if p.gpu {
			m.link(t, dir+"/fd/7", "/dev/nvidia0")
		}
		if !p.noIO {
			m.put(t, dir+"/io", fmt.Sprintf("rchar: %d\nwchar: %d\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n", 5000, 100+uint64(d.moved)))
		}
		m.put(t, dir+"/stat", m.stat(p.number(), p, p.state(d, now, runs, frozen), p.from, d.cpu))
		m.writeThread(t, dir, p, 0, p.from, d.cpu)
		if p.progress > 0 && own > enters {
			m.writeThread(t, dir, p, 2, p.when(enters+(p.init-enters)/2), (own-enters)*p.progress)
		}
		if own <= p.init {
			continue
		}
		if p.mate != nil {
			m.writeThread(t, dir, p, 1, p.when(p.init+.1), after(p.mate, own-p.init, p.init).cpu)
		}
		if d.others > 0 {
			m.writeThread(t, dir, p, 3, p.when(p.init+.1), d.others)
		}
	}
}

// number is the pid by which /proc knows it.
func (p *process) number() int {
	if p.hidden {
		return p.pid + 40000
	}
	return p.pid
}

// state is the letter of a process in /proc.
func (p *process) state(d done, now float64, runs, frozen bool) byte {
	switch {
	case !runs:
		return 'Z'
	case isIn(p.stops, now) && p.traced:
		return 't'
	case isIn(p.stops, now) && !frozen:
		return 'T'
	case d.now.disk || frozen:
		return 'D'
	case d.open >= 0 && d.now.spins, d.open < 0 && d.now.busy > .5:
		return 'R'
	}
	return 'S'
}

func (m *machine) stat(pid int, p *process, state byte, began, cpu float64) string {
	const hz = 100
	return fmt.Sprintf("%d (%s) %c %d %d %d 0 -1 4194304 900 0 0 0 %d 0 0 0 20 0 2 0 %d 90000000 2000 18446744073709551615\n",
		pid, p.comm, state, p.parent, p.parent, p.parent, int(cpu*hz), int((m.boot+began)*hz))
}

func (m *machine) writeThread(t testing.TB, dir string, p *process, number int, began, cpu float64) {
	tid := p.number() + number
	dir += fmt.Sprint("/task/", tid)
	m.put(t, dir+"/stat", m.stat(tid, p, 'S', began, cpu))
	m.put(t, dir+"/schedstat", fmt.Sprintf("%d %d 7\n", ns(cpu), ns(cpu/50)))
}

func (m *machine) remove(t testing.TB, dir string) {
	if err := os.RemoveAll(filepath.Join(m.dir, dir)); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(m.files, func(path, _ string) bool { return strings.HasPrefix(path, dir+"/") })
	clear(m.dirs)
}

// claim is a slot that a thread takes at a moment.
type claim struct {
	at   float64
	p    *process
	mate bool
}

// slots are what libjobeff.so has written by a moment, in the order of the claims.
func (m *machine) slots(now float64, attempt int) (all []record.Slot) {
	var claims []claim
	for _, p := range m.procs {
		if p.attempt != attempt {
			continue
		}
		if p.size > 0 {
			claims = append(claims, claim{p.when(enters), p, false})
		}
		if p.mate != nil {
			claims = append(claims, claim{p.when(p.init + .1), p, true})
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(a.at, b.at) })
	index := map[*process]int{}
	for _, c := range claims {
		if c.at > now {
			break
		}
		s := record.Slot{Kind: record.KindProcess, State: record.StateClaimed, PID: c.p.pid, PPID: c.p.parent, TID: c.p.pid, Rank: -1, Size: -1,
			Threads: 1, WorldFrom: record.WorldPMIX, World: c.p.world, CPUs: 2, Host: m.name, Exe: "/home/alice/" + c.p.world, Family: "Open MPI",
			Claims: record.Claims{Step: int64(atoi(c.p.step)), ProcID: c.p.rank, NTasks: c.p.size, CPUsPerTask: -1, OMPThreads: -1},
			Clock:  record.ClockMonotonic, ClaimedAt: m.pair(c.at)}
		if m.tsc {
			s.Clock = record.ClockTSC
		}
		if c.mate {
			s.Kind, s.Parent, s.TID, s.State = record.KindThread, index[c.p], c.p.pid+1, record.StateRunning
			_, own, _ := c.p.at(now)
			m.count(c.p, after(c.p.mate, own-c.p.init, c.p.init), &s)
		} else {
			index[c.p] = len(all)
			m.fill(&s, c.p, now)
		}
		all = append(all, s)
	}
	return all
}

func atoi(step string) int {
	n, err := strconv.Atoi(step)
	if err != nil {
		return -1
	}
	return n
}

// fill tells how far a process has come.
func (m *machine) fill(s *record.Slot, p *process, now float64) {
	d, own, runs := p.at(now)
	s.InitEnter = m.ticks(p.when(enters))
	s.Open, s.OpenCall = s.InitEnter, d.open
	if own < p.init {
		return
	}
	s.State, s.Rank, s.Size, s.InitLeft = record.StateRunning, p.rank, p.size, m.ticks(p.when(p.init))
	m.count(p, d, s)
	switch {
	case !runs && !p.killed:
		end := p.when(p.lives())
		s.State, s.Ending, s.FiniEnter, s.FiniLeft, s.FinishedAt = record.StateDone, record.EndingFinalize, m.ticks(end), m.ticks(end+.01), m.pair(end+.01)
	case d.open == rows["MPI_Finalize"]:
		s.State, s.FiniEnter = record.StateFinalized, s.Open
	}
}

// count fills in what a thread has counted.
func (m *machine) count(p *process, d done, s *record.Slot) {
	s.OpenCall, s.Last = d.open, m.ticks(p.when(d.last))
	if d.open >= 0 {
		s.Open = m.ticks(p.when(d.openAt))
	}
	s.MPITicks, s.IOTicks = ns(d.mpi)*m.rate(), ns(d.files)*m.rate()
	for _, f := range d.calls {
		f.Ticks *= m.rate()
		s.Funcs = append(s.Funcs, f)
	}
	if p.gpu {
		s.Kernel.GPU = record.GPU(2)
	}
}

// clock reads the node's clocks at a moment.
func (m *machine) clock(now float64) func(record.Clock) (record.Pair, bool) {
	return func(c record.Clock) (record.Pair, bool) {
		p := m.pair(now)
		p.Ticks = p.Mono
		if c == record.ClockTSC {
			p.Ticks *= 3
		}
		return p, c != record.ClockCNTVCT
	}
}

// report is what the node tells at a moment. What lies between is how long the fold, which is polite, waits for a
// CPU.
func (m *machine) report(t testing.TB, now, between float64, of time.Time, attempt int) *job.NodeReport {
	m.writeProc(t, now)
	notes := fmt.Sprint("notes/", jobID)
	m.writeNotes(t, notes, now, attempt)
	d, err := node.OpenDir(filepath.Join(m.dir, notes))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	node.See(node.Host{Proc: filepath.Join(m.dir, "proc"), Cgroup: filepath.Join(m.dir, "cgroup"), Now: m.clock(now)}, d)
	now += between
	m.writeNotes(t, notes, now, attempt)
	r, err := d.FoldLive(node.Machine{BootID: bootID, OnlineCPUs: 8, Hardware: func() *job.Hardware { return nil }, Now: m.clock(now)}, of)
	if err != nil {
		t.Fatalf("the fold at %.0f s: %v", now, err)
	}
	return r
}

// writeNotes writes root's own files of the job, and its record.
func (m *machine) writeNotes(t testing.TB, dir string, now float64, attempt int) {
	run := fmt.Sprintf("%032x", attempt+1)
	id, _ := hex.DecodeString(run)
	nonce := [16]byte(id)
	boot, _ := hex.DecodeString(bootID)
	m.put(t, dir+"/decision", "on\n")
	m.put(t, dir+"/job", fmt.Sprintf("version 1\nrun %[1]s\nnonce %[1]s\nboot_id %s\njob_id %d\nuid %d\ngid 1001\nuser alice\ncluster test\nnode %s\nnodelist n[1-9]\nnnodes %d\nprolog 1\nstart_mono_ns %d\nstart_real_ns %d\n",
		run, bootID, jobID, owner(), m.name, m.of, ns(m.boot), m.real(0)))
	steps := ""
	line := func(what string, at float64, rest string) {
		steps += fmt.Sprintf("%s %d %d%s\n", what, ns(m.boot+at), m.real(at), rest)
	}
	begun := map[string]bool{}
	for _, p := range m.procs {
		if now < p.from || p.attempt != attempt {
			continue
		}
		if !begun[p.step] {
			begun[p.step] = true
			line("step "+p.step, p.from, " tasks=2 ntasks=4 nnodes=2 nodeid=0")
		}
		if _, _, runs := p.at(now); !runs && p.size > 0 {
			status := 0
			if p.killed {
				status = 9
			}
			line("exit "+p.step, p.when(p.lives()), fmt.Sprintf(" pid=%d task=0 status=%d", p.pid, status))
		}
	}
	m.put(t, dir+"/steps", steps)
	slots := m.slots(now, attempt)
	m.put(t, dir+"/record/ranks", string(recordtest.File(record.Head{BootID: [16]byte(boot), Nonce: nonce, UID: uint32(owner())}, slots...)))
}
