package preload

import (
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// TestTimeline: three phases of known efficiency, however long the run and however it ends. Each
// bucket that lies in one phase has its efficiency, and all buckets come to the sums of the run.
func TestTimeline(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "phases.c")
		for _, tt := range []struct {
			name   string
			rounds string
			phase  time.Duration
			end    []string
		}{{"half a second", "8", 160 * time.Millisecond, nil}, {"half a minute", "500", 10 * time.Second, nil}, {"killed", "100", 2 * time.Second, []string{"kill"}}} {
			t.Run(tt.name, func(t *testing.T) {
				file := newRecord(t)
				r := mpirun(t, f, onClock(t, f.cc, file), 2, program, append([]string{tt.rounds}, tt.end...)...)
				if tt.end == nil {
					mustRun(t, r)
				}
				report, err := node.FoldFile(file, node.ThisMachine())
				must(t, err)
				e := &report.Executions[0]
				line := e.Timeline
				if line == nil {
					t.Fatalf("no timeline in %+v", e)
				}
				var useful, elapsed time.Duration
				for i := range line.Elapsed {
					useful, elapsed = useful+line.Useful[i], elapsed+line.Elapsed[i]
				}
				if n := &e.Nodes[0]; useful != n.Useful || elapsed != n.ElapsedSum || line.MostWhole != n.UsefulMax {
					t.Errorf("useful %v of %v, most %v; the run has %v of %v, most %v", useful, elapsed, line.MostWhole, n.Useful, n.ElapsedSum, n.UsefulMax)
				}
				// A round is 20 ms: in a bucket of less, its work and its waiting are apart.
				want := []float64{1, .5, .75}
				seen := [3]int{}
				var spent, whole [3]float64
				for i, b := range line.Buckets() {
					phase := int(b.From.Sub(e.Start) / tt.phase)
					if b.From.Before(e.Start) || phase > 2 || int(b.To.Sub(e.Start)/tt.phase) != phase {
						continue
					}
					seen[phase]++
					spent[phase] += line.Useful[i].Seconds()
					whole[phase] += line.Elapsed[i].Seconds()
				}
				for phase, pe := range want {
					if seen[phase] < 5 {
						t.Errorf("phase %d has %d buckets of 2^%d s", phase, seen[phase], line.Shift)
					}
					// the phase's first and last round are cut
					if got := spent[phase] / whole[phase]; got < pe-.02 || got > pe+.02 {
						t.Errorf("phase %d: efficiency %.3f, want %.3f", phase, got, pe)
					}
				}
				if job.BucketBegin(line.First, line.Shift) > e.Start.UnixNano() {
					t.Errorf("the first bucket begins after the run")
				}
			})
		}
	})
}
