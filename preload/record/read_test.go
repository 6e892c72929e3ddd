package record_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// full is a slot with something in every field.
func full() record.Slot {
	s := record.Slot{
		Kind: record.KindProcess, State: record.StateFinalized, Ending: record.EndingFinalize, EndingCode: -3,
		PID: 10, PPID: 9, TID: 10, Rank: 2, Size: 4, Family: "MPICH", ThreadLevel: 3, Threads: 2,
		WorldFrom: record.WorldHydra, World: "n1:4711", Spawned: true, CPUs: 8, BuildID: "00ff17", Host: "n1",
		Exe: "/usr/bin/lmp", MPIVersion: "MPICH Version: 4.0.2",
		Claims: record.Claims{Step: 0xfffffffb, ProcID: 1, NTasks: 4, NodeID: 0, CPUsPerTask: -1, OMPThreads: 2},
		Clock:  record.ClockTSC, ClaimedAt: record.Pair{Ticks: 1, Mono: 2, Real: 3}, FinishedAt: record.Pair{Ticks: 4, Mono: 5, Real: 6},
		InitEnter: 11, InitLeft: 12, FiniEnter: 13, FiniLeft: 14, Open: 15, Last: 16, OpenCall: 9,
		Calls: 8, MPITicks: 18, IOTicks: 19, Instructions: 20, Cycles: 21, Counted: true,
		ArgsHash: "00ff" + strings.Repeat("1", 28), ExeHash: strings.Repeat("2", 32), InputHash: strings.Repeat("3", 32),
		Input: record.InputKnown, Inputs: 2, Args: []string{"-in", "", "in put", "…"}, Workload: "water",
		Classes: []record.Func{{Number: 0, Count: 6, Ticks: 6, Sent: 7, Received: 8, Largest: 9}, {Number: 1, Count: 2, Ticks: 3}},
		Funcs:   []record.Func{{Number: 0, Count: 1}, {Number: 5, Count: 2, Ticks: 3}, {Number: 447, Count: 5, Ticks: 6, Sent: 7, Received: 8, Largest: 9}},
	}
	s.Kernel = record.Kernel{At: 22, Process: 23, Thread: 24, TasksKnown: true, Queue: 25, MPIThreads: 26, Busiest: 27,
		BusiestTID: 28, BusiestOfMPI: true, BusiestName: "async", Tasks: 29, Busy: 30, GPU: record.GPUOpen}
	s.Kernel.Mask[0], s.Kernel.Mask[127] = 0x0f, 0x80
	s.HistP2P[0], s.HistP2P[39], s.HistColl[20] = 1, 2, 3
	return s
}

func readAll(t *testing.T, file []byte, opt record.Options) (record.Head, []record.Slot) {
	t.Helper()
	f, err := record.Read(bytes.NewReader(file), int64(len(file)), opt)
	if err != nil {
		t.Fatal(err)
	}
	var slots []record.Slot
	if err := f.Each(func(s *record.Slot) error { slots = append(slots, *s); return nil }); err != nil {
		t.Fatal(err)
	}
	return f.Head, slots
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	head := record.Head{UID: 1000, ByHand: true, MadeMono: 1, MadeReal: 2, LostFull: 3, LostMemory: 4, LostStatic: 6, LostPreload: 7, LostUnseen: 8, LostStub: 9}
	head.Nonce[0], head.BootID[15] = 1, 2
	got, slots := readAll(t, recordtest.File(head, full(), full()), record.Options{})
	head.Version, head.Slots, head.Used = 1, 2, 2
	if d := cmp.Diff(head, got); d != "" {
		t.Error(d)
	}
	second := full()
	second.Index = 1
	if d := cmp.Diff([]record.Slot{full(), second}, slots); d != "" {
		t.Error(d)
	}
}

func TestReadBoundsNumbers(t *testing.T) {
	s := full()
	s.Rank, s.State, s.Ending, s.ThreadLevel, s.OpenCall = 7, 99, 77, 12, 5000
	s.ClaimedAt.Ticks = math.MaxUint64
	s.MPITicks, s.Calls, s.Cycles = 1<<63, math.MaxUint64, math.MaxUint64
	s.Input, s.Inputs = 99, 17
	s.Kernel.Process, s.Kernel.Queue, s.Kernel.Tasks, s.Kernel.Busy, s.Kernel.GPU = math.MaxUint64, 1<<63, 1<<31, 1<<23, 3
	s.Kernel.BusiestName = "\x1b[31m\u202e"
	s.Funcs = []record.Func{{Number: 3, Count: 1 << 63, Ticks: math.MaxUint64, Sent: 1 << 61, Received: 5}}
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	got := slots[0]
	if !got.Odd {
		t.Error("not marked as odd")
	}
	if got.Rank != -1 || got.State != record.StateClaimed || got.Ending != record.EndingNone || got.ThreadLevel != 0 || got.OpenCall != -1 {
		t.Errorf("out of bounds: %+v", got)
	}
	if got.ClaimedAt.Ticks != 0 || got.MPITicks != 0 || got.Calls != 0 {
		t.Errorf("out of bounds: %+v", got)
	}
	if got.Counted || got.Cycles != 0 || got.Instructions != 0 {
		t.Errorf("counters out of bounds: %+v", got)
	}
	if got.Input != record.InputUnreadable || got.InputHash != "" || got.Inputs != 0 {
		t.Errorf("a hash of what cannot be: %+v", got)
	}
	if k := got.Kernel; k.Process != 0 || k.Queue != 0 || k.Tasks != 0 || k.Busy != 0 || k.GPU != record.GPUNotLooked || k.BusiestName != "?[31m?" {
		t.Errorf("out of bounds: %+v", k)
	}
	if d := cmp.Diff([]record.Func{{Number: 3, Received: 5}}, got.Funcs); d != "" {
		t.Error(d)
	}
}

func TestReadRefuses(t *testing.T) {
	good := recordtest.File(record.Head{}, full())
	other, last := [16]byte{9}, [16]byte{15: 9}
	broken := func(at int, b byte) []byte {
		c := bytes.Clone(good)
		c[at] = b
		return c
	}
	tests := []struct {
		name string
		file []byte
		opt  record.Options
		want string
	}{
		{"empty", nil, record.Options{}, "too few"},
		{"short", good[:4095], record.Options{}, "too few"},
		{"another magic", broken(0, 'X'), record.Options{}, "not a jobeff record"},
		{"a later version", recordtest.File(record.Head{Version: 2}), record.Options{}, "version 2"},
		{"another slot size", broken(16, 1), record.Options{}, "version"},
		{"another job's", good, record.Options{Nonce: &other}, "nonce"},
		{"another job's, by the last byte", good, record.Options{Nonce: &last}, "nonce"},
	}
	for _, tt := range tests {
		_, err := record.Read(bytes.NewReader(tt.file), int64(len(tt.file)), tt.opt)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestReadSkipsUnclaimedAndMarksTorn(t *testing.T) {
	unclaimed, torn := record.Slot{}, full()
	torn.Torn = true
	_, slots := readAll(t, recordtest.File(record.Head{}, unclaimed, torn), record.Options{})
	if len(slots) != 1 || slots[0].Index != 1 || !slots[0].Torn {
		t.Errorf("got %+v", slots)
	}
}

func TestReadEndsWhereTheFileWasTruncated(t *testing.T) {
	file := recordtest.File(record.Head{}, full(), full())
	f, err := record.Read(bytes.NewReader(file[:len(file)-20000]), int64(len(file)), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = f.Each(func(*record.Slot) error { seen++; return nil })
	if seen != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %d slots and %v", seen, err)
	}
}

// A sparse file of 1 TiB whose head claims four thousand million slots costs no
// more than the bytes that may be looked at.
func TestSparseFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ranks")
	file := recordtest.File(record.Head{Slots: math.MaxUint32, Used: math.MaxUint32}, full())
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	f, closer, err := record.Open(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	seen := 0
	if err := f.Each(func(*record.Slot) error { seen++; return nil }); err != nil {
		t.Fatal(err)
	}
	if want := (record.DefaultMaxBytes - 4096) / 32768; seen != 1 || f.Head.Used != want {
		t.Errorf("saw %d slots of %d, want 1 of %d", seen, f.Head.Used, want)
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, fifo, dir, "/dev/zero", filepath.Join(dir, "none")} {
		if _, _, err := record.Open(path, record.Options{}); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain\x00rest", "plain"},
		{"MPICH Version:\t4.0.2", "MPICH Version: 4.0.2"},
		{"ESC\x1b[31m\r\n", "ESC?[31m??"},
		{"bad \xff\xfe utf-8", "bad ? utf-8"},
		{"\u202egnp.exe", "?gnp.exe"},
		{"über 計算", "über 計算"},
	}
	for _, tt := range tests {
		if got := record.Text([]byte(tt.in)); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Go's build cache does not see a change of ../mpi_calls.def: this fails where the
// package was built from an older one.
func TestNamesAreThoseOfTheTable(t *testing.T) {
	def, err := os.ReadFile("../mpi_calls.def")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^JE_[A-Z0-9]+\((\d+), (\w+),`).FindAllStringSubmatch(string(def), -1)
	if len(rows) < 100 {
		t.Fatalf("only %d rows found in the table", len(rows))
	}
	for _, row := range rows {
		number, _ := strconv.Atoi(row[1])
		if got := record.FuncName(number); got != "MPI_"+row[2] {
			t.Errorf("row %d is %s here and MPI_%s in the table: build with make, or go clean -cache", number, got, row[2])
		}
	}
	if got := record.FuncName(447); got != "MPI call 447" {
		t.Errorf("a row that is not there is called %q", got)
	}
}

func TestClassOfARow(t *testing.T) {
	want := map[string]record.Class{"MPI_Send": record.ClassP2P, "MPI_Recv": record.ClassRecv, "MPI_Test": record.ClassTest, "MPI_File_open": record.ClassIO, "MPI_Wait": record.ClassWait, "MPI_Finalize": record.ClassOther}
	for number := range 447 {
		if class, ok := want[record.FuncName(number)]; ok && record.FuncClass(number) != class {
			t.Errorf("%s: class %v", record.FuncName(number), record.FuncClass(number))
		}
	}
}

func TestNowReadsThisMachinesClocks(t *testing.T) {
	a, ok := record.Now(record.ClockMonotonic)
	if !ok || a.Ticks != a.Mono || a.Real == 0 {
		t.Errorf("got %+v, %v", a, ok)
	}
	if _, ok := record.Now(99); ok {
		t.Error("clock 99 was read")
	}
}

func FuzzRead(f *testing.F) {
	whole := recordtest.File(record.Head{}, full(), full())
	f.Add(uint32(len(whole)), []byte{})
	f.Add(uint32(5000), []byte{4, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(uint32(len(whole)), []byte{0x40, 1, 1, 0, 0, 0, 255, 255, 255, 255, 0x41, 1, 0, 4, 0, 0, 1, 0, 0, 0}) // input, inputs, args
	f.Fuzz(func(t *testing.T, size uint32, edits []byte) {
		file := bytes.Clone(whole[:min(int(size), len(whole))])
		recordtest.Edit(file, edits)
		eachSlot(file, func(s *record.Slot) { checkSlot(t, s) })
	})
}

// eachSlot reads a file that may be no record.
func eachSlot(file []byte, check func(s *record.Slot)) {
	rec, err := record.Read(bytes.NewReader(file), int64(len(file)), record.Options{})
	if err != nil {
		return
	}
	rec.Each(func(s *record.Slot) error { check(s); return nil })
}

func checkSlot(t *testing.T, s *record.Slot) {
	t.Helper()
	for _, text := range append(s.Args, s.Kernel.BusiestName, s.World, s.Host, s.Exe, s.MPIVersion, s.Workload) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("text %q", text)
		}
	}
	if s.Rank < -1 || s.Size < -1 || s.Rank >= max(s.Size, 0) && s.Rank != -1 || s.MPITicks > 1<<62 || s.OpenCall >= 448 {
		t.Errorf("out of bounds: %+v", s)
	}
	if k := s.Kernel; k.Process > 1<<62 || k.Thread > 1<<62 || k.Queue > 1<<62 || k.Tasks > 1<<22 || k.Busy > 1<<22 || k.GPU > record.GPUOpen || k.BusiestTID < 0 {
		t.Errorf("out of bounds: %+v", k)
	}
	if s.Inputs > record.InputsMost || s.InputHash != "" && s.Input != record.InputKnown || len(s.Args) > 1025 {
		t.Errorf("out of bounds: %+v", s)
	}
}
