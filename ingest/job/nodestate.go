package job

import (
	"fmt"
	"time"
)

// OutboxState is what a node's spool holds. The sender tells it to jobeffd.
type OutboxState struct {
	Waiting int           `json:"waiting"`
	Oldest  time.Duration `json:"oldest_ns"` // age of the oldest waiting report; 0: none waits
	Refused int           `json:"refused"`   // set aside for good
	Cut     int           `json:"cut"`       // reports that were dropped and of which a line says so, since full.log began
	Lost    int           `json:"lost"`      // … and reports that were lost entirely
}

// OutboxHeader is the request header in which OutboxState travels beside a report.
const OutboxHeader = "Jobeff-Outbox"

const outboxForm = "waiting=%d oldest=%d refused=%d cut=%d lost=%d"

// String is the header's value; the age is in seconds.
func (s OutboxState) String() string {
	return fmt.Sprintf(outboxForm, s.Waiting, int64(s.Oldest.Seconds()), s.Refused, s.Cut, s.Lost)
}

// ParseOutboxState reads what String wrote; ok is false for anything else.
func ParseOutboxState(text string) (s OutboxState, ok bool) {
	var seconds int64
	n, err := fmt.Sscanf(text, outboxForm, &s.Waiting, &seconds, &s.Refused, &s.Cut, &s.Lost)
	const decade = 10 * 366 * 24 * 3600
	if err != nil || n != 5 || s.Waiting < 0 || seconds < 0 || seconds > decade || s.Refused < 0 || s.Cut < 0 || s.Lost < 0 {
		return OutboxState{}, false
	}
	s.Oldest = time.Duration(seconds) * time.Second
	return s, true
}

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
