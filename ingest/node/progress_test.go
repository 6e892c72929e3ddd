package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
)

// fakeProc is a process of alice's, as /proc shows it.
type fakeProc struct {
	pid, uid int
	state    string
	start    int // clock ticks after boot
	io       int
	cpu      map[int]uint64 // by thread, ns
	starts   map[int]int    // of threads, where not the process's
	cgroup   string
	fd       string // what descriptor 3 leads to
	status   string
}

// rankProc is the process of a rank of runningRank: 123's.
func rankProc(rank int) fakeProc {
	pid := 100 + rank
	return fakeProc{pid: pid, uid: 1000, state: "R", start: 850, io: 1000, cpu: map[int]uint64{pid: 9e9}, cgroup: "0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n"}
}

// fakeHost writes what root sees of processes.
func fakeHost(t testing.TB, procs ...fakeProc) Host {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root makes files of other users")
	}
	h := Host{Proc: filepath.Join(t.TempDir(), "proc"), Cgroup: filepath.Join(t.TempDir(), "cgroup")}
	for _, p := range procs {
		dir := filepath.Join(h.Proc, fmt.Sprint(p.pid))
		stat := func(tid, start int) string {
			return fmt.Sprintf("%d (a) S 1 (b) %s 1 1 1 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 %d 1 1 1\n", tid, p.state, start)
		}
		files := map[string]string{"stat": stat(p.pid, p.start), "cgroup": p.cgroup, "status": p.status,
			"io": fmt.Sprintf("rchar: %d\nwchar: 0\nsyscr: 5\nsyscw: 6\nread_bytes: 0\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n", p.io)}
		for tid, cpu := range p.cpu {
			files[fmt.Sprintf("task/%d/schedstat", tid)] = fmt.Sprintf("%d 12 3\n", cpu)
			start, is := p.starts[tid]
			if !is {
				start = p.start
			}
			files[fmt.Sprintf("task/%d/stat", tid)] = stat(tid, start)
		}
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		os.Mkdir(filepath.Join(dir, "fd"), 0o755)
		os.Symlink("/bin/app", filepath.Join(dir, "exe"))
		if p.fd != "" {
			os.Symlink(p.fd, filepath.Join(dir, "fd", "3"))
		}
		if err := os.Chown(dir, p.uid, p.uid); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// progressOf folds job 123 with these slots and processes.
func progressOf(t testing.TB, slots []record.Slot, procs ...fakeProc) *hang.Progress {
	t.Helper()
	return progressOn(t, fakeHost(t, procs...), slots)
}

func progressOn(t testing.TB, h Host, slots []record.Slot) *hang.Progress {
	t.Helper()
	_, d := liveDir(t, slots...)
	See(h, d)
	r, err := d.FoldLive(testMachine(19), moment(17.5))
	if err != nil || r == nil || r.Progress == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := wire.Validate(r); err != nil || r.Progress == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Progress
}

// waiting are two ranks in an MPI call, whose threads are named.
func waiting() []record.Slot {
	all := []record.Slot{runningRank(0, 2, 8, true), runningRank(1, 2, 2, true)}
	for i := range all {
		all[i].TID, all[i].InitEnter = all[i].PID, at(9.2).Ticks
	}
	return all
}

// TestProgress: what moves is in the mark or in a sum, and what forbids to say anything is a doubt.
func TestProgress(t *testing.T) {
	child := func(edit func(*fakeProc)) []fakeProc {
		p := fakeProc{pid: 300, uid: 1000, state: "S", start: 900, io: 7, cpu: map[int]uint64{300: 1e6}, cgroup: rankProc(0).cgroup}
		edit(&p)
		return []fakeProc{rankProc(0), rankProc(1), p}
	}
	rank0 := func(edit func(*fakeProc)) []fakeProc {
		p := rankProc(0)
		edit(&p)
		return []fakeProc{p, rankProc(1)}
	}
	both := []fakeProc{rankProc(0), rankProc(1)}
	plain := progressOf(t, waiting(), both...)
	if want := (hang.Progress{Moment: moment(17.5), At: moment(19), AtMS: 19000, Read: moment(19), ReadMS: 19000, Mark: plain.Mark, Bytes: 2 * (1000 + 4096), Calls: []hang.OpenCalls{
		{Execution: "pmix:job.0", Size: 2, Function: record.FuncName(5), Ranks: "0-1", Count: 2, Since: moment(12), Until: moment(18),
			Some: []hang.RankNow{{Rank: 0, Node: "n1", PID: 100, State: "R"}, {Rank: 1, Node: "n1", PID: 101, State: "R"}}}}}); !reflect.DeepEqual(*plain, want) {
		t.Errorf("%+v\nwant %+v", *plain, want)
	}
	for name, tt := range map[string]struct {
		edit   func([]record.Slot)
		procs  []fakeProc
		moved  bool          // the mark is another
		cpu    time.Duration // more than before
		bytes  uint64        // likewise
		doubts string
	}{
		"nothing":                      {},
		"spins in MPI":                 {procs: rank0(func(p *fakeProc) { p.cpu[100] = 99e9 })},
		"a call":                       {edit: func(s []record.Slot) { s[0].Funcs[0].Count++ }, moved: true},
		"a test":                       {edit: func(s []record.Slot) { s[0].Funcs = append(s[0].Funcs, record.Func{Number: 37, Count: 1}) }, moved: true},
		"another open call":            {edit: func(s []record.Slot) { s[1].Open++ }, moved: true},
		"computes":                     {edit: func(s []record.Slot) { s[0].OpenCall = -1 }, moved: true, cpu: 9e9},
		"a thread of MPI":              {procs: rank0(func(p *fakeProc) { p.cpu[110], p.starts = 5e9, map[int]int{110: 950} }), moved: true},
		"a thread of the program":      {procs: rank0(func(p *fakeProc) { p.cpu[110], p.starts = 5e9, map[int]int{110: 1100} }), moved: true, cpu: 5e9},
		"reads":                        {procs: rank0(func(p *fakeProc) { p.io += 5 }), bytes: 5},
		"stopped":                      {procs: rank0(func(p *fakeProc) { p.state = "T" }), doubts: "stopped"},
		"traced":                       {procs: rank0(func(p *fakeProc) { p.state = "t" }), doubts: "stopped"},
		"younger with its number":      {procs: rank0(func(p *fakeProc) { p.start = 1200 }), moved: true, cpu: 9e9},
		"in a container":               {procs: child(func(p *fakeProc) {})[2:], moved: true, cpu: 1e6, doubts: "unread"},
		"a child":                      {procs: child(func(p *fakeProc) {}), moved: true, cpu: 1e6, bytes: 7 + 4096},
		"a child of another job":       {procs: child(func(p *fakeProc) { p.cgroup = "4:freezer:/slurm/uid_1000/job_124/step_0\n" })},
		"alice's, of no job":           {procs: child(func(p *fakeProc) { p.cgroup = "0::/user.slice\n" }), moved: true, cpu: 1e6, bytes: 7 + 4096},
		"somebody else's":              {procs: child(func(p *fakeProc) { p.uid = 1002 })},
		"a zombie":                     {procs: child(func(p *fakeProc) { p.state = "Z" })},
		"a child with a GPU":           {procs: child(func(p *fakeProc) { p.fd = "/dev/nvidia0" }), moved: true, cpu: 1e6, bytes: 7 + 4096, doubts: "gpu"},
		"a GPU in MPI":                 {procs: rank0(func(p *fakeProc) { p.state, p.fd = "S", "/dev/kfd" })},
		"a GPU outside MPI":            {edit: func(s []record.Slot) { s[0].OpenCall = -1 }, procs: rank0(func(p *fakeProc) { p.state, p.fd = "S", "/dev/dri/renderD128" }), moved: true, cpu: 9e9, doubts: "gpu"},
		"not a GPU":                    {edit: func(s []record.Slot) { s[0].OpenCall = -1 }, procs: rank0(func(p *fakeProc) { p.state, p.fd = "S", "/dev/null" }), moved: true, cpu: 9e9},
		"root's in the job's cgroup":   {procs: child(func(p *fakeProc) { p.uid, p.status = 0, "Name:\tslurmstepd\nUid:\t0\t0\t0\t0\n" })},
		"alice's, which root must see": {procs: child(func(p *fakeProc) { p.uid, p.status = 0, "Name:\tapp\nUid:\t1000\t1000\t1000\t1000\n" }), moved: true, cpu: 1e6, bytes: 7 + 4096},
		"no CPU times":                 {procs: rank0(func(p *fakeProc) { p.cpu = nil }), moved: true, doubts: "unread"},
	} {
		t.Run(name, func(t *testing.T) {
			slots, procs := waiting(), tt.procs
			if procs == nil {
				procs = both
			}
			if tt.edit != nil {
				tt.edit(slots)
			}
			p := progressOf(t, slots, procs...)
			if moved := p.Mark != plain.Mark; moved != tt.moved || p.CPU-plain.CPU != tt.cpu || name != "in a container" && name != "no CPU times" && p.Bytes-plain.Bytes != tt.bytes || strings.Join(p.Doubts, " ") != tt.doubts {
				t.Errorf("moved %v, %v more, %d bytes more, doubts %v: %+v", moved, p.CPU-plain.CPU, p.Bytes-plain.Bytes, p.Doubts, p)
			}
		})
	}
}

// TestFrozen: with cgroups of either version.
func TestFrozen(t *testing.T) {
	for path, text := range map[string]string{
		"system.slice/slurmstepd.scope/job_123/step_0/user/task_0/cgroup.events":         "populated 1\nfrozen 1\n",
		"unified/system.slice/slurmstepd.scope/job_123/step_0/user/task_0/cgroup.events": "populated 1\nfrozen 1\n",
		"freezer/system.slice/slurmstepd.scope/job_123/step_0/user/task_0/freezer.state": "FROZEN\n",
		"system.slice/slurmstepd.scope/job_123/step_0/user/cgroup.events":                "populated 1\nfrozen 0\n",
		"freezer/system.slice/slurmstepd.scope/job_123/step_0/user/freezer.state":        "THAWED\n",
	} {
		h := fakeHost(t, rankProc(0), rankProc(1))
		path = filepath.Join(h.Cgroup, path)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		want := ""
		if strings.Contains(path, "task_0") {
			want = "frozen"
		}
		if p := progressOn(t, h, waiting()); strings.Join(p.Doubts, " ") != want {
			t.Errorf("%s: %v", path, p.Doubts)
		}
	}
}

// TestCallsNow: what ranks are in, before, between and after what the record measures.
func TestCallsNow(t *testing.T) {
	slots := waiting()
	slots[0].OpenCall = -1
	finalizes, begins, gone := runningRank(2, 5, 8, false), runningRank(3, 5, 0, false), runningRank(4, 5, 8, true)
	finalizes.State, finalizes.FiniEnter = record.StateFinalized, at(18.5).Ticks
	begins.State, begins.Rank, begins.InitEnter, begins.InitLeft, begins.PID = record.StateClaimed, -1, at(9.5).Ticks, 0, 103
	slots = append(slots, finalizes, begins, gone)
	for i := range slots {
		slots[i].Size, slots[i].TID = 5, slots[i].PID
	}
	p := progressOf(t, slots, rankProc(0), rankProc(1), rankProc(2), rankProc(3))
	got := map[string]string{}
	for _, c := range p.Calls {
		got[c.Function] = c.Ranks
	}
	if want := map[string]string{hang.OutsideMPI: "0", record.FuncName(5): "1", "MPI_Finalize": "2", "MPI_Init": "", hang.RankEnded: "4"}; !reflect.DeepEqual(got, want) || len(p.Doubts) > 0 {
		t.Errorf("%v, want %v; %v", got, want, p.Doubts)
	}
	if p.CPU != 9e9 { // the one outside
		t.Errorf("%v outside MPI", p.CPU)
	}
}

// TestEndedElsewhere: of a program whose ranks on this node have ended, others may run on other nodes. Of one that is
// whole nothing is told.
func TestEndedElsewhere(t *testing.T) {
	ended := func(size int, world string) record.Slot {
		s := rankSlot(0, size, 2, 2)
		s.World, s.PID = world, 200
		return s
	}
	running := runningRank(1, 1, 8, true)
	running.Rank, running.World = 0, "job.2"
	p := progressOf(t, []record.Slot{ended(2, "job.0"), ended(1, "job.1"), running}, rankProc(1))
	got := ""
	for _, c := range p.Calls {
		got += fmt.Sprint(" ", c.Execution, " ", c.Function, " ", c.Ranks)
	}
	if got != " pmix:job.0 ended 0 pmix:job.2 MPI_Send 0" || len(p.Doubts) > 0 {
		t.Errorf("%s, %v", got, p.Doubts)
	}
}

// TestThreadsMove: a further thread of a rank that calls MPI.
func TestThreadsMove(t *testing.T) {
	thread := waiting()[0]
	thread.Kind, thread.TID, thread.Parent, thread.OpenCall = record.KindThread, 150, 0, -1
	slots := append(waiting(), thread)
	rank := rankProc(0)
	rank.cpu[150], rank.starts = 3e9, map[int]int{150: 1500}
	before := progressOf(t, slots, rank, rankProc(1))
	slots[2].Funcs = []record.Func{{Number: 5, Count: 3}}
	slots[2].OpenCall = 5
	after := progressOf(t, slots, rank, rankProc(1))
	if before.Mark == after.Mark || before.CPU != 3e9 || after.CPU != 0 {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// BenchmarkSee looks at 128 processes of a job's user, and folds them.
func BenchmarkSee(b *testing.B) {
	var slots []record.Slot
	for i := range 128 {
		sleeps := exec.Command("sleep", "600")
		sleeps.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
		if err := sleeps.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { sleeps.Process.Kill(); sleeps.Wait() })
		s := runningRank(i, 128, 60, false)
		s.PID, s.TID = sleeps.Process.Pid, sleeps.Process.Pid
		slots = append(slots, s)
	}
	_, d := liveDir(b, slots...)
	for b.Loop() {
		See(ThisHost, d)
		if r, err := d.FoldLive(testMachine(90), moment(65.5)); err != nil || len(d.seen.procs) < 128 {
			b.Fatalf("%+v, %v, %d", r, err, len(d.seen.procs))
		}
	}
}
