package view

import (
	"jobeff/policy"
	"jobeff/report/shell"
)

// Request is what the next job like one is to ask for. There is one for each job, array and workload.
type Request struct {
	Line  *string `json:"line"`            // what to type; null: nothing is known to ask for, and why says why
	Why   string  `json:"why,omitempty"`   // why what the next one needs is not known
	Kind  string  `json:"kind,omitempty"`  // what it changes first: together, bound, cores, cpus, one_cpu, nodes, spread; as_it_ran: memory, time, GPUs or nothing
	Leave bool    `json:"leave,omitempty"` // what the job asked for is right

	Nodes         int      `json:"nodes,omitempty"`                 // to ask for; absent, as the next five: as the job had it
	Tasks         int      `json:"ntasks,omitempty"`                // to ask for
	CPUsPerTask   int      `json:"cpus_per_task,omitempty"`         // to ask for
	Memory        int64    `json:"mem,omitempty"`                   // bytes of each node
	Time          float64  `json:"time,omitempty"`                  // s
	GPUs          *int     `json:"gpus,omitempty"`                  // to ask for; 0: none
	Runs          int      `json:"runs,omitempty"`                  // completed ones that it would have fitted
	MemoryReserve float64  `json:"mem_reserve,omitempty"`           // on the largest, a fraction of it
	TimeReserve   float64  `json:"time_reserve,omitempty"`          // likewise
	Like          string   `json:"like,omitempty"`                  // the job that it is for
	Saved         *float64 `json:"saved_core_hours,omitempty"`      // by it; null: not known
	SavedLow      *float64 `json:"saved_core_hours_low,omitempty"`  // the lower end of its interval
	SavedHigh     *float64 `json:"saved_core_hours_high,omitempty"` // the upper end
	MemoryHours   float64  `json:"freed_gib_hours,omitempty"`       // that this job would have left to others; below 0: that it lacked
	CoreHours     float64  `json:"freed_core_hours,omitempty"`      // likewise
}

func requestOf(r *policy.Request) *Request {
	if r.Why != "" {
		return &Request{Why: r.Why}
	}
	d := &Request{Line: said(shell.Request(r)), Kind: string(r.Kind), Leave: r.Leave(), Nodes: r.Nodes, Tasks: r.Tasks, CPUsPerTask: r.CPUsPerTask, Memory: r.Memory,
		Time: r.Time.Seconds(), Like: r.Like.ID}
	if r.FewerGPUs() {
		d.GPUs = &r.GPUs
	}
	d.Saved, d.SavedLow, d.SavedHigh = ends(r.Saved)
	if r.Needs != nil {
		d.Runs = r.Needs.Runs
		d.MemoryReserve, d.TimeReserve = r.Reserves()
		d.MemoryHours, d.CoreHours = r.Freed()
	}
	return d
}
