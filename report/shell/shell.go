// Package shell writes command lines that a user can copy, such as the one that submits a workload's next run.
// Before it in the flow comes policy; after it comes everything that shows advice.
package shell

import (
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/workload"
)

// Request returns the command for a request; "": nothing is known to ask for.
func Request(r *policy.Request) string {
	switch {
	case r.Why != "":
		return ""
	case r.Kind == policy.AskTogether:
		return srun(r.MPI)
	case r.Kind == policy.AskBound:
		return r.Start
	}
	return sbatch(r.Nodes, r.Tasks, r.CPUsPerTask, sizes(r)+gpus(r)+option("--job-name", r.JobName)+option("--jobeff-workload", r.Workload))
}

// sbatch returns the command that submits a script. Numbers that are 0 are left to the script.
func sbatch(nodes, tasks, each int, others string) string {
	line := "sbatch"
	add := func(name string, n int) {
		if n > 0 {
			line += fmt.Sprintf(" --%s=%d", name, n)
		}
	}
	add("nodes", nodes)
	add("ntasks", tasks)
	if nodes > 1 { // Slurm may put all tasks but one on one of several nodes, and its memory would not do
		add("ntasks-per-node", (tasks+nodes-1)/nodes)
	}
	add("cpus-per-task", each)
	return line + others + " YOUR-SCRIPT"
}

// sizes returns the options for memory and time.
func sizes(r *policy.Request) (line string) {
	if r.Memory > 0 {
		line = fmt.Sprintf(" --mem=%dM", r.Memory>>20)
	}
	if r.Time == 0 {
		return line
	}
	days, rest := r.Time/(24*time.Hour), r.Time%(24*time.Hour)
	limit := fmt.Sprintf("%02d:%02d:00", rest/time.Hour, rest%time.Hour/time.Minute)
	if days > 0 {
		limit = fmt.Sprintf("%d-%s", days, limit)
	}
	return line + " --time=" + limit
}

// gpus returns the option for GPUs. sbatch takes it in place of a script's --gpus. Without it, the script's stay.
func gpus(r *policy.Request) string {
	switch {
	case !r.FewerGPUs() || r.GPUs == 0:
		return ""
	case r.GPUKind != "":
		return option("--gpus", fmt.Sprintf("%s:%d", r.GPUKind, r.GPUs))
	}
	return fmt.Sprintf(" --gpus=%d", r.GPUs)
}

// option returns an option whose value a user chose; "": that is no single word of a shell.
func option(name, value string) string {
	if word := quoted(value); word != "" {
		return " " + name + "=" + word
	}
	return ""
}

// srun returns the command that starts a step whose ranks meet, by the protocol of its MPI library.
func srun(mpi string) string {
	plugin := "pmix"
	if mpi == "MPICH" {
		plugin = "pmi2"
	}
	return "srun --mpi=" + plugin + " YOUR-PROGRAM"
}

// mostTasks bounds the length of a list of an array's tasks, bytes.
const mostTasks = 200

// Tasks returns the command that runs tasks of an array again, with what its request asks for; "": there are
// too many to write down.
func Tasks(tasks []job.Job, r *policy.Request) string {
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
	others, asked := strings.CutPrefix(Request(r), "sbatch")
	if !asked {
		others = " YOUR-SCRIPT"
	}
	return "sbatch --array=" + list + others
}

// quoted returns a text as one literal word of a shell. It returns "" for a text with control characters, with
// others that a terminal may show differently, or with a backslash, which replaces these in an inert text.
func quoted(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) {
		return ""
	}
	if plainWord(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Workload names a workload for a command line: by its name if that is one plain word to a shell, else by its
// key.
func Workload(name, key string) string {
	if plainWord(name) && name != "" && name[0] != '-' {
		return name
	}
	return key
}

// Plan returns the sbatch line of the next run. jobeff does not record the name of the script, so the user
// fills it in.
func Plan(s *workload.Study) string {
	cores := s.Curve.Next.N
	each, name := s.ThreadsFor(cores), ""
	if s.Workload.Named() {
		name = s.Workload.Name
	}
	return sbatch(s.NodesFor(cores), cores/each, each, option("--jobeff-workload", name))
}

// plainWord reports whether a shell takes s literally, as one word.
func plainWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-/:@", r))
	}) < 0
}
