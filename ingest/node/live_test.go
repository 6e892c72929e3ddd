package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// liveRecord is a record of two ranks, of whom the first computes and the second waits in MPI.
func liveRecord(t testing.TB) (l *Live, write func(slots ...record.Slot)) {
	t.Helper()
	l = &Live{Path: filepath.Join(t.TempDir(), "ranks"), Cluster: "test", Node: "n1", JobID: 7}
	return l, func(slots ...record.Slot) {
		t.Helper()
		if err := os.WriteFile(l.Path, recordtest.File(record.Head{BootID: testBoot, Nonce: testNonceBytes}, slots...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// figuresOf is what a merger makes of a report that went over the wire.
func figuresOf(t *testing.T, r *job.NodeReport) *job.Job {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = wire.DecodeReport(text); err != nil {
		t.Fatal(err)
	}
	var m assemble.Merger
	m.Add(r)
	return m.Job()
}

// TestLive: up to the moment of the reading, and since the one before.
func TestLive(t *testing.T) {
	l, write := liveRecord(t)
	if _, _, err := l.Read(testMachine(9)); err == nil || !strings.Contains(err.Error(), "not measured here") {
		t.Errorf("without a record: %v", err)
	}
	computes, waits := runningRank(0, 2, 8, false), runningRank(1, 2, 2, true)
	write(computes, waits)
	soFar, last, err := l.Read(testMachine(19))
	if err != nil || last != nil {
		t.Fatalf("%+v, %v", last, err)
	}
	e := figuresOf(t, soFar).Executions[0]
	// rank 0: 9 s, 4 in MPI; rank 1: 1 s until the edge at 12, and the open call since
	if n := e.Nodes[0]; n.Useful != 6e9 || n.MPI != 12e9 || n.ElapsedMax != 9e9 || n.UsefulMax != 5e9 || e.Endings[job.EndingRunning] != 2 {
		t.Errorf("so far: %+v, %v", n, e.Endings)
	}
	computes.MPITicks, computes.Last = 6*sec, at(28).Ticks
	computes.Funcs[0].Count, computes.Funcs[0].Ticks = 9, 2*sec
	write(computes, waits)
	soFar, last, err = l.Read(testMachine(29))
	if err != nil {
		t.Fatal(err)
	}
	if n := figuresOf(t, soFar).Executions[0].Nodes[0]; n.Useful != 14e9 || n.MPI != 24e9 || n.ElapsedMax != 19e9 {
		t.Errorf("then so far: %+v", n)
	}
	j := figuresOf(t, last)
	e = j.Executions[0]
	// of the last 10 s rank 0 was in MPI for 2, and rank 1 for all
	if n := e.Nodes[0]; n.Useful != 8e9 || n.MPI != 12e9 || n.ElapsedMax != 10e9 || n.UsefulMax != 8e9 || e.Timeline != nil {
		t.Errorf("since: %+v", n)
	}
	if m := j.Metrics; m.Parallel != .4 || m.LoadBalance != .5 || m.Communication != .8 {
		t.Errorf("since: %+v", m.Efficiencies)
	}
	// the sums of funcs: 2 s - what there was; the open call: 10 s
	if c := e.Calls; len(c) != 1 || c[0].Count != 7 || c[0].Time != 12e9 {
		t.Errorf("calls since: %+v", c)
	}
	ended := computes
	ended.State, ended.Ending, ended.FiniEnter, ended.FiniLeft, ended.FinishedAt = record.StateFinalized, record.EndingFinalize, at(31).Ticks, at(31.5).Ticks, at(31.5)
	write(ended, waits)
	_, last, err = l.Read(testMachine(39))
	if err != nil {
		t.Fatal(err)
	}
	if n := figuresOf(t, last).Executions[0].Nodes[0]; n.Useful != 2e9 || n.MPI != 10e9 || n.ElapsedMax != 10e9 {
		t.Errorf("since a rank ended: %+v", n)
	}
	_, last, err = l.Read(testMachine(49))
	if err != nil {
		t.Fatal(err)
	}
	if n := figuresOf(t, last).Executions[0].Nodes[0]; n.Useful != 0 || n.MPI != 10e9 || n.Ranks != 2 {
		t.Errorf("since then: %+v", n)
	}
}

// TestLiveOfKilledRanks: a rank that said nothing has ended where neither it nor its parent is there. Of one in a
// pid namespace of its own that cannot be told.
func TestLiveOfKilledRanks(t *testing.T) {
	for name, tt := range map[string]struct {
		there []int
		want  int // that run
	}{"all": {[]int{99, 100, 101}, 2}, "one was killed": {[]int{100}, 1}, "their parent is there": {[]int{99}, 2}, "none": {nil, 0}} {
		l, write := liveRecord(t)
		write(runningRank(0, 2, 8, false), runningRank(1, 2, 8, false))
		m := testMachine(30)
		m.alive = func(pid int, _ uint64) bool {
			for _, p := range tt.there {
				if p == pid {
					return true
				}
			}
			return false
		}
		soFar, _, err := l.Read(m)
		if err != nil {
			t.Fatal(err)
		}
		e := figuresOf(t, soFar).Executions[0]
		if e.Endings[job.EndingRunning] != tt.want || e.Endings[job.EndingAssumed] != 2-tt.want {
			t.Errorf("%s: %v", name, e.Endings)
		}
	}
}

// TestLivePieces: lines of several tasks come mixed, and others are refused.
func TestLivePieces(t *testing.T) {
	lines := map[int]*LiveLine{}
	var printed [][]byte
	for task := range 3 {
		line := &LiveLine{Step: "7.1", Node: fmt.Sprint("n", task), CPU: time.Second, SoFar: json.RawMessage(`"` + strings.Repeat("x", 1000*task) + `"`)}
		lines[task] = line
		var out bytes.Buffer
		if err := line.Write(&out); err != nil {
			t.Fatal(err)
		}
		for i, piece := range bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n")) {
			if len(piece) > 1000 { // slurmd cuts at a KiB
				t.Errorf("a piece of %d bytes", len(piece))
			}
			at := min(i*3, len(printed))
			printed = append(printed[:at], append([][]byte{fmt.Appendf(nil, " %d: %s", task, piece)}, printed[at:]...)...)
		}
	}
	pieces, got := LivePieces{}, 0
	for _, piece := range printed {
		task, line, err := pieces.Add(piece, 3)
		if err != nil {
			t.Fatal(err)
		}
		if line != nil {
			got++
			if want := lines[task]; line.Node != want.Node || !bytes.Equal(line.SoFar, want.SoFar) || line.CPU != want.CPU {
				t.Errorf("task %d: %+v", task, line)
			}
		}
	}
	if got != 3 || len(pieces) != 0 {
		t.Errorf("%d lines, %d tasks are left", got, len(pieces))
	}
	for _, bad := range []string{"", "x", "0:", "0: ", "-1: .{}", "3: .{}", "x: .{}", "0: {}", "0: .{", "0: .[]", "0: .\x1b[2J", "99999999999999999999: .{}"} {
		if _, line, err := pieces.Add([]byte(bad), 3); err == nil || len(pieces) != 0 {
			t.Errorf("%q: %+v", bad, line)
		}
	}
	long := fmt.Appendf(nil, "0: +%s", strings.Repeat("x", 1<<20))
	for range mostLive / (1 << 20) {
		pieces.Add(long, 3)
	}
	if _, _, err := pieces.Add(long, 3); err == nil || len(pieces[0]) > mostLive {
		t.Errorf("%d bytes are kept: %v", len(pieces[0]), err)
	}
}

// TestWatchingStepIsNone: the step of jobeff live is none of the job's.
func TestWatchingStepIsNone(t *testing.T) {
	own := stepsText()
	step := "step 9 11000000000 11000000000 tasks=1 ntasks=1 nnodes=1 nodeid=0 cpus=1 off=1 reason=" + watching + "\n" +
		"exit 9 12000000000 12000000000 pid=900 task=0 status=9\nend 9 12000000000 12000000000\n"
	fold := func(steps string) *job.NodeReport {
		d, err := OpenDir(writeRunDir(t, map[string]string{"decision": "on\n", "job": jobText(), "steps": steps, "record/ranks": ranksBytes(testNonceBytes, rankSlot(0, 1, 2, 2))}))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r, err := d.Fold(testMachine(19))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	with, without := fold(own+step), fold(own)
	if len(with.Steps) != len(without.Steps) || len(with.Executions) != 1 || len(with.Warnings) != len(without.Warnings) {
		t.Errorf("%+v, without it %+v", with, without)
	}
}

// FuzzLiveLine: whatever a node prints, what is taken of it can be shown.
func FuzzLiveLine(f *testing.F) {
	f.Add([]byte(`0: .{"step":"7.1","node":"n1","so_far":{"version":1}}`))
	f.Add([]byte("1: +{\"step\"\n1: .:1}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		pieces := LivePieces{}
		for line := range bytes.Lines(text) {
			if task, l, err := pieces.Add(line, 4); (l != nil) == (err != nil) && l != nil || task < 0 {
				t.Errorf("%d, %+v, %v", task, l, err)
			}
		}
	})
}
