package slurm

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUsageRecorded reads output of sacct 22.05.8 on jobs with steps: on two nodes with GPUs, an
// array, steps side by side and one after another, mpirun on two nodes, a het job whose second
// component has no step, one that used more than its core, and a running one.
func TestUsageRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/steps-22.05.8.txt")
	if err != nil {
		t.Fatal(err)
	}
	jobs, bad := Parse(text, at)
	if bad != 0 || len(jobs) != 14 {
		t.Errorf("%d jobs, %d bad lines", len(jobs), bad)
	}
	const mib = 1 << 20
	want := map[string]string{
		"1":   "2.792s 4132864+335872 of 200M, largest 4132864, 2 GPUs",
		"2_2": "553ms 34586624 of 50M, largest 34586624, 0 GPUs",
		"3":   "14ms 4042752+110592 of 400M, largest 4042752, 2 GPUs",
		"4":   "63ms 4907008+22482944 of 60M, largest 11243520, 0 GPUs", // 4.1 began when 4.0 had ended
		"7":   "3.555s 55345152+51212288 of 1600M, largest 55345152, 0 GPUs",
		"8+0": "15ms 3985408+110592 of 400M, largest 3985408, 0 GPUs",
		"8+1": "none",
		"14":  "3.989s 4042752+978944 of 400M, largest 4042752, 0 GPUs",
		"15":  "none",
	}
	for _, j := range jobs {
		says, asked := want[j.ID]
		if !asked {
			continue
		}
		delete(want, j.ID)
		got := "none"
		if u := j.Usage; u != nil {
			got = fmt.Sprintf("%v %d of %dM, largest %d, %d GPUs", u.TotalCPU, u.Memory, u.Allocated/mib, u.LargestTask, j.GPUs)
		}
		if d := cmp.Diff(added(says), got); d != "" {
			t.Errorf("job %s: %s", j.ID, d)
		}
		if u := j.Usage; u != nil && u.PartOfNodes {
			t.Errorf("job %s: on some nodes only", j.ID)
		}
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

// added replaces a+b in the text by the sum.
func added(s string) string {
	var cpu, rest string
	var a, b int64
	if n, _ := fmt.Sscanf(s, "%s %d+%d", &cpu, &a, &b); n < 3 {
		return s
	}
	_, rest, _ = strings.Cut(s, " of ")
	return fmt.Sprintf("%s %d of %s", cpu, a+b, rest)
}

func TestPeak(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	span := func(from, to int, memory int64) step { return step{start: at(from), end: at(to), memory: memory} }
	for _, c := range []struct {
		name  string
		steps []step
		want  int64
	}{
		{"none", nil, 0},
		{"one after the other", []step{span(0, 9, 1), span(0, 3, 10), span(3, 6, 20), span(6, 9, 15)}, 21},
		{"side by side", []step{span(0, 9, 10), span(1, 8, 10), span(2, 7, 10)}, 30},
		{"two of three at once", []step{span(0, 5, 10), span(3, 9, 10), span(6, 9, 10)}, 20},
		{"shorter than a second", []step{span(0, 9, 1), span(4, 4, 50)}, 50},
		{"end not known", []step{span(0, 9, 1), {start: at(2), memory: 7}}, 7},
	} {
		if got := peak(c.steps); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestEverywhere(t *testing.T) {
	batch := step{id: "batch", nodes: 1, nodeList: "n1"}
	for _, c := range []struct {
		name  string
		nodes int
		steps []step
		want  bool
	}{
		{"batch alone on one", 1, []step{batch}, true},
		{"batch alone on two, as mpirun over ssh", 2, []step{batch}, false},
		{"srun on all", 4, []step{batch, {id: "0", nodes: 4, nodeList: "n[1-4]"}}, true},
		{"srun on half", 4, []step{batch, {id: "0", nodes: 2, nodeList: "n[1-2]"}}, false},
		{"mpirun's daemons on the others", 4, []step{batch, {id: "0", nodes: 3, nodeList: "n[2-4]"}}, true},
		{"salloc", 2, []step{{id: "0", nodes: 2, nodeList: "n[1-2]"}}, true},
		{"extern idles", 2, []step{batch, {id: "extern", nodes: 2, nodeList: "n[1-2]", cpu: time.Millisecond}}, false},
		{"extern holds what ssh started", 2, []step{batch, {id: "extern", nodes: 2, nodeList: "n[1-2]", cpu: time.Minute}}, true},
	} {
		if got := everywhere(c.steps, c.nodes); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestGPUs(t *testing.T) {
	for tres, want := range map[string]int{
		"": 0, "billing=2,cpu=2,mem=200M,node=2": 0, "cpu=2,gres/gpu=4,node=2": 4,
		"cpu=2,gres/gpu:a100=2,gres/gpu=4,gres/gpu:t4=2": 4, "gres/gpu:a100=2,gres/gpu:t4=1": 3,
		"gres/shard=3": 1, "gres/mps:a100=50": 1, "gres/shard=0": 0, "gres/gpumem=80G": 0, "gres/gpuutil=50": 0,
		"gres/gpu=x": 0, "gres/gpu=-1": 0, "gres/gpu": 0, "license/gpu=3": 0, "gres/gpu:1g.10gb=1": 1,
	} {
		if got := gpus(tres); got != want {
			t.Errorf("%s: %d, want %d", tres, got, want)
		}
	}
}

func TestCPUTimeAndBytes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "00:02.792": 2792 * time.Millisecond, "00:00:00": 0, "01:02:03": time.Hour + 2*time.Minute + 3*time.Second,
		"451-06:00:24": 451*24*time.Hour + 6*time.Hour + 24*time.Second, "59:59.999": time.Hour - time.Millisecond, "INVALID": 0,
		"1:2:3:4": -1, "x": -1, "00:-1": -1, "-1:00": -1, "00:NaN": -1, "9999999999:00": -1, "999999-00:00:00": -1,
	} {
		if got, ok := parseCPUTime(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for text, want := range map[string]int64{
		"": 0, "0": 0, "4036K": 4036 << 10, "187.50G": 375 << 29, "2T": 2 << 40, "4132864": 4132864, "1x": -1, "-5M": -1, "NaN": -1, "1e30": -1, "K": -1,
	} {
		if got, ok := parseBytes(text, 1); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	if got, ok := tresBytes("cpu=2,mem=191846,node=2", 1<<20); !ok || got != 191846<<20 {
		t.Errorf("%d, %v", got, ok)
	}
}
