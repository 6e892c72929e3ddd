package slurm

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
)

// endings are what sacct 22.05.8 says of ten jobs, by id: the state, the exit code, steps that ran
// out of memory, and how long it was suspended. Memory ran out in a step whose script then failed
// (1), in the script itself (2), and in a step whose script went on (3). Scripts ended with exit
// 137 (4), exit 9 (5), a step's 200 (6), and by signal 9 (7).
var endings = map[string]string{
	"1":  "FAILED 1:0 [0] 0s",
	"2":  "OUT_OF_MEMORY 0:125 [batch] 0s",
	"3":  "COMPLETED 0:0 [0] 0s",
	"4":  "FAILED 9:0 [] 0s",
	"5":  "FAILED 9:0 [] 0s",
	"6":  "FAILED 72:0 [] 0s",
	"7":  "FAILED 0:9 [] 0s",
	"8":  "COMPLETED 0:0 [] 6s",
	"9":  "REQUEUED 0:0 [] 0s",
	"10": "RUNNING 0:0 [] 0s",
}

// endingsOf is how jobs ended, by id.
func endingsOf(jobs []Job) map[string]string {
	all := map[string]string{}
	for _, j := range jobs {
		stopped := (&job.Job{Submit: j.Submit, Start: j.Start, End: j.End, Elapsed: j.Elapsed}).Suspended()
		all[j.ID] = fmt.Sprint(j.State, " ", j.ExitCode, " ", j.Usage.StepsOutOfMemory(), " ", stopped)
	}
	return all
}

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEndingsRecorded: both forms say the same of how jobs and their steps ended. JSON of 22.05
// does not know the exit codes of scripts that failed; the reader asks again about these.
func TestEndingsRecorded(t *testing.T) {
	jobs, bad := Parse(recorded(t, "endings-22.05.8.txt"), at)
	if d := cmp.Diff(endings, endingsOf(jobs)); d != "" || bad != 0 {
		t.Errorf("parsable: %d bad, %s", bad, d)
	}
	jobs, unsure, bad, err := ParseJSON(recorded(t, "endings-22.05.8.json"), testUIDs)
	want := map[string]string{"2": "", "3": "", "7": "", "8": "", "9": "", "10": ""}
	for id := range want {
		want[id] = endings[id]
	}
	if d := cmp.Diff(want, endingsOf(jobs)); d != "" || bad != 0 || err != nil {
		t.Errorf("JSON: %d bad, %v, %s", bad, err, d)
	}
	if d := cmp.Diff([]uint32{1, 4, 5, 6}, unsure); d != "" {
		t.Errorf("unsure: %s", d)
	}
}

// TestExitCodes: newer JSON tells exit codes of 128 and more, from which sacct's other form takes
// 128. They are read as one.
func TestExitCodes(t *testing.T) {
	for code, want := range map[int]string{0: "0:0", 9: "9:0", 127: "127:0", 137: "9:0", 200: "72:0", 255: "127:0"} {
		text := strings.Replace(newJSON, `"return_code":{"set":false,"infinite":false,"number":0}`, fmt.Sprintf(`"return_code":{"set":true,"infinite":false,"number":%d}`, code), 1)
		text = strings.Replace(text, `"number":9},"name":"KILL"`, `"number":0},"name":""`, 1)
		jobs, _, _, err := ParseJSON([]byte(text), testUIDs)
		if err != nil || len(jobs) != 1 || jobs[0].ExitCode != want {
			t.Errorf("%d: %+v, %v", code, jobs, err)
		}
	}
}

// TestStepStates: newer JSON has a step's state as a list, which may be empty.
func TestStepStates(t *testing.T) {
	for state, want := range map[string]string{`["OUT_OF_MEMORY"]`: "batch", `["COMPLETED"]`: "", `[]`: "", `null`: "", `"OUT_OF_MEMORY"`: "batch"} {
		text := strings.Replace(newJSON, `"state":["COMPLETED"]`, `"state":`+state, 1)
		jobs, _, bad, err := ParseJSON([]byte(text), testUIDs)
		if err != nil || bad != 0 || len(jobs) != 1 || jobs[0].Usage.OutOfMemory != want {
			t.Errorf("%s: %d bad, %+v, %v", state, bad, jobs, err)
		}
	}
}

// TestManySteps: of many steps that ran out of memory some are named.
func TestManySteps(t *testing.T) {
	var steps []step
	for i := range 10_000 {
		steps = append(steps, step{id: fmt.Sprint(i), state: "OUT_OF_MEMORY", end: time.Unix(9, 0)})
	}
	j := Job{End: time.Unix(9, 0), Nodes: 1}
	if j.setUsage(steps); len(j.Usage.StepsOutOfMemory()) != namedSteps {
		t.Errorf("%d bytes", len(j.Usage.OutOfMemory))
	}
}
