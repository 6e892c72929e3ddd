package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/doubt"
)

// classified says of each job that ended in a span what is known of it (class), and why it has no figures (why: a
// doubt.Warning as JSON; "": it has some, or no reason is known). It is the only place that does: the ledger, the
// digest and /metrics sum it up. The reasons of jobs without a report are those of silence and explainSilence.
const classified = `SELECT r.month, r.partition_name, COALESCE(r.used_us, 0) AS used_us,
		CASE WHEN ` + hasFigures + ` AND r.all_threads IS NOT NULL THEN '` + listing.ClassThreads + `' WHEN ` + hasFigures + ` THEN '` + listing.ClassRanks + `'
			WHEN r.total_cpu_us IS NOT NULL OR r.memory_b IS NOT NULL OR r.cgroup_json <> '' THEN '` + listing.ClassMemory + `' ELSE '` + listing.ClassSlurm + `' END AS class,
		CASE WHEN ` + hasFigures + ` THEN ''
			WHEN r.reports = 0 AND EXISTS (SELECT 1 FROM attempts a WHERE a.cluster = r.cluster AND a.job_id = r.job_id AND a.uid = r.uid AND a.slurm_submit_us IS NULL) THEN '{"code":"` + doubt.WhyOtherTimes + `"}'
			WHEN r.reports = 0 AND r.state IN (` + failedNodes + `) THEN '{"code":"` + doubt.WhyNoReport + `","args":{"kind":"` + doubt.KindFailed + `"}}'
			WHEN r.reports = 0 THEN '{"code":"` + doubt.WhyNoReport + `"}'
			WHEN r.unmerged > 0 AND r.decision = '' THEN '{"code":"` + doubt.WhyMerging + `"}' ELSE r.no_data END AS why,
		CASE WHEN r.coverage < 1 THEN 1 ELSE 0 END AS partial, CASE WHEN r.reports > 0 AND r.nodes > r.reports THEN r.nodes - r.reports ELSE 0 END AS missed,
		CASE WHEN r.warnings_json LIKE '%"` + doubt.WarnPrologFailed + `"%' THEN 1 ELSE 0 END AS failed
	FROM counted r WHERE r.end_us >= ? AND r.end_us < ?`

// hasFigures is the SQL condition that an attempt r has POP's metrics.
const hasFigures = "r.parallel_efficiency IS NOT NULL"

// ofClasses sums classified up. Seconds and their rest apart, no sum is larger than the largest whole number.
const ofClasses = `SELECT month, partition_name, class, why, count(*), CAST(sum(used_us / 1000000) AS BIGINT), CAST(sum(used_us % 1000000) AS BIGINT),
	CAST(sum(partial) AS BIGINT), CAST(sum(missed) AS BIGINT), CAST(sum(failed) AS BIGINT) FROM (`

// lines sums up the jobs that ended in a span, most core time first: by month and partition, too, if apart. It adds
// to h what else it finds.
func (s *Store) lines(ctx context.Context, p span, apart bool, h *listing.Health) (lines []listing.LedgerLine, err error) {
	where, more := p.among("r.account")
	at := map[listing.LedgerLine]int{}
	err = s.eachRow(ctx, ofClasses+classified+where+") t GROUP BY 1, 2, 3, 4", append(p.times(), more...), func(rows *sql.Rows) error {
		var month, partial, missed, failed int
		var partition, class, text string
		var jobs, seconds, rest int64
		var why doubt.Warning
		err := rows.Scan(&month, &partition, &class, &text, &jobs, &seconds, &rest, &partial, &missed, &failed)
		if err == nil && text != "" {
			err = json.Unmarshal([]byte(text), &why)
		}
		if !apart {
			month, partition = 0, ""
		}
		l := listing.NewLedgerLine(monthOf(month), partition, class, why)
		i, is := at[l]
		if !is {
			i, at[l], lines = len(lines), len(lines), append(lines, l)
		}
		lines[i].Jobs += jobs
		lines[i].Used = moreTime(moreTime(lines[i].Used, seconds, 1e6), rest, 1)
		h.Partial, h.NodesMissed, h.PrologFailed = h.Partial+partial, h.NodesMissed+missed, h.PrologFailed+failed
		return err
	})
	slices.SortFunc(lines, func(a, b listing.LedgerLine) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), a.Month.Compare(b.Month), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Kind, b.Kind))
	})
	return lines, err
}

// moreTime adds so many units of so many us. What is more than the largest whole number, a million cores for years,
// stays at it.
func moreTime(t job.CoreTime, n, unit int64) job.CoreTime {
	if n > (math.MaxInt64-int64(t))/unit {
		return math.MaxInt64
	}
	return t + job.CoreTime(n*unit)
}

// Ledger sums up the core time of the jobs that ended in a span by what is known of them. Of whole months the sum is
// that of Months, to the microsecond. It reads every job of the span. As Months does, it leaves out ends that no
// calendar has. It is of one cluster; "": of all.
func (s *Store) Ledger(ctx context.Context, from, to time.Time, cluster string) (*listing.Ledger, error) {
	l, p := &listing.Ledger{Cluster: cluster, From: from, To: to}, span{from: from, to: to, cluster: cluster}
	var err error
	if l.Read, err = s.sacctRead(ctx, cluster); err == nil {
		l.Lines, err = s.lines(ctx, p, true, new(listing.Health))
	}
	if err == nil {
		l.Lines = slices.DeleteFunc(l.Lines, func(one listing.LedgerLine) bool { return one.Month.IsZero() })
		err = errors.Join(s.removed(ctx, p, l), s.gpuLedger(ctx, p, l))
	}
	if err != nil {
		return nil, fmt.Errorf("store: ledger: %w", unavailable(err))
	}
	return l, nil
}

// removedJobs are the sums that retention has kept of the jobs that it dropped.
const removedJobs = `SELECT month, partition_name, CAST(sum(jobs) AS BIGINT), CAST(sum(used_us / 1000000) AS BIGINT), CAST(sum(used_us %% 1000000) AS BIGINT)
	FROM month_sums r WHERE part < 0 AND month >= ? AND month <= ?%s GROUP BY 1, 2 HAVING sum(jobs) > 0 ORDER BY 1, 2`

// removed adds the lines of jobs that retention dropped, of whole months: nothing tells on which days they ended.
func (s *Store) removed(ctx context.Context, p span, l *listing.Ledger) error {
	first, last := numberOfMonth(l.From), numberOfMonth(l.To.Add(-time.Microsecond))
	of, cluster := ofCluster("r", p.cluster)
	return s.eachRow(ctx, fmt.Sprintf(removedJobs, of), append([]any{first, last}, cluster...), func(rows *sql.Rows) error {
		var month int
		var partition string
		var jobs, seconds, rest int64
		err := rows.Scan(&month, &partition, &jobs, &seconds, &rest)
		begin := monthOf(month)
		if begin.Before(l.From) || begin.AddDate(0, 1, 0).After(l.To) {
			l.Cut = true
			return err
		}
		line := listing.NewLedgerLine(begin, partition, listing.ClassRemoved, doubt.NewWarning(doubt.WhyRemoved, 0))
		line.Jobs, line.Used = jobs, moreTime(moreTime(0, seconds, 1e6), rest, 1)
		l.Lines = append(l.Lines, line)
		return err
	})
}

// Whether any job had a GPU in some months, what those that ended in a span had, and what retention has kept of those that it dropped.
const (
	anyGPU     = "SELECT count(*) FROM (SELECT 1 FROM month_sums WHERE month >= ? AND month <= ? AND gpu_us > 0 LIMIT 1) t"
	gpusOfJobs = "SELECT r.gpus, r.gpu_us, r.gpus_json FROM counted r WHERE r.end_us >= ? AND r.end_us < ? AND r.gpu_us > 0 AND r.month > 0"
	gpusOfGone = "SELECT month, gpu_us, gpu_known_us, gpu_idle_us FROM month_sums r WHERE part < 0 AND month >= ? AND month <= ? AND gpu_us > 0"
)

// gpuLedger sums up the GPU time of the ledger's jobs. It asks as job.Job does why what a GPU did is not known, so it
// reads what each job's nodes said.
func (s *Store) gpuLedger(ctx context.Context, p span, l *listing.Ledger) error {
	first, last := numberOfMonth(l.From), numberOfMonth(l.To.Add(-time.Microsecond))
	var some int64
	if err := s.number(ctx, &some, anyGPU, first, last); err != nil || some == 0 {
		return err
	}
	sum := &listing.GPULedger{Unknown: map[string]job.CoreTime{}}
	of, cluster := ofCluster("r", p.cluster)
	err := s.eachRow(ctx, gpusOfJobs+of, append(p.times(), cluster...), func(rows *sql.Rows) error {
		used, told := new(job.CoreTime), ""
		j := job.Job{Used: used, GPUUsed: used} // whatever its core time is
		err := rows.Scan(&j.GPUs, used, &told)
		if err == nil {
			err = decode(told, &j.GPUUse)
		}
		sum.Add(j.GPUTime(), j.UnknownGPUTime())
		return err
	})
	if err == nil {
		err = s.eachRow(ctx, gpusOfGone+of, append([]any{first, last}, cluster...), func(rows *sql.Rows) error {
			var month int
			var t job.GPUTime
			err := rows.Scan(&month, &t.Used, &t.Known, &t.Idle)
			if begin := monthOf(month); !begin.Before(l.From) && !begin.AddDate(0, 1, 0).After(l.To) {
				sum.Add(t, map[string]job.CoreTime{listing.ClassRemoved: t.Used - t.Known})
			}
			return err
		})
	}
	if sum.Used > 0 {
		l.GPUs = sum
	}
	return err
}

// DayOfLines are the lines, without months and partitions, of the jobs that ended in the 24 hours before end.
func (s *Store) DayOfLines(ctx context.Context, end time.Time) ([]listing.LedgerLine, error) {
	lines, err := s.lines(ctx, span{from: end.Add(-24 * time.Hour), to: end}, false, new(listing.Health))
	return lines, unavailable(err)
}
