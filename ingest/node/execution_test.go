package node

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

var (
	hashOf1 = strings.Repeat("1", 32)
	hashOf2 = strings.Repeat("2", 32)
	hashOf3 = strings.Repeat("3", 32)
)

// told is a rank 0 that looked at everything.
func told(size int) record.Slot {
	s := rankSlot(0, size, 8, 4)
	s.ArgsHash, s.ExeHash, s.InputHash = hashOf1, hashOf2, hashOf3
	s.Input, s.Inputs, s.Args, s.Workload = record.InputKnown, 2, []string{"-in", "in.melt"}, "water"
	return s
}

// workloadOf is only what tells the workload.
func workloadOf(e *job.Execution) job.Execution {
	return job.Execution{ExecutableHash: e.ExecutableHash, ArgsHash: e.ArgsHash, Args: e.Args, InputHash: e.InputHash,
		Inputs: e.Inputs, InputNote: e.InputNote, Workload: e.Workload}
}

func TestFoldTellsTheWorkload(t *testing.T) {
	whole := job.Execution{ExecutableHash: hashOf2, ArgsHash: hashOf1, Args: []string{"-in", "in.melt"}, InputHash: hashOf3, Inputs: 2, Workload: "water"}
	named := whole
	named.Workload = "box"
	late := told(1)
	late.Input, late.InputHash = record.InputLate, ""
	none := job.Execution{ArgsHash: hashOf1, ExecutableHash: hashOf2, Args: whole.Args, Workload: "water", InputNote: "the files were not read within 50 ms"}
	hostile := told(1)
	hostile.Workload = "a\x1b[31m b"
	nameless := whole
	nameless.Workload = ""
	facts := &attemptFacts{end: 40 * sec, steps: map[string]uint64{"0": 0}, workloads: map[string]string{"0": "box"}}
	tests := []struct {
		name  string
		facts *attemptFacts
		slots []record.Slot
		want  job.Execution
	}{
		{"by hand", nil, []record.Slot{rankSlot(1, 2, 6, 6), told(2)}, whole},
		{"the step's name wins", facts, []record.Slot{told(1)}, named},
		{"late", nil, []record.Slot{late}, none},
		{"a hostile name", nil, []record.Slot{hostile}, nameless},
		{"rank 0 is elsewhere", facts, []record.Slot{rankSlot(1, 2, 6, 6)}, job.Execution{InputNote: noRankZero, Workload: "box"}},
	}
	for _, tt := range tests {
		f := foldSlots(t, testMachine(100), tt.facts, tt.slots...)
		if d := cmp.Diff(tt.want, workloadOf(&f.executions[0])); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// Two nodes: rank 0's part tells, whichever comes first.
func TestMergeKeepsTheWorkloadOfRankZero(t *testing.T) {
	first := foldSlots(t, testMachine(100), nil, told(2)).executions[0]
	second := foldSlots(t, testMachine(100), nil, rankSlot(1, 2, 6, 6)).executions[0]
	want := workloadOf(&first)
	for _, parts := range [][]job.Execution{{first, second}, {second, first}} {
		got := assemble.Merge(parts)
		if d := cmp.Diff(want, workloadOf(&got[0])); d != "" || len(got) != 1 {
			t.Error(d)
		}
	}
}

// Every reason has its words.
func TestInputNotes(t *testing.T) {
	for i := record.InputNotLooked; i <= record.InputLong; i++ {
		if (inputNotes[i] == "") != (i == record.InputKnown) {
			t.Errorf("input %d: %q", i, inputNotes[i])
		}
	}
}

// The step log names the workload of each step; what no plugin writes is left out.
func TestStepsWorkload(t *testing.T) {
	d, err := OpenDir(writeRunDir(t, map[string]string{"steps": "step batch 1 2 tasks=1 workload=box\n" +
		"step 0 1 2 tasks=1 workload=water/1 workload=x off=1 reason=no workload=y\nstep 1 1 2 tasks=1\n" +
		"step 2 1 2 workload=" + strings.Repeat("x", 65) + "\nstep 3 1 2 workload=<b>\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d := cmp.Diff(map[string]string{"batch": "box", "0": "water/1"}, readSteps(d.steps).workloads); d != "" {
		t.Error(d)
	}
}

func TestDecodeCleansTheWorkload(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	e := &r.Executions[0]
	e.ArgsHash, e.ExecutableHash, e.InputHash, e.Inputs = hashOf1, "<script>", "00", 99
	e.InputNote, e.Args, e.Workload = strings.Repeat("n", 999), []string{"\x1b[2J"}, "a\x1b"+strings.Repeat("b", 99)
	body, _ := json.Marshal(r)
	got, err := wire.DecodeReport(body)
	if err != nil {
		t.Fatal(err)
	}
	want := job.Execution{ArgsHash: hashOf1, Args: []string{"?[2J"}, InputNote: strings.Repeat("n", wire.MostNote), Workload: "a?" + strings.Repeat("b", wire.MostWorkload-2)}
	if d := cmp.Diff(want, workloadOf(&got.Executions[0])); d != "" {
		t.Error(d)
	}
	e.Args = make([]string, wire.MostArgs+1)
	body, _ = json.Marshal(r)
	if got, err := wire.DecodeReport(body); err != nil || len(got.Executions) > 0 || jobtest.Codes(got.Warnings) != doubt.WarnImpossible {
		t.Errorf("got %v, %+v", err, got)
	}
}
