package demo

import (
	"math"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// extent is how long an execution takes, and how much of that is in MPI.
type extent struct {
	elapsed float64 // s, E
	lost    float64 // part of it in MPI, mean over ranks
}

// execution makes the MPI world of a job, as the workload's model and imbalance want it. Its ranks first have
// `threads` threads; mix then changes that.
func (y *Year) execution(l *load, b *build, j *job.Job, x extent, f fate, ranks, threads int, mix mix) []job.Execution {
	start := j.Start.Add(2 * time.Second)
	e := job.Execution{Key: strconv.Itoa(int(j.JobID)), KeyFrom: "pmix", Steps: []string{"0"}, Size: ranks, Start: start,
		End: start.Add(seconds(x.elapsed)), MPI: l.app.mpi, ThreadLevel: "MPI_THREAD_SINGLE", Executable: l.app.path, BuildID: b.id,
		ArgsHash: l.args[:32], InputHash: l.input, Inputs: 1, Workload: l.name, Endings: map[string]int{f.ending: ranks}}
	e.MPIVersion = map[string]string{openMPI: "Open MPI v4.1.4", mpich: "MPICH 4.0.2"}[e.MPI]
	if l.input == "" {
		e.Inputs, e.InputNote = 0, "no argument names a file"
	} else {
		e.InputHash = l.input[:32]
	}
	if threads > 1 {
		e.ThreadLevel, e.OMPThreads, e.CPUsPerTask = "MPI_THREAD_FUNNELED", threads, threads
	}
	if f.ending == "assumed" {
		e.Warnings = append(e.Warnings, doubt.Warning{Code: doubt.WarnAssumedEnd, Count: ranks})
	}
	e.Nodes = y.nodes(l, x, ranks, threads)
	mix.share(&e, threads)
	if y.chance(0.01) && len(e.Nodes) > 1 { // a node's record was lost
		e.Nodes = e.Nodes[:len(e.Nodes)-1]
	}
	first := y.place(j)
	for i := range e.Nodes {
		if first+i == slowNode {
			slower(&e.Nodes[i])
		}
		mix.threadsOf(&e.Nodes[i])
	}
	traffic(&e, l, f.until)
	y.sections(&e, l.app, x, mix)
	e.Windows = l.app.waits.windows(&e, l.steps)
	if y.opts.Until.Sub(j.End) < ranksKept {
		course(&e, j.JobID, mix.threads)
		places(&e)
	}
	return []job.Execution{e}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// nodes shares the ranks out over nodes and gives each its useful time. On an even workload these differ by
// some per cent. On an imbalanced one they fall from the first rank to the last.
func (y *Year) nodes(l *load, x extent, ranks, threads int) []job.NodeShare {
	mean := x.elapsed * (1 - x.lost)
	// most is max U / mean U - 1, bounded: no rank's useful time is negative or above its elapsed time.
	most := max(0, min(l.hot*x.lost/(1-x.lost), 1/(1-x.lost)-1.0001, 1))
	if l.even {
		most = min(most, 0.02)
	}
	perNode := coresPerNode / threads
	var all []job.NodeShare
	for first := 0; first < ranks; first += perNode {
		n := job.NodeShare{OnlineCPUs: coresPerNode, CPUs: threads, Ranks: min(perNode, ranks-first), ElapsedMax: seconds(x.elapsed)}
		n.ElapsedSum = seconds(x.elapsed * float64(n.Ranks))
		last := first + n.Ranks - 1
		n.RankIDs = rankIDs(first, n.Ranks)
		var sum float64
		for r := first; r <= last; r++ {
			u := mean * (1 + most*y.tilt(l, r, ranks))
			sum += u
			n.UsefulMax = max(n.UsefulMax, seconds(u))
			share := byte(math.Round(255 * u / x.elapsed))
			n.UsefulShare, n.MPIShare = append(n.UsefulShare, share), append(n.MPIShare, 255-share)
		}
		n.Useful = seconds(sum)
		n.MPI = n.ElapsedSum - n.Useful
		all = append(all, n)
	}
	return all
}

// slower makes a node's ranks compute for slowBy times as long, or as much as the busiest of them has time. The job takes as long
// as before.
func slower(n *job.NodeShare) {
	by := max(min(slowBy, 0.9999*n.ElapsedMax.Seconds()/max(n.UsefulMax.Seconds(), 1e-9)), 1)
	longer := func(d time.Duration) time.Duration { return time.Duration(by * float64(d)) }
	n.Useful, n.UsefulMax = longer(n.Useful), longer(n.UsefulMax)
	n.MPI = n.ElapsedSum - n.Useful
	for r, share := range n.UsefulShare {
		n.UsefulShare[r] = byte(math.Round(by * float64(share)))
		n.MPIShare[r] = 255 - n.UsefulShare[r]
	}
}

// tilt returns a number from -1 to 1; its mean over ranks is about 0.
func (y *Year) tilt(l *load, rank, ranks int) float64 {
	if ranks == 1 {
		return 0
	}
	if l.hot > 0.6 {
		return 1 - 2*float64(rank)/float64(ranks-1)
	}
	return math.Round(8*(2*y.rng.Float64()-1)) / 8
}

// traffic gives the execution its calls. How often a rank calls follows from the time
// steps of the workload's input, so that it is the same on any number of cores.
func traffic(e *job.Execution, l *load, part float64) {
	var mpi time.Duration
	for i := range e.Nodes {
		mpi += e.Nodes[i].MPI
	}
	e.HistP2P, e.HistCol = make([]uint64, 24), make([]uint64, 24)
	for _, c := range l.app.calls {
		n := uint64(math.Ceil(float64(l.steps)*c.perStep*part)) * uint64(e.Size)
		call := job.Call{Name: c.name, Count: n, Time: time.Duration(float64(mpi) * c.share), Sent: n * c.bytes, Received: n * c.bytes, Largest: c.bytes}
		e.Calls = append(e.Calls, call)
		addClass(e, c.class, call)
		bin := int(math.Log2(float64(c.bytes)+0.5)) + 1
		switch {
		case c.class == record.ClassColl:
			e.HistCol[bin] += n
		case c.bytes > 0:
			e.HistP2P[bin] += n
		}
	}
}

func addClass(e *job.Execution, class record.Class, c job.Call) {
	for i := range e.Classes {
		if s := &e.Classes[i]; s.Name == class.String() {
			s.Count, s.Time, s.Sent, s.Received = s.Count+c.Count, s.Time+c.Time, s.Sent+c.Sent, s.Received+c.Received
			s.Largest = max(s.Largest, c.Largest)
			return
		}
	}
	c.Name = class.String()
	e.Classes = append(e.Classes, c)
}

// sections shares the run out among the sections that the program names. The first has most of the MPI time.
func (y *Year) sections(e *job.Execution, app *application, x extent, mix mix) {
	if len(app.parts) == 0 {
		return
	}
	shares := []float64{0.15, 0.8, 0.05}
	lost := []float64{0.8, 0.15, 0.05}
	for i, label := range app.parts {
		useful := x.elapsed * (1 - x.lost) * shares[i]
		mpi := x.elapsed * x.lost * lost[i]
		n := float64(e.Size)
		s := job.Section{Label: label, Ranks: e.Size, Count: uint64(e.Size) * uint64(10+x.elapsed), Elapsed: seconds((useful + mpi) * n),
			ElapsedMax: seconds(useful + mpi), Useful: seconds(useful * n), UsefulMax: seconds(min(useful*1.01, useful+mpi)), MPI: seconds(mpi * n)}
		s.Own, s.OwnUseful, s.OwnMPI = s.Elapsed, s.Useful, s.MPI
		if mix.threads > 1 {
			s.Threads = mix.beside(s.Ranks, s.Useful, s.UsefulMax, s.MPI)
			s.Threads.Busiest = s.Ranks
		}
		e.Sections = append(e.Sections, s)
	}
}

// fate is how a job ends.
type fate struct {
	state, exit string
	ending      string  // of its ranks
	until       float64 // part of the run that it reaches
}
