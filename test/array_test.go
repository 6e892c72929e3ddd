package test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"jobeff/report/view"
)

// TestArrayOfTwoPrograms: 60 tasks, of which every third runs another program, and one fails.
func TestArrayOfTwoPrograms(t *testing.T) {
	t.Parallel()
	const tasks = 60
	first, second := rounds(t, site, mpich), build(t, site, mpich.cc, "rounds.c", "-DSECOND")
	id := site.run(t, "alice", fmt.Sprintf("app=%s\n[ $((SLURM_ARRAY_TASK_ID %% 3)) = 0 ] && app=%s\n$app 3 5\n[ $SLURM_ARRAY_TASK_ID != 7 ]", first, second),
		"-n1", "-J", "both", fmt.Sprintf("--array=1-%d", tasks))
	var a *view.Array
	site.untilReported(t, "the tasks of array "+id, func() bool {
		r, d := site.try(t, "", "as", "alice", "jobeff", "--json", id), new(view.Job)
		if r.code != 0 || json.Unmarshal([]byte(r.stdout), d) != nil || d.Array == nil {
			return false
		}
		a = d.Array
		ended := 0
		for _, p := range a.Programs {
			if p.Program != nil && p.Efficiency != nil && p.Efficiency.Tasks == p.Of { // else its reports came between two readings
				ended += p.Tasks
			}
		}
		return a.Tasks == tasks && ended == tasks && a.States["COMPLETED"]+a.States["FAILED"] == tasks
	})
	if a.States["FAILED"] != 1 || len(a.Again) != 1 || a.Again[0] != 7 || len(a.Programs) != 2 || a.More {
		t.Fatalf("%+v", a)
	}
	for i, want := range []struct {
		program   string
		tasks, of int
	}{{first, 40, 39}, {second, 20, 20}} {
		p := a.Programs[i]
		if *p.Program != want.program || p.Tasks != want.tasks || p.Of != want.of || p.Efficiency == nil || p.Efficiency.Tasks != want.of || p.Time == nil || p.Time.Least > p.Time.Median {
			t.Errorf("%s: %d of %d, efficiency %+v, time %+v; want %+v", *p.Program, p.Of, p.Tasks, p.Efficiency, p.Time, want)
		}
	}
	if l := a.Request; l == nil || (l.Line == nil) == (l.Why == "") {
		t.Errorf("line %+v", l)
	}
	text := strings.Join(strings.Fields(site.as(t, "alice", "jobeff", "--full", id)), " ")
	for _, want := range []string{"60 tasks: 59 completed and 1 failed. They ran 2 different programs, whose figures stand apart.", "Array " + id + " both", "sbatch --array=7 "} {
		if !strings.Contains(text, want) {
			t.Errorf("jobeff %s does not say %q:\n%s", id, want, text)
		}
	}
	if list := site.as(t, "alice", "jobeff", "-n", id); strings.Count(list, "\n") != 1 || !strings.HasPrefix(list, id+" ") || !strings.Contains(list, "59 CD") {
		t.Errorf("the array's line:\n%s", list)
	}
	if list := site.as(t, "alice", "jobeff", "-n", "--tasks", id); strings.Count(list, "\n") != tasks || strings.Count(list, id+"_") != tasks {
		t.Errorf("the tasks' lines:\n%s", list)
	}
	if one := site.as(t, "alice", "jobeff", id+"_5"); !strings.Contains(one, "Job        "+id+"_5 both") {
		t.Errorf("one task:\n%s", one)
	}
	if r := site.try(t, "", "as", "bob", "jobeff", id); r.code == 0 {
		t.Errorf("bob sees alice's array:\n%s", r.stdout)
	}
}
