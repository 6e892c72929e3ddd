package test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jobeff/report/view"
)

// What several runs of one program on different core counts say together.

// judged is what the rules say of a job, and its text.
func judged(t *testing.T, user, id string) (verdicts map[string]view.Verdict, shown string) {
	t.Helper()
	d := site.jobeff(t, user, id)
	verdicts = map[string]view.Verdict{}
	for _, v := range d.Verdicts {
		verdicts[v.Rule] = v
	}
	return verdicts, site.as(t, user, "jobeff", "--full", id)
}

// workloadsOf lists a user's workloads.
func workloadsOf(t *testing.T, user string) []view.Workload {
	t.Helper()
	var list struct{ Workloads []view.Workload }
	if err := json.Unmarshal([]byte(site.as(t, user, "jobeff", "workload", "--json", "--limit", "1000")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Workloads
}

// workload is what alice sees of a workload: its name, or a job of it.
func (c *cluster) workload(t *testing.T, name string) *view.Workload {
	t.Helper()
	w := new(view.Workload)
	if err := json.Unmarshal([]byte(c.as(t, "alice", "jobeff", "workload", "--json", name)), w); err != nil {
		t.Fatal(err)
	}
	return w
}

// executionsOf are the programs of a job that belong to a workload, whether or not they share
// its curve.
func executionsOf(w *view.Workload, id string) (found []int) {
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

// sleeperRan is what the ranks of sleeper.c measured themselves, seconds: the longest time of one, all
// times, and how long all threads waited for a CPU. least is of a part of the time that jobeff
// measures, most of one that contains it.
type sleeperRan struct{ least, most, leastSum, mostSum, leastWait, mostWait float64 }

func readSleeper(t *testing.T, output string) (all sleeperRan) {
	t.Helper()
	for line := range strings.Lines(output) {
		var least, most, leastWait, mostWait float64
		if _, err := fmt.Sscanf(line, "ran %g to %g s, waited %g to %g s", &least, &most, &leastWait, &mostWait); err != nil {
			t.Fatalf("%v in %q", err, output)
		}
		all.least, all.most = max(all.least, least), max(all.most, most)
		all.leastSum, all.mostSum = all.leastSum+least, all.mostSum+most
		all.leastWait, all.mostWait = all.leastWait+leastWait, all.mostWait+mostWait
	}
	return all
}

// lacked tells whether jobeff says that the ranks of a job with sleeper.c lacked CPUs. On a busy
// machine this is right where they waited for one in more than 5 % of their time (doc/RULES.md). The
// job's times must be those that its program measured.
func lacked(t *testing.T, user, id string) bool {
	t.Helper()
	d := site.jobeff(t, user, id)
	own := readSleeper(t, site.output(t, user, fmt.Sprint(d.JobID)))
	const clock = 1e-3 // above it jobeff itself doubts the clock
	if *d.Elapsed < (1-clock)*own.least || *d.Elapsed > (1+clock)*own.most {
		t.Errorf("job %s: %g s elapsed, its program says %+v", id, *d.Elapsed, own)
	}
	if *d.RunQueueWait < own.leastWait-1e-9 || *d.RunQueueWait > own.mostWait+1e-9 {
		t.Errorf("job %s: its ranks waited %g s for a CPU, its program says %+v", id, *d.RunQueueWait, own)
	}
	said := warned(d, "contention")
	if said && *d.RunQueueWait < 0.05*own.leastSum || !said && *d.RunQueueWait > 0.05*own.mostSum {
		t.Errorf("job %s: lacked CPUs %v, with waits of %g s; its program says %+v", id, said, *d.RunQueueWait, own)
	}
	return said
}

// lackedCPUs is why jobeff compares no run whose ranks waited for CPUs.
const lackedCPUs = "its ranks lacked CPUs"

// wantLeftOut checks that exactly these jobs are no points of a workload's curve, as they lacked CPUs.
func wantLeftOut(t *testing.T, w *view.Workload, jobs []string) {
	t.Helper()
	var got []string
	for _, l := range w.Left {
		if strings.HasPrefix(l.Why, lackedCPUs) {
			got = append(got, l.Run.DisplayID)
		} else {
			t.Errorf("the run of job %s is left out: %s", l.Run.DisplayID, l.Why)
		}
	}
	slices.Sort(got)
	slices.Sort(jobs)
	if !slices.Equal(got, jobs) {
		t.Errorf("left out of workload %s are %v, and %v lacked CPUs", w.Name, got, jobs)
	}
}

// A program's messages get slower with every rank: its work scales, they do not. It is flagged once
// more ranks were slower, not before. Its owner is told how many would have been better. Where the
// machine had no CPU for a rank, jobeff must say that instead. Four jobs each tell how much they
// differ.
func TestWorkloadPastInflexion(t *testing.T) {
	t.Parallel()
	const name, each = "overscaled", 4
	script := srun(t, usual) + buildSections(t, site, usual, "sleeper.c") + " 1500 3 1500"
	var ids []string
	for _, size := range []string{"-n1", "-n2"} {
		for range each {
			ids = append(ids, site.submit(t, "alice", script, "-N1", size, "--jobeff-workload="+name))
		}
	}
	one, two := ids[0], ids[each]
	var left []string
	compared := map[int]int{} // cores: jobs
	for i, id := range ids {
		site.wait(t, id)
		if lacked(t, "alice", id) {
			left = append(left, id)
		} else {
			compared[1+i/each]++
		}
	}
	wantLeftOut(t, site.workload(t, name), left)
	if first, _ := judged(t, "alice", one); first["past-inflexion"].Outcome == "flagged" {
		t.Errorf("one core is past the inflexion point: %+v", first["past-inflexion"])
	}
	verdicts, shown := judged(t, "alice", two)
	v := verdicts["past-inflexion"]
	if slices.Contains(left, two) || min(compared[1], compared[2]) < 2 {
		if v.Outcome != "cannot_tell" || !strings.Contains(site.as(t, "alice", "jobeff", "workload", name), lackedCPUs) {
			t.Errorf("its ranks lacked CPUs: %+v\n%s", v, shown)
		}
		return
	}
	if v.Outcome != "flagged" || !strings.Contains(strings.Join(strings.Fields(shown), " "), "longer on 2 cores than on 1") {
		t.Fatalf("%+v\n%s\n%s", v, shown, site.as(t, "alice", "jobeff", "workload", name))
	}
	if len(v.Recommended) == 0 {
		t.Errorf("recommends nothing: %+v", v)
	}
	for _, r := range v.Recommended {
		if r.Cores != 1 || r.Reason == "" {
			t.Errorf("recommends %+v", r)
		}
	}
	text := site.as(t, "alice", "jobeff", "workload", two)
	for _, word := range []string{"Workload " + name, "MESSAGES", "Advice"} {
		if !strings.Contains(text, word) {
			t.Errorf("jobeff workload %s does not show %q:\n%s", two, word, text)
		}
	}
}

// A program whose work is a sleep scales to four ranks on any machine. In four repetitions, each a
// workload of its own, it is never said to be past its inflexion point.
func TestWorkloadThatScales(t *testing.T) {
	t.Parallel()
	const repetitions = 4
	script := "export JOBEFF_WORKLOAD=sleep-$SLURM_ARRAY_TASK_ID\n" + srun(t, usual) + buildSections(t, site, usual, "sleeper.c") + " 4000 3 0"
	counts, arrays := []int{1, 2, 4}, map[int]string{}
	for _, n := range counts {
		arrays[n] = site.submit(t, "alice", script, "-N1", fmt.Sprintf("-n%d", n), fmt.Sprintf("--array=1-%d", repetitions))
	}
	for _, id := range arrays {
		site.wait(t, id)
	}
	for i := range repetitions {
		var left []string
		for _, n := range counts {
			id := fmt.Sprintf("%s_%d", arrays[n], i+1)
			if lacked(t, "alice", id) {
				left = append(left, id)
			}
		}
		wantScales(t, fmt.Sprintf("sleep-%d", i+1), fmt.Sprintf("%s_%d", arrays[4], i+1), left)
	}
}

// wantScales checks what is said of a workload of 1, 2 and 4 cores, one job each, and of its job on 4:
// it scales, as far as the measured times say so. Those in left lacked CPUs.
func wantScales(t *testing.T, name, id string, left []string) {
	t.Helper()
	w := site.workload(t, name)
	wantLeftOut(t, w, left)
	if len(w.Counts) != 3-len(left) {
		t.Errorf("workload %s: %d core counts, and %v are left out", name, len(w.Counts), left)
	}
	fastest, want := view.Count{T: math.Inf(1)}, "passed"
	for _, c := range w.Counts {
		if c.T < fastest.T {
			fastest = c
		}
	}
	if slices.Contains(left, id) || len(w.Counts) < 2 || fastest.N != 4 {
		want = "cannot_tell"
	}
	verdicts, _ := judged(t, "alice", id)
	if v := verdicts["past-inflexion"]; v.Outcome != want || len(w.Counts) > 0 && w.Fastest != fastest.N {
		t.Errorf("%s: %s, fastest on %d, want %s and %d\n%s", v.Outcome, v.Reason, w.Fastest, want, fastest.N, site.as(t, "alice", "jobeff", "workload", id))
	}
	if text := site.as(t, "alice", "jobeff", "workload", "--json", name); len(left) == 0 && !strings.Contains(text, `"sbatch": "sbatch --ntasks=`) {
		t.Errorf("it names no next run:\n%s", text)
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
			id := site.run(t, "alice", srun(t, usual)+"${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} "+c.program,
				append(c.args, "--jobeff-workload=not-measured-"+c.name)...)
			verdicts, _ := judged(t, "alice", id)
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

// sbatch's name applies to all of the job's programs, whoever starts them. srun's own name beats
// it, and both beat the environment's. Only rank 0's node knows what else makes a workload; that
// applies to the whole execution.
func TestWorkloadName(t *testing.T) {
	t.Parallel()
	program := rounds(t, site, usual)
	script := fmt.Sprintf(`export JOBEFF_WORKLOAD=ice
%[2]s%[1]s 20 5
%[2]s--jobeff-workload=water/1 %[1]s 20 5 %[1]s
timeout 300 %[3]s -n 4 %[1]s 20 5`, program, srun(t, usual), usual.launch)
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
