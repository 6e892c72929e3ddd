package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/view"
)

// TestFoldedExecutions: a job of 5,000 runs says how many there were, lists the costliest of them
// by name, and sums up the rest.
func TestFoldedExecutions(t *testing.T) {
	r := &job.NodeReport{Cluster: "test", JobID: 7, Node: "n1", NNodes: 1, Decision: "on", Start: began, End: began.Add(sec(90000))}
	for i := range 5000 {
		e := execution(2, work{8, 2}, work{6, 4})
		e.Key, e.Executable = "pmix:"+string(rune('a'+i)), "/home/alice/a.out"
		e.Start = began.Add(sec(float64(15 * i)))
		e.End = e.Start.Add(sec(10))
		if i == 4321 {
			e.Nodes[0].ElapsedMax, e.Nodes[0].Useful = sec(40), sec(70)
		}
		r.Executions = append(r.Executions, e)
	}
	r.Executions = assemble.FoldWhole(r.Executions)
	var m assemble.Merger
	m.Add(r)
	j := m.Job()
	var b bytes.Buffer
	if err := textOf(&b, j, nil, nil, Options{Width: 120, Unicode: true}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"5,000 executions of up to 2 ranks", "5,000 executions (MPI programs of this job)", "4,800 other runs of a.out",
		"40.0 s", "jobeff keeps 200 executions of this job one by one", "ranks: 10,000 finalized"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := jsonOf(&b, j, nil, nil); err != nil {
		t.Fatal(err)
	}
	var d view.Job
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range d.Executions {
		n += max(e.Folded, 1)
	}
	if n != 5000 || b.Len() > 2<<20 {
		t.Errorf("%d executions in %d bytes of JSON", n, b.Len())
	}
	if err := pageOf(new(bytes.Buffer), j, nil, nil, Links{}); err != nil {
		t.Error(err)
	}
}

// TestRanksInJSON: a document has what the record says of each rank, and the job's cause.
func TestRanksInJSON(t *testing.T) {
	t.Parallel()
	j := ranked(fixtures()["bad"])
	n := &j.Executions[0].Nodes[0]
	n.UsefulShare[0], n.MPIShare = 51, make([]byte, n.Ranks)
	n.MPIShare[n.Ranks-1] = 255
	var b bytes.Buffer
	if err := jsonOf(&b, j, nil, nil); err != nil {
		t.Fatal(err)
	}
	var d view.Job
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	got := d.Executions[0].NodeList[0]
	if len(got.UsefulShare) != n.Ranks || got.UsefulShare[0] != 0.2 || len(got.MPIShare) != n.Ranks || got.MPIShare[0] != 0 || got.MPIShare[n.Ranks-1] != 1 || got.RankIDs != n.RankIDs {
		t.Errorf("%+v", got)
	}
	if d.Cause == nil || *d.Cause != policy.CauseOf(j).Code || d.CauseText == nil {
		t.Errorf("cause %v, %v", d.Cause, d.CauseText)
	}
}
