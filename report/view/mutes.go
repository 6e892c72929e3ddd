package view

import (
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/block"
	"jobeff/report/words"
)

// Mutes are the muted workloads of a user, as the server answers them.
type Mutes struct {
	*listing.WorkloadList
	Words block.Part `json:"-"`
}

// NewMutes makes the view of a list of muted workloads; wide: its reader sees characters outside
// ASCII.
func NewMutes(list *listing.WorkloadList, wide bool) *Mutes {
	return &Mutes{list, words.OfMutes(list, wide)}
}

// Mute is a workload without its runs, and how it is muted.
type Mute struct {
	Key   string     `json:"key"`
	Name  string     `json:"name"`
	Mute  *job.Mute  `json:"mute"`
	Words block.Part `json:"-"`
}

// NewMute makes the view of a workload that is muted now.
func NewMute(workload *job.Workload, wide bool) *Mute {
	return &Mute{workload.Key, workload.Name, workload.Mute, words.Muted(workload, wide)}
}
