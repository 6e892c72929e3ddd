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
	Month       time.Time // its begin, UTC
	Cluster     string
	Partition   string
	Account     string
	User        string
	UID         uint32
	Jobs        int64
	Measured    int64   // with metrics
	UsedHours   float64 // core-hours: AllocCPUS x Elapsed
	JudgedHours float64 // part of these, as Hours.Judged
	LostHours   float64 // part of the judged ones, METRICS 6
}
