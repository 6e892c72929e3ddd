package node_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hangingSort is a sort of jobs that hang.
type hangingSort struct {
	sort
	told word
}

// word says whether a job that hangs is told.
type word int

const (
	soon  word = iota
	late       // for a part of the time it looks as if something moved
	maybe      // what is seen may not suffice
	never      // … does not suffice
)

// hanging are jobs in which nothing happens any more, or nothing that is of use.
var hanging = []hangingSort{
	{sort{"a missing send", func(j *madeUp) {
		p := j.hang("MPI_Barrier", true)
		p.life[1].call = "MPI_Recv"
	}}, soon},
	{sort{"all in one call", func(j *madeUp) { j.hang("MPI_Send", true); j.odd = -1 }}, soon},
	{sort{"each in another call", func(j *madeUp) {
		j.hang("", true)
		for _, p := range j.ranks() {
			p.life[1].call = pick(j.Rand, "MPI_Recv", "MPI_Send", "MPI_Wait", "MPI_Probe")
		}
		j.odd = anyRank
	}}, soon},
	{sort{"one outside", func(j *madeUp) { j.hang("MPI_Allreduce", j.IntN(2) == 0).life[1] = asleep(forever) }}, soon},
	{sort{"one waits for a disk", func(j *madeUp) { j.hang("MPI_Bcast", true).life[1] = span{lasts: forever, disk: true} }}, soon},
	{sort{"one was killed", func(j *madeUp) {
		p := j.hang("MPI_Barrier", true)
		p.life, p.killed = p.life[:1], true
	}}, soon},
	{sort{"one has ended", func(j *madeUp) {
		p := j.hang("MPI_Barrier", true)
		p.life = p.life[:1]
	}}, soon},
	{sort{"MPI_Finalize", func(j *madeUp) { j.hang("MPI_Finalize", true).life[1].call = "MPI_Recv" }}, soon},
	{sort{"a child hangs", func(j *madeUp) {
		p := j.hang("MPI_Barrier", true)
		p.life[1] = asleep(forever)
		m := j.of(p)
		m.procs = append(m.procs, &process{pid: 300, parent: p.pid, comm: "sleep", step: p.step, from: j.hangs - 1, life: []span{asleep(forever)}})
	}}, soon},
	{sort{"MPI's thread goes on", func(j *madeUp) {
		j.hang("MPI_Barrier", true).life[1].call = "MPI_Recv"
		for _, p := range j.ranks() {
			p.progress = j.over(1e-5, 1)
		}
	}}, maybe},
	{sort{"reports go astray", func(j *madeUp) {
		j.hang("MPI_Barrier", true).life[1].call = "MPI_Recv"
		j.lost, j.late, j.doubled, j.delay = .3, .3, .3, j.over(1, j.after)
	}}, maybe},
	{sort{"clocks differ and are set", func(j *madeUp) {
		j.hang("MPI_Barrier", true).life[1].call = "MPI_Recv"
		for _, m := range j.nodes {
			m.sets, m.by = []float64{0, j.between(0, j.hangs)}, []float64{j.between(-2, 2), j.between(-1, 1) * j.after}
			m.by[1] = 0
		}
		at, by := j.between(0, j.hangs), j.between(-1, 1)*j.after
		for _, m := range j.nodes {
			m.sets[1], m.by[1] = at, by
		}
	}}, late},
	{sort{"not all come to MPI_Init", func(j *madeUp) {
		for i, p := range j.ranks() {
			if p.init, p.life = forever, nil; i == 0 {
				p.size, p.init, p.life = 0, 1, []span{asleep(forever)}
			}
		}
		j.hangs, j.odd = 5, -1
	}}, maybe},
	{sort{"it polls with MPI_Test", func(j *madeUp) {
		j.hang("MPI_Barrier", true).life[1] = span{lasts: forever, loop: "MPI_Test", every: 1e-6, part: .8, busy: 1, spins: true}
	}}, never},
	{sort{"it polls and sleeps", func(j *madeUp) {
		j.hang("MPI_Barrier", true).life[1] = span{lasts: forever, loop: "MPI_Iprobe", every: 1e-2, part: .001}
	}}, never},
	{sort{"OpenMP's threads spin", func(j *madeUp) { j.hang("MPI_Barrier", true).life[1] = span{lasts: forever, busy: 1, other: 3} }}, never},
	{sort{"all outside", func(j *madeUp) {
		j.hang("MPI_Barrier", true)
		for _, p := range j.ranks() {
			p.life[1] = asleep(forever)
		}
	}}, never},
	{sort{"one with a GPU", func(j *madeUp) {
		p := j.hang("MPI_Barrier", true)
		p.life[1], p.gpu = asleep(forever), true
	}}, never},
	{sort{"a script that sleeps goes on", func(j *madeUp) {
		j.hang("MPI_Barrier", true)
		for i := range int(j.lasts / 50) {
			j.nodes[0].procs = append(j.nodes[0].procs, &process{pid: 1000 + i, parent: 50, comm: "sleep", step: "batch", from: 50 * float64(i), life: []span{asleep(50)}})
		}
	}}, never},
	{sort{"one is stopped for ever", func(j *madeUp) { j.hang("MPI_Barrier", true).stops = []stop{{j.hangs + 1, forever}} }}, never},
	{sort{"a node says nothing", func(j *madeUp) { j.away[j.of(j.hang("MPI_Barrier", true))] = stop{j.hangs, forever} }}, never},
}

// hang lets all ranks work until a moment, and be in a call from then on; "": each in one of its own. The rank that
// it returns is for the sort to change.
func (j *madeUp) hang(call string, spins bool) *process {
	j.hangs = j.between(20, 2*j.after)
	j.lasts = j.hangs + 2*j.after + 4*j.interim
	all := j.ranks()
	for _, p := range all {
		stays := j.waits(forever)
		if call != "" {
			stays.call, stays.spins = call, spins
		}
		works := j.computes("MPI_Allreduce")
		works.lasts = j.hangs - p.from - p.init
		p.life = []span{works, stays}
	}
	j.odd = all[0].rank
	return all[0]
}

// found counts jobs of one sort.
type found struct {
	jobs, told int
	waits      []float64 // from hung_after after the hang until it was told, s
}

// TestHungAreTold: of made-up jobs that hang, those are told of which enough is seen, in time and never too early.
// What is told is what the ranks do.
func TestHungAreTold(t *testing.T) {
	var sorts []sort
	want := map[string]word{}
	for _, h := range hanging {
		sorts, want[h.name] = append(sorts, h.sort), h.told
	}
	counts, mu := map[string]*found{}, sync.Mutex{}
	eachMadeUp(t, 33, max(madeUpJobs()/10, 10*len(sorts)), sorts, func(number int, s sort, j *madeUp, dir string) {
		at, hung := j.told(t, dir)
		mu.Lock()
		defer mu.Unlock()
		c := counts[s.name]
		if c == nil {
			c = &found{}
			counts[s.name] = c
		}
		c.jobs++
		name := fmt.Sprintf("job %d, %s", number, s.name)
		if want[s.name] <= late && hung == nil || want[s.name] == never && hung != nil {
			t.Errorf("%s: told %+v at %.0f s, hung_after %.0f s, hangs since %.0f s\n%s", name, hung, at, j.after, j.hangs, j)
		}
		if hung == nil {
			return
		}
		c.told++
		c.waits = append(c.waits, at-j.hangs-j.after)
		if at < j.hangs+j.after {
			t.Errorf("%s: it hangs since %.0f s, and was told at %.0f s, too early for %.0f s", name, j.hangs, at, j.after)
		}
		since := float64(hung.Since.UnixNano()-int64(j.nodes[0].real(j.hangs))) / 1e9
		if since < -5 || want[s.name] == soon && since > j.interim+mostFold+120 {
			t.Errorf("%s: since %.0f s after it began to hang", name, since)
		}
		odd, want := "", ""
		for _, o := range hung.Odd {
			odd = strings.TrimPrefix(odd+","+fmt.Sprint(o.Rank), ",")
		}
		if size := j.ranks()[0].size; size > 2 && j.odd >= 0 { // of two, none is more odd than the other
			want = fmt.Sprint(j.odd)
		}
		if odd != want && j.odd != anyRank {
			t.Errorf("%s: odd are ranks %q, want %q: %+v\n%s", name, odd, want, hung, j)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		slices.Sort(c.waits)
		text := fmt.Sprintf("%s: %d of %d told", name, c.told, c.jobs)
		if len(c.waits) > 0 {
			text += fmt.Sprintf(", %v after hung_after in the median, %v at most", seconds(c.waits[len(c.waits)/2]), seconds(c.waits[len(c.waits)-1]))
		}
		t.Log("result: " + text)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s) * time.Second }
