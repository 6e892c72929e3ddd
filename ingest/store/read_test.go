package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	words "jobeff/policy/doubt"
)

// TestIDs: arrays and het jobs are found by every name, before and after sacct told of them.
func TestIDs(t *testing.T) {
	s := open(t)
	for task := uint32(1); task <= 3; task++ {
		r := nodeReport(20+task%3, 1, fmt.Sprint(task), time.Duration(task)*time.Minute) // as in Slurm: 20_3 has the raw id 20
		r.ArrayJobID, r.ArrayTaskID = 20, &task
		add(t, s, r)
	}
	for offset := range uint32(2) {
		r := nodeReport(30+offset, 1, fmt.Sprint("h", offset), time.Hour)
		r.HetJobID = 30
		add(t, s, r)
	}
	add(t, s, nodeReport(41, 1, "x", 2*time.Hour))
	check := func(when string) {
		for id, want := range map[string]string{
			"20_1": "20_1 21", "20_2": "20_2 22", "20_3": "20_3 20", "20": "20_3 20", "21": "20_1 21", "30": "30+0 30", "30+0": "30+0 30",
			"30+1": "30+1 31", "31": "30+1 31", "41": "41 41", "41.0": "41.0 41", "20_2.0": "20_2.0 22",
		} {
			j := aJob(t, s, alice, id, 0)
			if got := fmt.Sprint(j.DisplayID, " ", j.JobID); got != want {
				t.Errorf("%s, %s: got %s, want %s", when, id, got, want)
			}
		}
		for _, id := range []string{"20_4", "30+2", "41_0", "41+0", "42"} {
			ref, _ := slurmid.Parse(id)
			if _, err := s.Job(ctx, alice, ref, 0); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s, %s: %v", when, id, err)
			}
		}
	}
	check("before sacct")
	j := aJob(t, s, alice, "20", 0)
	if w := j.Warnings[len(j.Warnings)-1]; words.Text(w) != "this is 20_3, a part of a job array: see also 20_1, 20_2" {
		t.Errorf("warning %q", words.Text(w))
	}
	task, last, offset, first := uint32(2), uint32(3), uint32(1), uint32(0)
	a := sacct(22, "20_2", "COMPLETED", 0, 2*time.Minute, 3*time.Minute)
	a.ArrayJobID, a.ArrayTaskID = 20, &task
	h := sacct(31, "30+1", "COMPLETED", 0, time.Hour, time.Hour+time.Minute)
	h.HetJobID, h.HetOffset = 30, &offset
	z := sacct(20, "20_3", "COMPLETED", 0, 3*time.Minute, 4*time.Minute)
	z.ArrayJobID, z.ArrayTaskID = 20, &last
	g := sacct(30, "30+0", "COMPLETED", 0, time.Hour, time.Hour+time.Minute)
	g.HetJobID, g.HetOffset = 30, &first
	if _, err := s.AddSlurm(ctx, []slurm.Job{a, h, z, g}); err != nil {
		t.Fatal(err)
	}
	check("after sacct")
}

// TestArrayWithoutItsLastTask: task 50_1 is known, the raw id 50 is not.
func TestArrayWithoutItsLastTask(t *testing.T) {
	s := open(t)
	task := uint32(1)
	r := nodeReport(51, 1, "a", 0)
	r.ArrayJobID, r.ArrayTaskID = 50, &task
	add(t, s, r)
	if j := aJob(t, s, alice, "50", 0); j.DisplayID != "50_1" {
		t.Errorf("got %s", j.DisplayID)
	}
}

func TestSteps(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 1, "a", 0)
	second := r.Executions[0]
	second.Key, second.Steps, second.Start = "k2", []string{"batch"}, day.Add(13*time.Second)
	second.Nodes = []job.NodeShare{{Node: "n1", Ranks: 2, Useful: 2 * time.Second, UsefulMax: time.Second, ElapsedMax: 2 * time.Second, RankIDs: "0-1"}}
	r.Executions = append(r.Executions, second)
	add(t, s, r)
	if j := aJob(t, s, alice, "7", 0); len(j.Executions) != 2 || j.Metrics.Useful != 16 {
		t.Errorf("whole: %d, %+v", len(j.Executions), j.Metrics)
	}
	if j := aJob(t, s, alice, "7.batch", 0); j.DisplayID != "7.batch" || len(j.Executions) != 1 || j.Metrics.Parallel != 0.5 || len(j.Steps) != 1 {
		t.Errorf("batch: %+v", j)
	}
	_, err := s.Job(ctx, alice, slurmid.Ref{ID: 7, Step: "5"}, 0)
	if err == nil || err.Error() != "job 7 has no step 5; it has 0, batch" && err.Error() != "job 7 has no step 5; it has batch, 0" {
		t.Errorf("step 5: %v", err)
	}
}

// TestOthers: no name and no list gives a user the jobs of another.
func TestOthers(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 1, "a", 0)
	task := uint32(3)
	r.ArrayJobID, r.ArrayTaskID = 6, &task
	add(t, s, r)
	mine := nodeReport(8, 1, "b", 0)
	mine.UID = bob.UID
	add(t, s, mine)
	for _, id := range []string{"7", "6", "6_3", "7.0", "7.9"} {
		ref, _ := slurmid.Parse(id)
		if j, err := s.Job(ctx, bob, ref, 0); err != ErrNotFound {
			t.Errorf("%s: %v, %v", id, j, err)
		}
	}
	for _, c := range []struct {
		Viewer
		want int
	}{{bob, 1}, {alice, 1}, {root, 2}, {Viewer{UID: 5}, 0}} {
		v, want := c.Viewer, c.want
		list, err := s.Jobs(ctx, v, listing.JobQuery{}, nil)
		if err != nil || len(list.Jobs) != want {
			t.Errorf("%+v: %v, %v", v, list, err)
		}
		list, err = s.Jobs(ctx, v, listing.JobQuery{}, []uint32{alice.UID})
		if err != nil || len(list.Jobs) > 0 && v.UID != alice.UID && !v.All {
			t.Errorf("%+v of alice: %v, %v", v, list, err)
		}
	}
}

func TestList(t *testing.T) {
	s := open(t)
	for i := range 10 {
		add(t, s, nodeReport(uint32(100+i), 1, "a", time.Duration(i)*time.Hour))
	}
	if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(104, "104", "FAILED", 0, 4*time.Hour, 4*time.Hour+20*time.Second)}); err != nil {
		t.Fatal(err)
	}
	at := func(h time.Duration) time.Time { return day.Add(h * time.Hour) }
	for _, c := range []struct {
		name string
		q    listing.JobQuery
		want string
		more bool
	}{
		{"all", listing.JobQuery{}, "109 108 107 106 105 104 103 102 101 100", false},
		{"limit", listing.JobQuery{Limit: 3}, "109 108 107", true},
		{"limit of all", listing.JobQuery{Limit: 10}, "109 108 107 106 105 104 103 102 101 100", false},
		{"offset", listing.JobQuery{Limit: 3, Offset: 6}, "103 102 101", true},
		{"offset beyond", listing.JobQuery{Offset: 10}, "", false},
		{"detail", listing.JobQuery{Limit: 1, Detail: true}, "109", true},
		{"start", listing.JobQuery{Start: at(8)}, "109 108", false},
		{"start within a job", listing.JobQuery{Start: at(8).Add(10 * time.Second)}, "109 108", false},
		{"end", listing.JobQuery{End: at(2)}, "101 100", false},
		{"between", listing.JobQuery{Start: at(3), End: at(5)}, "104 103", false},
		{"state", listing.JobQuery{State: "FAILED"}, "104", false},
		{"account", listing.JobQuery{Account: "proj", Limit: 1}, "109", true},
		{"another account", listing.JobQuery{Account: "x' OR 1=1 --"}, "", false},
	} {
		list, err := merged(t, s).Jobs(ctx, alice, c.q, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range list.Jobs {
			got = append(got, j.DisplayID)
			if j.Metrics == nil || j.Metrics.Parallel != 14.0/24 || j.Steps != nil || (len(j.Executions) > 0) != c.q.Detail {
				t.Errorf("%s: %+v", c.name, j)
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" || list.More != c.more {
			t.Errorf("%s: more %v: %s", c.name, list.More, d)
		}
	}
}
