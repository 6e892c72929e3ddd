package node_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// madeUpJobs is how many made-up jobs that do not hang are watched, and a tenth as many that do. `make hangs` asks for
// all.
func madeUpJobs() int {
	if os.Getenv("JOBEFF_TEST_HANGS") != "" {
		return 10_000
	}
	return 560
}

// sort is a way to make up a job.
type sort struct {
	name string
	make func(j *madeUp)
}

// getsOn are jobs that do not hang: of each, a process does something at least every hung_after, or nothing may be
// said of it.
var getsOn = []sort{
	{"all compute", func(j *madeUp) {
		for _, p := range j.ranks() {
			p.life = []span{j.computes("MPI_Allreduce")}
		}
	}},
	{"serial rank 0", func(j *madeUp) {
		j.ranks()[0].life = []span{{lasts: forever, busy: j.over(1e-3, 1)}}
	}},
	{"one gets on", func(j *madeUp) { j.ranks()[0].life = []span{j.works(forever)} }},
	{"in turns", func(j *madeUp) {
		all, at := j.ranks(), 0.
		for _, p := range all {
			p.life = []span{j.waits(at + 1)}
			at += 5 // no two begin at once
		}
		for from := at; from < j.lasts; {
			s := j.between(1, 2*j.after)
			who := j.IntN(len(all))
			for i, p := range all {
				if i == who {
					p.life = append(p.life, j.works(s))
				} else {
					p.life = append(p.life, j.waits(s))
				}
			}
			from += s
		}
	}},
	{"slow file of one rank", func(j *madeUp) {
		j.ranks()[0].life = []span{{lasts: forever, disk: true, moves: j.over(1, 1e8), burst: j.over(1, j.after)}}
	}},
	{"slow calls to files", func(j *madeUp) {
		for _, p := range j.ranks() {
			p.life = []span{{lasts: forever, loop: "MPI_File_write_all", every: j.over(1, j.after), part: j.between(.5, 1)}}
		}
	}},
	{"polls", func(j *madeUp) {
		j.ranks()[0].life = []span{{lasts: forever, loop: pick(j.Rand, "MPI_Test", "MPI_Iprobe", "MPI_Testsome"), every: j.over(1e-6, j.after), part: j.Float64(), spins: true}}
	}},
	{"a child gets on", func(j *madeUp) {
		p := j.ranks()[0]
		p.life = []span{asleep(forever)}
		does := j.works(forever)
		does.call, does.loop = "", ""
		if does.busy == 0 && does.other == 0 && does.moves == 0 {
			does.busy = 1
		}
		m := j.of(p)
		m.procs = append(m.procs, &process{pid: 300, parent: p.pid, comm: "sh", step: p.step, from: 10, life: []span{asleep(forever)}},
			&process{pid: 301, parent: 300, comm: "rsync", step: p.step, from: 11, life: []span{does}})
	}},
	{"children that come and go", func(j *madeUp) {
		p := j.ranks()[0]
		p.life = []span{asleep(forever)}
		m, each := j.of(p), j.between(j.after/20, j.after*.9)
		for i := range int(j.lasts/each) + 1 {
			m.procs = append(m.procs, &process{pid: 300 + i, parent: p.pid, comm: "sleep", step: p.step, from: 10 + float64(i)*each, life: []span{asleep(each)}})
		}
	}},
	{"threads that nobody measures", func(j *madeUp) {
		j.ranks()[0].life = []span{{lasts: forever, other: j.over(1e-3, 32)}}
	}},
	{"a thread that calls MPI", func(j *madeUp) {
		j.ranks()[0].mate = []span{j.computes("MPI_Send")}
	}},
	{"a measured thread that calls slowly", func(j *madeUp) {
		j.ranks()[0].mate = []span{{lasts: forever, loop: "MPI_Recv", every: j.over(1, j.after), part: j.Float64()}}
	}},
	{"one is stopped", func(j *madeUp) {
		p := j.ranks()[0]
		p.traced = j.IntN(2) == 0
		p.life = []span{{lasts: forever, busy: 1}}
		p.stops = j.halts()
	}},
	{"stopped again and again", func(j *madeUp) { // a report sees each of the stops, and between two of them is less than hung_after
		p := j.ranks()[0]
		j.whole = true
		p.life = []span{asleep(forever)}
		for from := j.between(20, j.after/2); from < j.lasts; from += j.between(j.after/3, j.after*.9) {
			p.stops = append(p.stops, stop{from, from + mostFold + 65 + j.interim})
			from += mostFold + 65 + j.interim
		}
	}},
	{"frozen", func(j *madeUp) {
		for _, m := range j.nodes {
			if m.cgroups == noCgroups {
				m.cgroups = cgroupV1
			}
		}
		j.halt(j.halts(), true)
		j.ranks()[0].life = []span{{lasts: forever, busy: 1}}
	}},
	{"suspended", func(j *madeUp) {
		j.halt(j.halts(), false)
		j.ranks()[0].life = []span{{lasts: forever, busy: 1}}
	}},
	{"a GPU works", func(j *madeUp) {
		p := j.ranks()[0]
		p.life, p.gpu = []span{asleep(forever)}, true
	}},
	{"a child with a GPU", func(j *madeUp) {
		p := j.ranks()[0]
		p.life = []span{asleep(forever)}
		m := j.of(p)
		m.procs = append(m.procs, &process{pid: 300, parent: p.pid, comm: "python3", step: p.step, from: 10, life: []span{asleep(forever)}, gpu: true})
	}},
	{"sleeps between calls", func(j *madeUp) {
		for _, p := range j.ranks() {
			p.life = []span{{lasts: forever, loop: "MPI_Allreduce", every: j.between(j.after/2, j.after), part: j.Float64(), spins: j.IntN(2) == 0}}
		}
	}},
	{"ranks that end", func(j *madeUp) {
		all := j.ranks()
		for _, p := range all[1:] {
			p.killed = j.IntN(3) == 0
			p.zombie = p.killed && j.IntN(2) == 0
			p.life = []span{{lasts: j.between(10, j.lasts), busy: j.Float64()}}
			if j.IntN(2) == 0 {
				p.life = append(p.life, span{lasts: forever, call: "MPI_Finalize", spins: true})
			}
		}
		all[0].life = []span{j.works(forever)}
	}},
	{"many steps", func(j *madeUp) {
		for _, m := range j.nodes {
			m.procs = slices.DeleteFunc(m.procs, func(p *process) bool { return p.size > 0 })
		}
		for from, i := 5., 0; from < j.lasts; i++ {
			works := j.between(1, j.after)
			for n, m := range j.nodes {
				p := &process{pid: 100 + i, parent: 90, comm: "app", step: fmt.Sprint(i), world: fmt.Sprint("app.", i), from: from, init: 1, rank: n, size: len(j.nodes) + 1}
				other := *p
				other.pid, other.rank = p.pid+1000, len(j.nodes)
				p.life = []span{j.waits(works), {lasts: 1, busy: 1}}
				if m.procs = append(m.procs, p); n == 0 {
					other.life = []span{{lasts: works + 1, busy: 1}}
					m.procs = append(m.procs, &other)
				}
			}
			from += works + 5 + pick(j.Rand, 0, j.between(0, 3*j.after)) // the script does something else, or sleeps
		}
	}},
	{"requeued", func(j *madeUp) {
		at := j.between(60, j.after)
		j.begins = append(j.begins, at+j.between(1, 120))
		for _, m := range j.nodes {
			for _, p := range slices.Clone(m.procs) {
				again := *p
				again.attempt, again.from, again.pid = 1, j.begins[1]+p.from, p.pid+2000
				p.killed, p.life = true, []span{{lasts: at - p.from - p.init, call: p.life[0].call, spins: p.life[0].spins}}
				m.procs = append(m.procs, &again)
			}
		}
		for _, p := range j.ranks() {
			if p.attempt == 1 {
				p.life = []span{j.works(forever)}
				break
			}
		}
	}},
	{"a node is lost", func(j *madeUp) {
		p := j.ranks()[0]
		p.life = []span{{lasts: forever, busy: 1}}
		from := j.between(0, j.after)
		j.away[j.of(p)] = stop{from, pick(j.Rand, forever, from+j.between(0, j.lasts))}
	}},
	{"nodes of different clocks", func(j *madeUp) {
		for _, m := range j.nodes {
			m.sets, m.by = []float64{0}, []float64{j.between(-200, 200)}
		}
		j.ranks()[0].life = []span{{lasts: forever, loop: "MPI_Recv", every: j.over(1, j.after), part: .5}}
	}},
	{"clocks that are set", func(j *madeUp) {
		for _, m := range j.nodes {
			for range 1 + j.IntN(3) {
				m.sets, m.by = append(m.sets, j.between(0, j.lasts)), append(m.by, j.between(-4, 4)*pick(j.Rand, 60., j.after))
			}
		}
		j.ranks()[0].life = []span{{lasts: forever, loop: "MPI_Recv", every: j.between(j.after/4, j.after), part: .5}}
	}},
	{"all outside of MPI", func(j *madeUp) {
		for _, p := range j.ranks() {
			p.life = []span{{lasts: j.between(1, 100), busy: 1}, asleep(forever)}
		}
	}},
	{"what moves is not seen", func(j *madeUp) {
		p := j.ranks()[0]
		p.life, p.hidden, p.noIO = []span{asleep(forever)}, j.IntN(2) == 0, true
		if p.hidden {
			p.noIO, p.life = j.IntN(2) == 0, []span{{lasts: forever, busy: j.over(1e-3, 1)}}
		}
	}},
	{"anything, and one gets on", func(j *madeUp) {
		for _, p := range j.ranks() {
			p.life = nil
			for range 1 + j.IntN(4) {
				s := j.over(1, 2*j.after)
				p.life = append(p.life, pick(j.Rand, j.waits(s), j.works(s), asleep(s)))
			}
			p.life = append(p.life, pick(j.Rand, j.waits(forever), asleep(forever)))
			if j.IntN(4) == 0 {
				p.progress = j.over(1e-4, 1)
			}
			if j.IntN(6) == 0 {
				p.stops = j.halts()
			}
		}
		p := j.ranks()[0]
		p.life, p.stops = []span{j.works(forever)}, nil
	}},
}

// halts are times in which nothing runs, which all in all are watched for less than hung_after at both ends.
func (j *madeUp) halts() (all []stop) {
	for from := j.between(10, j.after); from < j.lasts; from += j.between(60, j.after) {
		to := from + j.over(1, 2*j.after)
		all = append(all, stop{from, to})
		from = to
	}
	return all
}

// halt stops all processes of the job.
func (j *madeUp) halt(stops []stop, frozen bool) {
	for _, m := range j.nodes {
		for _, p := range m.procs {
			p.stops = stops
		}
		if frozen {
			m.frozen = stops
		}
	}
}

// disturb lets reports go astray.
func (j *madeUp) disturb() {
	if !j.whole && j.IntN(2) == 0 {
		j.lost, j.late, j.doubled = j.Float64()/2, j.Float64()/2, j.Float64()/2
		j.delay = j.over(1, j.after*3)
	}
}

// eachMadeUp makes n jobs of the sorts in turn, and calls look with each, several at a time.
func eachMadeUp(t *testing.T, seed uint64, n int, sorts []sort, look func(number int, s sort, j *madeUp, dir string)) {
	var wg sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			dir, err := os.MkdirTemp(memory(), "jobeff-made-up-")
			if err != nil {
				t.Error(err)
				return
			}
			defer os.RemoveAll(dir)
			s, j := sorts[i%len(sorts)], newMadeUp(rand.New(rand.NewPCG(seed, uint64(i))))
			s.make(j)
			look(i, s, j, dir)
		})
	}
	wg.Wait()
}

// memory is a folder whose files take no disk; "": the usual one for what is temporary.
func memory() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err != nil || !info.IsDir() {
		return ""
	}
	return shm
}

// TestNoneIsTold: of made-up jobs that do not hang, none is told.
func TestNoneIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	eachMadeUp(t, 32, madeUpJobs(), getsOn, func(number int, s sort, j *madeUp, dir string) {
		j.disturb()
		if at, hung := j.told(t, dir); hung != nil {
			t.Errorf("job %d, %s: at %.0f s of %+v, hung_after %.0f s, reports each %.0f s\n%s", number, s.name, at, *hung, j.after, j.interim, j)
		}
	})
}

// String is what a made-up job does.
func (j *madeUp) String() string {
	var text strings.Builder
	for _, m := range j.nodes {
		fmt.Fprintf(&text, "%s, cgroups %d, sets its clock %v %v\n", m.name, m.cgroups, m.sets, m.by)
		for _, p := range m.procs {
			fmt.Fprintf(&text, "  %d from %.1f %s: rank %d of %d, stops %.0f, %+v %+v\n", p.pid, p.from, p.comm, p.rank, p.size, p.stops, p.life, p.mate)
		}
	}
	return text.String()
}
