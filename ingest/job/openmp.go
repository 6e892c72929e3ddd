package job

import "time"

// OpenMP is what one rank's threads did in its parallel regions (METRICS 2). Times are sums over
// the threads unless they say else.
//
// Team = Useful + MPI + IO + Imbalance + Scheduling + Locked.
type OpenMP struct {
	Threads int    `json:"threads"`           // of its largest region; all that it had at once, if others began some or some were nested
	Why     string `json:"why,omitempty"`     // why times are missing; "": they are whole
	Regions uint64 `json:"regions,omitempty"` // parallel regions
	Nested  uint64 `json:"nested,omitempty"`  // … inside another one
	Others  uint64 `json:"others,omitempty"`  // … begun by other threads than the main one
	Tasks   uint64 `json:"tasks,omitempty"`   // that were run

	InRegions  time.Duration `json:"in_regions_ns,omitempty"` // elapsed, in regions of the main thread
	Team       time.Duration `json:"team_ns,omitempty"`       // the time of each region, times its threads
	Useful     time.Duration `json:"useful_ns,omitempty"`
	UsefulMain time.Duration `json:"useful_main_ns,omitempty"` // of the main thread alone
	UsefulMost time.Duration `json:"useful_most_ns,omitempty"` // of the busiest other thread alone
	MPI        time.Duration `json:"mpi_ns,omitempty"`
	MPIMain    time.Duration `json:"mpi_main_ns,omitempty"` // of the main thread alone
	IO         time.Duration `json:"io_ns,omitempty"`
	IOMain     time.Duration `json:"io_main_ns,omitempty"`    // of the main thread alone
	Imbalance  time.Duration `json:"imbalance_ns,omitempty"`  // waiting in barriers, for tasks and at the end of regions
	Scheduling time.Duration `json:"scheduling_ns,omitempty"` // begins of regions, loops' dispatch, making tasks
	Locked     time.Duration `json:"locked_ns,omitempty"`     // waiting to enter critical, ordered and atomic
}
