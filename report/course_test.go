package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// TestCourseMap: each rank or node has its row with its name, and sections stand over them where it is
// known when they ran.
func TestCourseMap(t *testing.T) {
	page := func(change func(e *job.Execution)) string {
		j := ranked(fixtures()["bad"])
		change(&j.Executions[0])
		m := viewOf(j, nil, nil, true).Words().CourseMap
		if m.Alt == "" {
			return ""
		}
		return m.Alt + string(m.Picture().HTML())
	}
	section := func(label string, most uint64, in ...int) job.Section {
		s := job.Section{Label: label, Ranks: 4, Elapsed: time.Minute, Instances: &job.Instances{Least: most, Most: most}}
		for _, i := range in {
			from := began.Add(sec(float64(i)))
			s.Instances.Kept = append(s.Instances.Kept, job.Instance{In: from.UnixNano(), Out: from.Add(sec(20)).UnixNano()})
		}
		return s
	}
	for _, tt := range []struct {
		name   string
		change func(e *job.Execution)
		seen   []string
		not    []string
	}{
		{"ranks", func(e *job.Execution) {}, []string{"of ranks, over time", ">n1: 0<", ">n2: 3<", "4 finalized", `class="s-faint" fill="none" stroke-width="2"`}, []string{"f-fast"}},
		{"a bad end", func(e *job.Execution) { e.Endings = map[string]int{"signal 9 (SIGKILL)": 4} }, []string{"4 signal 9 (SIGKILL)", "s-bad"}, nil},
		{"it runs", func(e *job.Execution) { e.Endings = map[string]int{job.EndingRunning: 4} }, []string{"The line marks until when it is known (ranks: 4 running)"}, []string{"s-bad"}},
		{"ranks that share a row", func(e *job.Execution) { e.Nodes[0].Ranks, e.Nodes[0].RankIDs = 4, "0,2-4" }, []string{">n1: 0,2<", ">n1: 3-4<"}, nil},
		{"nodes", func(e *job.Execution) {
			for i := range e.Nodes {
				e.Nodes[i].Course = &job.Course{Rows: e.Nodes[i].Course.Rows[:1]}
			}
		}, []string{"of nodes, over time", ">n1<", ">n2<"}, nil},
		{"nodes that share a row", func(e *job.Execution) {
			n, row := e.Nodes[0], e.Nodes[0].Course.Rows[:1]
			e.Nodes = nil
			for i := range 4 {
				n.Node, n.Ranks, n.Course = fmt.Sprint("n", i), 64, nil
				if i%2 == 0 {
					n.Course = &job.Course{Rows: row, Nodes: 2}
				}
				e.Nodes = append(e.Nodes, n)
			}
		}, []string{">n0 to n1<", ">n2 to n3<"}, nil},
		{"one row", func(e *job.Execution) {
			e.Nodes[1].Course, e.Nodes[0].Course = nil, &job.Course{Rows: e.Nodes[0].Course.Rows[:1]}
		}, nil, []string{"svg"}},
		{"sections", func(e *job.Execution) {
			e.Sections = []job.Section{section("solve", 2, 10, 40), section("often", 99, 10, 40)}
		},
			[]string{">solve<", "solve: 2026-11-20 12:00:10 to 12:00:30", "solve: 2026-11-20 12:00:40"}, []string{"often"}},
	} {
		got := page(tt.change)
		for _, want := range tt.seen {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not seen in %s", tt.name, want, got)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q is seen in %s", tt.name, not, got)
			}
		}
	}
}
