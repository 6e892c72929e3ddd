package workload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// TestStudies: a workload is read once for all of its jobs, and each job's group is studied.
func TestStudies(t *testing.T) {
	runs := []job.Run{run(1, 1, 100, 99), run(2, 2, 55, 50), run(3, 2, 56, 50), changed(run(4, 2, 60, 50), func(r *job.Run) { r.Collectives = 5000 }), changed(run(5, 4, 30, 25), func(r *job.Run) { r.Ended = false })}
	missing, loads := run(9, 2, 50, 40), 0
	all := NewStudies(began)
	load := func() (*job.Workload, error) { loads++; return workloadOf(runs...), nil }
	for _, c := range []struct {
		of   job.Run
		runs int // of its group
		mine bool
		why  string
	}{
		{runs[0], 3, true, ""}, {runs[2], 3, true, ""}, {runs[3], 1, true, ""}, {runs[3], 1, true, ""}, {runs[1], 3, true, ""},
		{runs[4], 3, false, "the job did not finish"}, {missing, 3, false, "its main program is not among the runs"},
	} {
		s, err := all.Of(jobtest.JobOf(c.of), load)
		if err != nil || len(s.Runs) != c.runs || (s.Mine != nil) != c.mine || c.mine && s.Mine.JobID != c.of.JobID || !strings.HasPrefix(s.NotMine(), c.why) || c.mine && s.NotMine() != "" {
			t.Errorf("job %d: %v, %d runs, its own %+v, %q", c.of.JobID, err, len(s.Runs), s.Mine, s.NotMine())
		}
	}
	if kept := len(all.byKey[job.WorkloadOf(jobtest.JobOf(runs[0]))]); loads != 1 || kept != 2 {
		t.Errorf("read %d times, %d studies", loads, kept)
	}
	nameless := jobtest.JobOf(runs[0])
	nameless.Executions[0].ArgsHash = ""
	if s, err := all.Of(nameless, load); s != nil || err != nil || loads != 1 {
		t.Errorf("without a workload: %v, %v", s, err)
	}
	broken := errors.New("broken")
	other := func(uid uint32) *job.Job { j := jobtest.JobOf(runs[0]); j.UID = uid; return j }
	for range 2 { // a fault is not kept
		if s, err := all.Of(other(5), func() (*job.Workload, error) { return workloadOf(runs...), broken }); s != nil || !errors.Is(err, broken) {
			t.Errorf("%v, %v", s, err)
		}
	}
	reads := 0
	for uid := range uint32(mostStudies - 1) { // with the one above it is full
		if s, err := all.Of(other(uid+2000), func() (*job.Workload, error) { reads++; return nil, nil }); s != nil || err != nil {
			t.Fatalf("%v, %v", s, err)
		}
	}
	all.Of(other(2000), func() (*job.Workload, error) { reads++; return nil, nil })
	if len(all.byKey) != mostStudies || reads != mostStudies-1 {
		t.Errorf("%d kept, %d read", len(all.byKey), reads)
	}
	if all.Of(other(7000), load); len(all.byKey) != 1 || loads != 2 {
		t.Errorf("%d kept when it was full", len(all.byKey))
	}
}

// TestCount holds what is said of two runs on one core count: of 100 s half was useful, of 225 s two fifths.
func TestCount(t *testing.T) {
	a, b := run(1, 4, 100, 50), run(2, 4, 225, 90)
	a.Nodes, b.Nodes = 2, 1
	a.Conditions.IOTime, b.Conditions.IOTime = 40, 180
	a.Conditions.OpenMP, b.Conditions.OpenMP = 8, 36
	c := studyOf(a, b).At(4)
	for what, v := range map[string][2]float64{"t": {c.T, 150}, "PE": {c.PE, .45}, "tau": {c.Tau, 82.5}, "busiest": {c.Busiest, 70}, "IO": {c.IO, .15}, "OpenMP": {c.OpenMP, .03},
		"uneven, without what OpenMP lost": {(&Count{T: 100, PE: .3, Busiest: 90, OpenMP: .5}).uneven(), .1},
		"core-hours":                       {c.CoreHours, 600. / 3600}, "shortest": {c.Shortest, 100}, "longest": {c.Longest, 225}, "fewest nodes": {float64(c.Nodes[0]), 1}} {
		wantClose(t, what, v[0], v[1], 1e-12)
	}
	b.Conditions.UsefulMax = 0
	if c := studyOf(a, b).At(4); c.Busiest != 0 {
		t.Errorf("of one run the busiest rank is not known: %+v", c)
	}
}

// TestWarnings of a study, and which core count was fastest.
func TestWarnings(t *testing.T) {
	in := func(partition string, mhz int, r job.Run) job.Run {
		if r.Partition = partition; mhz > 0 {
			r.Conditions.Machine = &job.Hardware{Model: "Xeon", MaxMHz: mhz}
		}
		return r
	}
	on := func(nodes int, r job.Run) job.Run { r.Nodes = nodes; return r }
	const once = "no core count was run twice: the spread of run times is taken to be 5 %"
	for _, c := range []struct {
		name    string
		runs    []job.Run
		fastest int
		want    string
	}{
		{"nothing", nil, 0, ""},
		{"one core count, once", []job.Run{run(1, 4, 30, 25)}, 4, ""},
		{"nothing twice", []job.Run{run(1, 1, 100, 99), run(2, 2, 55, 50), run(3, 4, 55, 25)}, 2, once},
		{"one of them twice", []job.Run{run(1, 1, 100, 99), run(2, 2, 55, 50), run(3, 2, 56, 50)}, 2, ""},
		{"on one node and on two", []job.Run{run(1, 1, 100, 99), run(2, 4, 35, 25), on(2, run(3, 4, 36, 25))}, 4, "4 cores ran on 1 to 2 nodes: these runs are taken together"},
		{"partitions", []job.Run{in("a", 2000, run(1, 1, 100, 99)), in("a", 2000, run(2, 2, 55, 50)), in("b", 2500, run(3, 4, 30, 25))}, 4,
			once + "|not all core counts ran in the same partition: 1, 2 cores in a (up to 2,000 MHz); 4 cores in b (up to 2,500 MHz)"},
		{"a partition that is not known", []job.Run{in("a", 0, run(1, 1, 100, 99)), run(2, 2, 55, 50)}, 2,
			once + "|not all core counts ran in the same partition: 1 cores in a; 2 cores in a partition that is not known"},
		{"a clock, and no partition", []job.Run{in("", 2000, run(1, 1, 100, 99)), in("", 2500, run(2, 2, 55, 50))}, 2, once},
	} {
		s := studyOf(c.runs...)
		var all []string
		for _, w := range s.Warnings {
			all = append(all, w.Text)
		}
		if got := strings.Join(all, "|"); got != c.want || s.Fastest != c.fastest {
			t.Errorf("%s: fastest %d, %q, want %d, %q", c.name, s.Fastest, got, c.fastest, c.want)
		}
	}
	many := make([]job.Run, mostStudied+1)
	for i := range many {
		many[i].Start = began.Add(-time.Duration(i) * time.Hour)
	}
	for n, warned := range map[int]int{mostStudied: 0, mostStudied + 1: 1} {
		s := new(Study)
		if got := s.newest(many[:n]); len(got) != mostStudied || !got[0].Start.Equal(began) || len(s.Warnings) != warned {
			t.Errorf("%d runs: %d are looked at, %v", n, len(got), s.Warnings)
		}
	}
}

// TestScalingOfAStudy: what is said where runs do not surely scale strongly, and which run would tell.
func TestScalingOfAStudy(t *testing.T) {
	each := func(counts []int, useful ...float64) (all []job.Run) { // s per rank
		for i, n := range counts {
			all = append(all, run(uint32(i+1), n, 2*useful[i], useful[i]))
		}
		return all
	}
	counted := func(instructions uint64, runs []job.Run) []job.Run {
		for i := range runs {
			runs[i].Counters = &job.Counters{Ranks: runs[i].Ranks, Instructions: instructions, Cycles: 1e12, Useful: sec(runs[i].Useful)}
		}
		return runs
	}
	for _, c := range []struct {
		name      string
		runs      []job.Run
		scaling   Scaling
		undecided bool
		refused   string
		next      int // 0: none
	}{
		{"one core count", each([]int{4}, 100), ScalingUnclear, false, "", 0},
		{"weak", each([]int{1, 2, 4}, 100, 101, 99), ScalingWeak, true, "it scales weakly (the work in all grows as cores to the power of 0.99): the work grows", 0},
		{"weak, but not evenly", each([]int{1, 2, 4, 8}, 100, 150, 100, 100), ScalingUnclear, true,
			"whether it scales strongly or weakly is not clear: the work in all grows as cores to the power of 0.94, but not evenly", 0},
		{"weak on half the range", each([]int{2, 4}, 100, 100), ScalingUnclear, true, "it may scale weakly: the work in all", 8},
		{"grown a little", each([]int{2, 4}, 100, 124), ScalingUnclear, true, "it may scale weakly: the work in all", 8},
		{"grown more", each([]int{2, 4}, 100, 126), ScalingUnclear, true, "whether it scales strongly or weakly is not clear: the work in all", 8},
		{"shrunk a little", each([]int{2, 4}, 100, 81), ScalingUnclear, true, "it may scale weakly: the work in all", 8},
		{"shrunk more", each([]int{2, 4}, 100, 79), ScalingUnclear, true, "whether it scales strongly or weakly is not clear: the work in all", 8},
		{"between, on the whole range", each([]int{1, 4}, 100, 60), ScalingUnclear, true, "whether it scales strongly or weakly is not clear: the work in all", 0},
		{"counted", counted(1e12, each([]int{2, 4}, 100, 100)), ScalingStrong, false, "", 0},
		{"counted nothing", counted(0, each([]int{2, 4}, 100, 100)), ScalingUnclear, true, "it may scale weakly: the work in all", 8},
	} {
		s := studyOf(c.runs...)
		next := 0
		if s.Curve.Next != nil && c.undecided {
			next = s.Curve.Next.N
		}
		if s.Scaling != c.scaling || s.Undecided() != c.undecided || !strings.HasPrefix(s.Curve.Refused, c.refused) || next != c.next {
			t.Errorf("%s: %s, undecided %v, %q, next %d", c.name, s.Scaling, s.Undecided(), s.Curve.Refused, next)
		}
	}
	if why := studyOf().Why; why != "fewer than two core counts a factor of 2 apart" {
		t.Errorf("without runs: %q", why)
	}
}

// TestSectionsOfAStudy: the rest of a run is its own section; shares and bounds follow from times per rank.
func TestSectionsOfAStudy(t *testing.T) {
	with := func(r job.Run, halo float64) job.Run {
		r.Sections = []job.RunSection{{Label: "io"}, {Label: "halo", Own: halo}}
		return r
	}
	s := studyOf(with(run(1, 1, 100, 99), 10), with(run(2, 2, 60, 50), 20))
	if len(s.Sections) != 2 || len(s.Sections[1].Bounds) != 2 || s.Sections[1].Bounds[0] != (Bound{job.MainSection, 2.5, 40. / 60}) || s.Sections[1].Bounds[1] != (Bound{"halo", 5, 20. / 60}) {
		t.Errorf("%+v", s.Sections)
	}
	for i, want := range []SectionPoint{{Label: job.MainSection, Share: .9}, {Label: "halo", Share: 20. / 60}, {Label: "io"}} {
		if p := s.Inflexions[i]; p.Label != want.Label || p.Share != want.Share {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	if s := studyOf(run(1, 1, 100, 99), run(2, 2, 60, 50)); s.Sections != nil || s.Inflexions != nil {
		t.Errorf("without sections: %+v", s.Sections)
	}
}
