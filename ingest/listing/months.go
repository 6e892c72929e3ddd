package listing

import "time"

// MonthQuery selects and groups sums of jobs by the month in which they ended.
type MonthQuery struct {
	From, To           time.Time // months of UTC, without To's month; zero: no bound
	By                 []string  // of "month", "cluster", "partition", "account", "user"; the rest is summed up
	Account, Partition string    // comma lists; "": all
	UIDs               []uint32  // empty: all
}

// MonthSum sums up jobs that ended. What a query does not group by is zero.
type MonthSum struct {
	Month       time.Time `json:"month"` // its begin, UTC
	Cluster     string    `json:"cluster"`
	Partition   string    `json:"partition"`
	Account     string    `json:"account"`
	User        string    `json:"user"`
	UID         uint32    `json:"uid"`
	Jobs        int64     `json:"jobs"`
	Measured    int64     `json:"measured"`     // with metrics
	UsedHours   float64   `json:"used_hours"`   // core-hours: AllocCPUS x Elapsed
	JudgedHours float64   `json:"judged_hours"` // part of these, as Hours.Judged
	LostHours   float64   `json:"lost_hours"`   // part of the judged ones, METRICS 6
}
