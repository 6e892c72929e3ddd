package words

import (
	"fmt"

	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Check is one line of `jobeff admin doctor`.
type Check struct {
	Status Status
	What   string // what was checked
	Found  string
	Mend   string // what to do if it is not right
}

// Status is the result of a check.
type Status int

// The statuses of a check, from good to bad.
const (
	OK Status = iota
	Warn
	Fail
)

// String returns the printed word.
func (s Status) String() string { return [...]string{"ok", "warn", "fail"}[s] }

// Checks holds the lines of the doctor, and how many checks passed or failed.
type Checks struct {
	All []Check
	Sum string
}

// OfChecks makes the checks harmless, and counts them.
func OfChecks(checks []Check, wide bool) Checks {
	var bad [3]int
	for _, c := range checks {
		bad[c.Status]++
	}
	return Checks{inert.Copy(checks, wide), fmt.Sprintf("%s ok, %s, %s failed", figure.Count(bad[OK]), figure.Counted(bad[Warn], "warning"), figure.Count(bad[Fail]))}
}
