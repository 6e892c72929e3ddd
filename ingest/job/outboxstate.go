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
