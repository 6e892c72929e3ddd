package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const at = "@0123@"

// TestParseRecorded reads output of sacct 22.05.8: of a plain job, an array, a het job, a
// requeued one, one over its time limit, a cancelled one, a killed one, and of hostile names.
func TestParseRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/sacct-22.05.8.txt")
	if err != nil {
		t.Fatal(err)
	}
	jobs, bad := Parse(text, at)
	if bad != 0 {
		t.Errorf("%d bad lines", bad)
	}
	got := map[string][]Job{}
	for _, j := range jobs {
		got[j.ID] = append(got[j.ID], j)
	}
	for id, states := range map[string]string{
		"1": "COMPLETED", "2_1": "COMPLETED", "2_2": "FAILED", "2_3": "COMPLETED", "3": "TIMEOUT", "4": "COMPLETED",
		"5": "COMPLETED", "6": "COMPLETED", "7": "FAILED", "10+0": "COMPLETED", "10+1": "COMPLETED",
		"12": "REQUEUED RUNNING", "13": "CANCELLED", "14": "COMPLETED",
	} {
		var s []string
		for _, j := range got[id] {
			s = append(s, j.State)
		}
		if d := cmp.Diff(states, strings.Join(s, " ")); d != "" {
			t.Errorf("job %s: %s", id, d)
		}
	}
	if len(got) != 14 {
		t.Errorf("%d ids", len(got))
	}
	if name := got["5"][0].Name; name != "evil\n99|99|COMPLETED" {
		t.Errorf("name with a line break: %q", name)
	}
	if name := got["4"][0].Name; name != "a|b=cmd" {
		t.Errorf("name with a bar: %q", name)
	}
}

func TestParseFields(t *testing.T) {
	line := strings.Join([]string{"test", "2_2", "9", "1001", "alice", "CANCELLED by 0", "3:9", "2026-11-20T20:47:08",
		"2026-11-20T20:47:09", "2026-11-20T20:48:10", "61", "2", "1.50K", "n[1-2]", "proj", "normal", "main", "cpu=1536,gres/gpu=2,mem=3G", "", "", "", "2026-11-20T20:47:08", "1440", "arr"}, at)
	jobs, bad := Parse([]byte(line+"\n"), at)
	task, root := uint32(2), uint32(0)
	day := func(h, m, s int) time.Time { return time.Date(2026, 11, 20, h, m, s, 0, time.UTC) }
	want := []Job{{Cluster: "test", ID: "2_2", RawID: 9, ArrayJobID: 2, ArrayTaskID: &task, UID: 1001, User: "alice",
		State: "CANCELLED", CancelledBy: &root, ExitCode: "3:9", Submit: day(20, 47, 8), Eligible: day(20, 47, 8), TimeLimit: 24 * time.Hour, Start: day(20, 47, 9), End: day(20, 48, 10),
		Elapsed: 61 * time.Second, Nodes: 2, CPUs: 1536, GPUs: 2, TRES: "cpu=1536,gres/gpu=2,mem=3G", NodeList: "n[1-2]", Account: "proj", QOS: "normal", Partition: "main", Name: "arr"}}
	if d := cmp.Diff(want, jobs); d != "" || bad != 0 {
		t.Errorf("%d bad: %s", bad, d)
	}
}

// TestParseBrokenFields: an account's name has line breaks, and one of a job has, too. No field is
// taken for another one's, and the jobs beside it are not harmed.
func TestParseBrokenFields(t *testing.T) {
	line := func(id, account, name string) string {
		return strings.Join([]string{"test", id, id, "1001", "alice", "COMPLETED", "0:0", "2026-11-20T20:47:08",
			"2026-11-20T20:47:09", "2026-11-20T20:48:10", "61", "1", "1", "n1", account, "normal", "main", "", "", "", "", "", "", name}, at) + "\n"
	}
	jobs, bad := Parse([]byte(line("7", "p", "a")+line("8", "x\n\ny|z\n", "b\nc")+"test"+at+"9\n"+line("10", "q", "d")), at)
	var got []string
	for _, j := range jobs {
		got = append(got, j.ID+" "+j.Account+" "+j.Name)
	}
	if d := cmp.Diff([]string{"7 p a", "8 x\n\ny|z\n b\nc", "10 q d"}, got); d != "" || bad != 1 {
		t.Errorf("%d bad: %s", bad, d)
	}
}

// TestParseBad: each of these lines is left out, and the good line after it is not harmed.
func TestParseBad(t *testing.T) {
	good := []string{"test", "7", "7", "1001", "alice", "COMPLETED", "0:0", "2026-11-20T20:47:08",
		"2026-11-20T20:47:09", "2026-11-20T20:48:10", "61", "1", "1", "n1", "proj", "normal", "main", "cpu=1", "", "", "", "", "", "n"}
	for _, c := range []struct {
		name     string
		field    int
		value    string
		bad, all int
	}{
		{"a start that slurmdbd lost", 8, "None", 0, 2},
		{"pending tasks", 1, "7_[1-3]", 0, 2},
		{"raw id 0", 2, "0", 1, 1},
		{"raw id negative", 2, "-7", 1, 1},
		{"raw id 2^32", 2, "4294967296", 1, 1},
		{"uid empty", 3, "", 1, 1},
		{"no state", 5, "", 1, 1},
		{"bad start", 8, "2026-13-40T00:00:00", 1, 1},
		{"bad task", 1, "7_x", 1, 1},
		{"NaN CPUs", 12, "NaN", 1, 1},
		{"huge CPUs", 12, "1e300", 1, 1},
		{"a field too many", 23, "n" + at + "x", 1, 1},
		{"bad time of eligibility", 21, "2026-13-40T00:00:00", 1, 1},
		{"no time limit", 22, "UNLIMITED", 0, 2},
		{"the partition's time limit", 22, "Partition_Limit", 0, 2},
		{"still running", 9, "Unknown", 0, 2},
		{"ended before it began", 9, "2026-11-20T20:47:08", 0, 2},
	} {
		line := append([]string(nil), good...)
		line[c.field] = c.value
		text := strings.Join(line, at) + "\n" + strings.Join(good, at) + "\n"
		jobs, bad := Parse([]byte(text), at)
		if bad != c.bad || len(jobs) != c.all {
			t.Errorf("%s: %d bad, %d jobs; want %d, %d", c.name, bad, len(jobs), c.bad, c.all)
			continue
		}
		if len(jobs) > 0 && jobs[len(jobs)-1].Name != "n" {
			t.Errorf("%s: the good line became %+v", c.name, jobs[len(jobs)-1])
		}
		if (c.field == 9) != (len(jobs) == 2 && jobs[0].End.IsZero()) || (c.field == 8) != (len(jobs) == 2 && jobs[0].Start.IsZero()) && c.bad == 0 {
			t.Errorf("%s: end %v", c.name, jobs[0].End)
		}
	}
}

// fakeSacct puts a script of that name first in PATH. It may call text to print a line of the
// parsable form.
func fakeSacct(t *testing.T) (dir string, script func(string)) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	const head = `#!/bin/bash
for a; do case $a in --delimiter=*) d=${a#*=};; --json) json=1;; --jobs=*) jobs=${a#*=};; esac; done
for a; do printf '%s\n' "${a/${d:-@@}/D}"; done >>DIR/args; echo "$TZ" >>DIR/args
text() { echo "test${d}$1${d}$1${d}0${d}root${d}COMPLETED${d}0:0${d}2026-11-20T20:47:08${d}2026-11-20T20:47:09${d}2026-11-20T20:48:10${d}61${d}1${d}1${d}n1${d}p${d}q${d}m${d}${d}${d}${d}${d}${d}${d}n"; }
`
	return dir, func(body string) {
		t.Helper()
		os.Remove(filepath.Join(dir, "args"))
		text := strings.ReplaceAll(head, "DIR", dir) + body
		if err := os.WriteFile(filepath.Join(dir, "sacct"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAsk runs a script as sacct: with which arguments, and how it may fail.
func TestAsk(t *testing.T) {
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	var s Sacct
	if _, err := s.ByID(context.Background(), []uint32{1}); !errors.Is(err, ErrNoSlurm) {
		t.Errorf("no sacct: %v", err)
	}
	t.Setenv("PATH", path)
	dir, sacct := fakeSacct(t)
	sacct(`[ "$json" ] && { echo "sacct: unrecognized option" >&2; exit 1; }; text 7`)
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.FixedZone("", 3600))
	jobs, err := s.Between(context.Background(), from, from.Add(time.Hour))
	if err != nil || len(jobs) != 1 || jobs[0].RawID != 7 || jobs[0].WithSteps {
		t.Fatalf("%v, %+v", err, jobs)
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	which := "--allocations\n--starttime=2026-11-19T23:00:00\n--endtime=2026-11-20T00:00:00\nUTC\n"
	want := "--allusers\n--duplicates\n--json\n" + which +
		"--allusers\n--duplicates\n--parsable2\n--noheader\n--noconvert\n--delimiter=D\n--format=" + strings.Join(fields, ",") + "\n" + which
	if d := cmp.Diff(want, string(args)); d != "" {
		t.Error(d)
	}
	// A job that was resized before that time: its first line is asked for.
	sacct(`text 7 | sed s/T20:47:08/T20:48:00/; [ "$jobs" ] && text 7 | sed 's/COMPLETED/RESIZING/; s/T20:48:10/T20:48:00/'; text 8`)
	jobs, err = s.Between(context.Background(), from, from.Add(time.Hour))
	if args, _ := os.ReadFile(filepath.Join(dir, "args")); err != nil || len(jobs) != 3 || jobs[0].RawID != 8 || jobs[2].State != "COMPLETED" || jobs[2].Used == nil || *jobs[2].Used != 61e6 || jobs[2].Submit.Second() != 8 ||
		!strings.Contains(string(args), "--allocations\n--jobs=7\n") {
		t.Errorf("%v, %+v, %s", err, jobs, args)
	}
	sacct("echo 'sacct: error: slurmdbd is away' >&2; exit 1")
	if _, err := s.ByID(context.Background(), []uint32{1, 2}); err == nil || err.Error() != "slurm: sacct: exit status 1: sacct: error: slurmdbd is away" {
		t.Errorf("failing sacct: %v", err)
	}
	ended := filepath.Join(dir, "ended")
	sacct("sleep 60; touch " + ended)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.ByID(ctx, []uint32{1}); err == nil {
		t.Error("hanging sacct: no error")
	}
	if _, err := os.Stat(ended); err == nil {
		t.Error("hanging sacct was waited for")
	}
}

// TestForms: JSON if it works. The parsable form if only that works, and for jobs whose owner
// this machine does not know.
func TestForms(t *testing.T) {
	dir, sacct := fakeSacct(t)
	ask := func(s *Sacct, form string, ids ...uint32) {
		t.Helper()
		jobs, err := s.ByID(context.Background(), []uint32{7})
		var got []uint32
		for _, j := range jobs {
			got = append(got, j.RawID)
			if !j.WithSteps {
				t.Errorf("job %d: its steps were asked for", j.RawID)
			}
		}
		if f, _ := s.Form(); f != form || !slices.Equal(got, ids) || err != nil && len(ids) > 0 {
			t.Errorf("read as %s: %v, %v; want %s: %v", f, got, err, form, ids)
		}
	}
	now := time.Now()
	s := &Sacct{now: func() time.Time { return now }}
	sacct("exit 1")
	ask(s, "json") // slurmdbd is away: nothing is learnt of the forms
	for _, away := range []string{`echo "sacct: error: Problem talking to the database: Connection refused" >&2; exit 1`,
		`echo '{"meta":{},"errors":[{"description":"slurmdbd is away"}],"jobs":[]}'`, "exit 1"} {
		sacct(`[ "$json" ] && { ` + away + `; }; text $jobs`) // it comes back between the two
		ask(s, "json", 7)
	}
	one := strings.ReplaceAll(newJSON, "alice", "root")
	sacct(`[ "$json" ] || exit 1; cat ` + dir + `/answer`)
	os.WriteFile(filepath.Join(dir, "answer"), []byte(one), 0o644)
	ask(s, "json", 26)
	sacct(`[ "$json" ] && cat ` + dir + `/answer || text $jobs`)
	os.WriteFile(filepath.Join(dir, "answer"), []byte(strings.ReplaceAll(one, "root", "nobody-of-here")), 0o644)
	ask(s, "json", 26)
	os.WriteFile(filepath.Join(dir, "answer"), []byte(strings.ReplaceAll(one, `["CANCELLED"]`, "7")), 0o644)
	ask(s, "parsable", 7) // an unknown form
	os.WriteFile(filepath.Join(dir, "answer"), []byte(one), 0o644)
	now = now.Add(jsonAgain - 1)
	ask(s, "parsable", 7)
	now = now.Add(1)
	ask(s, "json", 26)
	for _, cannot := range []string{"fatal: Unable to find plugin: serializer/json", "fatal: data_parser/v0.0.42 not found", "unrecognized option '--json'"} {
		now = now.Add(jsonAgain)
		sacct(`[ "$json" ] && { echo "sacct: ` + cannot + `" >&2; exit 1; }; text $jobs`)
		ask(s, "parsable", 7)
	}
}

// TestTooMuchJSON: JSON has more to say than is read, as of users' long command lines, or takes too
// long. The parsable form is read, which holds none of these, and so it goes on.
func TestTooMuchJSON(t *testing.T) {
	dir, sacct := fakeSacct(t)
	for what, does := range map[string]string{"no end": "exec yes '{\"jobs\":['", "slow": "exec sleep 60"} {
		s := &Sacct{wait: 5 * time.Second}
		sacct(`[ "$json" ] && { echo >>` + dir + `/asked; ` + does + `; }; text 7`)
		for range 2 {
			jobs, err := s.Between(context.Background(), time.Now().Add(-time.Hour), time.Time{})
			if form, _ := s.Form(); err != nil || len(jobs) != 1 || form != "parsable" {
				t.Errorf("%s: %v, %d jobs, read as %s", what, err, len(jobs), form)
			}
		}
		if asked, _ := os.ReadFile(filepath.Join(dir, "asked")); string(asked) != "\n" {
			t.Errorf("%s: asked for JSON %d times", what, len(asked))
		}
		os.Remove(filepath.Join(dir, "asked"))
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/sacct-22.05.8.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, out []byte) {
		jobs, bad := Parse(out, at)
		if lines := strings.Count(string(out), "\n") + 1; len(jobs)+bad > lines {
			t.Errorf("%d jobs and %d bad of %d lines", len(jobs), bad, lines)
		}
		for _, j := range jobs {
			if j.RawID == 0 || j.Start.IsZero() || j.Elapsed < 0 || j.CPUs < 0 || j.Nodes < 0 || !j.End.IsZero() && j.End.Before(j.Start) {
				t.Errorf("accepted %+v", j)
			}
		}
	})
}

// TestParsePieces: slurmdbd may show a job before it knows its user.
func TestParsePieces(t *testing.T) {
	line := func(uid, user string) string {
		return strings.Join([]string{"test", "9", "9", uid, user, "COMPLETED", "0:0", "2026-11-20T20:47:08",
			"2026-11-20T20:47:09", "2026-11-20T20:48:10", "61", "1", "1", "n1", "proj", "normal", "main", "", "", "", "", "", "", "sh"}, at) + "\n"
	}
	for text, want := range map[string]int{line("0", "alice"): 0, line("1001", "alice"): 1, line("0", "root"): 1, line("0", ""): 1} {
		if jobs, bad := Parse([]byte(text), at); len(jobs) != want || bad != 0 {
			t.Errorf("%s: %d jobs, %d bad", text, len(jobs), bad)
		}
	}
}

// TestStepsSettle: Slurm knows the job's end, but not yet the end of a step or what it used.
func TestStepsSettle(t *testing.T) {
	dir, sacct := fakeSacct(t)
	sacct(`cat ` + dir + `/answer`)
	const total = `"total":[{"type":"mem","name":"","id":2,"count":8192}]`
	for name, unsettle := range map[string][2]string{
		"no end":     {`"end":{"set":true,"infinite":false,"number":1744187948}`, `"end":{"set":false,"infinite":false,"number":0}`},
		"no figures": {total, `"total":[]`},
	} {
		for ago, settled := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
			end := fmt.Sprint(time.Now().Add(-ago).Unix())
			text := strings.ReplaceAll(strings.ReplaceAll(newJSON, "alice", "root"), `"end":1744187948`, `"end":`+end)
			text = strings.Replace(text, unsettle[0], unsettle[1], 1)
			os.WriteFile(filepath.Join(dir, "answer"), []byte(text), 0o644)
			jobs, err := new(Sacct).ByID(context.Background(), []uint32{26})
			if err != nil || len(jobs) != 1 || !jobs[0].StepsOpen {
				t.Fatalf("%s: %v, %+v", name, err, jobs)
			}
			if j := jobs[0]; j.WithSteps != settled || (j.Usage != nil) != settled {
				t.Errorf("%s, %v after the end: settled %v, %+v", name, ago, j.WithSteps, j.Usage)
			}
		}
	}
}
