package job_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
)

// TestCoursesFit: the rows of any nodes come into the execution's buckets, at most MostRows of them, each
// share the mean of those that are in it, whoever comes first.
func TestCoursesFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 32))
	for range 60 {
		nodes := 1 + rng.IntN(100)
		var m, back assemble.Merger
		reports := make([]*job.NodeReport, nodes)
		for i := range reports {
			one := job.RandomTimeline(rng)
			if i == 0 && rng.IntN(2) == 0 {
				one.Elapsed[0], one.Useful[0] = 0, 0
			}
			id := strconv.Itoa(i)
			e := job.Execution{Key: "k", KeyFrom: "pmix", Size: nodes, Start: time.Unix(1_700_000_000, 0), Timeline: one, Endings: map[string]int{},
				Nodes: []job.NodeShare{{Node: "n" + fmt.Sprintf("%03d", i), Ranks: 1, RankIDs: id, Course: job.NewCourse(one, []*job.Timeline{one})}}}
			reports[i] = &job.NodeReport{Node: e.Nodes[0].Node, NNodes: nodes, Decision: "on", Executions: []job.Execution{e}}
			m.Add(reports[i])
		}
		for _, r := range slices.Backward(reports) {
			back.Add(r)
		}
		e := &m.Job().Executions[0]
		if d := cmp.Diff(e, &back.Job().Executions[0]); d != "" {
			t.Fatal(d)
		}
		rows, told := 0, 0
		for i := range e.Nodes {
			c := e.Nodes[i].Course
			if c == nil {
				continue
			}
			for k, share := range c.Shares(0) {
				want, of := 0.0, 0
				for _, r := range reports[i : i+max(c.Nodes, 1)] {
					one := r.Executions[0].Timeline
					for b, elapsed := range one.Elapsed {
						if elapsed > 0 && (one.First+int64(b))>>(e.Timeline.Shift-one.Shift) == e.Timeline.First+int64(k) {
							want, of = want+float64(one.Useful[b])/float64(elapsed), of+1
						}
					}
				}
				if of == 0 && share >= 0 || of > 0 && math.Abs(share-want/float64(of)) > 1.01/61 {
					t.Fatalf("%d nodes, row %d, bucket %d: %.3f, want %.3f of %d", nodes, rows, k, share, want/float64(of), of)
				}
			}
			rows, told = rows+len(c.Rows), told+max(c.Nodes, 1)
			if len(c.Rows[0]) != len(e.Timeline.Elapsed) {
				t.Fatalf("row %+v of %+v", c, e.Timeline)
			}
		}
		if rows > job.MostRows || told != nodes {
			t.Fatalf("%d rows of %d nodes of %d", rows, told, nodes)
		}
		if reports[0].Executions[0].Nodes[0].Course.Nodes != 0 {
			t.Fatal("the report was changed")
		}
	}
}
