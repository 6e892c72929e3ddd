package harm

import "time"

// Alarm says that jobs which jobeff measures ended surely worse than others. It counts, and proves no
// cause.
type Alarm struct {
	Kind    string    `json:"kind"`             // AlarmCrashed, …
	Before  bool      `json:"before"`           // Others are of the worst week before, not the unmeasured jobs of the same time
	From    time.Time `json:"from"`             // jobs that ended from then on were counted
	At      time.Time `json:"at"`               // the end of the last one
	Cleared time.Time `json:"cleared,omitzero"` // when an operator looked
	// Measured and Others are the jobs that were counted, and those of each that ended so.
	Measured    int `json:"measured"`
	MeasuredBad int `json:"measured_bad"`
	Others      int `json:"others"`
	OthersBad   int `json:"others_bad"`
	// Jobs are raw ids of the newest in MeasuredBad.
	Jobs []uint32 `json:"jobs"`
}

// AlarmUsers is the least number of users for an alarm: fewer raise none, whatever they do.
const AlarmUsers = 5

// Comparison says how rare a harm could be and still be noticed by now, while no alarm is up.
type Comparison struct {
	// Users, Measured and Others are the users and jobs that were counted: of this year, or since the share was changed.
	Users    int `json:"users"`
	Measured int `json:"measured"`
	Others   int `json:"others"`
	// OneIn is the rarest crash that would be noticed: one in OneIn measured jobs; 0: Cannot says why none would
	// be.
	OneIn  int    `json:"one_in"`
	Cannot string `json:"cannot"` // AllMeasured, …
}

// Reasons of Comparison.Cannot.
const (
	NoneMeasured = "none_measured"
	AllMeasured  = "all_measured"
	FewUsers     = "few_users"
	FewJobs      = "few_jobs"
)

// Kinds of alarms: what happened to more jobs, as Slurm says.
const (
	AlarmCrashed  = "crashed"       // FAILED by a signal that a crash raises, or with the exit code of one
	AlarmFailed   = "failed"        // FAILED in another way
	AlarmMemory   = "out_of_memory" // OUT_OF_MEMORY
	AlarmTimeout  = "timeout"       // TIMEOUT
	AlarmNodeFail = "node_fail"     // NODE_FAIL
	AlarmSlower   = "slower"        // took longer than the same work before
)

// AlarmKinds are all of them.
var AlarmKinds = []string{AlarmCrashed, AlarmFailed, AlarmMemory, AlarmTimeout, AlarmNodeFail, AlarmSlower}
