// Package shell writes command lines that a user can copy: how a workload's next run is
// submitted. Before it in the flow stands policy; after it all that shows advice.
package shell

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy/workload"
)

// Sbatch is the line that submits a script with a core count. A study adds the threads of each rank,
// the number of nodes and the workload's name; it may be nil.
func Sbatch(cores int, study *workload.Study) string {
	if study == nil {
		return fmt.Sprintf("sbatch --ntasks=%d YOUR-SCRIPT", cores)
	}
	threads := study.ThreadsFor(cores)
	line := fmt.Sprintf("sbatch --ntasks=%d", cores/threads)
	if threads > 1 {
		line += fmt.Sprintf(" --cpus-per-task=%d", threads)
	}
	if nodes := study.NodesFor(cores); nodes > 0 {
		line += fmt.Sprintf(" --nodes=%d", nodes)
	}
	return line + namedOption(study) + " YOUR-SCRIPT"
}

// Nodes is how a script is submitted with its ranks on so many nodes.
func Nodes(nodes, ranks int) string {
	return fmt.Sprintf("sbatch --nodes=%d --ntasks=%d YOUR-SCRIPT", nodes, ranks)
}

// Srun is how a step is started so that its ranks meet: by what its MPI library speaks.
func Srun(mpi string) string {
	plugin := "pmix"
	if mpi == "MPICH" {
		plugin = "pmi2"
	}
	return "srun --mpi=" + plugin + " YOUR-PROGRAM"
}

// CPUs is how a script is submitted whose ranks need so many CPUs each.
func CPUs(ranks, each int) string {
	return fmt.Sprintf("sbatch --ntasks=%d --cpus-per-task=%d YOUR-SCRIPT", ranks, each)
}

// Line is the line that would have fitted the jobs of a workload; "" where there is none. name is that of
// its jobs where this tells the workload, else "".
func Line(l *workload.Line, name string) string {
	if l.Why != "" {
		return ""
	}
	days, rest := l.Time/(24*time.Hour), l.Time%(24*time.Hour)
	limit := fmt.Sprintf("%02d:%02d:00", rest/time.Hour, rest%time.Hour/time.Minute)
	if days > 0 {
		limit = fmt.Sprintf("%d-%s", days, limit)
	}
	each := "" // Slurm may put all tasks but one on one of several nodes, and its memory would not do
	if l.Nodes > 1 {
		each = fmt.Sprintf(" --ntasks-per-node=%d", (l.Tasks+l.Nodes-1)/l.Nodes)
	}
	line := fmt.Sprintf("sbatch --nodes=%d --ntasks=%d%s --cpus-per-task=%d --mem=%dM --time=%s", l.Nodes, l.Tasks, each, l.CPUsPerTask, l.Memory>>20, limit)
	if word := quoted(name); word != "" {
		line += " --job-name=" + word
	}
	return line + " YOUR-SCRIPT"
}

// mostTasks is how long a list of an array's tasks may be, bytes.
const mostTasks = 200

// Tasks runs tasks of an array again; "" where there are too many to write down.
func Tasks(tasks []job.Job) string {
	var numbers []int
	for i := range tasks {
		if t := tasks[i].ArrayTaskID; t != nil {
			numbers = append(numbers, int(*t))
		}
	}
	list := slurmid.FormatRanges(numbers)
	if list == "" || len(list) > mostTasks {
		return ""
	}
	return "sbatch --array=" + list + " YOUR-SCRIPT"
}

// quoted is a text as a shell takes it for one word that means itself; "" where it holds control characters,
// others that a terminal may show differently, or a backslash, as which an inert text shows them.
func quoted(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) {
		return ""
	}
	if plainWord(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Workload is a workload as a command line takes it: its name if that is one plain word to a
// shell, else its key.
func Workload(name, key string) string {
	if plainWord(name) && name != "" && name[0] != '-' {
		return name
	}
	return key
}

// Plan is the sbatch line of the next run. Nobody recorded the name of the script, so the user
// fills it in.
func Plan(s *workload.Study) string { return Sbatch(s.Curve.Next.N, s) }

// namedOption makes a new run join a workload that its user named.
func namedOption(s *workload.Study) string {
	if name := quoted(s.Workload.Name); name != "" && !strings.HasPrefix(s.Workload.Name, filepath.Base(s.Workload.Executable)+"-") {
		return " --jobeff-workload=" + name
	}
	return ""
}

// plainWord says whether a shell takes s as one word that means itself.
func plainWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-/:@", r))
	}) < 0
}
