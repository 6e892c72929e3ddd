package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/harm"
)

// Cost reads what jobeff costs the jobs that ended in a span, by the share of the jobs that is measured now. It reads
// every job of the span, of one cluster; "": of all.
func (s *Store) Cost(ctx context.Context, from, to time.Time, cluster string, m etc.Measure) (*listing.Cost, error) {
	c := &listing.Cost{Cluster: cluster, From: from, To: to, Busiest: []listing.BusyRun{}}
	times := harm.NewTimes(m.Coin())
	err := s.EndedBetween(ctx, from, to, func(j *job.Job) {
		if m.Covers(j.Partition) && (cluster == "" || j.Cluster == cluster) {
			times.Add(j, m.Draws(j.JobID))
		}
	})
	c.Times = times.Slowdown()
	if err == nil {
		err = s.busiest(ctx, c)
	}
	if err == nil {
		of, args := ofCluster("r", cluster)
		err = s.read.QueryRowContext(ctx, reportSizes+of, append([]any{from.UnixMicro(), to.UnixMicro()}, args...)...).Scan(&c.Reports, &c.Kept, &c.Bytes, &c.Largest)
	}
	if err != nil {
		return nil, fmt.Errorf("store: cost: %w", unavailable(err))
	}
	return c, nil
}

// reportSizes sums up the reports of the jobs that ended in a span. Those whose text was dropped are empty.
const reportSizes = `SELECT count(*), COALESCE(sum(CASE WHEN length(came.body) > 0 THEN 1 ELSE 0 END), 0), CAST(COALESCE(sum(length(came.body)), 0) AS BIGINT), COALESCE(max(length(came.body)), 0)
	FROM attempts r JOIN reports came ON came.cluster = r.cluster AND came.job_id = r.job_id AND came.attempt = r.attempt WHERE r.end_us >= ? AND r.end_us < ?`

const (
	mostWorkloadsSeen = 200 // workloads whose newest run is looked at
	mostBusiest       = 5
)

// newestOfWorkloads are the newest whole runs that began in a span, one of each workload, those of the most core-hours.
const newestOfWorkloads = `SELECT r.cluster, r.job_id, r.array_job_id, r.array_task_id, r.het_job_id, r.het_offset, e.detail
	FROM (SELECT w.cluster, w.job_id, w.attempt, w.execution, ROW_NUMBER() OVER (PARTITION BY w.workload_key ORDER BY w.start_us DESC, w.job_id DESC, w.execution) AS nth,
			sum(w.used_core_hours) OVER (PARTITION BY w.workload_key) AS used
		FROM workload_runs w WHERE w.start_us >= ? AND w.start_us < ? AND w.ended = 1 AND w.coverage >= 1%s) n
	JOIN executions e ON e.cluster = n.cluster AND e.job_id = n.job_id AND e.attempt = n.attempt AND e.execution = n.execution
	JOIN attempts r ON r.cluster = n.cluster AND r.job_id = n.job_id AND r.attempt = n.attempt
	WHERE n.nth = 1 ORDER BY n.used DESC, n.job_id LIMIT ?`

// busiest finds the runs whose ranks called MPI most often.
func (s *Store) busiest(ctx context.Context, c *listing.Cost) error {
	of, cluster := ofCluster("w", c.Cluster)
	args := append(append([]any{c.From.UnixMicro(), c.To.UnixMicro()}, cluster...), mostWorkloadsSeen)
	err := s.eachRow(ctx, fmt.Sprintf(newestOfWorkloads, of), args, func(rows *sql.Rows) error {
		var j job.Job
		var task, offset sql.NullInt64
		var detail []byte
		var e job.Execution
		err := rows.Scan(&j.Cluster, &j.JobID, &j.ArrayJobID, &task, &j.HetJobID, &offset, &detail)
		if err == nil {
			err = unpack(detail, &e)
		}
		j.ArrayTaskID, j.HetOffset = pointer(task), pointer(offset)
		c.Looked++
		if b := busy(&e); b.Rate > 0 {
			b.Job = s.named(j.Cluster, job.DisplayID(&j))
			c.Busiest = append(c.Busiest, b)
		}
		return err
	})
	slices.SortStableFunc(c.Busiest, func(a, b listing.BusyRun) int { return cmp.Compare(b.Rate, a.Rate) })
	c.Busiest = c.Busiest[:min(len(c.Busiest), mostBusiest)]
	return err
}

// busy says how often the ranks of an execution called MPI.
func busy(e *job.Execution) listing.BusyRun {
	b := listing.BusyRun{Program: e.Executable}
	var calls, seconds float64
	for _, n := range e.Nodes {
		b.Ranks, b.OnNode, seconds = b.Ranks+n.Ranks, max(b.OnNode, n.Ranks), seconds+n.ElapsedSum.Seconds()
	}
	for _, c := range e.Classes {
		calls += float64(c.Count)
	}
	if seconds > 0 {
		b.Rate = calls / seconds
		b.Part = b.Rate * listing.CallSeconds
	}
	return b
}
