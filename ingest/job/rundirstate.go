package job

import "fmt"

// RunDirState is how full a node's /run/jobeff is. The sender tells it to jobeffd.
type RunDirState struct {
	Notes   int   `json:"notes_percent"` // of the room for root's notes, bytes or inodes, 0 to 100
	Records int   `json:"records"`       // mounted: of running jobs, and of ended ones that are not removed yet
	Full    int   `json:"full"`          // … records that take all that measure.record_mib allowed
	Held    int64 `json:"held_bytes"`    // taken by records that processes of ended jobs still hold
}

// RunDirHeader is the request header in which RunDirState travels beside a report.
const RunDirHeader = "Jobeff-Run-Dir"

const runDirForm = "notes=%d records=%d full=%d held=%d"

// String is the header's value.
func (s RunDirState) String() string {
	return fmt.Sprintf(runDirForm, s.Notes, s.Records, s.Full, s.Held)
}

// ParseRunDirState reads what String wrote; ok is false for anything else.
func ParseRunDirState(text string) (s RunDirState, ok bool) {
	n, err := fmt.Sscanf(text, runDirForm, &s.Notes, &s.Records, &s.Full, &s.Held)
	if err != nil || n != 4 || s.Notes < 0 || s.Notes > 100 || s.Records < 0 || s.Full < 0 || s.Full > s.Records || s.Held < 0 || s.Held > 1<<50 {
		return RunDirState{}, false
	}
	return s, true
}
