package job

import (
	"net/url"
	"strconv"
	"time"
)

// JobQuery selects jobs for a list; a zero field does not restrict it. Each text may be a list
// with commas.
type JobQuery struct {
	Jobs      string   // as ParseJobSets reads it
	User      string   // names or uids
	Gone      []string // of User: names that this machine does not know, but Slurm may; not in Values
	Account   string
	Partition string
	QOS       string
	Cluster   string
	State     string    // sacct's words; OUT_OF_MEMORY also finds jobs with such a step
	Start     time.Time // jobs that ended after it, or still run
	End       time.Time // jobs that began before it
	Limit     int       // 0: the server's default
	Offset    int       // skips so many
	Lost      bool      // most core-hours lost first; else newest first
	Detail    bool      // with executions; the server then returns fewer at a time
	Stored    bool      // a JobList, as jobeff's own commands want it; else documents
}

// Values is the query as the API's parameters.
func (q JobQuery) Values() url.Values {
	v := url.Values{}
	set := func(key, val string) {
		if val != "" {
			v.Set(key, val)
		}
	}
	set("job", q.Jobs)
	set("user", q.User)
	set("account", q.Account)
	set("partition", q.Partition)
	set("qos", q.QOS)
	set("cluster", q.Cluster)
	set("state", q.State)
	if !q.Start.IsZero() {
		v.Set("start", q.Start.UTC().Format(time.RFC3339Nano))
	}
	if !q.End.IsZero() {
		v.Set("end", q.End.UTC().Format(time.RFC3339Nano))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset > 0 {
		v.Set("offset", strconv.Itoa(q.Offset))
	}
	if q.Lost {
		v.Set("sort", "lost")
	}
	if q.Detail {
		v.Set("detail", "1")
	}
	if q.Stored {
		v.Set("stored", "1")
	}
	return v
}

// JobList is the answer to GET /v1/jobs?stored=1.
type JobList struct {
	Jobs []Job `json:"jobs"`
	// More says that the limit, or the most bytes of one answer, left out jobs.
	More bool `json:"more,omitempty"`
	// Next is then the path that answers the next ones.
	Next string `json:"next,omitempty"`
}

// Values is the query as the API's parameters.
func (q WorkloadQuery) Values() url.Values {
	v := url.Values{}
	if q.User != "" {
		v.Set("user", q.User)
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Muted {
		v.Set("muted", "1")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset > 0 {
		v.Set("offset", strconv.Itoa(q.Offset))
	}
	if q.Detail {
		v.Set("detail", "1")
	}
	return v
}
