package view

import (
	"jobeff/policy/workload"
	"jobeff/report/shell"
)

// Line is what sbatch is to be asked for by the next job of a workload.
type Line struct {
	Sbatch *string `json:"sbatch"` // null: there is none, and why says why
	Why    string  `json:"why,omitempty"`

	Nodes         int     `json:"nodes,omitempty"`
	Tasks         int     `json:"ntasks,omitempty"`
	CPUsPerTask   int     `json:"cpus_per_task,omitempty"`
	Memory        int64   `json:"mem,omitempty"`             // bytes of each node
	Time          float64 `json:"time,omitempty"`            // s
	Runs          int     `json:"runs,omitempty"`            // that it would have fitted
	MemoryReserve float64 `json:"mem_reserve,omitempty"`     // on the largest, a fraction of it
	TimeReserve   float64 `json:"time_reserve,omitempty"`    // likewise
	Like          string  `json:"like,omitempty"`            // the job that it is for
	MemoryHours   float64 `json:"freed_gib_hours,omitempty"` // that this job would have left to others; below 0: that it lacked
	CoreHours     float64 `json:"freed_core_hours,omitempty"`
}

// lineOf is a line for jobs of a name.
func lineOf(l *workload.Line, name string) *Line {
	d := &Line{Why: l.Why}
	if l.Why == "" {
		d = &Line{Sbatch: said(shell.Line(l, name)), Nodes: l.Nodes, Tasks: l.Tasks, CPUsPerTask: l.CPUsPerTask, Memory: l.Memory, Time: l.Time.Seconds(), Runs: l.Runs,
			MemoryReserve: l.MemoryReserve, TimeReserve: l.TimeReserve, Like: l.Like.ID}
		d.MemoryHours, d.CoreHours = l.Freed()
	}
	return d
}
