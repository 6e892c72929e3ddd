package report

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/measure"
)

// leastBuckets is how many buckets are worth a line: of fewer, the whole run's figure says as much.
const leastBuckets = 4

// course is how the parallel efficiency of the biggest execution went. It is empty where that is not
// known.
func course(j *job.Job) (c block.Course) {
	e, which := measure.Biggest(j)
	if e == nil || e.Timeline == nil || measure.MetricsOf(e) == nil {
		return c
	}
	all := e.Timeline.Buckets()
	if len(all) < leastBuckets {
		return c
	}
	length := all[0].To.Sub(all[0].From)
	c.Which, c.Words = which, policy.Course(j, e)
	for _, b := range all {
		c.Buckets = append(c.Buckets, block.Moment{Efficiency: measure.Clamp(b.Parallel),
			Name: fmt.Sprintf("%s: parallel efficiency %s, load balance %s, communication efficiency %s", bucketTime(b.From, length),
				figure.Efficiency(b.Parallel), figure.Efficiency(b.LoadBalance), figure.Efficiency(b.Communication))})
	}
	c.Length = fmt.Sprintf("%s; from %s on", bucketLength(length), bucketTime(all[0].From, length))
	return c
}

// bucketLength is the length of a bucket: whole seconds, or a part of one.
func bucketLength(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("1/%d s", time.Second/d)
	}
	return fmt.Sprintf("%d s", int64(d.Seconds()))
}

// bucketTime is when a bucket begins.
func bucketTime(t time.Time, length time.Duration) string {
	if length < time.Second {
		return t.Local().Format("2006-01-02 15:04:05.000")
	}
	return t.Local().Format(time.DateTime)
}
