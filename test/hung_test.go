package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// wayToHang is one of test/apps/hang.c. Three ranks hang on two nodes.
type wayToHang struct {
	kind   string
	odd    int  // the rank for whom the others wait; -1: nobody can tell
	untold bool // what is seen of it does not suffice
	ends   bool // an MPI may notice, and end the job
}

// waysToHang are all twenty. `make test` tries the first ones.
var waysToHang = []wayToHang{
	{"outside", 2, false, false},
	{"missing_send", 0, false, false},
	{"exits_early", 2, false, true},
	{"dead_peer", 2, false, true},
	{"missing_receive", 0, false, false},
	{"tags", 0, false, false},
	{"circle", -1, false, false},
	{"lock", 0, false, false},
	{"full_pipe", 0, false, false},
	{"finalize", 2, false, false},
	{"wait", 0, false, false},
	{"probe", 0, false, false},
	{"window", 2, false, false},
	{"split", 2, false, false},
	{"child", 0, false, false},
	{"intercomm", 0, false, false},
	{"openmp", 0, false, false},
	{"init", -1, true, false}, // a node without a rank in MPI has nothing to report
	{"iprobe", -1, true, false},
	{"test", -1, true, false},
}

const hungRanks = 3

// hungJob is what `jobeff --json` says of one that hangs.
type hungJob struct {
	State string
	Hung  *struct {
		Since time.Time
		Calls []struct{ Function, Ranks string }
		Odd   []struct {
			Rank, PID int
			Node      string
		}
	}
}

// stays is where a rank of hang.c says that it stays.
type stays struct {
	pid  int
	from time.Time
	call string // "-": outside of MPI; "gone"
}

// TestHung: jobs of each kind of hang, on two nodes of a cluster whose hung_after is some seconds, are told with the
// ranks' own words. A job that gets on beside them is not. All twenty kinds with JOBEFF_TEST_HANGS=1.
func TestHung(t *testing.T) {
	ways, atOnce := waysToHang[:2], 4
	if os.Getenv("JOBEFF_TEST_HANGS") != "" {
		ways = waysToHang
	}
	c, err := newCluster("-hung", 2, fmt.Sprint("CLUSTER_CPUS=", hungRanks*atOnce))
	if err != nil {
		t.Fatal(err)
	}
	defer c.down()
	for _, n := range []string{"n1", "n2"} { // as the timer, without systemd
		c.exec(t, n, "sh", "-c", `echo 'interim = "4s"' >>/etc/jobeff/jobeff.toml
			while sleep .2; do jobeff-ingest interim; jobeff-ingest send --quiet; done >/dev/null 2>&1 </dev/null &`)
	}
	c.exec(t, "ctl", "sed", "-i", `/^\[server\]/a hung_after = "10s"`, "/etc/jobeff/jobeff.toml")
	c.must(t, "", "jobeffd", "stop")
	c.must(t, "", "jobeffd", "start")
	getsOn := c.submit(t, "bob", srun(t, usual)+rounds(t, c, usual)+" 1000000 20", "-N2", "-n2")
	type key struct {
		way wayToHang
		f   family
	}
	var all []key
	for _, w := range ways {
		for _, f := range families {
			all = append(all, key{w, f})
		}
	}
	for part := range slices.Chunk(all, atOnce) {
		ids := map[key]string{}
		for _, k := range part {
			app := build(t, c, k.f.cc, "hang.c", "-pthread", "-fopenmp")
			ids[k] = c.submit(t, "alice", fmt.Sprintf("%s-K0 -n%d %s %s", srun(t, k.f), hungRanks, app, k.way.kind), "-N2", fmt.Sprint("-n", hungRanks), "-t10",
				"--job-name="+k.way.kind)
		}
		told := map[key]*hungJob{}
		var missing []string
		t.Cleanup(func() {
			if len(missing) > 0 {
				t.Logf("nothing was told of %v", missing)
			}
		})
		until(t, "word of the jobs that hang", func() bool {
			missing = nil
			for k, id := range ids {
				if told[k] == nil && !k.way.untold && !(k.way.ends && c.inState(t, id, ended...)) {
					if told[k] = c.hung(t, "alice", id); told[k] == nil {
						missing = append(missing, k.way.kind+" "+k.f.mpi+": "+c.output(t, "alice", id))
					}
				}
			}
			return len(missing) == 0
		})
		for k, id := range ids {
			said := c.staying(t, id)
			t.Run(k.way.kind+" "+k.f.mpi, func(t *testing.T) {
				if k.way.untold {
					if h := c.hung(t, "alice", id); h != nil {
						t.Errorf("told %+v: say so", h.Hung)
					}
					return
				}
				if k.way.ends && told[k] == nil {
					t.Logf("result: %s, %s: the MPI or Slurm noticed, and ended the job", k.way.kind, k.f.name)
					return
				}
				wantHung(t, said, k.way, told[k])
			})
			c.as(t, "alice", "scancel", id)
		}
	}
	if h := c.hung(t, "bob", getsOn); h != nil {
		t.Errorf("told of a job that gets on: %+v", h.Hung)
	}
	c.as(t, "bob", "scancel", getsOn)
}

// hung is what is told of a job; nil: that it does not hang, or not yet.
func (c *cluster) hung(t *testing.T, user, id string) *hungJob {
	t.Helper()
	h, said := new(hungJob), c.try(t, "", "as", user, "jobeff", "--json", id)
	if said.code != 0 || json.Unmarshal([]byte(said.stdout), h) != nil || h.Hung == nil {
		return nil
	}
	return h
}

// staying is where the ranks of a job say that they stay.
func (c *cluster) staying(t *testing.T, id string) map[int]stays {
	t.Helper()
	all := map[int]stays{}
	for line := range strings.Lines(c.output(t, "alice", id)) {
		var rank int
		var s stays
		var second, micro int64
		if n, _ := fmt.Sscanf(line, "rank %d pid %d %d.%d %s", &rank, &s.pid, &second, &micro, &s.call); n == 5 {
			s.from = time.Unix(second, micro*1000)
			all[rank] = s
		}
	}
	return all
}

func wantHung(t *testing.T, said map[int]stays, w wayToHang, told *hungJob) {
	t.Helper()
	if len(said) != hungRanks || told == nil {
		t.Fatalf("%d ranks said where they stay; told %+v", len(said), told)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the ranks say %+v; told %+v", said, told.Hung)
		}
	})
	got, want, each := map[string]string{}, map[string]string{}, strings.NewReplacer("0-2", "0,1,2", "0-1", "0,1", "1-2", "1,2")
	for _, call := range told.Hung.Calls {
		got[call.Function] = each.Replace(call.Ranks)
	}
	var last time.Time
	for _, rank := range slices.Sorted(maps.Keys(said)) {
		s := said[rank]
		call := cmp.Or(map[string]string{"-": "outside MPI", "gone": "ended"}[s.call], s.call)
		want[call] = strings.TrimPrefix(want[call]+","+fmt.Sprint(rank), ",")
		if last.Before(s.from) {
			last = s.from
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("told of ranks in calls %v, want %v", got, want)
	}
	if told.Hung.Since.Before(last.Add(-time.Second)) {
		t.Errorf("since %v, but a rank got on until %v", told.Hung.Since, last)
	}
	odd := -1
	for _, o := range told.Hung.Odd {
		if said[o.Rank].pid != o.PID || odd >= 0 {
			t.Errorf("odd is %+v", o)
		}
		odd = o.Rank
	}
	if want["ended"] == "0,1" { // none is more odd than another
		w.odd = -1
	}
	if odd != w.odd {
		t.Errorf("the odd one is rank %d, want %d", odd, w.odd)
	}
}
