// Package jobtest makes reports, executions, jobs and runs, and reads packed reports, for tests of the packages
// around job: the fold before it, the server and the rules after it.
package jobtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// Nonce is a nonce as a node makes one.
const Nonce = "0123456789abcdef0123456789abcdef"

// Report is a small valid report: one execution of two ranks on a node.
func Report(id uint32, node, run string) *job.NodeReport {
	begin := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return &job.NodeReport{
		Version: job.ReportVersion, Sequence: 1, Cluster: "test", JobID: id, Nonce: run, UID: 1001, GID: 1001, User: "alice", Account: "proj",
		Partition: "main", NodeList: node, NNodes: 1, Node: node, BootID: Nonce, OnlineCPUs: 2,
		Start: begin, End: begin.Add(20 * time.Second), Decision: "on", Prolog: true,
		Steps: []job.Step{{ID: "batch", Tasks: 1, Start: begin, End: begin.Add(20 * time.Second), Exits: map[string]int{"0": 1}}},
		Executions: []job.Execution{{
			Key: "k", KeyFrom: "pmix", Steps: []string{"batch"}, Size: 2, Start: begin, End: begin.Add(12 * time.Second),
			Nodes: []job.NodeShare{{Node: node, Ranks: 2, Useful: 14 * time.Second, UsefulMax: 8 * time.Second, MPI: 10 * time.Second,
				ElapsedMax: 12 * time.Second, ElapsedSum: 24 * time.Second, RankIDs: "0-1"}},
			Calls:   []job.Call{{Name: "MPI_Allreduce", Count: 10, Time: 10 * time.Second, Sent: 80, Received: 80, Largest: 8}},
			Endings: map[string]int{"finalized": 2},
		}},
	}
}

// Part is what a node saw of the execution key: ranks first to first+n-1 of size. Every field is
// set, except those that a node leaves empty or may know nothing of.
func Part(rng *rand.Rand, key, node string, start time.Time, first, n, size int) job.Execution {
	var e job.Execution
	Fill(rng, &e)
	e.Key, e.KeyFrom, e.Size, e.Start = "pmix:"+key, "pmix", size, start.Add(time.Duration(rng.IntN(1e9)))
	e.Executable, e.BuildID, e.Steps, e.Endings = "/bin/app", "", []string{[]string{"batch", "0"}[rng.IntN(2)]}, map[string]int{}
	e.End = e.Start.Add(time.Minute)
	e.CPUsPerTask, e.OMPThreads, e.RankIDs, e.Metrics = 1, 1, "", nil // a rank has one thread
	e.Folded, e.Costly = nil, false
	share := e.Nodes[0]
	share.Node, share.BootID, share.OnlineCPUs, share.RankIDs, share.Ranks = node, node, 2, slurmid.FormatRanges(Seq(first, n)), n
	share.Useful, share.UsefulMax, share.MPI, share.ElapsedMax, share.Counters = 0, 0, 0, 0, nil
	share.Threads, share.Run = nil, nil
	if n > 0 && rng.IntN(4) > 0 {
		in := Start.UnixNano() + rng.Int64N(1e12)
		share.Run = &job.Instance{Number: 1, In: in, Out: in + rng.Int64N(1e12)}
	}
	share.Load.OpenMP = share.Load.Threaded
	threads := &job.ThreadShare{Ranks: n, Threads: 2 * n, ThreadsMax: 2}
	one := e.Slowest[0]
	e.Slowest, e.Calls, e.Warnings = nil, nil, nil
	for i := range n {
		useful, mpi := time.Duration(rng.IntN(1e12)), time.Duration(rng.IntN(1e12))
		share.Useful, share.UsefulMax = share.Useful+useful, max(share.UsefulMax, useful)
		share.MPI, share.ElapsedMax = share.MPI+mpi, max(share.ElapsedMax, useful+mpi)
		threads.Add(&job.ThreadShare{Useful: useful + useful/3, UsefulMax: useful, MPI: 2 * mpi, Imbalance: useful - useful/3})
		one.Rank, one.Node, one.Useful = first+i, node, useful
		e.Slowest = append(e.Slowest, one)
		e.Endings[[]string{job.EndingFinalized, "signal 9 (SIGKILL)"}[rng.IntN(2)]]++
	}
	if rng.IntN(2) == 0 {
		share.Counters = &job.Counters{Ranks: n, Instructions: rng.Uint64(), Cycles: rng.Uint64(), Useful: time.Duration(rng.Int64())}
	}
	if rng.IntN(2) == 0 {
		share.Threads = threads
	}
	e.Nodes = []job.NodeShare{share}
	for _, name := range []string{"MPI_Send", "MPI_Recv", "MPI_Bcast"}[:1+rng.IntN(3)] {
		var c job.Call
		Fill(rng, &c)
		c.Name, c.Count, c.Time, c.Sent, c.Largest = name, rng.Uint64()>>2, time.Duration(rng.Int64()>>1), rng.Uint64(), rng.Uint64()
		e.Calls = append(e.Calls, c)
	}
	e.HistP2P = make([]uint64, rng.IntN(5))
	for b := range e.HistP2P {
		e.HistP2P[b] = rng.Uint64()
	}
	e.InputNote, e.Workload = "rank 0 left no record", []string{"", "water", "ice"}[rng.IntN(3)]
	if first == 0 {
		e.ArgsHash, e.InputHash, e.Inputs, e.InputNote = fmt.Sprintf("%032x", rng.Uint64()), fmt.Sprintf("%032x", rng.Uint64()), 2, ""
	}
	e.Slowest = job.Slowest(e.Slowest)
	job.SortCalls(e.Calls)
	e.Sections = sections(rng)
	if rng.IntN(2) == 0 {
		e.Warnings = []doubt.Warning{doubt.NewWarning(doubt.WarnTorn, 1+rng.IntN(3))}
	}
	return e
}

// sections are random sections of one node.
func sections(rng *rand.Rand) []job.Section {
	sums := job.SectionSums{}
	for _, label := range []string{"halo", "step", record.OtherSections}[:rng.IntN(4)] {
		for range 1 + rng.IntN(3) {
			all := time.Duration(rng.Int64N(math.MaxInt64))
			mpi := min(time.Duration(rng.IntN(1e9)), all)
			var s job.Section
			Fill(rng, &s)
			s.Label, s.Ranks, s.Count, s.Elapsed, s.ElapsedMax, s.Own, s.Open = label, 1, rng.Uint64(), all, all, all, rng.IntN(2)
			s.Useful, s.UsefulMax, s.MPI, s.OwnUseful, s.OwnMPI = all-mpi, all-mpi, mpi, all-mpi, mpi
			s.Instances, s.Threads = instances(rng), nil
			if rng.IntN(2) == 0 {
				s.Threads = &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s.Useful, UsefulMax: s.Useful, Busiest: rng.IntN(2), MPI: s.MPI, Imbalance: time.Duration(rng.IntN(1e9))}
			}
			sums.At(label).Add(&s)
		}
	}
	return sums.List()
}

// instances are random sampled instances of one rank; nil: it kept none.
func instances(rng *rand.Rand) *job.Instances {
	if rng.IntN(8) == 0 {
		return nil
	}
	out := &job.Instances{Least: 1 + rng.Uint64N(3), Most: 4}
	for i := range 5 {
		if in := Start.UnixNano() + rng.Int64N(1e12); rng.IntN(4) > 0 {
			out.Kept = append(out.Kept, job.Instance{Number: uint64(i + 1), In: in, Out: in + rng.Int64N(1e12)})
		}
	}
	return out
}

// Seq is n numbers from first on.
func Seq(first, n int) (out []int) {
	for i := range n {
		out = append(out, first+i)
	}
	return out
}

// Codes are the codes of warnings, separated by blanks.
func Codes(warnings []doubt.Warning) string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.Code)
	}
	return strings.Join(out, " ")
}
