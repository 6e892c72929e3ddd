package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
)

// TestCoursesAreSmall: what a job keeps of its course takes at most 4 KiB, whatever its ranks did on as many
// nodes as there are rows, with files and threads, for a week.
func TestCoursesAreSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 32))
	const nodes, ranks, n = job.MostRows, 128, 64
	const shift = 20 // 2^14 s
	each := 16384 * time.Second
	var m assemble.Merger
	for i := range nodes {
		r := &job.NodeReport{Node: fmt.Sprintf("n%04d", i), NNodes: nodes, Decision: "on"}
		for x := range 3 {
			line := job.NewTimeline(shift, job.BucketOf(1_700_000_000e9, shift), n)
			line.Ranks = ranks
			line.IO, line.Threads, line.ThreadsUseful = make([]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n)
			for b := range n {
				line.Elapsed[b] = ranks * each
				if b == 0 || b == n-1 {
					line.Elapsed[b] -= time.Duration(rng.Int64N(1e9))
				}
				line.Useful[b] = time.Duration(rng.Int64N(int64(line.Elapsed[b])))
				line.IO[b] = time.Duration(rng.Int64N(int64(line.Elapsed[b] - line.Useful[b])))
				line.Threads[b] = 4 * line.Elapsed[b]
				line.ThreadsUseful[b] = time.Duration(rng.Int64N(int64(line.Threads[b])))
				for level := range line.Most {
					line.Most[level][(line.First+int64(b))>>level-line.First>>level] += time.Duration(rng.Int64N(int64(each)))
				}
			}
			e := job.Execution{Key: fmt.Sprint("k", x), KeyFrom: "pmix", Size: nodes * ranks, Start: time.Unix(1_700_000_000, 0), Timeline: line, Endings: map[string]int{},
				Nodes: []job.NodeShare{{Node: r.Node, Ranks: ranks, ElapsedMax: time.Hour, ElapsedSum: ranks * time.Hour, RankIDs: fmt.Sprintf("%d-%d", i*ranks, i*ranks+ranks-1)}}}
			e.Nodes[0].Course = job.NewCourse(line, []*job.Timeline{line})
			r.Executions = append(r.Executions, e)
		}
		m.Add(r)
	}
	took, courses := 0, 0
	for _, e := range m.Job().Executions {
		with, err := pack(&e)
		if err != nil {
			t.Fatal(err)
		}
		without, err := withoutRanks(with)
		if err != nil {
			t.Fatal(err)
		}
		took += len(with) - len(without)
		var kept job.Execution
		if err := unpack(without, &kept); err != nil || kept.Timeline != nil || slices.ContainsFunc(kept.Nodes, func(n job.NodeShare) bool { return n.Course != nil }) {
			t.Errorf("a course stays without ranks, %v", err)
		}
		for i := range e.Nodes {
			if e.Nodes[i].Course != nil {
				courses++
			}
		}
	}
	if courses != job.MostRows || took > 4096 {
		t.Errorf("%d rows, and %d bytes", courses, took)
	}
}
