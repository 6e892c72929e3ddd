package job

import (
	"slices"
	"testing"
	"time"

	"jobeff/policy/doubt"
)

// TestUsefulTimes: the bytes are shares of the longest rank of the node, and they are told of all ranks or of none.
func TestUsefulTimes(t *testing.T) {
	n := NodeShare{Ranks: 3, ElapsedMax: 100 * time.Second, UsefulShare: []byte{0, 51, 255}}
	if times, told := n.UsefulTimes(); !told || !slices.Equal(times, []float64{0, 20, 100}) {
		t.Errorf("%v, %v", times, told)
	}
	n.Ranks = 4
	if times, told := n.UsefulTimes(); told {
		t.Errorf("of four ranks three are told: %v", times)
	}
}

// TestIsSingleton: a world of one rank is one on its own only where its step had several tasks.
func TestIsSingleton(t *testing.T) {
	warned := []doubt.Warning{{Code: doubt.WarnTorn}, {Code: doubt.WarnSingletons, Count: 1}}
	for name, c := range map[string]struct {
		e    Execution
		want bool
	}{"alone": {Execution{Size: 1, Warnings: warned}, true}, "one rank": {Execution{Size: 1, Warnings: warned[:1]}, false}, "several": {Execution{Size: 2, Warnings: warned}, false}} {
		if got := c.e.IsSingleton(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRankSecondsOfAJob: those of its executions, or in a list of its figures.
func TestRankSecondsOfAJob(t *testing.T) {
	j := Job{Metrics: &Metrics{Ranks: 4, Elapsed: 10}}
	if got := j.RankSeconds(); got != 40 {
		t.Errorf("in a list: %v", got)
	}
	j.Executions = []Execution{{Size: 2, Nodes: []NodeShare{{Ranks: 2, ElapsedMax: 5 * time.Second}}}, {Size: 4, Nodes: []NodeShare{{Ranks: 4, ElapsedMax: 5 * time.Second}}}}
	if got := j.RankSeconds(); got != 30 {
		t.Errorf("of executions: %v", got)
	}
}
