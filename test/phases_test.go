package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/report/document"
)

// inCall is when a rank of phases.c was in a call, by its own clock, s since 1970.
type inCall struct {
	phase    int
	from, to float64
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
				script := srun(t, f) + build(t, site, f.cc, "phases.c") + fmt.Sprint(" ", rounds, end)
				id := site.run(t, "alice", script, "-N2", "--ntasks-per-node=2")
				e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
				calls := map[int][]inCall{}
				for line := range strings.Lines(site.output(t, "alice", id)) {
					var rank int
					var c inCall
					if n, _ := fmt.Sscanf(line, "rank %d phase %d %f %f", &rank, &c.phase, &c.from, &c.to); n == 4 {
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
// readings.
func wantTimes(t *testing.T, buckets []document.Bucket, calls map[int][]inCall) {
	t.Helper()
	var seen [3]int
	var got, want [3][3]float64 // by phase: parallel efficiency, load balance, communication efficiency
	for _, b := range buckets {
		from, to := seconds(b.From), seconds(b.To)
		told, phase := true, 0
		var sum, most float64
		for _, rank := range calls {
			useful := to - from
			for _, c := range rank {
				useful -= max(min(c.to, to)-max(c.from, from), 0)
				if c.phase > phase && c.from <= from {
					phase = c.phase
				}
			}
			told = told && rank[0].to <= from && rank[len(rank)-1].to >= to
			sum, most = sum+useful, max(most, useful)
		}
		if !told {
			continue
		}
		n := float64(len(calls))
		seen[phase]++
		for i, v := range [][2]float64{{b.Parallel, sum / n / (to - from)}, {b.LoadBalance, sum / n / most}, {b.Communication, most / (to - from)}} {
			got[phase][i] += v[0]
			want[phase][i] += v[1]
		}
	}
	for phase, n := range seen {
		if n == 0 {
			t.Fatalf("none of %d buckets is in phase %d", len(buckets), phase)
		}
		for i, name := range []string{"parallel efficiency", "load balance", "communication efficiency"} {
			g, w := got[phase][i]/float64(n), want[phase][i]/float64(n)
			t.Logf("phase %d, %d buckets: %s %.4f, by the ranks' clocks %.4f", phase, n, name, g, w)
			if g < w-.02 || g > w+.02 {
				t.Errorf("phase %d: %s %.3f, by the ranks' clocks %.3f", phase, name, g, w)
			}
		}
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }
