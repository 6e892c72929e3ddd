package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jobeff/etc"
	"jobeff/report/document"
)

// What several runs of one program on different core counts say together.

// shortJobs is a configuration whose rules judge even jobs of one second. The cluster's own
// configuration, which other tests use, stays.
func shortJobs(t *testing.T, user string) string {
	t.Helper()
	path := filepath.Join(site.home(user), strings.ReplaceAll(t.Name(), "/", "-")+".toml")
	var text strings.Builder
	for _, rule := range etc.Default().Rules {
		fmt.Fprintf(&text, "[[rule]]\nname = %q\nleast_runtime = \"1ms\"\nleast_core_hours = 0\n", rule.Name)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// judged is what the rules of a configuration say of a job, and its view.
func judged(t *testing.T, user, config, id string) (verdicts map[string]document.Verdict, view string) {
	t.Helper()
	site.jobeff(t, user, id) // waits for all of its figures
	var d document.Job
	if err := json.Unmarshal([]byte(site.as(t, user, "env", "JOBEFF_CONFIG="+config, "jobeff", "--json", id)), &d); err != nil {
		t.Fatal(err)
	}
	verdicts = map[string]document.Verdict{}
	for _, v := range d.Verdicts {
		verdicts[v.Rule] = v
	}
	return verdicts, site.as(t, user, "env", "JOBEFF_CONFIG="+config, "jobeff", id)
}

// workloadsOf lists a user's workloads.
func workloadsOf(t *testing.T, user string) []document.Workload {
	t.Helper()
	var list struct{ Workloads []document.Workload }
	if err := json.Unmarshal([]byte(site.as(t, user, "jobeff", "workload", "--json", "--limit", "1000")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Workloads
}

// workload is what alice sees of a workload: its name, or a job of it.
func (c *cluster) workload(t *testing.T, name string) *document.Workload {
	t.Helper()
	w := new(document.Workload)
	if err := json.Unmarshal([]byte(c.as(t, "alice", "jobeff", "workload", "--json", name)), w); err != nil {
		t.Fatal(err)
	}
	return w
}

// executionsOf are the programs of a job that belong to a workload, whether or not they share
// its curve.
func executionsOf(w *document.Workload, id string) (found []int) {
	add := func(job string, execution int) {
		if job == id {
			found = append(found, execution)
		}
	}
	for _, r := range w.Runs {
		add(r.DisplayID, r.Execution)
	}
	for _, s := range w.Splits {
		for _, r := range s.Runs {
			add(r.DisplayID, r.Execution)
		}
	}
	for _, l := range w.Left {
		add(l.Run.DisplayID, l.Run.Execution)
	}
	slices.Sort(found)
	return found
}

// LAMMPS on one input is one workload on any number of ranks. Another input, executable or
// number of steps makes another workload.
func TestWorkloadLAMMPS(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(site.home("bob"), "workloads")
	site.as(t, "bob", "mkdir", dir)
	melt, err := os.ReadFile("lammps/in.melt")
	if err != nil {
		t.Fatal(err)
	}
	small := strings.NewReplacer("0 20 0 20 0 20", "0 6 0 6 0 6", "run\t\t300", "run\t\t${steps}").Replace(string(melt))
	for name, text := range map[string]string{"in.small": small, "in.other": strings.Replace(small, "3.0 87287", "2.0 87287", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	id := site.run(t, "bob", `cd workloads
run() { local n=$1 lmp=$2 steps=$3 input=$4; `+srun(t, openmpi)+`-n "$n" "$lmp" -in "$input" -log none -var steps "$steps"; }
objcopy --remove-section .note.gnu.build-id "$(readlink -f /usr/bin/lmp)" lmp2
for n in 1 2 4; do run $n lmp 50 in.small; done
run 2 lmp 50 in.other
run 2 ./lmp2 50 in.small
run 2 lmp 60 in.small`, "-N1", "-n4")
	wantExecutions(t, site.jobeff(t, "bob", id), 6)
	var got []string
	for _, w := range workloadsOf(t, "bob") {
		if mine := executionsOf(&w, id); len(mine) > 0 {
			got = append(got, fmt.Sprint(mine))
			if !strings.HasPrefix(w.Name, "lmp") || w.InputNote != "" {
				t.Errorf("workload %s, input %q", w.Name, w.InputNote)
			}
		}
	}
	slices.Sort(got)
	if want := "[0 1 2] [3] [4] [5]"; strings.Join(got, " ") != want {
		t.Errorf("workloads of the programs %v, want %s", got, want)
	}
}

// A program's messages get slower with every rank: its work scales, its sums do not. It is
// flagged once more ranks were slower, not before. Its owner is told how many would have been
// better. Work and messages are sleeps, so the machine plays no part.
func TestWorkloadPastInflexion(t *testing.T) {
	t.Parallel()
	const name = "overscaled"
	config := shortJobs(t, "alice")
	script := srun(t, usual) + buildSections(t, site, usual, "latesums.c") + " 2000 5 120"
	var ids []string
	for _, size := range []string{"-n1 -N1", "-n1 -N1", "-n4 -N2", "-n4 -N2"} { // two jobs each tell how much they differ
		id := site.run(t, "alice", script, append(strings.Fields(size), "--jobeff-workload="+name)...)
		site.jobeff(t, "alice", id)
		ids = append(ids, id)
	}
	verdicts, view := judged(t, "alice", config, ids[2])
	v := verdicts["past-inflexion"]
	if v.Outcome == "cannot_tell" && strings.Contains(leftOut(site.workload(t, name)), lackedCPUs) {
		t.Skipf("other tests used its ranks' CPUs, and jobeff says so: %s", v.Reason)
	}
	if v.Outcome != "flagged" || !strings.Contains(strings.Join(strings.Fields(view), " "), "longer on 4 cores than on 1") {
		t.Fatalf("%+v\n%s\n%s", v, view, site.as(t, "alice", "jobeff", "workload", name))
	}
	better := false
	for _, r := range v.Recommended {
		better = better || r.Cores == 1 || r.Cores == 2
		if r.Cores > 2 || r.Reason == "" {
			t.Errorf("recommends %+v", r)
		}
	}
	if !better {
		t.Errorf("recommends nothing: %+v", v)
	}
	if first, _ := judged(t, "alice", config, ids[0]); first["past-inflexion"].Outcome == "flagged" {
		t.Errorf("one core is past the inflexion point: %+v", first["past-inflexion"])
	}
	text := site.as(t, "alice", "jobeff", "workload", ids[2])
	for _, word := range []string{"Workload " + name, "LATE_SUM", "Advice"} {
		if !strings.Contains(text, word) {
			t.Errorf("jobeff workload %s does not show %q:\n%s", ids[2], word, text)
		}
	}
	if plan := site.as(t, "alice", "jobeff", "workload", "plan", name); !strings.Contains(plan, "sbatch --ntasks=") {
		t.Errorf("the plan is %s", plan)
	}
}

// lackedCPUs is why jobeff compares no run beside which others used its CPUs.
const lackedCPUs = "its ranks lacked CPUs"

// A program whose work is a sleep scales to four ranks on any machine. In ten repetitions, each
// a workload of its own, it is never said to be past its inflexion point.
func TestWorkloadThatScales(t *testing.T) {
	t.Parallel()
	const repetitions = 10
	config := shortJobs(t, "alice")
	script := "export JOBEFF_WORKLOAD=sleep-$SLURM_ARRAY_TASK_ID\n" + srun(t, usual) + build(t, site, usual.cc, "sleepscale.c") + " 4000 3"
	arrays := map[string]string{}
	for _, n := range []string{"4", "2", "1"} {
		arrays[n] = site.submit(t, "alice", script, "-N1", "-n"+n, fmt.Sprintf("--array=1-%d", repetitions))
	}
	for _, id := range arrays {
		site.wait(t, id)
	}
	for i := range repetitions {
		id := func(n string) string { return fmt.Sprintf("%s_%d", arrays[n], i+1) }
		site.jobeff(t, "alice", id("1"))
		site.jobeff(t, "alice", id("2"))
		verdicts, _ := judged(t, "alice", config, id("4"))
		v := verdicts["past-inflexion"]
		if v.Outcome != "passed" && !(v.Outcome == "cannot_tell" && strings.Contains(leftOut(site.workload(t, id("4"))), lackedCPUs)) {
			t.Errorf("repetition %d: %s: %s\n%s", i+1, v.Outcome, v.Reason, site.as(t, "alice", "jobeff", "workload", id("4")))
		}
	}
	w := new(document.Workload)
	for i := 0; i < repetitions && len(w.Counts) < 3; i++ { // of one that had its CPUs
		w = site.workload(t, fmt.Sprintf("sleep-%d", i+1))
	}
	if len(w.Counts) < 3 {
		t.Skip("other tests used the CPUs of every repetition, and jobeff says so")
	}
	if len(w.Counts) != 3 || w.Fastest != 4 || w.Scaling != "strong" {
		t.Errorf("%d core counts, fastest on %d, scales %s: %s", len(w.Counts), w.Fastest, w.Scaling, w.ScalingNote)
	}
}

// jobeff does not measure what threads and GPUs do. So no rule is sure of such a job, and no
// curve uses its run.
func TestWorkloadOfThreadsAndGPUs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, why, program string
		args               []string
	}{
		{"threads", "threads", build(t, site, usual.cc, "busy.c", "-fopenmp", "-pthread") + " 1 openmp", []string{"-N1", "-n2", "--cpus-per-task=2"}},
		{"GPUs", "GPU", build(t, site, usual.cc, "sleepscale.c") + " 1000 5", []string{"-N1", "-n2", "--gres=gpu:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := shortJobs(t, "alice")
			id := site.run(t, "alice", srun(t, usual)+"${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} "+c.program,
				append(c.args, "--jobeff-workload=not-measured-"+c.name)...)
			verdicts, _ := judged(t, "alice", config, id)
			if v := verdicts["past-inflexion"]; v.Outcome != "cannot_tell" || !strings.Contains(v.Reason, c.why) {
				t.Errorf("%s: %s", v.Outcome, v.Reason)
			}
			for name, v := range verdicts {
				if v.Outcome == "flagged" {
					t.Errorf("%s is flagged: %s", name, v.Reason)
				}
			}
			text := site.as(t, "alice", "jobeff", "workload", id)
			if !strings.Contains(text, "No curve") || !strings.Contains(text, c.why) {
				t.Errorf("jobeff workload %s:\n%s", id, text)
			}
		})
	}
}
