package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
)

// TestFakeBetweenAttempts: a report of n9 comes among the reports and lines of honest attempts, in
// any order. They find together as without it, and it shows nowhere.
func TestFakeBetweenAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	on := func(r *job.NodeReport, node string) *job.NodeReport {
		r.Node, r.NodeList = node, node
		r.Executions[0].Nodes[0].Node = node
		return r
	}
	line := func(id, state, node string, submit, start, end time.Duration) slurm.Job {
		j := sacct(7, id, state, submit, start, end)
		j.NodeList = node
		return j
	}
	const late, run, minutes = 150 * time.Second, 21 * time.Second, 3 * time.Minute
	first, second := line("7", "REQUEUED", "n1", 0, 0, run), line("7", "COMPLETED", "n2", run, late, late+run)
	wrapped := line("7", "COMPLETED", "n2", 240*time.Hour, 240*time.Hour, 240*time.Hour+run)
	array, het := line("6_3", "COMPLETED", "n1", 0, 0, run), line("6+1", "COMPLETED", "n1", 0, 0, run)
	task, offset := uint32(3), uint32(1)
	array.ArrayJobID, array.ArrayTaskID = 6, &task
	het.HetJobID, het.HetOffset = 6, &offset
	inArray, inHet, full := on(nodeReport(7, 1, "a", 0), "n1"), on(nodeReport(7, 1, "a", 0), "n1"), on(nodeReport(7, 1, "a", 0), "n1.site")
	inArray.ArrayJobID, inArray.ArrayTaskID, inHet.HetJobID = 6, &task, 6
	fakes := map[string]func(r *job.NodeReport){
		"over all attempts": func(r *job.NodeReport) { r.Start, r.End = day.Add(-time.Hour), day.Add(1000*time.Hour) },
		"at the same time":  func(*job.NodeReport) {},
		"between":           func(r *job.NodeReport) { r.Start, r.End = day.Add(85*time.Second), day.Add(86*time.Second) },
		"another user's":    func(r *job.NodeReport) { r.UID = bob.UID },
		"tomorrow, of another array": func(r *job.NodeReport) {
			r.ArrayJobID, r.ArrayTaskID, r.NNodes = 5, &offset, 1e6
			r.Start, r.End = day.Add(oneDay), day.Add(oneDay)
		},
	}
	for _, c := range []struct {
		name string
		come []any
		want string // state, nodes and id of each attempt
	}{
		{"one", []any{line("7", "COMPLETED", "n1", 0, 0, run), on(nodeReport(7, 1, "a", 0), "n1")}, "COMPLETED n1 7"},
		{"requeued, on another node", []any{first, second, on(nodeReport(7, 1, "a", 0), "n1"), on(nodeReport(7, 1, "b", late), "n2")}, "COMPLETED n2 7, REQUEUED n1 7"},
		{"the id is used again", []any{line("7", "FAILED", "n1", 0, 0, run), wrapped, on(nodeReport(7, 1, "a", 0), "n1"), on(nodeReport(7, 1, "b", 240*time.Hour), "n2")},
			"COMPLETED n2 7, FAILED n1 7"},
		{"a clock is ahead", []any{line("7", "COMPLETED", "n1", -time.Second, 0, run), on(nodeReport(7, 1, "a", minutes), "n1")}, "COMPLETED n1 7"},
		{"a clock is behind", []any{line("7", "COMPLETED", "n1", -time.Second, 0, run), on(nodeReport(7, 1, "a", -minutes), "n1")}, "COMPLETED n1 7"},
		{"a clock is off by hours", []any{line("7", "COMPLETED", "n1", 0, 0, run), on(nodeReport(7, 1, "a", 5*time.Hour), "n1")}, "COMPLETED  7"},
		{"a full name", []any{line("7", "COMPLETED", "n1", 0, 0, run), full}, "COMPLETED n1.site 7"},
		{"a task of an array", []any{array, inArray}, "COMPLETED n1 6_3"},
		{"a component", []any{het, inHet}, "COMPLETED n1 6+1"},
	} {
		for name, change := range fakes {
			fake := on(nodeReport(7, 1, "f", 0), "n9")
			change(fake)
			all := append([]any{fake}, c.come...)
			for seed := range uint64(8) {
				s := open(t)
				for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(all)) {
					switch what := all[i].(type) {
					case *job.NodeReport:
						addReport(s, what) // the fake may be refused
					case slurm.Job:
						addLines(t, s, what)
					}
				}
				if d := cmp.Diff(c.want, shownAttempts(t, s)); d != "" {
					t.Errorf("%s, fake %s, order %d: %s", c.name, name, seed, d)
				}
				s.Close()
			}
		}
	}
}

// shownAttempts lists what people see once sacct was read: each attempt's state, the nodes that
// its figures are of, and its id.
func shownAttempts(t *testing.T, s *Store) string {
	t.Helper()
	if err := s.SetMark(ctx, "sacct_read", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	list, err := merged(t, s).Jobs(ctx, root, listing.JobQuery{Detail: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range list.Jobs {
		var nodes []string
		for _, x := range j.Executions {
			for _, n := range x.Nodes {
				nodes = append(nodes, n.Node)
			}
		}
		got = append(got, fmt.Sprintf("%s %s %s", j.State, strings.Join(nodes, "+"), j.DisplayID))
	}
	slices.Sort(got)
	return strings.Join(got, ", ")
}

// TestFakeArrayID: root of a node makes up a job whose id is that of an array, or of a heterogeneous
// job. Who asks for that id sees what Slurm told of.
func TestFakeArrayID(t *testing.T) {
	three, one := uint32(3), uint32(1)
	inArray, inHet := sacct(7, "6_3", "COMPLETED", 0, 0, 21*time.Second), sacct(8, "9+1", "COMPLETED", 0, 0, 21*time.Second)
	inArray.ArrayJobID, inArray.ArrayTaskID = 6, &three
	inHet.HetJobID, inHet.HetOffset = 9, &one
	s := open(t)
	addLines(t, s, inArray, inHet)
	for made, want := range map[uint32]uint32{6: 7, 9: 8} {
		if _, err := addReport(s, nodeReport(made, 9, "f", time.Hour)); err != nil {
			t.Fatal(err)
		}
		if j, err := s.Job(ctx, alice, slurmid.Ref{ID: made}, 0); err != nil || j.JobID != want || j.Unconfirmed {
			t.Errorf("%d: %+v, %v", made, j, err)
		}
	}
	if _, err := addReport(s, nodeReport(10, 1, "a", 0)); err != nil {
		t.Fatal(err)
	}
	if j, err := s.Job(ctx, alice, slurmid.Ref{ID: 10}, 0); err != nil || !j.Unconfirmed {
		t.Errorf("what only nodes tell of: %+v, %v", j, err)
	}
}

// TestMadeUpArrayID: root of a node says of a job that ran there that it is a task of an array, or a part of a
// heterogeneous job, that ran elsewhere. Slurm's word counts, whichever comes first.
func TestMadeUpArrayID(t *testing.T) {
	three, one := uint32(3), uint32(1)
	inArray, inHet := sacct(7, "6_3", "COMPLETED", 0, 0, 21*time.Second), sacct(8, "9+1", "COMPLETED", 0, 0, 21*time.Second)
	inArray.ArrayJobID, inArray.ArrayTaskID = 6, &three
	inHet.HetJobID, inHet.HetOffset = 9, &one
	made := nodeReport(20, 1, "f", time.Hour)
	made.ArrayJobID, made.ArrayTaskID, made.HetJobID = 6, &three, 9
	line := sacct(20, "20", "COMPLETED", time.Hour, time.Hour, time.Hour+21*time.Second)
	for _, told := range []bool{true, false} {
		s := open(t)
		addLines(t, s, inArray, inHet)
		if told {
			addLines(t, s, line)
		}
		add(t, s, made)
		merged(t, s)
		addLines(t, s, line)
		for id, want := range map[string]uint32{"6_3": 7, "6": 7, "9": 8, "20": 20} {
			if j := aJob(t, s, alice, id, 0); j.JobID != want || slices.ContainsFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnPart }) {
				t.Errorf("told at first: %v: %s is job %d, %v", told, id, j.JobID, j.Warnings)
			}
		}
	}
}
