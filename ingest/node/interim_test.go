package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// runningRank began 10 s after boot. Until then it was in MPI for half of its time up to its last edge, since when it
// is in MPI or computes (inMPI).
func runningRank(rank, size int, edges int, inMPI bool) record.Slot {
	const bucket = sec // shift 6
	s := killed(rank, size, 0, 10)
	s.Timeline = &record.Timeline{Shift: 6, First: int64((epoch + at(11).Ticks) / bucket)}
	for i := range edges {
		s.Timeline.Edges = append(s.Timeline.Edges, record.Edge{At: at(float64(11 + i)).Ticks, MPI: sec * uint64(i+1) / 2})
	}
	end := at(10 + float64(edges)).Ticks
	s.MPITicks, s.Last, s.Open = sec*uint64(edges)/2, end, 0
	if inMPI {
		s.OpenCall, s.Open = 5, end
	}
	return s
}

// liveDir makes a run directory of a job that runs, with these slots.
func liveDir(t testing.TB, slots ...record.Slot) (runDir string, d *RunDir) {
	t.Helper()
	steps, _, _ := strings.Cut(stepsText(), "exit")
	done := writeRunDir(t, map[string]string{"decision": "on\n", "job": jobText(), "steps": steps, "record/ranks": ranksBytes(testNonceBytes, slots...)})
	path := filepath.Join(filepath.Dir(done), "123")
	if err := os.Rename(done, path); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return filepath.Dir(path), d
}

// moment is so many seconds after boot.
func moment(s float64) time.Time { return time.Unix(0, int64(at(s).Real)).UTC() }

// TestFoldLive: ranks that run end at the last edge before the moment: by what they noted then, or by what they do
// since.
func TestFoldLive(t *testing.T) {
	ended := rankSlot(1, 2, 2, 2)
	for name, tt := range map[string]struct {
		slots       []record.Slot
		at          float64
		want        float64 // the edge; 0: no report
		useful, mpi time.Duration
		running     int
	}{
		"by their edges":     {[]record.Slot{runningRank(0, 2, 8, false), runningRank(1, 2, 8, false)}, 17.5, 17, 7e9, 7e9, 2},
		"at an edge":         {[]record.Slot{runningRank(0, 2, 8, false), runningRank(1, 2, 8, false)}, 18, 18, 8e9, 8e9, 2},
		"one waits":          {[]record.Slot{runningRank(0, 2, 8, false), runningRank(1, 2, 2, true)}, 17.5, 17, 3.5e9 + 1e9, 3.5e9 + 1e9 + 5e9, 2},
		"one computes":       {[]record.Slot{runningRank(0, 2, 8, false), runningRank(1, 2, 2, false)}, 17.5, 17, 3.5e9 + 6e9, 3.5e9 + 1e9, 2},
		"one has ended":      {[]record.Slot{runningRank(0, 2, 8, false), ended}, 17.5, 17, 3.5e9 + 2e9, 3.5e9 + 2e9, 1},
		"they began after":   {[]record.Slot{runningRank(0, 2, 0, false), runningRank(1, 2, 0, false)}, 10, 0, 0, 0, 0},
		"no rank in MPI yet": {nil, 17.5, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, d := liveDir(t, tt.slots...)
			r, err := d.FoldLive(testMachine(19), moment(tt.at))
			if err != nil || (r == nil) != (tt.want == 0) {
				t.Fatalf("%+v, %v", r, err)
			}
			if r == nil {
				return
			}
			if err := wire.Validate(r); err != nil || len(r.Executions) != 1 || len(r.Warnings) > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			e := &r.Executions[0]
			if n := &e.Nodes[0]; !r.AsOf.Equal(moment(tt.want)) || n.Useful != tt.useful || n.MPI != tt.mpi || e.Endings[job.EndingRunning] != tt.running {
				t.Errorf("as of %v: %v useful, %v in MPI, %v; want %v: %v, %v", r.AsOf, n.Useful, n.MPI, e.Endings, moment(tt.want), tt.useful, tt.mpi)
			}
			if running := tt.running == 2; (e.Timeline != nil) != running || len(e.Calls) > 0 == running {
				t.Errorf("timeline %v, calls %v", e.Timeline, e.Calls)
			}
			if r.Sequence < 1 || r.Sequence >= job.FinalSequence {
				t.Errorf("sequence %d", r.Sequence)
			}
		})
	}
}

// busy is a record whose ranks call MPI at each reading. From a word of theirs on, nothing is so twice.
type busy struct {
	file []byte
	at   int
}

func (b *busy) ReadAt(to []byte, at int64) (int, error) {
	n, err := bytes.NewReader(b.file).ReadAt(to, at)
	binary.NativeEndian.PutUint64(b.file[b.at:], binary.NativeEndian.Uint64(b.file[b.at:])+1)
	return n, err
}

// TestFoldLiveOfBusyRanks: of a rank that changes what it says only edges are taken; without one there is no
// report.
func TestFoldLiveOfBusyRanks(t *testing.T) {
	const mpiTicks = 4096 + 776 // je_slot.mpi_ticks of the first slot
	for edges, torn := range map[int]bool{8: false, 7: false, 6: true} {
		slot := runningRank(0, 1, edges, false)
		file := recordtest.File(record.Head{BootID: testBoot}, slot)
		rec, err := record.Read(&busy{file, mpiTicks}, int64(len(file)), record.Options{Live: true})
		if err != nil {
			t.Fatal(err)
		}
		f := foldRecord(rec, testMachine(19), &attemptFacts{node: "n1", end: 1 << 62, moment: moment(17.5)})
		if f.torn != torn {
			t.Errorf("%d edges: torn is %v", edges, f.torn)
		}
		if n := f.executions[0].Nodes[0]; !torn && n.MPI != 3500*time.Millisecond {
			t.Errorf("%d edges: %v in MPI", edges, n.MPI)
		}
	}
}

// FuzzFoldLive: whatever a process writes while its record is folded, the figures can be.
func FuzzFoldLive(f *testing.F) {
	whole := recordtest.File(record.Head{BootID: testBoot}, runningRank(0, 2, 8, false), runningRank(1, 2, 2, true))
	f.Add([]byte{}, uint8(1))
	f.Add([]byte{0x61, 0, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(2))
	f.Fuzz(func(t *testing.T, edits []byte, each uint8) {
		file := bytes.Clone(whole)
		rest := edits
		write := func() {
			n := min(10*(int(each)%4+1), len(rest))
			recordtest.EditSlot(file, int(each)%2, rest[:n])
			if rest = rest[n:]; len(rest) == 0 {
				rest = edits
			}
		}
		rec, err := record.Read(readerFunc(func(to []byte, at int64) (int, error) {
			n, err := bytes.NewReader(file).ReadAt(to, at)
			write()
			return n, err
		}), int64(len(file)), record.Options{Live: true})
		if err != nil {
			return
		}
		folded := foldRecord(rec, testMachine(19), &attemptFacts{node: "n1", end: 1 << 62, moment: moment(17.5)})
		for i := range folded.executions {
			for _, n := range folded.executions[i].Nodes { // who and how many they are DropImpossible looks at
				if min(n.Useful, n.MPI, n.IO) < 0 || n.Useful+n.MPI+n.IO != n.ElapsedSum || n.UsefulMax > n.ElapsedMax {
					t.Errorf("%+v", n)
				}
			}
		}
	})
}

type readerFunc func(to []byte, at int64) (int, error)

func (f readerFunc) ReadAt(to []byte, at int64) (int, error) { return f(to, at) }

// TestKeepInterim: who folded is nobody. What they say is kept only if root's notes tell of the same job, and
// beside its final report; the last one takes the place of the one before, and a full outbox keeps none.
func TestKeepInterim(t *testing.T) {
	runDir, d := liveDir(t, runningRank(0, 1, 8, false))
	outbox := Outbox{Spool: t.TempDir(), Most: 1 << 20}
	fold := func(edit func(*job.NodeReport)) *job.NodeReport {
		r, err := d.FoldLive(testMachine(19), moment(17.5))
		if err != nil || r == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		edit(r)
		return r
	}
	names := func() (all string) {
		entries, _ := os.ReadDir(OutboxDir(outbox.Spool))
		for _, e := range entries {
			all += " " + e.Name()
		}
		return all
	}
	for name, edit := range map[string]func(*job.NodeReport){
		"gone":        func(r *job.NodeReport) { r.JobID = 124 },
		"requeued":    func(r *job.NodeReport) { r.Nonce = strings.Repeat("0", 32) },
		"user":        func(r *job.NodeReport) { r.UID++ },
		"a final one": func(r *job.NodeReport) { r.AsOf = time.Time{} },
		"the last":    func(r *job.NodeReport) { r.Sequence = job.FinalSequence },
	} {
		if err := outbox.KeepInterim(runDir, time.Minute, fold(edit)); (err == nil) != (name == "gone" || name == "requeued") || names() != "" {
			t.Errorf("%s: %v,%s", name, err, names())
		}
	}
	keep := func() error { return outbox.KeepInterim(runDir, time.Minute, fold(func(*job.NodeReport) {})) }
	if err := errors.Join(keep(), keep()); err != nil || strings.Count(names(), " ") != 1 || !strings.HasSuffix(names(), ".interim.json.zst") {
		t.Errorf("%v,%s", err, names())
	}
	told := fold(func(r *job.NodeReport) { r.Progress = &hang.Progress{Moment: moment(17.5), Every: time.Hour} })
	if err := outbox.KeepInterim(runDir, time.Minute, told); err != nil || told.Progress.Every != time.Minute {
		t.Errorf("nobody says how often the node reports: %v, %v", told.Progress.Every, err)
	}
	final, err := d.Fold(testMachine(19))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outbox.Write(final); err != nil || strings.Count(names(), " ") != 2 || final.Sequence != job.FinalSequence {
		t.Errorf("%v,%s, sequence %d", err, names(), final.Sequence)
	}
	outbox.Most = 16 << 10
	if err := keep(); !errors.Is(err, ErrOutboxFull) {
		t.Errorf("in half a full outbox: %v", err)
	}
	final.Nonce = strings.Repeat("1", 32)
	others := filepath.Join(OutboxDir(outbox.Spool), "1.test-1-"+testRun+".interim.json.zst")
	if err := os.WriteFile(others, []byte{0}, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := outbox.Write(final); err != nil || strings.Count(names(), " ") != 3 || strings.Count(names(), "interim") != 1 || strings.Contains(names(), BatchExt) {
		t.Errorf("a final report takes the room of its user's interim ones: %v,%s", err, names())
	}
	final.Nonce, final.UID = strings.Repeat("2", 32), 1
	outbox.Most = 12 << 10
	if _, err := outbox.Write(final); err != nil || strings.Count(names(), " ") != 3 || strings.Contains(names(), "interim") || strings.Contains(names(), BatchExt) {
		t.Errorf("where there is no room for anybody, it takes all: %v,%s", err, names())
	}
}

// TestRunningJobsOfUsers: whoever has many jobs on a node takes turns with the others.
func TestRunningJobsOfUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a record to a user")
	}
	runDir := t.TempDir()
	for id := range 30 {
		path := filepath.Join(runDir, strconv.Itoa(id), recordName)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chown(path, max(id-27, 0)+1000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	ids := RunningJobs(runDir)
	if first := ids[:3]; len(ids) != 30 || !slices.Contains(first, "28") || !slices.Contains(first, "29") {
		t.Errorf("%q", ids)
	}
}

// BenchmarkFoldLive folds 128 ranks that run.
func BenchmarkFoldLive(b *testing.B) {
	var slots []record.Slot
	for i := range 128 {
		slots = append(slots, runningRank(i, 128, 60, false))
	}
	_, d := liveDir(b, slots...)
	for b.Loop() {
		if r, err := d.FoldLive(testMachine(90), moment(65.5)); err != nil || r.Executions[0].Nodes[0].Ranks != 128 {
			b.Fatal(err)
		}
	}
}
