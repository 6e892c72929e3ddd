package listing

import (
	"time"

	"jobeff/policy/harm"
)

// Status is what those who run the site look at first: how jobeff itself does now.
type Status struct {
	At      time.Time    `json:"at"`
	Alarms  []harm.Alarm `json:"alarms"` // that are up
	Damaged bool         `json:"damaged"`
	// Doubt is what is wrong with the database server's settings, and Hint what helps; "": nothing.
	Doubt string `json:"doubt"`
	Hint  string `json:"hint"`
	// Read is up to when sacct was read; zero: it never was.
	Read time.Time `json:"sacct_read,omitzero"`
	// Health is that of the last 24 hours, but for two: its silent nodes were so for a week, and its slow ones are those of
	// the last look, however old.
	Health     Health           `json:"health"`
	Comparison *harm.Comparison `json:"comparison"`  // how rare a harm could have been noticed by now; null: nothing was compared yet
	Nodes      int64            `json:"nodes"`       // that reported within four weeks
	Quiet      int64            `json:"quiet_nodes"` // of these, those that have not for a day
	// Times are those of a Cost of its default time, kept for an hour; null: they could not be read in time.
	Times *harm.Slowdown `json:"run_times"`
}
