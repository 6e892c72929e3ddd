package slurm

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
)

func testUIDs(name string) (uint32, bool) {
	uid, ok := map[string]uint32{"alice": 20001, "bob": 20002}[name]
	return uid, ok
}

// TestParseJSONRecorded: the JSON of sacct 22.05.8 says the same of each job as the parsable
// form.
func TestParseJSONRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/steps-22.05.8.json")
	if err != nil {
		t.Fatal(err)
	}
	got, unsure, bad, err := ParseJSON(text, testUIDs)
	if err != nil || bad != 0 || len(unsure) != 0 || len(got) != 10 {
		t.Fatalf("%d jobs, %d bad, %v, %v", len(got), bad, unsure, err)
	}
	text, err = os.ReadFile("testdata/steps-22.05.8.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := Parse(text, at)
	for i := range got {
		j := &got[i]
		j.TRES = sorted(j.TRES)
		at := slices.IndexFunc(want, func(w Job) bool { return w.RawID == j.RawID })
		if at < 0 {
			t.Errorf("job %s is not in the parsable form", j.ID)
			continue
		}
		w := want[at]
		w.TRES = sorted(w.TRES)
		// the parsable form has milliseconds, JSON microseconds
		if d := cmp.Diff(&w, j, cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < 3*time.Millisecond })); d != "" {
			t.Errorf("job %s: %s", j.ID, d)
		}
	}
}

func sorted(tres string) string {
	items := strings.Split(tres, ",")
	slices.Sort(items)
	return strings.Join(items, ",")
}

// newJSON has the form of data_parser/v0.0.40 (Slurm 23.11, 24.05), from its documentation and
// public samples: no such Slurm was at hand to record one.
const newJSON = `{"jobs":[{"account":"proj","allocation_nodes":1,
 "array":{"job_id":25,"limits":{"max":{"running":{"tasks":0}}},"task_id":{"set":true,"infinite":false,"number":0},"task":""},
 "association":{"account":"proj","cluster":"c","partition":"","user":"alice","id":14},"cluster":"c",
 "time":{"elapsed":60,"eligible":1744187887,"end":1744187948,"start":1744187888,"submission":1744187887,"suspended":0,
  "limit":{"set":false,"infinite":true,"number":0},"total":{"seconds":50,"microseconds":5}},
 "exit_code":{"status":["SIGNALED"],"return_code":{"set":false,"infinite":false,"number":0},
  "signal":{"id":{"set":true,"infinite":false,"number":9},"name":"KILL"}},
 "het":{"job_id":0,"job_offset":{"set":false,"infinite":false,"number":0}},"job_id":26,"name":"t\u001b[31m\n","nodes":"n140",
 "partition":"main","priority":{"set":true,"infinite":false,"number":2},"qos":"normal","kill_request_user":"root",
 "state":{"current":["CANCELLED"],"reason":"None"},
 "steps":[{"time":{"elapsed":60,"end":{"set":true,"infinite":false,"number":1744187948},"start":{"set":true,"infinite":false,"number":1744187888},
   "total":{"seconds":50,"microseconds":5}},"nodes":{"count":1,"range":"n140","list":["n140"]},"tasks":{"count":1},
   "state":["COMPLETED"],"step":{"id":"26.batch","name":"batch"},
   "tres":{"requested":{"max":[{"type":"mem","name":"","id":2,"count":4096}],"total":[{"type":"mem","name":"","id":2,"count":8192}]}}}],
 "tres":{"allocated":[{"type":"cpu","name":"","id":1,"count":2},{"type":"mem","name":"","id":2,"count":62000},
  {"type":"energy","name":"","id":3,"count":-2},{"type":"gres","name":"gpu:a100","id":1002,"count":2}],"requested":[]},"user":"alice"}],
 "meta":{"slurm":{"release":"24.05.4"}},"errors":[],"warnings":[]}`

func TestParseJSONNewer(t *testing.T) {
	jobs, unsure, bad, err := ParseJSON([]byte(newJSON), testUIDs)
	if err != nil || bad != 0 || len(unsure) != 0 {
		t.Fatal(unsure, bad, err)
	}
	task := uint32(0)
	want := []Job{{Cluster: "c", ID: "25_0", RawID: 26, ArrayJobID: 25, ArrayTaskID: &task, UID: 20001, User: "alice", State: "CANCELLED",
		ExitCode: "0:9", Submit: time.Unix(1744187887, 0).UTC(), Eligible: time.Unix(1744187887, 0).UTC(), Start: time.Unix(1744187888, 0).UTC(), End: time.Unix(1744187948, 0).UTC(),
		Elapsed: time.Minute, Nodes: 1, CPUs: 2, GPUs: 2, TRES: "cpu=2,mem=62000M,gres/gpu:a100=2", NodeList: "n140", Account: "proj",
		QOS: "normal", Partition: "main", Name: "t\x1b[31m\n",
		Usage: &job.Usage{TotalCPU: 50*time.Second + 5*time.Microsecond, Memory: 8192, LargestTask: 4096, Allocated: 62000 << 20}}}
	if d := cmp.Diff(want, jobs); d != "" {
		t.Error(d)
	}
}

// TestTimeLimits in both forms. Where Slurm has none, backfill writes a year.
func TestTimeLimits(t *testing.T) {
	const was = `"limit":{"set":false,"infinite":true,"number":0}`
	for limit, want := range map[string]time.Duration{was: 0, `"limit":{"set":true,"infinite":false,"number":90}`: 90 * time.Minute, `"limit":90`: 90 * time.Minute,
		`"limit":525600`: 0, `"limit":null`: 0, `"limit":525599`: 525599 * time.Minute} {
		jobs, _, _, err := ParseJSON([]byte(strings.Replace(newJSON, was, limit, 1)), testUIDs)
		if err != nil || len(jobs) != 1 || jobs[0].TimeLimit != want {
			t.Errorf("%s: %+v, %v, want %v", limit, jobs, err, want)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "90": 90 * time.Minute, "525600": 0, "UNLIMITED": 0, "Partition_Limit": 0} {
		if got := parseLimit(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestParseJSONBad(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(newJSON, old, new, 1) }
	for _, c := range []struct {
		name, text         string
		jobs, unsure, bads int
		fails              bool
	}{
		{"no JSON", "sacct: error", 0, 0, 0, true},
		{"cut off", newJSON[:300], 0, 0, 0, true},
		{"no jobs", `{"jobs":[],"errors":[]}`, 0, 0, 0, false},
		{"another document", `{"nodes":[]}`, 0, 0, 0, true},
		{"an unknown user", replace(`"user":"alice"}],`, `"user":"carol"}],`), 0, 1, 0, false},
		{"no user but the association's", replace(`"user":"alice"}],`, `"user":""}],`), 1, 0, 0, false},
		{"a start that slurmdbd lost", replace(`"start":1744187888,`, `"start":0,`), 1, 0, 0, false},
		{"… as slurmdbd says so", replace(`"start":1744187888,`, `"start":4294967294,`), 1, 0, 0, false},
		{"not started", strings.Replace(replace(`"start":1744187888,`, `"start":0,`), `"nodes":"n140"`, `"nodes":"None assigned"`, 1), 0, 0, 0, false},
		{"not ended", strings.Replace(replace(`"start":1744187888,`, `"start":0,`), `"end":1744187948`, `"end":0`, 1), 0, 0, 0, false},
		{"a piece, with the first node alone", replace(`"allocation_nodes":1`, `"allocation_nodes":0`), 0, 0, 0, false},
		{"failed with exit code 0, as 22.05 has it", strings.Replace(replace(`["CANCELLED"]`, `["FAILED"]`), `"number":9}`, `"number":0}`, 1), 0, 1, 0, false},
		{"job id 2^32", replace(`"job_id":26`, `"job_id":4294967296`), 0, 0, 1, false},
		{"job id 0", replace(`"job_id":26`, `"job_id":0`), 0, 0, 1, false},
		{"state that is no text", replace(`["CANCELLED"]`, `7`), 0, 0, 1, false},
		{"huge elapsed", replace(`"elapsed":60,"eligible"`, `"elapsed":1e300,"eligible"`), 1, 0, 0, false},
		{"running", replace(`"end":1744187948`, `"end":0`), 1, 0, 0, false},
	} {
		jobs, unsure, bad, err := ParseJSON([]byte(c.text), testUIDs)
		if len(jobs) != c.jobs || len(unsure) != c.unsure || bad != c.bads || (err != nil) != c.fails {
			t.Errorf("%s: %d jobs, %d unsure, %d bad, %v", c.name, len(jobs), len(unsure), bad, err)
		}
		for _, j := range jobs {
			if j.Start.IsZero() == strings.Contains(c.text, `"start":1744187888,`) || j.Start.IsZero() && j.End.IsZero() {
				t.Errorf("%s: from %v to %v", c.name, j.Start, j.End)
			}
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(newJSON)) // the recorded answer is too long to be mutated in good time
	f.Add([]byte(`{"jobs":[{"cluster":"c","job_id":7,"user":"bob","state":{"current":"FAILED"},"time":{"start":9,"end":null},
		"exit_code":{"return_code":null,"signal":{"signal_id":11}},"tres":{"allocated":[{"type":"gres","name":"gpu","count":1e3}]},
		"steps":[{"step":{"id":0},"time":{"total":{"seconds":-1}}}]}]}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		jobs, _, _, _ := ParseJSON(out, testUIDs)
		for _, j := range jobs {
			if j.RawID == 0 || j.Start.IsZero() && j.End.IsZero() || j.Elapsed < 0 || j.CPUs < 0 || j.GPUs < 0 || j.Nodes < 0 || !j.End.IsZero() && j.End.Before(j.Start) {
				t.Errorf("accepted %+v", j)
			}
			if u := j.Usage; u != nil && (u.TotalCPU < 0 || u.Memory < 0 || u.LargestTask < 0 || u.Allocated < 0) {
				t.Errorf("used %+v", u)
			}
		}
	})
}
