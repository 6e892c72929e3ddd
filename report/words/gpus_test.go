package words

import (
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// TestGPUWords: what is said of a job's GPUs, and nothing of a job without.
func TestGPUWords(t *testing.T) {
	const span = 2*time.Hour + 3*time.Minute
	for want, u := range map[string]*job.GPUUse{
		"": nil,
		"4; a kernel ran 37 % of the time (of 4 GPUs x 02:03:00)":             {GPUs: 4, Known: 4, Time: 4 * span, Busy: span * 148 / 100, Processes: 9},
		"1; a kernel ran at most 50 % of the time (of 1 GPU x 02:03:00)":      {GPUs: 1, Known: 1, Time: span, Busy: span / 2, Processes: 9, AtMost: true},
		"2; not known: the driver's accounting is off":                        {GPUs: 2, Unknown: map[string]int{job.GPUNoAccounting: 2}},
		"2; no process used them":                                             {GPUs: 2, Known: 2, Time: span},
		"1; not known: the node gave a reason that this jobeff does not know": {GPUs: 1, Unknown: map[string]int{"\x1b[2J": 1}},
		"4; a kernel ran 25 % of the time (of 1 GPU x 02:03:00); not known of 3 GPUs: the driver did not answer": {GPUs: 4, Known: 1, Time: span, Busy: span / 4, Processes: 1,
			Unknown: map[string]int{job.GPUHangs: 2, job.GPUFailed: 1}},
	} {
		if got := gpuText(&job.Job{GPUUse: u}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		waits := strings.Contains(gpuExplained(&job.Job{GPUUse: u}), "NCCL")
		if want := u != nil && u.Processes > 0 && u.GPUs > 1; waits != want {
			t.Errorf("%+v: what waits for another GPU is told: %v", u, waits)
		}
	}
}
