// Package shell writes command lines that a user can copy: how a workload's next run is submitted.
// Before it in the flow comes policy; after it all that shows advice.
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

// Request is what a user types for a request; "" where nothing is asked for.
func Request(r *policy.Request) string {
	switch {
	case r.Why != "":
		return ""
	case r.Kind == policy.AskTogether:
		return srun(r.MPI)
	case r.Kind == policy.AskBound:
		return r.Start
	}
	return sbatch(r.Nodes, r.Tasks, r.CPUsPerTask, sizes(r)+option("--job-name", r.JobName)+option("--jobeff-workload", r.Workload))
}

// sbatch submits a script; what is 0 is as the script has it.
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

// sizes are the options for memory and time.
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

// option is an option whose value a user chose; "" where that cannot be one word of a shell.
func option(name, value string) string {
	if word := quoted(value); word != "" {
		return " " + name + "=" + word
	}
	return ""
}

// srun starts a step so that its ranks meet, through what its MPI library speaks.
func srun(mpi string) string {
	plugin := "pmix"
	if mpi == "MPICH" {
		plugin = "pmi2"
	}
	return "srun --mpi=" + plugin + " YOUR-PROGRAM"
}

// mostTasks is how long a list of an array's tasks may be, bytes.
const mostTasks = 200

// Tasks runs tasks of an array again, with what its request asks for; "" where there are too many to write down.
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

// quoted is a text as one word of a shell that means itself. It is "" where the text holds control
// characters, others that a terminal may show differently, or a backslash, which stands for these in an
// inert text.
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
func Plan(s *workload.Study) string {
	cores := s.Curve.Next.N
	each, name := s.ThreadsFor(cores), ""
	if s.Workload.Named() {
		name = s.Workload.Name
	}
	return sbatch(s.NodesFor(cores), cores/each, each, option("--jobeff-workload", name))
}

// plainWord says whether a shell takes s as one word that means itself.
func plainWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-/:@", r))
	}) < 0
}
