package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/slurmid"
)

// queueLine is a line of squeue, with these fields in place of the usual ones.
func queueLine(delimiter string, other map[string]string) string {
	usual := map[string]string{"JobID": "8", "JobArrayID": "8", "ArrayJobID": "8", "HetJobID": "0", "UserID": "1000", "UserName": "alice", "Account": "chem", "Partition": "main,big", "QOS": "normal",
		"NumNodes": "2-4", "NumCPUs": "64", "tres-alloc": "cpu=64,mem=128G,node=2,billing=64,gres/gpu=4", "TimeLimit": "1-00:30:00",
		"SubmitTime": "2026-11-20T08:00:00", "EligibleTime": "2026-11-20T08:00:01", "StartTime": "2026-11-20T18:00:00", "Reason": "Priority", "Name": "md"}
	var b strings.Builder
	for _, f := range queueFields {
		value, is := other[f]
		if !is {
			value = usual[f]
		}
		b.WriteString(value + delimiter)
	}
	return b.String() + "\n"
}

func onDay(hour, minute, second int) time.Time {
	return time.Date(2026, 11, 20, hour, minute, second, 0, time.UTC)
}

// TestQueue: every field of a line is read; words for what is not known are none.
func TestQueue(t *testing.T) {
	got, left, err := parseQueue([]byte(queueLine("@", nil)+queueLine("@", map[string]string{"JobID": "9", "JobArrayID": "9_[3-60%4]", "ArrayJobID": "9", "NumNodes": "1",
		"tres-alloc": "cpu=1,mem=400M,node=1", "TimeLimit": "UNLIMITED", "EligibleTime": "N/A", "StartTime": "N/A", "Reason": "None"})), "@", "test", 10)
	if err != nil || left != 0 || len(got) != 2 {
		t.Fatal(got, left, err)
	}
	want := slurmid.Pending{Cluster: "test", ID: "8", JobID: 8, UID: 1000, User: "alice", Account: "chem", Partition: "main,big", QOS: "normal", Name: "md", Nodes: 2, CPUs: 64, GPUs: 4,
		Memory: 128 << 30, TimeLimit: 24*3600 + 1800, Submit: onDay(8, 0, 0), Eligible: onDay(8, 0, 1), Expected: onDay(18, 0, 0), Reason: "Priority"}
	if got[0] != want {
		t.Errorf("%+v\nwant %+v", got[0], want)
	}
	want = slurmid.Pending{Cluster: "test", ID: "9_[3-60%4]", JobID: 9, ArrayJobID: 9, Tasks: 58, UID: 1000, User: "alice", Account: "chem", Partition: "main,big", QOS: "normal", Name: "md", Nodes: 1, CPUs: 64,
		Memory: 400 << 20, Submit: onDay(8, 0, 0), Reason: "None"}
	if got[1] != want {
		t.Errorf("%+v\nwant %+v", got[1], want)
	}
}

// TestHostileQueue: a name with line breaks and what looks like a line is a name. A line that cannot be read is left out,
// and the others are not. Of a long queue the first lines are kept, and the others counted.
func TestHostileQueue(t *testing.T) {
	forged := "a\n" + queueLine("|", map[string]string{"UserID": "0"}) + "\x1b]0;x\a=HYPERLINK(1)"
	text := queueLine("@", map[string]string{"Name": forged}) + queueLine("@", map[string]string{"JobID": "x"}) + queueLine("@", map[string]string{"JobID": "10", "SubmitTime": "soon"}) +
		queueLine("@", map[string]string{"JobID": "9", "JobArrayID": "nine"}) + queueLine("@", map[string]string{"JobID": "12", "NumCPUs": "-1"}) + queueLine("@", map[string]string{"JobID": "11"})
	got, left, err := parseQueue([]byte(text), "@", "test", 10)
	if err != nil || left != 4 || len(got) != 2 || got[0].UID != 1000 || got[1].JobID != 11 {
		t.Fatalf("%+v, %d left, %v", got, left, err)
	}
	if strings.ContainsAny(got[0].Name, "\n\x1b\a") || !strings.HasPrefix(got[0].Name, "a?8|") {
		t.Errorf("name %q", got[0].Name)
	}
	for _, text := range []string{"down", "8@8@", queueLine("@", map[string]string{"JobID": "x"})} {
		if got, _, err := parseQueue([]byte(text), "@", "test", 10); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got, left, err := parseQueue([]byte(strings.Repeat(queueLine("@", nil), 12)), "@", "test", 10); err != nil || left != 2 || len(got) != 10 {
		t.Errorf("%d lines, %d left, %v", len(got), left, err)
	}
	if got, left, err := parseQueue(nil, "@", "test", 10); err != nil || left != 0 || len(got) != 0 {
		t.Errorf("of an empty queue: %v, %d left, %v", got, left, err)
	}
}

// TestReadQueue: squeue is asked once, for all that waits and nothing else. The cluster's name is slurmctld's.
func TestReadQueue(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for name, script := range map[string]string{
		"squeue":   "echo \"$@\" >" + dir + "/asked; for a; do case $a in --Format=*) d=${a##*:};; esac; done; " + fmt.Sprintf("printf %%s\\\\n \"%s\"", strings.TrimSuffix(queueLine("${d}", nil), "\n")),
		"scontrol": "echo 'Configuration data as of now'; echo 'ClusterName             = zeta'",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cluster, err := Commands{}.ReadCluster(t.Context())
	if err != nil || cluster != "zeta" {
		t.Fatal(cluster, err)
	}
	got, left, err := Commands{}.ReadQueue(t.Context(), cluster, 10)
	if err != nil || left != 0 || len(got) != 1 || got[0].Cluster != "zeta" || got[0].Name != "md" {
		t.Fatal(got, left, err)
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	for _, want := range []string{"--noheader", "--local", "--all", "--states=PENDING", "--sort=-p"} {
		if !strings.Contains(string(asked), want) {
			t.Errorf("asked %s, and not %s", asked, want)
		}
	}
}

// FuzzQueue: whatever squeue prints, no line has more than the bounds, and nothing crashes.
func FuzzQueue(f *testing.F) {
	f.Add([]byte(queueLine("@", nil)))
	f.Add([]byte(queueLine("@", map[string]string{"JobArrayID": "9_[1,3,...]", "Name": "\x00\n@"})))
	f.Fuzz(func(t *testing.T, out []byte) {
		got, left, err := parseQueue(out, "@", "c", 3)
		if len(got) > 3 || left < 0 || err != nil && len(got) > 0 {
			t.Fatalf("%d lines, %d left, %v", len(got), left, err)
		}
		for i := range got {
			if p := &got[i]; p.JobID == 0 || len(p.Name) > mostText || p.Nodes < 0 || p.CPUs < 0 || p.Memory < 0 || p.TimeLimit < 0 || p.Tasks < 0 {
				t.Fatalf("%+v", p)
			}
		}
	})
}
