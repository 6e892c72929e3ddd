package policy

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
)

// Binding describes a program whose busy threads had to share CPUs, although the job had one for each.
type Binding struct {
	Ranks, Each int    // ranks, and busy threads of each
	Line        string // how to start it with a core for each; "": its launcher is not known
	// Threads says that there may be only a hardware thread for each, not a core: Slurm may count
	// either as a CPU.
	Threads bool
}

// BindingOf returns nil if the threads had their CPUs, or if the job has too few.
func BindingOf(j *job.Job) *Binding {
	load := job.LoadOf(j.Executions)
	if load == nil || load.CrowdBusy == 0 || load.CrowdRanks == 0 || len(j.Executions) != 1 {
		return nil
	}
	e := &j.Executions[0]
	b := &Binding{Ranks: e.Size, Each: (load.CrowdBusy + load.CrowdRanks - 1) / load.CrowdRanks}
	h := job.HardwareOf(e)
	from := launcher(e)
	if h == nil || h.Cores == 0 {
		h, b.Threads = &job.Hardware{Sockets: 1, ThreadsPerCore: 1}, true
	}
	b.Threads = b.Threads || j.CPUs < b.Ranks*b.Each*h.ThreadsPerCore
	if j.CPUs < b.Ranks*b.Each || b.Threads && from != "srun" { // only srun binds to what Slurm counts
		return nil
	}
	b.Line = b.line(from, h)
	return b
}

// line returns the command that starts the program under the same launcher. OMP_PLACES affects OpenMP only, and
// keeps to the CPUs that the launcher allows.
func (b *Binding) line(from string, h *job.Hardware) string {
	apart := h.Sockets > 1 && b.Ranks > 1 && b.Each <= h.Cores/h.Sockets // ranks are spread over the sockets
	start, places := "", "cores"
	if b.Threads {
		places = "threads"
	}
	switch from {
	case "srun":
		start = fmt.Sprintf("srun --ntasks=%d --cpus-per-task=%d", b.Ranks, b.Each)
		if h.ThreadsPerCore > 1 && !b.Threads { // else Slurm may count the two hardware threads of a core as two CPUs
			start += " --threads-per-core=1"
		}
		start += " --cpu-bind=" + places
		if apart && !b.Threads {
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
		start = fmt.Sprintf("OMP_NUM_THREADS=%d OMP_PLACES=%s OMP_PROC_BIND=close %s", b.Each, places, start)
	}
	return start + " YOUR-PROGRAM"
}

// launcher names what started the ranks, by the kind of key that it gave them; "": not known.
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
	switch {
	case b.Line == "":
		return "The job has a core for each of them. Its launcher is not known, so jobeff cannot tell the line that binds them: look for its option to give each rank several cores."
	case b.Threads:
		return "The job has a CPU for each of them, which may be a hardware thread."
	}
	return "The job has a core for each of them."
}
