package test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"jobeff/test/load"
)

// TestOverhead: an ordinary user measures a partition from node to node with each MPI. Root
// imports that. From then on, jobs of this MPI are told what computing could hide.
func TestOverhead(t *testing.T) {
	skipIfBusy(t) // not parallel: others' jobs would take its processors
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			id := site.run(t, "alice", srun(t, f)+killHung+build(t, site, f.cc, "counts.c"), "-N2", "-n2")
			if d := site.jobeff(t, "alice", id); d.Hidable != nil {
				t.Errorf("without a curve: %+v", d.Hidable)
			}
			curve := curveOf(t, f, "-N2 -n2", "")
			t.Run("pairs at once", func(t *testing.T) { refuseTwoPairs(t, f) })
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

// refuseTwoPairs: pairs that share a network have no curve of it.
func refuseTwoPairs(t *testing.T, f family) {
	load.SkipIfFew(t, 4)
	atOnce := curveOf(t, f, "-N2 --ntasks-per-node=2", " --pairs all")
	if r := site.try(t, atOnce, "exec", "ctl", "jobeff", "admin", "overhead", "import", "-"); !strings.Contains(r.stderr, "2 pairs at once") {
		t.Errorf("%+v", r)
	}
}

// skipIfBusy skips where other programs keep half of the processors busy. JOBEFF_TEST_ALL runs it
// anyhow.
func skipIfBusy(t *testing.T) {
	t.Helper()
	if os.Getenv("JOBEFF_TEST_ALL") == "" {
		load.SkipIfBusy(t, 0.5, "ranks that wait by asking again and again then take minutes")
	}
}

// curveOf is what jobeff-overhead prints of two sizes, over two nodes.
func curveOf(t *testing.T, f family, where, options string) string {
	t.Helper()
	id := site.run(t, "alice", srun(t, f)+"jobeff-overhead --json -m 8,65536"+options, strings.Fields(where)...)
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
