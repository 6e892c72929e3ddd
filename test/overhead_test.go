package test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOverhead: an ordinary user measures a partition from node to node with each MPI. Root
// imports that. From then on, jobs of this MPI are told what computing could hide.
func TestOverhead(t *testing.T) { // not parallel: others' jobs would take its processors
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			id := site.run(t, "alice", srun(t, f)+build(t, site, f.cc, "counts.c"), "-N2", "-n2")
			if d := site.jobeff(t, "alice", id); d.Hidable != nil {
				t.Errorf("without a curve: %+v", d.Hidable)
			}
			curve := curveOf(t, f)
			atOnce := strings.ReplaceAll(curve, `"pairs": 1`, `"pairs": 2`) // pairs that share a network have no curve of it
			if r := site.try(t, atOnce, "exec", "ctl", "jobeff", "admin", "overhead", "import", "-"); !strings.Contains(r.stderr, "2 pairs at once") {
				t.Errorf("%+v", r)
			}
			if out := site.must(t, curve, "exec", "ctl", "jobeff", "admin", "overhead", "import", "-"); out != "1 curve added, 0 known\n" {
				t.Error(out)
			}
			if out := site.exec(t, "ctl", "jobeff", "admin", "overhead"); !strings.Contains(out, f.name) {
				t.Error(out)
			}
			h := site.jobeff(t, "alice", id).Hidable
			if h == nil || !(h.Low <= h.Most && h.Most <= h.High && h.High <= h.P2PTime) || h.P2PTime <= 0 || len(h.Curves) != 1 ||
				!strings.HasPrefix(h.Curves[0].MPI, f.name) || h.Curves[0].Nodes != 2 {
				t.Errorf("%+v", h)
			}
			if out := site.as(t, "alice", "jobeff", "explain", id); !strings.Contains(out, "by the curve of partition ") {
				t.Error(out)
			}
		})
	}
}

// curveOf is what jobeff-overhead prints of two sizes, over two nodes. It takes few samples: ranks that
// ask again and again whether a message came are slow where they share CPUs.
func curveOf(t *testing.T, f family) string {
	t.Helper()
	id := site.run(t, "alice", srun(t, f)+"jobeff-overhead --json -i 5 -m 8,65536", "-N2", "-n2")
	text := site.output(t, "alice", id)
	var rows []struct {
		Msgsize, Nodes, Pairs int
		Cluster, Partition    string
		BaseT                 float64 `json:"base_t"`
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	for _, r := range rows {
		if r.Nodes != 2 || r.Cluster == "" || r.Partition == "" || r.BaseT <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if len(rows) != 2 {
		t.Fatal(text)
	}
	return text
}
