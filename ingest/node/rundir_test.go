package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

const (
	testRun   = "000102030405060708090a0b0c0d0e0f"
	testNonce = "ff0102030405060708090a0b0c0d0e0f"
)

var testNonceBytes = [16]byte{0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// jobText is a whole job file.
func jobText() string {
	return fmt.Sprintf(`version 1
run %s
nonce %s
boot_id b0070000000000000000000000000000
job_id 123
uid 1000
gid 1001
user alice
cluster test
node n1
account physics
partition main
nodelist n[1-2]
nnodes 2
sluid s4
prolog 1
start_mono_ns %d
start_real_ns %d
`, testRun, testNonce, 8*sec, epoch+8*sec)
}

// stepsText is the log of a step of one task that was killed 22 s after boot.
func stepsText() string {
	line := func(s float64, what string, rest string) string {
		p := at(s)
		return fmt.Sprintf("%s %d %d%s\n", what, p.Mono, p.Real, rest)
	}
	return line(8, "step batch", " tasks=1 ntasks=1 nnodes=2 nodeid=0 array_job=120 array_task=4 args=d169b22ededb85af03252b6935a44391 asked=8") +
		line(8.5, "step 0", " tasks=2 ntasks=4 nnodes=2 nodeid=0 workload=x") +
		line(22, "exit 0", " pid=100 task=0 status=9") +
		line(22, "exit 0", " pid=101 task=1 status=0") +
		line(22.5, "end 0", "") +
		line(23, "exit batch", " pid=50 task=0 status=256") +
		line(23, "end batch", "")
}

func ranksBytes(nonce [16]byte, slots ...record.Slot) string {
	return string(recordtest.File(record.Head{BootID: testBoot, Nonce: nonce}, slots...))
}

// writeRunDir makes a run directory of these files.
func writeRunDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".done-123-"+testRun)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "record"), 0o711); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func wholeRunDir() map[string]string {
	return map[string]string{"decision": "on\n", "job": jobText(), "steps": stepsText(),
		"record/ranks": ranksBytes(testNonceBytes, killed(0, 4, 4, 20), rankSlot(1, 4, 8, 4))}
}

// foldDir opens and folds a run directory.
func foldDir(path string, m Machine) (*job.NodeReport, error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Fold(m)
}

func TestFoldDir(t *testing.T) {
	r, err := foldDir(writeRunDir(t, wholeRunDir()), testMachine(24))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Executions) != 1 {
		t.Fatalf("got %+v", r)
	}
	e := r.Executions[0]
	if want := map[string]int{"signal 9 (SIGKILL)": 1, "finalized": 1}; !cmp.Equal(e.Endings, want) || e.Nodes[0].Node != "n1" ||
		!cmp.Equal(e.Steps, []string{"0"}) || e.Nodes[0].RankIDs != "0-1" {
		t.Errorf("got %+v", e)
	}
	task := uint32(4)
	real := func(s float64) time.Time { return time.Unix(0, int64(at(s).Real)).UTC() }
	r.Executions = nil
	want := &job.NodeReport{Version: 1, Sequence: job.FinalSequence, Cluster: "test", JobID: 123, Nonce: testRun, SLUID: "s4", ArrayJobID: 120, ArrayTaskID: &task,
		UID: 1000, GID: 1001, User: "alice", Account: "physics", Partition: "main", NodeList: "n[1-2]", NNodes: 2, Node: "n1",
		BootID: "b0070000000000000000000000000000", OnlineCPUs: 2, Start: real(8), End: real(23), Decision: "on", Prolog: true,
		Steps: []job.Step{
			{ID: "batch", Args: "d169b22ededb85af03252b6935a44391", Asked: 8, Tasks: 1, Start: real(8), End: real(23), Exits: map[string]int{"exit 1": 1}},
			{ID: "0", Tasks: 2, Start: real(8.5), End: real(22.5), Exits: map[string]int{"signal 9 (SIGKILL)": 1, "0": 1}}},
		Processes: 2}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	if err := wire.Validate(r); err != nil {
		t.Errorf("the server would refuse it: %v", err)
	}
}

// Most jobs have no execution. Their epilog does not read a file for each CPU of the node.
func TestFoldAsksForTheHardwareOnlyForAnExecution(t *testing.T) {
	asked := 0
	m := testMachine(24)
	m.Hardware = func() *job.Hardware {
		asked++
		return &job.Hardware{Model: "x"}
	}
	d, err := OpenDir(writeRunDir(t, wholeRunDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.LeaveRecord()
	if r, err := d.Fold(m); err != nil || len(r.Executions) != 0 || asked != 0 {
		t.Errorf("without its record: %+v, %v, asked %d times", r, err, asked)
	}
	r, err := foldDir(writeRunDir(t, wholeRunDir()), m)
	if err != nil || asked != 1 || r.Executions[0].Nodes[0].Hardware.Model != "x" {
		t.Errorf("%+v, %v, asked %d times", r, err, asked)
	}
}

// What a site allows by measure.record_mib is read: a rank in the last slot of 128 MiB.
func TestFoldDirOfALargeRecord(t *testing.T) {
	const slots = (128<<20 - 4096) / 32768
	files := wholeRunDir()
	files["job"] += fmt.Sprintln("record_bytes", 128<<20)
	last := ranksBytes(testNonceBytes, rankSlot(0, 1, 8, 4))[4096:]
	files["record/ranks"] = string(recordtest.File(record.Head{BootID: testBoot, Nonce: testNonceBytes, Slots: slots, Used: slots}))
	dir := writeRunDir(t, files)
	f, err := os.OpenFile(filepath.Join(dir, "record", "ranks"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(last), 4096+(slots-1)*32768); err != nil {
		t.Fatal(err)
	}
	r, err := foldDir(dir, testMachine(24))
	if err != nil || len(r.Executions) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// What is missing or damaged gives a warning, never an error.
func TestFoldDirOfDamagedFiles(t *testing.T) {
	cut := func(file string, size int) func(map[string]string) {
		return func(f map[string]string) { f[file] = f[file][:size] }
	}
	none := func(file string) func(map[string]string) {
		return func(f map[string]string) { delete(f, file) }
	}
	tests := []struct {
		name   string
		damage func(map[string]string)
		want   string // codes of the report's warnings
		worlds int
	}{
		{"nothing", func(map[string]string) {}, "", 1},
		{"no decision", none("decision"), "", 1},
		{"no job", none("job"), doubt.WarnJobFile, 1},
		{"half of job", cut("job", 100), doubt.WarnJobFile, 1},
		{"no prolog", func(f map[string]string) { f["job"] = strings.Replace(f["job"], "prolog 1", "prolog 0", 1) }, doubt.WarnNoProlog, 1},
		{"prolog failed", func(f map[string]string) { f["job"] = strings.Replace(f["job"], "prolog 1", "prolog 2", 1) }, doubt.WarnPrologFailed, 1},
		{"no steps", none("steps"), "", 1},
		{"steps cut in a line", cut("steps", 200), "", 1},
		{"garbage in steps", func(f map[string]string) {
			f["steps"] += "\x00\x01 x\n" + strings.Repeat("y", 9000) + "\nexit 0 -1 2 pid=1\n"
		}, doubt.WarnJobFile, 1},
		{"no ranks", none("record/ranks"), doubt.WarnUnreadable, 0},
		{"no ranks, measuring off", func(f map[string]string) { f["decision"] = "off partition p\n"; delete(f, "record/ranks") }, "", 0},
		{"empty ranks", cut("record/ranks", 0), doubt.WarnUnreadable, 0},
		{"ranks cut in a slot", cut("record/ranks", 4096+32768+5000), doubt.WarnUnreadable, 1},
		{"ranks cut in the first slot", cut("record/ranks", 4096+5000), doubt.WarnUnreadable, 0},
		{"another job's ranks", func(f map[string]string) { f["record/ranks"] = ranksBytes([16]byte{1}, rankSlot(0, 1, 1, 1)) }, doubt.WarnForeign, 0},
	}
	for _, tt := range tests {
		files := wholeRunDir()
		tt.damage(files)
		r, err := foldDir(writeRunDir(t, files), testMachine(24))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if jobtest.Codes(r.Warnings) != tt.want || len(r.Executions) != tt.worlds || r.JobID != 123 || r.Nonce != testRun {
			t.Errorf("%s: %d executions of job %d, warnings %v", tt.name, len(r.Executions), r.JobID, r.Warnings)
		}
	}
}

func TestFoldDirThatSaysNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := foldDir(dir, testMachine(24)); err == nil || !strings.Contains(err.Error(), "which attempt of which job") {
		t.Errorf("got %v", err)
	}
	if _, err := foldDir(filepath.Join(dir, "none"), testMachine(24)); err == nil {
		t.Error("a missing directory is no error")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(writeRunDir(t, wholeRunDir()), link); err != nil {
		t.Fatal(err)
	}
	if _, err := foldDir(link, testMachine(24)); err == nil {
		t.Error("a link to a directory was followed")
	}
}

// What is not a file with one name, as root makes it, is refused and said.
func TestOpenDirRefuses(t *testing.T) {
	// the links lead to a whole record
	makers := map[string]func(path string) error{
		"symlink":   func(path string) error { return os.Symlink("other", path) },
		"hard link": func(path string) error { return os.Link(filepath.Join(filepath.Dir(path), "other"), path) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	}
	for name, build := range makers {
		files := wholeRunDir()
		files["record/other"] = files["record/ranks"]
		delete(files, "record/ranks")
		dir := writeRunDir(t, files)
		if err := build(filepath.Join(dir, "record", "ranks")); err != nil {
			t.Fatal(err)
		}
		r, err := foldDir(dir, testMachine(24))
		if err != nil || len(r.Executions) != 0 || !strings.Contains(jobtest.Codes(r.Warnings), doubt.WarnUnreadable) {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
}

// Root's notes that a user could have written say nothing, and the record of such a job is foreign: its
// nonce stands in them.
func TestOpenDirWantsRootsNotes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	for _, name := range []string{"decision", "job", "steps"} {
		files := wholeRunDir()
		files["decision"] = "off asked by the job (--jobeff=off)\n"
		dir := writeRunDir(t, files)
		if err := os.Chown(filepath.Join(dir, name), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		r, err := foldDir(dir, testMachine(24))
		if err != nil || !slices.ContainsFunc(r.Warnings, func(w doubt.Warning) bool { return w.Args.Name == name && w.Args.Other == "not root's" }) {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		if believed := (map[string]bool{"decision": r.Decision != "on", "job": r.User != "", "steps": len(r.Steps) > 0}); believed[name] {
			t.Errorf("%s of a user is believed: %+v", name, r)
		}
	}
}

func TestReadDecision(t *testing.T) {
	tests := map[string]string{"": "on", "on\n": "on", "off asked\nx\n": "off asked", "offside\n": "on", "off\n": "off", "off not whole": "on",
		"off \x1b[31m\n": "off ?[31m"}
	for text, want := range tests {
		d, err := OpenDir(writeRunDir(t, map[string]string{"decision": text}))
		if err != nil {
			t.Fatal(err)
		}
		if got := readDecision(d.decision); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		d.Close()
	}
}

func TestStepsOff(t *testing.T) {
	d, err := OpenDir(writeRunDir(t, map[string]string{"steps": "step extern 1 2 tasks=1\n" +
		"step 0 1 2 tasks=1 workload=a off=1 reason=JOBEFF=off in its environment\n" +
		"step 1 1 2 tasks=1 tasks=9 off=1\nstep interactive 1 2 container=1\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want := map[string]string{"extern": "", "0": "JOBEFF=off in its environment", "1": "measuring was off for this step", "interactive": ""}
	log := readSteps(d.steps)
	for _, s := range log.steps {
		if s.Off != want[s.ID] || s.Tasks > 1 || s.Container != (s.ID == "interactive") {
			t.Errorf("got %+v", s)
		}
	}
	if len(log.steps) != 4 || log.odd || !log.measured {
		t.Errorf("got %+v", log)
	}
}

// A log of 100,000 steps costs bounded memory and says that it was cut.
func TestStepsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "step %d %d %d tasks=1\nexit %d %d %d pid=%d task=0 status=0\n", i, i+1, i+1, i, i+2, i+2, i)
	}
	files := wholeRunDir()
	files["steps"] = b.String()
	r, err := foldDir(writeRunDir(t, files), testMachine(24))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != job.MostSteps || !strings.Contains(jobtest.Codes(r.Warnings), doubt.WarnStepsCut) {
		t.Errorf("%d steps, warnings %v", len(r.Steps), r.Warnings)
	}
}

func FuzzFoldDir(f *testing.F) {
	ranks := []byte(ranksBytes(testNonceBytes, rankSlot(0, 2, 1, 1), killed(1, 2, 4, 20)))
	f.Add("on\n", jobText(), stepsText(), []byte{})
	f.Add("off\n", "job_id 99999999999\nuid -1\n", "exit 0 18446744073709551615 1 pid=1\n", []byte{30, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	dir := writeRunDir(f, nil)
	f.Fuzz(func(t *testing.T, decision, jobNote, steps string, edits []byte) {
		edited := bytes.Clone(ranks)
		recordtest.Edit(edited, edits)
		for name, text := range map[string]string{"decision": decision, "job": jobNote, "steps": steps, "record/ranks": string(edited)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := foldDir(dir, testMachine(24))
		if err != nil {
			t.Fatal(err) // the directory's name says which job it was
		}
		r.Cluster, r.Node = "c", "n"
		if err := wire.Validate(r); err != nil {
			t.Errorf("the server would refuse it: %v", err)
		}
		for i := range r.Executions {
			checkExecution(t, &r.Executions[i])
		}
	})
}
