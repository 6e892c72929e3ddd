package words

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// leastBuckets is the least number of buckets to show: for fewer, the whole run's figure says as much.
const leastBuckets = 4

// course returns how the parallel efficiency of the biggest execution went over time. It is empty if that is
// not known.
func course(j *job.Job) (c block.Course) {
	e, which := Biggest(j)
	if e == nil || e.Timeline == nil || job.ExecutionMetrics(e) == nil {
		return c
	}
	all := e.Timeline.Buckets()
	if len(all) < leastBuckets {
		return c
	}
	length := all[0].To.Sub(all[0].From)
	c.Which, c.Words = which, policy.Course(j, e)
	for _, b := range all {
		c.Buckets = append(c.Buckets, block.Moment{Efficiency: clamp(b.Parallel),
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

// bucketTime writes when a bucket begins.
func bucketTime(t time.Time, length time.Duration) string {
	if length < time.Second {
		return t.Local().Format("2006-01-02 15:04:05.000")
	}
	return t.Local().Format(time.DateTime)
}

// courseMap maps how useful ranks or nodes of the biggest execution were over time. It also shows the sections
// whose times are known, and the end.
func courseMap(j *job.Job) block.CourseMap {
	e, which := Biggest(j)
	t := e.Timeline
	m, line := block.CourseMap{Badly: !e.CameToEnd()}, "the end"
	if e.Endings[job.EndingRunning] > 0 {
		m.Badly, line = false, "until when it is known"
	}
	var all []float64
	what := "nodes"
	for i := range e.Nodes {
		rows, ranks := courseRows(e.Nodes[i:])
		for _, r := range rows {
			there := slices.DeleteFunc(slices.Clone(r.Shares), func(s float64) bool { return s < 0 })
			if len(there) > 0 {
				r.Title = fmt.Sprintf("%s: %s useful", r.Name, block.Heat{Shares: there}.Spread())
			}
			m.Rows, all = append(m.Rows, r), append(all, there...)
		}
		if ranks {
			what = "ranks"
		}
	}
	if len(m.Rows) < 2 || len(all) == 0 {
		return block.CourseMap{}
	}
	begin, each := job.BucketBegin(t.First, t.Shift), job.BucketBegin(t.First+1, t.Shift)-job.BucketBegin(t.First, t.Shift)
	n := float64(len(t.Elapsed))
	at := func(ns int64) float64 { return min(max(float64(ns-begin)/float64(each), 0), n) }
	for _, s := range knownSections(e) {
		for _, i := range s.Instances.Kept {
			m.Spans = append(m.Spans, block.CourseSpan{Name: s.Label, From: at(i.In), To: at(i.Out),
				Title: fmt.Sprintf("%s: %s", s.Label, figure.Span(time.Unix(0, i.In), time.Unix(0, i.Out)))})
		}
	}
	m.Ended = at(e.End.UnixNano())
	m.From = bucketTime(time.Unix(0, begin), time.Duration(each))
	m.To = bucketTime(time.Unix(0, job.BucketBegin(t.First+int64(len(t.Elapsed)), t.Shift)), time.Duration(each))
	m.Alt = fmt.Sprintf("Useful part of the time of %s%s, over time: %s. The line marks %s (%s).", what, which, block.Heat{Shares: all}.Spread(), line, endings([]job.Execution{*e}))
	return m
}

// courseRows makes the rows of the first node, or of it and those after it. ranks means that each row shows
// some of its ranks.
func courseRows(nodes []job.NodeShare) (rows []block.CourseRow, ranks bool) {
	n, c := &nodes[0], nodes[0].Course
	if c == nil {
		return nil, false
	}
	ids, err := slurmid.RankList(n.RankIDs, n.Ranks)
	ranks = err == nil && len(ids) == n.Ranks && c.Nodes <= 1 && (len(c.Rows) > 1 || n.Ranks == 1)
	each := (n.Ranks + len(c.Rows) - 1) / len(c.Rows)
	for i := range c.Rows {
		name := n.Node
		switch first, last := i*each, min((i+1)*each, n.Ranks); {
		case c.Nodes > 1 && c.Nodes <= len(nodes):
			name += " to " + nodes[c.Nodes-1].Node
		case ranks && first < last:
			name += ": " + slurmid.FormatRanges(ids[first:last])
		}
		rows = append(rows, block.CourseRow{Name: name, Shares: c.Shares(i)})
	}
	return rows, ranks
}

// mostSpans bounds how many sections are drawn.
const mostSpans = 4

// knownSections returns the sections with the most time among those whose times are known: all ranks entered
// each of these together, a few times.
func knownSections(e *job.Execution) (known []job.Section) {
	for _, s := range e.Sections {
		if i := s.Instances; i != nil && i.Least == i.Most && uint64(len(i.Kept)) == i.Most && i.Most <= job.MostBuckets {
			known = append(known, s)
		}
	}
	slices.SortStableFunc(known, func(a, b job.Section) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	return known[:min(mostSpans, len(known))]
}
