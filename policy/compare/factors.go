package compare

import (
	"fmt"
	"math"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// The codes of parts: the factors and terms of a run's time (METRICS 9).
const (
	Outside             = "outside"      // T_out, a term
	Computing           = "computing"    // U
	Instructions        = "instructions" // U = instructions / (IPC x clock)
	IPC                 = "ipc"
	Clock               = "clock"
	Cores               = "cores" // n
	LoadBalance         = "load_balance"
	Files               = "files"
	Communication       = "communication"
	Serialisation       = "serialisation" // communication = serialisation x transfer x what the windows did not show
	Transfer            = "transfer"
	Unsampled           = "unsampled"
	OpenMPLoadBalance   = "openmp_load_balance" // the OpenMP quotient = balance x scheduling x serialisation x the rest
	OpenMPScheduling    = "openmp_scheduling"
	OpenMPSerialisation = "openmp_serialisation"
	OpenMPRest          = "openmp_rest"
)

// factor is one factor of the product E.
type factor struct {
	code    string
	value   float64
	divides bool // E is in inverse proportion to it
}

// shape says which factors are known: counters, sampled windows, and threads.
type shape struct{ counted, windows, threads bool }

func (s shape) and(b shape) shape {
	return shape{s.counted && b.counted, s.windows && b.windows, s.threads || b.threads}
}

// shapeOf returns what is known of an execution. The time of threads is split if either run has some: a rank
// without OpenMP has one thread.
func shapeOf(e *job.Execution, m *job.Metrics) shape {
	c := job.UsefulCounters([]job.Execution{*e})
	return shape{counted: c != nil && c.Instructions > 0 && c.Cycles > 0 && m.Hybrid == nil, windows: e.Windows.Determined(), threads: m.Hybrid != nil}
}

// factorsOf returns the factors of an execution's elapsed time, E = U / (n LB C F). A factor that is zero or
// not known has no logarithm: why names it.
func factorsOf(e *job.Execution, m *job.Metrics, s shape) (all []factor, why string) {
	u, n := m.Useful, float64(m.Ranks)
	if h := m.Hybrid; h != nil {
		u, n = h.Useful, h.Span/m.Elapsed
	}
	outside := m.Elapsed - m.IOTime/float64(m.Ranks) // of files
	f := outside / m.Elapsed
	all = append(computing(u, job.UsefulCounters([]job.Execution{*e}), s.counted), factor{Cores, n, true},
		factor{LoadBalance, m.MPI.LoadBalance, true}, factor{Files, f, true})
	all = append(all, communication(m.MPI.Communication/f, f, e.Windows, s.windows)...)
	if s.threads {
		all = append(all, openMP(m)...)
	}
	for _, one := range all {
		if !(one.value > 0) || math.IsInf(one.value, 0) {
			return nil, fmt.Sprintf("the factor of %s is %s, which has no logarithm", Name(one.code), figure.Number(one.value))
		}
	}
	return all, ""
}

// computing is U, split into its factors if instructions and cycles were counted.
func computing(u float64, c *job.Counters, counted bool) []factor {
	if !counted {
		return []factor{{Computing, u, false}}
	}
	i, cycles := float64(c.Instructions), float64(c.Cycles)
	return []factor{{Instructions, i, false}, {IPC, i / cycles, true}, {Clock, cycles / u, true}}
}

// communication is C, split into its factors if windows were sampled. On the ideal network of METRICS 1 files
// take as long as on the real one. So the windows' SerE contains F, which C does not, and is divided by it.
// Sampled windows do not show the whole run: the rest is a factor of its own.
func communication(c, f float64, w *job.Windows, known bool) []factor {
	if !known {
		return []factor{{Communication, c, true}}
	}
	ser, te := w.Serialisation.Value/f, w.Transfer.Value
	return []factor{{Serialisation, ser, true}, {Transfer, te, true}, {Unsampled, c / (ser * te), true}}
}

// openMP splits the quotient of all threads' efficiency and MPI's into factors: those of DLB, without the time
// in MPI (METRICS 2). The rest is the threads' time in MPI besides that of their ranks.
func openMP(m *job.Metrics) []factor {
	ser, balance, scheduling, whole := 1.0, 1.0, 1.0, 1.0
	if h := m.Hybrid; h != nil {
		serial := h.Useful + h.Serial
		balanced := serial + h.Imbalance
		ser, balance, scheduling = h.Useful/serial, serial/balanced, balanced/(balanced+h.Scheduling)
		whole = m.Parallel / m.MPI.Parallel
	}
	return []factor{{OpenMPSerialisation, ser, true}, {OpenMPLoadBalance, balance, true}, {OpenMPScheduling, scheduling, true},
		{OpenMPRest, whole / (ser * balance * scheduling), true}}
}

// logMean is the logarithmic mean of two times: with it the parts add up exactly.
func logMean(a, b float64) float64 {
	if ln := math.Log(b / a); math.Abs(ln) > 1e-6 {
		return (b - a) / ln
	}
	return (a + b) / 2 * (1 - math.Pow((b-a)/(b+a), 2)/3)
}

// part returns by how much a factor made the time longer, s: LMDI-I (Ang 2005), additive.
func part(before, after factor, mean float64) Part {
	ln := math.Log(after.value / before.value)
	if before.divides {
		ln = -ln
	}
	return Part{Code: before.code, Before: before.value, After: after.value, Seconds: mean*ln + 0} // no negative zero
}

// Name names a part for people.
func Name(code string) string { return names[code] }

var names = map[string]string{
	Outside: "time outside of the program", Computing: "useful computing in sum", Instructions: "useful instructions", IPC: "instructions per cycle", Clock: "cycles per useful second",
	Cores: "the number of cores", LoadBalance: "load balance", Files: "time in files", Communication: "communication efficiency",
	Serialisation: "serialisation efficiency", Transfer: "transfer efficiency", Unsampled: "communication beside the sampled windows",
	OpenMPLoadBalance: "load balance of threads", OpenMPScheduling: "scheduling of threads", OpenMPSerialisation: "serialisation of threads", OpenMPRest: "MPI in parallel regions",
}
