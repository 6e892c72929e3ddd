package node

import (
	"slices"
	"strings"

	"jobeff/ingest/job"
)

// GPUQuestion is what the driver is asked of a job's GPUs once the job has ended. It holds only what root noted.
type GPUQuestion struct {
	GPUs   []string `json:"gpus"`             // each the UUID if Slurm tells it, else Slurm's own number
	Shared bool     `json:"shared,omitempty"` // another job had one of them meanwhile, or that is not known
	Tasks  []int    `json:"tasks,omitempty"`  // pids of the job's tasks, as the node sees them
}

// mostTasks bounds GPUQuestion.Tasks.
const mostTasks = 100_000

// gpus notes in the report which GPUs the job had, and keeps the question about them. A job that is not measured
// is not asked about.
func (d *RunDir) gpus(r *job.NodeReport, own jobFile, log *stepLog) {
	if len(own.gpus) == 0 || !strings.HasPrefix(r.Decision, "on") {
		return
	}
	// every prolog looks for another job on the same GPUs (spank/body)
	d.question = &GPUQuestion{GPUs: own.gpus, Shared: own.gpusShared || !r.Prolog}
	for pid := range log.exits {
		d.question.Tasks = append(d.question.Tasks, pid)
	}
	slices.Sort(d.question.Tasks)
	d.question.Tasks = d.question.Tasks[:min(len(d.question.Tasks), mostTasks)]
	for range own.gpus {
		r.GPUs = append(r.GPUs, job.GPU{Why: job.GPUNotAsked})
	}
}

// GPUQuestion is about the GPUs of the report that Fold made of this directory; nil: the job had none.
func (d *RunDir) GPUQuestion() *GPUQuestion { return d.question }

// gpuNames lists a job's GPUs: numbers is SLURM_JOB_GPUS, and ids CUDA_VISIBLE_DEVICES as slurmd gives it to
// prolog and epilog. That has the same numbers or, on some sites and for parts of a GPU, UUIDs in their place.
func gpuNames(numbers, ids string) []string {
	if numbers == "" {
		return nil
	}
	all, uuids := strings.Split(numbers, ","), strings.Split(ids, ",")
	if len(uuids) == len(all) {
		for i, id := range uuids {
			if strings.HasPrefix(id, "GPU-") || strings.HasPrefix(id, "MIG-") {
				all[i] = id
			}
		}
	}
	return all[:min(len(all), job.MostGPUs)]
}
