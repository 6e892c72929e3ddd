package node_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
)

// forever is longer than any made-up job is watched.
const forever = 1e7

// anyRank stands for a rank that nobody knows beforehand.
const anyRank = -2

// madeUp is a job, how it is watched, and what is true of it.
type madeUp struct {
	*rand.Rand
	nodes   []*machine
	after   float64 // hung_after
	interim float64
	lasts   float64   // how long it is watched
	begins  []float64 // of its attempts

	hangs float64 // since when nothing happens any more
	odd   int     // the rank for whom the others wait; -1: nobody can tell

	lost, late, doubled float64           // parts of the reports
	delay               float64           // of late ones, at most
	whole               bool              // none may be
	away                map[*machine]stop // a node that cannot report
}

// newMadeUp has nodes with a batch script and ranks that do nothing yet.
func newMadeUp(r *rand.Rand) *madeUp {
	j := &madeUp{Rand: r, after: pick(r, 900., 1200, 1800), interim: pick(r, 300., 600), begins: []float64{0}, away: map[*machine]stop{}}
	j.lasts = 3*j.after + 2*j.interim
	nodes, ranks := 1+r.IntN(3), 1+r.IntN(3)
	if nodes*ranks == 1 {
		ranks = 2
	}
	for n := range nodes {
		m := &machine{name: fmt.Sprint("n", n+1), of: nodes, boot: j.between(1e3, 1e6), tsc: r.IntN(2) == 0, cgroups: r.IntN(4), files: map[string]string{}, dirs: map[string]bool{}}
		if n == 0 {
			m.procs = append(m.procs,
				&process{pid: 50, parent: 40, comm: "slurm_script", step: "batch", life: []span{{lasts: forever}}},
				&process{pid: 60, parent: 50, comm: "srun", step: "batch", from: .5, life: []span{{lasts: forever, busy: j.between(0, 2e-5)}}})
		}
		for k := range ranks {
			m.procs = append(m.procs, &process{pid: 100 + 10*k, parent: 90, comm: pick(r, "app", "python3", "a (b) R 1"), step: "0", world: "app",
				from: j.between(1, 5), init: j.between(.5, 3), rank: n*ranks + k, size: nodes * ranks, life: []span{j.waits(forever)}})
		}
		j.nodes = append(j.nodes, m)
	}
	return j
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (j *madeUp) between(a, b float64) float64 { return a + j.Float64()*(b-a) }

// over is between, where each power of ten is as likely as another.
func (j *madeUp) over(a, b float64) float64 { return a * math.Pow(b/a, j.Float64()) }

// ranks are all processes with MPI, in a random order.
func (j *madeUp) ranks() (all []*process) {
	for _, m := range j.nodes {
		for _, p := range m.procs {
			if p.size > 0 {
				all = append(all, p)
			}
		}
	}
	j.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// of is the node of a process.
func (j *madeUp) of(p *process) *machine {
	return j.nodes[slices.IndexFunc(j.nodes, func(m *machine) bool { return slices.Contains(m.procs, p) })]
}

// waits is to be in one call.
func (j *madeUp) waits(s float64) span {
	return span{lasts: s, spins: j.IntN(2) == 0, call: pick(j.Rand, "MPI_Recv", "MPI_Send", "MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Wait",
		"MPI_Waitall", "MPI_Probe", "MPI_Comm_split", "MPI_Win_fence", "MPI_File_write_all")}
}

// works is to get on, in one of many ways: with the least that there may be, and with much.
func (j *madeUp) works(s float64) span {
	function := pick(j.Rand, "MPI_Recv", "MPI_Allreduce", "MPI_Waitall", "MPI_File_read_at")
	tests := pick(j.Rand, "MPI_Test", "MPI_Iprobe", "MPI_Testall", "MPI_Request_get_status")
	ways := []func() span{
		func() span { return span{busy: j.over(1e-3, 1)} },
		func() span { return j.computes(function) },
		func() span {
			return span{loop: function, every: j.over(1, j.after), part: j.Float64(), spins: j.IntN(2) == 0}
		},
		func() span { return span{other: j.over(1e-3, 8)} },
		func() span { return span{call: function, lasts: s, other: j.over(1e-3, 8)} },
		func() span { return span{moves: j.over(1, 1e9), disk: j.IntN(2) == 0, busy: j.between(0, 1e-4)} },
		func() span { return span{moves: j.over(1, 1e9), burst: j.over(1, j.after)} },
		func() span { return span{loop: tests, every: j.over(1e-6, j.after), part: j.Float64(), spins: true} },
	}
	does := ways[j.IntN(len(ways))]()
	does.lasts = s
	return does
}

// computes is to compute between calls, which are shorter than hung_after.
func (j *madeUp) computes(function string) span {
	every := j.over(1e-5, 10*j.after)
	return span{lasts: forever, busy: 1, loop: function, every: every, part: j.between(0, min(.95, .9*j.after/every)), spins: j.IntN(2) == 0}
}

// asleep is to do nothing outside of MPI.
func asleep(s float64) span { return span{lasts: s} }

// mostFold is how long a fold may wait for a CPU.
const mostFold = 500.

// message is a report on its way.
type message struct {
	arrives float64
	from    *machine
	attempt int
	report  *job.NodeReport
}

// messages are what the nodes report, in the order in which it arrives.
func (j *madeUp) messages(t testing.TB, dir string) (all []message) {
	for _, m := range j.nodes {
		m.dir = filepath.Join(dir, m.name)
		attempt, ready := 0, 0.
		for now := j.between(0, 60); now < j.lasts; now += 60 {
			if now < ready {
				continue
			}
			moment := time.Unix(0, int64(m.real(now))).UTC().Truncate(time.Duration(j.interim * 1e9))
			if moment.Equal(m.asked) {
				continue
			}
			m.asked = moment
			for attempt+1 < len(j.begins) && j.begins[attempt+1] <= now {
				attempt++
			}
			if s := j.away[m]; j.Float64() < j.lost || s.from <= now && now < s.to {
				continue
			}
			between := 0. // the look at /proc and the fold
			switch j.IntN(20) {
			case 0, 1, 2, 3:
				between = j.between(0, 30)
			case 4:
				between = j.between(0, mostFold)
			}
			ready = now + between
			r := m.report(t, now, between, moment, attempt)
			if r == nil {
				continue
			}
			arrives := now + between + j.between(0, 20)
			if j.Float64() < j.late {
				arrives += j.between(0, j.delay)
			}
			all = append(all, message{arrives, m, attempt, r})
			if j.Float64() < j.doubled {
				all = append(all, message{arrives + j.between(0, j.delay), m, attempt, r})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Compare(a.arrives, b.arrives) })
	return all
}

// told is when and what the server says first of a job that hangs; nil: nothing.
func (j *madeUp) told(t testing.TB, dir string) (float64, *hang.Hung) {
	type key struct {
		attempt int
		node    *machine
	}
	still, last := map[key]*hang.Still{}, map[key]*job.NodeReport{}
	for _, msg := range j.messages(t, dir) {
		k := key{msg.attempt, msg.from}
		if last[k] != nil && last[k].Sequence > msg.report.Sequence {
			continue // the server has a later one
		}
		still[k] = still[k].Then(msg.report.Look())
		msg.report.Still, last[k] = still[k], msg.report
		var all []hang.Look
		for _, m := range j.nodes {
			if r := last[key{msg.attempt, m}]; r != nil {
				all = append(all, r.Look())
			}
		}
		if hung := hang.Find(all, len(j.nodes), time.Duration(j.after*1e9)); hung != nil {
			return msg.arrives, hung
		}
	}
	return 0, nil
}
