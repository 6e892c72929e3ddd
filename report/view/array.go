package view

import (
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/report/words"
)

// Array is the view of what the tasks of an array say together, each by its last attempt.
type Array struct {
	ID       string         `json:"id"`                // as people write it
	Tasks    int            `json:"tasks"`             // that have begun
	More     bool           `json:"more"`              // only these, the first ones, are summed up
	States   map[string]int `json:"states"`            // and how many tasks are in each
	Flags    map[string]int `json:"flags"`             // rules, and how many tasks each flags
	Used     float64        `json:"used_core_hours"`   // of all attempts
	Judged   float64        `json:"judged_core_hours"` // those of which it is known what they lost
	Lost     float64        `json:"lost_core_hours"`   // a part of the judged ones
	Programs []ArrayProgram `json:"programs"`          // one for each that took most of some tasks' core time
	Worst    []ArrayTask    `json:"worst"`             // those that lost most; where that is known of none, left most idle
	Again    []uint32       `json:"again"`             // numbers of those that ended and were not completed
	Request  *Request       `json:"request"`           // that fits each of them

	Words words.Array `json:"-"`
}

// ArrayProgram is what the tasks of one program say together: those that were completed, or all that
// ended where none was.
type ArrayProgram struct {
	Program    *string `json:"program"`             // its path; null: they left no record of one
	Tasks      int     `json:"tasks"`               // that ended
	Of         int     `json:"of"`                  // of these the figures are
	Completed  bool    `json:"completed"`           // these are the completed ones; false: none was, and these are all
	Efficiency *Spread `json:"parallel_efficiency"` // null: not known of any
	CPU        *Spread `json:"cpu_efficiency"`      // null: likewise
	Memory     *Spread `json:"needed_memory"`       // bytes; null: likewise
	Time       *Spread `json:"job_elapsed"`         // s; null: likewise
}

// Spread is how a figure differs from task to task.
type Spread struct {
	Tasks  int     `json:"tasks"`  // of which it is known
	Least  float64 `json:"least"`  // of a task
	Median float64 `json:"median"` // over tasks
	Mean   float64 `json:"mean"`   // likewise
	Most   float64 `json:"most"`   // of a task
}

// ArrayTask is a task by name.
type ArrayTask struct {
	ID    string   `json:"id"`              // as people write it
	State string   `json:"state"`           // Slurm's
	Lost  *float64 `json:"lost_core_hours"` // null: not known
	Idle  *float64 `json:"idle_core_hours"` // of cores that were not busy, as Slurm counts it; null: not known
}

// NewArray makes the view of the array of a job that was asked for. wide means that its reader sees characters
// outside ASCII.
func NewArray(found *listing.JobAndWorkload, wide bool) *Array {
	d := arrayFigures(found)
	d.Words = words.OfArray(found.Tasks, found.MoreTasks, wide)
	return d
}

// arrayFigures sums up the tasks of an array; nil: it is none.
func arrayFigures(found *listing.JobAndWorkload) *Array {
	a := policy.ArrayOf(found.Tasks)
	if a == nil {
		return nil
	}
	d := &Array{ID: a.ID, Tasks: a.Tasks, More: found.MoreTasks, States: map[string]int{}, Flags: map[string]int{}, Used: a.Hours.Used, Judged: a.Hours.Judged, Lost: a.Hours.Lost,
		Programs: []ArrayProgram{}, Worst: []ArrayTask{}, Again: []uint32{}, Request: requestOf(a.Request)}
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
