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
	Month     time.Time // its begin, UTC
	Cluster   string
	Partition string
	Account   string
	User      string
	UID       uint32
	Hours
}
