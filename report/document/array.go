package document

import (
	"jobeff/ingest/job"
	"jobeff/policy"
)

// Array is what the tasks of an array say together, each by its last attempt.
type Array struct {
	ID     string         `json:"id"`
	Tasks  int            `json:"tasks"` // that have begun
	More   bool           `json:"more"`  // only these, the first ones, are summed up
	States map[string]int `json:"states"`
	Flags  map[string]int `json:"flags"` // rules, and how many tasks each flags
	// Core-hours of all attempts; those lost are a part of those judged.
	Used     float64        `json:"used_core_hours"`
	Judged   float64        `json:"judged_core_hours"`
	Lost     float64        `json:"lost_core_hours"`
	Programs []ArrayProgram `json:"programs"`
	Worst    []ArrayTask    `json:"worst"` // those that lost most; where that is known of none, left most idle
	Again    []uint32       `json:"again"` // numbers of those that ended and were not completed
	Line     *Line          `json:"line"`  // that would have fitted each of them
}

// ArrayProgram is what the tasks of one program say together: those that were completed, or all that
// ended where none was.
type ArrayProgram struct {
	Program    *string `json:"program"` // its path; null: they left no record of one
	Tasks      int     `json:"tasks"`   // that ended
	Of         int     `json:"of"`      // of these the figures are
	Completed  bool    `json:"completed"`
	Efficiency *Spread `json:"parallel_efficiency"` // null: not known of any
	CPU        *Spread `json:"cpu_efficiency"`
	Memory     *Spread `json:"needed_memory"`
	Time       *Spread `json:"job_elapsed"`
}

// Spread is how a figure differs from task to task.
type Spread struct {
	Tasks  int     `json:"tasks"` // of which it is known
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	Most   float64 `json:"most"`
}

// ArrayTask is a task by name.
type ArrayTask struct {
	ID    string   `json:"id"`
	State string   `json:"state"`
	Lost  *float64 `json:"lost_core_hours"`
	Idle  *float64 `json:"idle_core_hours"`
}

func arrayOf(found *job.JobAndWorkload) *Array {
	a := policy.ArrayOf(found.Tasks)
	if a == nil {
		return nil
	}
	d := &Array{ID: a.ID, Tasks: a.Tasks, More: found.MoreTasks, States: map[string]int{}, Flags: map[string]int{}, Used: a.Hours.Used, Judged: a.Hours.Judged, Lost: a.Hours.Lost,
		Programs: []ArrayProgram{}, Worst: []ArrayTask{}, Again: []uint32{}, Line: lineOf(a.Line, found.Name)}
	for _, c := range a.States {
		d.States[c.Name] = c.Tasks
	}
	for _, c := range a.Flags {
		d.Flags[c.Name] = c.Tasks
	}
	for _, p := range a.Parts {
		d.Programs = append(d.Programs, ArrayProgram{said(p.Program), p.Tasks, p.Of, p.Completed, spread(p.Efficiency), spread(p.CPU), spread(p.Memory), spread(p.Time)})
	}
	for i := range a.Worst {
		j := &a.Worst[i]
		d.Worst = append(d.Worst, ArrayTask{j.DisplayID, j.State, j.LostCoreHours(), policy.IdleCoreHours(j)})
	}
	for i := range a.Again {
		if n := a.Again[i].ArrayTaskID; n != nil {
			d.Again = append(d.Again, *n)
		}
	}
	return d
}

func spread(s policy.Spread) *Spread {
	if s.Tasks == 0 {
		return nil
	}
	return &Spread{s.Tasks, s.Least, s.Median, s.Mean, s.Most}
}
