package demo

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"jobeff/ingest/job"
)

// python is a program whose MPI calls come from a module, mpi4py.
const python = "/usr/bin/python3"

// module is the file from which a program calls MPI.
func module(e *job.Execution) job.Module {
	if e.Executable == python {
		return job.Module{Path: "/usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", BuildID: digest("mpi4py")[:40]}
	}
	return job.Module{Path: e.Executable, BuildID: e.BuildID}
}

// lineOf makes one of the addresses at which a program calls a function.
func lineOf(e *job.Execution, function string, i int) []job.Frame {
	n, _ := strconv.ParseUint(digest(e.Executable+function, i)[:8], 16, 32)
	return []job.Frame{{Offset: 0x4000 + n%0x200000}}
}

// places fills in where its ranks called MPI: each function mostly at one line.
func places(e *job.Execution) {
	const counted = 20 * time.Microsecond // shorter calls are sampled, one in sampled
	const sampled = 256
	var all []float64 // the time in MPI of each rank
	var sum float64
	for i := range e.Nodes {
		for _, share := range e.Nodes[i].MPIShare {
			all = append(all, float64(share))
			sum += float64(share)
		}
	}
	if sum == 0 {
		return
	}
	most, least := slices.Max(all)/sum, slices.Min(all)/sum
	out := &job.Places{Modules: []job.Module{module(e)}}
	for _, c := range e.Calls {
		for i, share := range []float64{0.8, 0.2} {
			took := time.Duration(share * float64(c.Time))
			p := job.Place{Function: c.Name, Frames: lineOf(e, c.Name, i), Calls: uint64(share * float64(c.Count)), Time: took, Ranks: len(all),
				Most: time.Duration(most * float64(took)), Least: time.Duration(least * float64(took))}
			if p.Calls == 0 {
				continue
			}
			mean := took / time.Duration(p.Calls)
			if p.Longest = min(8*mean, p.Most); mean < counted {
				p.Samples, p.Sampled = p.Calls/sampled+1, took
			}
			out.List = append(out.List, p)
		}
	}
	slices.SortStableFunc(out.List, func(a, b job.Place) int { return cmp.Compare(b.Time, a.Time) })
	e.Places = out
}
