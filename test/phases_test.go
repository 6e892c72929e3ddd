package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
)

// inCall is when a rank of phases.c was in a call, by its own clock, s since 1970: outside of the library, and
// behind it. Between the two a rank may wait for a CPU, and be in MPI or not.
type inCall struct {
	phase        int
	outer, inner [2]float64
}

// in is how long one of its stretches is between two moments.
func in(call [2]float64, from, to float64) float64 {
	return max(min(call[1], to)-max(call[0], from), 0)
}

// TestPhases: over two nodes, the efficiencies over time are those of the ranks' own clocks in each of
// three phases, also if the job is killed in the third.
func TestPhases(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		for _, end := range []string{"", " kill"} {
			t.Run(f.name+end, func(t *testing.T) {
				t.Parallel()
				const ranks, rounds = 4, 60
				inner := build(t, site, f.cc, "inner.c", "-shared", "-fPIC")
				script := srun(t, f) + build(t, site, f.cc, "phases.c", inner) + fmt.Sprint(" ", rounds, end)
				id := site.run(t, "alice", script, "-N2", "--ntasks-per-node=2")
				e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
				calls := map[int][]inCall{}
				for line := range strings.Lines(site.output(t, "alice", id)) {
					var rank int
					var c inCall
					if n, _ := fmt.Sscanf(line, "rank %d phase %d %f %f %f %f", &rank, &c.phase, &c.outer[0], &c.outer[1], &c.inner[0], &c.inner[1]); n == 6 {
						calls[rank] = append(calls[rank], c)
					}
				}
				if len(calls) != ranks || len(e.NodeList) != 2 {
					t.Fatalf("%d ranks said something, on %d nodes", len(calls), len(e.NodeList))
				}
				if killed := e.Endings["signal 9 (SIGKILL)"]; (killed > 0) != (end != "") {
					t.Errorf("endings %v", e.Endings)
				}
				wantTimes(t, e.Timeline, calls)
				page := filepath.Join(site.home("alice"), id+".html")
				site.as(t, "alice", "jobeff", "report", id, "--html", page)
				text, err := os.ReadFile(page)
				if err != nil || !strings.Contains(string(text), "Useful part of the time of ranks, over time") {
					t.Errorf("the page of job %s has no map of its ranks over time, %v", id, err)
				}
			})
		}
	}
}

// wantTimes compares the buckets in each phase, as far as all ranks told of them, with the ranks' own
// readings: a rank is in MPI at least as long as the clock behind the library says, and at most as long as the
// one outside of it does.
func wantTimes(t *testing.T, buckets []view.Bucket, calls map[int][]inCall) {
	t.Helper()
	var seen [3]int
	var got, least, most [3][3]float64 // by phase: parallel efficiency, load balance, communication efficiency
	for _, b := range buckets {
		from, to := seconds(b.From), seconds(b.To)
		told, phase := true, 0
		var low, high, lowest, highest float64 // useful time: the sum, and the longest of a rank
		for _, rank := range calls {
			outer, inner := to-from, to-from
			for _, c := range rank {
				outer -= in(c.outer, from, to)
				inner -= in(c.inner, from, to)
				if c.phase > phase && c.outer[0] <= from {
					phase = c.phase
				}
			}
			told = told && rank[0].outer[1] <= from && rank[len(rank)-1].outer[1] >= to
			low, high, lowest, highest = low+outer, high+inner, max(lowest, outer), max(highest, inner)
		}
		if !told {
			continue
		}
		n := float64(len(calls))
		seen[phase]++
		for i, v := range [][3]float64{
			{b.Parallel, low / n / (to - from), high / n / (to - from)},
			{b.LoadBalance, low / n / highest, min(high/n/lowest, 1)},
			{b.Communication, lowest / (to - from), highest / (to - from)},
		} {
			got[phase][i] += v[0]
			least[phase][i] += v[1]
			most[phase][i] += v[2]
		}
	}
	for phase, n := range seen {
		if n == 0 {
			t.Fatalf("none of %d buckets is in phase %d", len(buckets), phase)
		}
		for i, name := range []string{"parallel efficiency", "load balance", "communication efficiency"} {
			g, from, to := got[phase][i]/float64(n), least[phase][i]/float64(n), most[phase][i]/float64(n)
			t.Logf("phase %d, %d buckets: %s %.4f, by the ranks' clocks %.4f to %.4f", phase, n, name, g, from, to)
			if g < from-.01 || g > to+.01 {
				t.Errorf("phase %d: %s %.3f, by the ranks' clocks %.3f to %.3f", phase, name, g, from, to)
			}
		}
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }
