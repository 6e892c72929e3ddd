package words

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"jobeff/ingest/job"
)

// TestArrayScreen: an array of many programs fits, too, and says what it leaves out.
func TestArrayScreen(t *testing.T) {
	for name, c := range map[string]struct {
		tasks []job.Job
		want  string
	}{"array": {arrayTasks(), ""}, "many": {manyPrograms(), "jobeff --full 900: "}} {
		for view, opts := range views {
			var out bytes.Buffer
			if err := ArrayScreen(&out, c.tasks, true, opts); err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
			if n := strings.Count(out.String(), "\n"); n > 40 || !strings.Contains(out.String(), c.want) {
				t.Errorf("%s-%s: %d lines, %q:\n%s", name, view, n, c.want, out.String())
			}
			if view == "80" {
				golden(t, "firstof-"+name+".txt", out.Bytes())
			}
		}
	}
}

// manyPrograms is an array each of whose tasks ran a program of its own, with hostile names.
func manyPrograms() []job.Job {
	all := arrayTasks()
	for i := range all {
		all[i].Program, all[i].Name, all[i].User = nasty+fmt.Sprint("-", i), nasty, nasty
	}
	return all
}
