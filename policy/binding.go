package policy

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
)

// Binding is what is known of a program whose busy threads were kept on fewer CPUs than they are, although
// the job had one for each.
type Binding struct {
	Ranks, Each int    // busy threads of a rank
	Line        string // how it is started with a core for each; "": its launcher is not known
}

// BindingOf is nil where threads had their CPUs, or where the job has too few.
func BindingOf(j *job.Job) *Binding {
	load := job.LoadOf(j.Executions)
	if load == nil || load.CrowdBusy == 0 || load.CrowdRanks == 0 || len(j.Executions) != 1 {
		return nil
	}
	e := &j.Executions[0]
	b := &Binding{Ranks: e.Size, Each: (load.CrowdBusy + load.CrowdRanks - 1) / load.CrowdRanks}
	h := job.HardwareOf(e)
	if h == nil || h.Cores == 0 {
		h = &job.Hardware{Sockets: 1, ThreadsPerCore: 1}
	}
	if cores := coresOf(j, h); cores < b.Ranks*b.Each {
		return nil
	}
	b.Line = b.line(e, h)
	return b
}

// coresOf is how many cores the job has for certain. More CPUs than its nodes have cores are hardware threads.
func coresOf(j *job.Job, h *job.Hardware) int {
	if h.ThreadsPerCore > 1 && h.Cores > 0 && j.CPUs > h.Cores*j.Nodes {
		return j.CPUs / h.ThreadsPerCore
	}
	return j.CPUs
}

// line starts the program under the launcher that it had. OMP_PLACES counts for one that uses OpenMP, and
// cannot leave the CPUs that the launcher allows.
func (b *Binding) line(e *job.Execution, h *job.Hardware) string {
	apart := h.Sockets > 1 && b.Ranks > 1 && b.Each <= h.Cores/h.Sockets // ranks are spread over the sockets
	var start string
	switch launcher(e) {
	case "srun":
		start = fmt.Sprintf("srun --ntasks=%d --cpus-per-task=%d", b.Ranks, b.Each)
		if h.ThreadsPerCore > 1 { // else Slurm may count the two hardware threads of a core as two CPUs
			start += " --threads-per-core=1"
		}
		start += " --cpu-bind=cores"
		if apart {
			start += " --distribution=block:cyclic"
		}
	case "mpirun":
		by := "slot"
		if apart {
			by = "socket"
		}
		start = fmt.Sprintf("mpirun -n %d --map-by %s:PE=%d --bind-to core", b.Ranks, by, b.Each)
	case "mpiexec":
		start = fmt.Sprintf("mpiexec -n %d -bind-to core:%d", b.Ranks, b.Each)
	default:
		return ""
	}
	if b.Each > 1 {
		bind := "close"
		if h.Sockets > 1 && !apart { // its threads are on both sockets, and so is the memory's bandwidth
			bind = "spread"
		}
		start = fmt.Sprintf("OMP_NUM_THREADS=%d OMP_PLACES=cores OMP_PROC_BIND=%s %s", b.Each, bind, start)
	}
	return start + " YOUR-PROGRAM"
}

// launcher is what started the ranks, by the names that it gave them; "": not known.
func launcher(e *job.Execution) string {
	switch {
	case strings.HasPrefix(e.Key, "pmix:slurm."), e.KeyFrom == "pmi":
		return "srun"
	case e.KeyFrom == "pmix" && e.MPI == "Open MPI":
		return "mpirun"
	case e.KeyFrom == "hydra" && e.MPI == "MPICH" && !strings.Contains(e.MPIVersion, "Intel"):
		return "mpiexec"
	case e.MPI == "" && len(e.Steps) > 0 && !slices.ContainsFunc(e.Steps, func(id string) bool { return strings.Trim(id, "0123456789") != "" }):
		return "srun" // the script itself has the CPUs of the job
	}
	return ""
}

// mend says how the threads get their cores.
func (b *Binding) mend() string {
	if b.Line == "" {
		return "The job has a core for each of them. Its launcher is not known, so jobeff cannot tell the line that binds them: look for its option to give each rank several cores."
	}
	return "The job has a core for each of them: start it with `" + b.Line + "`."
}
