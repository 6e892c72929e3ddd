package report

import (
	"fmt"

	"jobeff/policy/workload"
)

// BetterText says what a recommended core count would have done: "64 cores would have
// taken 9 % longer and saved 46 % of the core-hours (5 runs, 90 %: 5 to 14 %)".
func BetterText(r *workload.Recommendation) string { return betterText(r) }

// SbatchLine is how a script is submitted with a recommended core count, or with what
// its study knows of nodes and of the workload's name; study may be nil.
func SbatchLine(cores int, study *workload.Study) string {
	line := fmt.Sprintf("sbatch --ntasks=%d", cores)
	if study == nil {
		return line + " YOUR-SCRIPT"
	}
	if nodes := study.NodesFor(cores); nodes > 0 {
		line += fmt.Sprintf(" --nodes=%d", nodes)
	}
	return line + namedOption(study) + " YOUR-SCRIPT"
}

// WorkloadWord is a workload as a command line takes it: its name where a shell reads it
// as one word that means itself, else its key.
func WorkloadWord(name, key string) string {
	if plainWord(name) && name != "" && name[0] != '-' {
		return name
	}
	return key
}
