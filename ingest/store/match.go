package store

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
)

// How far apart two accounts of one attempt may lie if they do not overlap. The clocks of
// nodes and controller differ, and sacct cuts times to seconds. Slurm waits two minutes
// before it starts a requeued job again.
const (
	slackNodes = 20 * time.Second // between two nodes
	slackSlurm = 60 * time.Second // between a node and sacct
	slackClock = 5 * time.Minute  // … if only a wrong clock can explain it; munge refuses credentials beyond this
	requeued   = 2 * time.Minute  // how long Slurm waits
)

const candidatesOfJob = `SELECT attempt, uid, slurm_start_us, slurm_end_us, node_start_us, node_end_us, slurm_submit_us, state, nodelist, sluid, nodes, reports, trimmed
		FROM attempts r WHERE cluster = ? AND job_id = ?`

// candidates reads the attempts of a job.
func (w *writer) candidates(k jobKey) ([]*candidate, error) {
	rows, err := w.rows(candidatesOfJob, k.cluster, k.jobID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*candidate
	for rows.Next() {
		c := &candidate{by: map[string]bool{}}
		if err := rows.Scan(&c.attempt, &c.uid, &c.slurm.start, &c.slurm.end, &c.nodes.start, &c.nodes.end, &c.submit, &c.state, &c.nodelist, &c.sluid, &c.nnodes, &c.reports, &c.trimmed); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// nearest returns the candidate with the smallest gap among those that fit; nil if none does.
func nearest(all []*candidate, start, end time.Time, fits func(c *candidate, gap time.Duration) bool) *candidate {
	from, to := start.UnixMicro(), end.UnixMicro()
	var fit []*candidate
	for _, c := range all {
		if fits(c, c.gap(from, to)) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.gap(from, to), b.gap(from, to)), cmp.Compare(b.attempt, a.attempt))
	})
}

// wrongClock says that a line of sacct and the nodes' reports are of one attempt although
// they lie apart, because a clock is wrong. Job, user and nodes must be the same, and the job
// must have only this attempt, known from one side so far. They could also be two attempts,
// each known from one side; wrongClock must rule that out:
//   - If the nodes' attempt came after the line's, the line's was requeued, and its state in
//     sacct says so. The states listed below are final: Slurm never restarts such a job.
//   - If it came before, it was requeued: the line's submission is its end, and Slurm waits
//     before it starts the job again. If the wait was shorter, or the nodes' attempt ended
//     after that submission, there was no requeue.
//
// After a cold start of slurmctld an id may be used again within minutes. Then sacct tells
// two lines at once, and neither is alone. Three cases remain two rows:
//   - a job whose nodes disagree, if the wrong one reports before sacct and the others
//   - a failed job whose node's clock is ahead
//   - a job whose node's clock is behind, if it waited a little longer than a requeued one
func wrongClock(line stretch, submit int64, state string, nodes stretch) bool {
	if !line.start.Valid || line.gap(nodes.start.Int64, nodes.end.Int64) > slackClock {
		return false
	}
	if line.end.Valid && nodes.start.Int64 > line.end.Int64 {
		return slices.Contains([]string{"COMPLETED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY"}, state)
	}
	waited := time.Duration(line.start.Int64-submit) * time.Microsecond
	return waited < requeued || nodes.end.Int64 > submit+slackSlurm.Microseconds()
}

// attemptOf finds the attempt that a report belongs to; nil means a new one. Two attempts of
// one job id never overlap in time, and a node reports each attempt once.
func attemptOf(all []*candidate, r *job.NodeReport) (*candidate, error) {
	at := stretchOf(r.Start, r.End)
	c := nearest(all, r.Start, r.End, func(c *candidate, gap time.Duration) bool {
		slack := slackNodes
		if c.reports+len(c.came) == 0 {
			slack = slackSlurm
		}
		other := r.SLUID != "" && c.sluid != "" && r.SLUID != c.sluid
		elsewhere := r.NodeList != "" && c.nodelist != "" && r.NodeList != c.nodelist
		if c.uid != r.UID || c.by[r.Node] || other {
			return false
		}
		skewed := len(all) == 1 && c.submit.Valid && r.NodeList != "" && r.NodeList == c.nodelist && wrongClock(c.slurm, c.submit.Int64, c.state, at)
		return gap == 0 || gap <= slack && !elsewhere || skewed
	})
	if c == nil {
		return nil, nil
	}
	return c, c.checkNode(r.Node)
}

// attemptForSlurm finds or makes the attempt of a line of sacct. ok is false if the attempt
// was pruned, or ended before the database began and no node reported it. alone says that
// sacct told of no other attempt of this job.
func (w *writer) attemptForSlurm(j *slurm.Job, alone bool, began time.Time, now int64) (k attemptKey, ok bool, err error) {
	all, err := w.candidates(jobKey{j.Cluster, j.RawID})
	if err != nil {
		return attemptKey{}, false, err
	}
	end := j.End
	if end.IsZero() {
		end = time.UnixMicro(now)
	}
	c := nearest(all, j.Start, end, func(c *candidate, gap time.Duration) bool {
		if c.submit.Valid {
			return c.submit.Int64 == j.Submit.UnixMicro()
		}
		skewed := alone && len(all) == 1 && j.NodeList != "" && j.NodeList == c.nodelist &&
			wrongClock(stretchOf(j.Start, j.End), j.Submit.UnixMicro(), j.State, c.nodes)
		return c.uid == j.UID && (gap <= slackSlurm || skewed)
	})
	if c != nil {
		return attemptKey{j.Cluster, j.RawID, c.attempt}, true, nil
	}
	if !j.End.IsZero() && j.End.Before(began) {
		return attemptKey{}, false, nil
	}
	if gone, err := w.pruned(j.Cluster, j.End, now); gone || err != nil {
		return attemptKey{}, false, err
	}
	k = attemptKey{j.Cluster, j.RawID, nextAttempt(all)}
	row := &attemptRow{attemptKey: k, job: job.Job{UID: j.UID}, nodelist: j.NodeList, changed: time.UnixMicro(now)}
	return k, true, w.writeAttempt(row, from(opening))
}

func nextAttempt(all []*candidate) int64 {
	last := int64(0)
	for _, c := range all {
		last = max(last, c.attempt)
	}
	return last + 1
}
