package slurmid

import (
	"fmt"
	"strings"
	"time"
)

// Pending is a line of Slurm's queue: a job that waits, or tasks of an array that wait together. It has begun
// no attempt, so there is nothing of it to measure, to match or to sum up.
type Pending struct {
	Cluster    string    `json:"cluster"`                 // Slurm's name of it
	ID         string    `json:"id"`                      // as squeue writes it: 8, 8+1, 8_3, 8_[3-60%4]
	JobID      uint32    `json:"job_id"`                  // raw id
	ArrayJobID uint32    `json:"array_job_id,omitempty"`  // of a task
	HetJobID   uint32    `json:"het_job_id,omitempty"`    // of a part of a het job
	Tasks      int       `json:"tasks,omitempty"`         // of an array that wait in this line; absent: it is none, or Slurm cut their list
	UID        uint32    `json:"uid"`                     // whose it is
	User       string    `json:"user,omitempty"`          // their name
	Account    string    `json:"account,omitempty"`       // Slurm's
	Partition  string    `json:"partition,omitempty"`     // or several with commas: the first that can start it counts
	QOS        string    `json:"qos,omitempty"`           // Slurm's
	Name       string    `json:"name,omitempty"`          // hostile text
	Nodes      int       `json:"nodes,omitempty"`         // that it asks for, at least; for each task of an array
	CPUs       int       `json:"cpus,omitempty"`          // likewise
	GPUs       int       `json:"gpus,omitempty"`          // likewise
	Memory     int64     `json:"memory,omitempty"`        // bytes, likewise, on all of its nodes together
	TimeLimit  int64     `json:"time_limit,omitempty"`    // s; absent: none, or its partition's
	Submit     time.Time `json:"submit,omitzero"`         // since when it waits; for a requeued job since the requeue
	Eligible   time.Time `json:"eligible,omitzero"`       // from when it may start; absent: not known yet
	Expected   time.Time `json:"expected_start,omitzero"` // when Slurm expected at as_of that it starts; absent: it does not say
	Reason     string    `json:"reason,omitempty"`        // why it waits, Slurm's word
}

// PendingList is what a viewer may see of Slurm's queue at one moment.
type PendingList struct {
	AsOf time.Time `json:"as_of,omitzero"` // when Slurm was asked; of several clusters the earliest
	Jobs []Pending `json:"jobs"`           // that wait, the longest first; null: not known
	More bool      `json:"more,omitempty"` // there are further ones of these
	// LeftOut counts the queue's lines beyond those that jobeffd keeps, of all users.
	LeftOut int `json:"left_out,omitempty"`
}

// MostPending bounds the lines of a cluster's queue that jobeffd keeps: those of the highest priority.
const MostPending = 50_000

// tasks returns the tasks of an array that wait in the line, and the limit of tasks at once behind
// them in its id. cut: Slurm has more tasks than it wrote.
func (p *Pending) tasks() (all []TaskRange, limit string, cut bool) {
	_, list, is := strings.Cut(p.ID, "_")
	if !is {
		return nil, "", false
	}
	list = strings.Trim(list, "[]")
	if at := strings.Index(list, "..."); at >= 0 { // it may have cut a number, too
		list, cut = list[:max(strings.LastIndex(list[:at], ","), 0)], true
	}
	list, limit, _ = strings.Cut(list, "%")
	for item := range strings.SplitSeq(list, ",") {
		r, ok := parseTaskRange(item)
		if !ok {
			return all, limit, true
		}
		all = append(all, r)
	}
	return all, limit, cut
}

// Start takes the tasks that have started since out of the line, and counts those that are left. It
// reports whether any are left. started is sorted.
func (p *Pending) Start(started []uint32) bool {
	all, limit, cut := p.tasks()
	if len(all) == 0 {
		return true
	}
	var left []string
	p.Tasks = 0
	for _, r := range all {
		for _, part := range r.without(started) {
			left = append(left, part.String())
			p.Tasks += int((part.Last-part.First)/part.Step) + 1
		}
	}
	if cut {
		left, p.Tasks = append(left, "..."), 0
	}
	if limit != "" {
		limit = "%" + limit
	}
	if len(started) > 0 && strings.Contains(p.ID, "[") {
		p.ID = fmt.Sprintf("%d_[%s%s]", p.ArrayJobID, strings.Join(left, ","), limit)
	}
	return len(left) > 0
}

// without returns the parts of a range that are left without some tasks, which are sorted.
func (r TaskRange) without(some []uint32) (left []TaskRange) {
	first, step := uint64(r.First), uint64(r.Step)
	for _, task := range some {
		at := uint64(task)
		if at < first || at > uint64(r.Last) || (at-first)%step != 0 {
			continue
		}
		if at > first {
			left = append(left, TaskRange{uint32(first), uint32(at - step), r.Step})
		}
		first = at + step
	}
	if first <= uint64(r.Last) {
		left = append(left, TaskRange{uint32(first), r.Last, r.Step})
	}
	return left
}

// String is the range as Slurm writes it.
func (r TaskRange) String() string {
	switch {
	case r.Last-r.First < r.Step:
		return fmt.Sprint(r.First)
	case r.Step == 1:
		return fmt.Sprintf("%d-%d", r.First, r.Last)
	}
	return fmt.Sprintf("%d-%d:%d", r.First, r.Last, r.Step)
}

// Holds says whether the set names the line, or tasks that may be in it.
func (s *Set) Holds(p *Pending) bool {
	named := s.Tasks
	switch {
	case s.ArrayTask != nil:
		named = []TaskRange{{*s.ArrayTask, *s.ArrayTask, 1}}
	case s.HetOffset != nil:
		return p.HetJobID == s.ID && strings.HasSuffix(p.ID, fmt.Sprintf("+%d", *s.HetOffset))
	case len(named) == 0:
		return p.JobID == s.ID || p.ArrayJobID == s.ID || p.HetJobID == s.ID
	}
	waiting, _, _ := p.tasks()
	for _, a := range named {
		for _, b := range waiting {
			one := a.First == a.Last && a.First >= b.First && a.First <= b.Last && (a.First-b.First)%b.Step == 0
			if p.ArrayJobID == s.ID && (one || a.First < a.Last && a.First <= b.Last && b.First <= a.Last) {
				return true
			}
		}
	}
	return false
}
