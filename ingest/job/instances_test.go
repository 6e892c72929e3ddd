package job_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/slurmid"
)

// stay is one rank's T_in and T_out, s.
type stay struct{ in, out float64 }

// ofRank is the section "halo" of one rank that was in it as told.
func ofRank(stays ...stay) job.Section {
	s := job.Section{Label: "halo", Ranks: 1, Count: uint64(len(stays)), Instances: &job.Instances{Least: uint64(len(stays)), Most: uint64(len(stays))}}
	for i, one := range stays {
		moment := func(s float64) int64 { return jobtest.Start.UnixNano() + int64(math.Round(s*1e9)) }
		s.Instances.Kept = append(s.Instances.Kept, job.Instance{Number: uint64(i + 1), In: moment(one.in), Out: moment(one.out)})
	}
	return s
}

// onNodes are the ranks of an execution, of which node i has so many as nodes[i].
func onNodes(ranks []job.Section, boot func(node int) string, clock time.Duration, nodes ...int) []job.Execution {
	var parts []job.Execution
	first := 0
	for i, n := range nodes {
		sums := job.SectionSums{}
		for j := range ranks[first : first+n] {
			sums.At("halo").Add(&ranks[first+j])
		}
		parts = append(parts, job.Execution{Key: "k", KeyFrom: "pmix", Size: len(ranks), Endings: map[string]int{job.EndingFinalized: n}, Sections: sums.List(),
			Nodes: []job.NodeShare{{Node: fmt.Sprint("n", i), BootID: boot(i), ClockError: clock, Ranks: n, RankIDs: slurmid.FormatRanges(jobtest.Seq(first, n))}}})
		first += n
	}
	return parts
}

func oneBoot(int) string       { return "boot" }
func ownBoots(node int) string { return fmt.Sprint("boot", node) }

// haloOf are the figures of "halo".
func haloOf(t *testing.T, parts []job.Execution) job.SectionFigures {
	t.Helper()
	all := assemble.Merge(parts)
	if len(all) != 1 || all[0].Check() != nil {
		t.Fatalf("%d executions, %v", len(all), all[0].Check())
	}
	for _, s := range job.JobSections(all) {
		if s.Label == "halo" {
			return s
		}
	}
	t.Fatal("no section")
	return job.SectionFigures{}
}

// What is told of instances is what METRICS 3 says of their ranks, however these lie on nodes.
func TestImbalances(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		ranks := make([]job.Section, 6)
		const n = 4
		var imb, mean, variance float64
		var stays [6][]stay
		for range n {
			min, max, in, out := math.Inf(1), math.Inf(-1), 0., 0.
			var ins []float64
			for r := range ranks {
				at := math.Round(1e4*rng.Float64()) / 1e3
				one := stay{at, at + math.Round(1e3*rng.Float64())/1e3}
				stays[r] = append(stays[r], one)
				min, max, in, out = math.Min(min, one.in), math.Max(max, one.out), in+one.in/6, out+one.out/6
				ins = append(ins, one.in)
			}
			imb += ((max - min) - (out - min)) / n // mean T_section = mean T_out - T_min
			mean += (in - min) / n
			for _, one := range ins {
				variance += (one - in) * (one - in) / 6 / n
			}
		}
		for r := range ranks {
			ranks[r] = ofRank(stays[r]...)
		}
		for _, nodes := range [][]int{{6}, {1, 5}, {2, 2, 2}, {1, 1, 1, 3}} {
			f := haloOf(t, onNodes(ranks, oneBoot, 0, nodes...))
			if f.Instances != n {
				t.Fatalf("%d instances", f.Instances)
			}
			near(t, "imb", *f.Imbalance, imb, 1e-8)
			near(t, "mean imb_in", *f.EntryImbalanceMean, mean, 1e-8)
			near(t, "variance of imb_in", *f.EntryImbalanceVariance, variance, 1e-7)
		}
	}
}

// What is smaller than the doubt about the clocks of two nodes is not told.
func TestDoubtAboutClocks(t *testing.T) {
	ranks := []job.Section{ofRank(stay{1, 2}), ofRank(stay{1.2, 3})} // imb 0.5 s, imb_in 0.1 s
	for _, c := range []struct {
		name       string
		parts      []job.Execution
		imb, entry bool
	}{
		{"one clock", onNodes(ranks, oneBoot, 0, 1, 1), true, true},
		{"one node, boot not known", onNodes(ranks, func(int) string { return "" }, 0, 2), true, true},
		{"good clocks", onNodes(ranks, ownBoots, 10*time.Millisecond, 1, 1), true, true},
		{"clocks off by 100 ms at most", onNodes(ranks, ownBoots, 100*time.Millisecond, 1, 1), true, false},
		{"bad clocks", onNodes(ranks, ownBoots, time.Second, 1, 1), false, false},
		{"clocks that nobody sets", onNodes(ranks, ownBoots, 0, 1, 1), false, false},
		{"boots not known", onNodes(ranks, func(int) string { return "" }, 0, 1, 1), false, false},
	} {
		f := haloOf(t, c.parts)
		if (f.Imbalance != nil) != c.imb || (f.EntryImbalanceMean != nil) != c.entry || (f.EntryImbalanceVariance != nil) != c.entry || f.Instances != 1 {
			t.Errorf("%s: got %+v", c.name, f)
		}
	}
}

// The doubt is held against the mean of the instances, not against their sum.
func TestDoubtAboutManyInstances(t *testing.T) {
	ranks := []job.Section{ofRank(stay{1, 2}, stay{3, 4}), ofRank(stay{1.06, 2.1}, stay{3.06, 4.1})} // imb 0.05 s, imb_in 0.03 s
	for doubt, want := range map[time.Duration][2]bool{10 * time.Millisecond: {true, true}, 20 * time.Millisecond: {true, false}, 30 * time.Millisecond: {false, false}} {
		f := haloOf(t, onNodes(ranks, ownBoots, doubt, 1, 1)) // of two clocks
		if (f.Imbalance != nil) != want[0] || (f.EntryImbalanceMean != nil) != want[1] || f.Instances != 2 {
			t.Errorf("%v: got %+v", doubt, f)
		}
	}
}

// Instances belong together only if all ranks entered the label as often, or died before.
func TestInstancesThatDoNotBelongTogether(t *testing.T) {
	twice, once := ofRank(stay{1, 2}, stay{3, 4}), ofRank(stay{2, 3})
	parts := onNodes([]job.Section{twice, once}, oneBoot, 0, 1, 1)
	if f := haloOf(t, parts); f.Instances != 0 || f.Imbalance != nil {
		t.Errorf("got %+v", f)
	}
	parts[1].Endings = map[string]int{"signal 9": 1}
	if f := haloOf(t, parts); f.Instances != 1 || *f.Imbalance != 0.5 {
		t.Errorf("one was killed: got %+v", f)
	}
	unknown := ofRank(stay{2, 3})
	unknown.Instances = nil
	if f := haloOf(t, onNodes([]job.Section{once, unknown}, oneBoot, 0, 1, 1)); f.Instances != 0 || f.Imbalance != nil {
		t.Errorf("one kept none: got %+v", f)
	}
}

func TestInstancesThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*job.Instances){
		"more than a rank keeps":   func(i *job.Instances) { i.Kept = make([]job.Instance, 1000) },
		"fewer than the fewest":    func(i *job.Instances) { i.Most = 0 },
		"twice":                    func(i *job.Instances) { i.Kept[1].Number = 1 },
		"out before in":            func(i *job.Instances) { i.Kept[0].Out = i.Kept[0].In - 1 },
		"negative":                 func(i *job.Instances) { i.Kept[0].Late = -1 },
		"later than the last":      func(i *job.Instances) { i.Kept[0].Late = 3e9 },
		"a square without a time":  func(i *job.Instances) { i.Kept[0].Late2.Lo = 1e9 },
		"a square that is too far": func(i *job.Instances) { i.Kept[0].Late2.Hi = 1 << 63 },
	} {
		s := ofRank(stay{1, 2}, stay{3, 4})
		e := onNodes([]job.Section{s}, oneBoot, 0, 1)[0]
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		if change(e.Sections[0].Instances); e.Check() == nil {
			t.Errorf("%s: nothing was said", name)
		}
	}
}
