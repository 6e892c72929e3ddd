package test

import (
	"fmt"
	"testing"
)

// sbatch's name applies to all of the job's programs, whoever starts them. srun's own name beats
// it, and both beat the environment's. Only rank 0's node knows what else makes a workload; that
// applies to the whole execution.
func TestWorkloadName(t *testing.T) {
	t.Parallel()
	program := rounds(t, site, usual)
	script := fmt.Sprintf(`export JOBEFF_WORKLOAD=ice
%[2]s%[1]s 20 5
%[2]s--jobeff-workload=water/1 %[1]s 20 5 %[1]s
timeout 60 %[3]s -n 4 %[1]s 20 5`, program, srun(t, usual), usual.launch)
	named := site.run(t, "alice", script, "-N2", "-n4", "--jobeff-workload=box")
	nameless := site.run(t, "alice", fmt.Sprintf("%[2]s%[1]s 20 5; JOBEFF_WORKLOAD=ice %[2]s%[1]s 20 6", program, srun(t, usual)), "-N1", "-n2")

	got := wantExecutions(t, site.jobeff(t, "alice", named), 3)
	for i, want := range []string{"box", "water/1", "box"} {
		if got[i].Workload != want {
			t.Errorf("execution %d is workload %q, want %q", i, got[i].Workload, want)
		}
	}
	if got[1].Inputs != 1 || got[1].InputHash == "" || got[1].InputNote != "" {
		t.Errorf("one file is named: %q of %d, %q", got[1].InputHash, got[1].Inputs, got[1].InputNote)
	}
	plain := wantExecutions(t, site.jobeff(t, "alice", nameless), 2)
	if plain[0].Workload != "" || plain[1].Workload != "ice" {
		t.Errorf("workloads %q and %q, want none and ice", plain[0].Workload, plain[1].Workload)
	}
	args := plain[0].ArgsHash
	if args == "" || plain[1].ArgsHash == args || got[0].ArgsHash != args || got[1].ArgsHash == args || got[2].ArgsHash != args {
		t.Errorf("arguments %q %q %q %q %q, want the 1st, 3rd and 5th alike", args, plain[1].ArgsHash, got[0].ArgsHash, got[1].ArgsHash, got[2].ArgsHash)
	}
	if plain[0].InputHash != "" || plain[0].InputNote != "no argument names a file" || plain[0].Args != nil {
		t.Errorf("no file is named: %q, %q; arguments %q", plain[0].InputHash, plain[0].InputNote, plain[0].Args)
	}
}
