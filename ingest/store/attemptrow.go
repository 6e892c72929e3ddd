package store

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/policy/doubt"
)

// sourceSet is a set of sources that write a row together, one bit each.
type sourceSet uint

func (s sourceSet) with(more ...source) sourceSet {
	for _, one := range more {
		s |= 1 << one
	}
	return s
}

func (s sourceSet) has(one source) bool { return s&(1<<one) != 0 }

// from is the set of these sources.
func from(some ...source) sourceSet { return sourceSet(0).with(some...) }

// rule is the rule of the first source in the set that writes the column.
func (s sourceSet) rule(c *attemptColumn) rule {
	for one, r := range c.by {
		if r != stays && s.has(source(one)) {
			return r
		}
	}
	return stays
}

// attemptStatement writes what a set of sources knows into a row of attempts.
type attemptStatement struct {
	text   string
	fields []func(*attemptRow) any // which fields are its arguments
}

// attemptStatements caches the statements; there are few different sets of sources.
var attemptStatements sync.Map // sourceSet → *attemptStatement

// writeAttempt writes what the sources know into an attempt's row; opening inserts the row.
func (w *writer) writeAttempt(r *attemptRow, by sourceSet) error {
	known, _ := attemptStatements.Load(by)
	if known == nil {
		known = updateAttempt(by)
		if by.has(opening) {
			known = insertAttempt(by)
		}
		attemptStatements.Store(by, known)
	}
	st := known.(*attemptStatement)
	args := make([]any, len(st.fields), len(st.fields)+3)
	for i, field := range st.fields {
		args[i] = sqlValue(field(r))
	}
	if !by.has(opening) {
		args = append(args, r.args()...)
	}
	return w.exec(st.text, args...)
}

// insertAttempt inserts an attempt's row.
func insertAttempt(by sourceSet) *attemptStatement {
	st := new(attemptStatement)
	var columns []string
	for i := range attemptColumns {
		if c := &attemptColumns[i]; by.rule(c) != stays {
			columns, st.fields = append(columns, c.name), append(st.fields, c.field)
		}
	}
	st.text = "INSERT INTO attempts (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	return st
}

// updateAttempt changes an existing row; its last arguments are the attempt's key.
func updateAttempt(by sourceSet) *attemptStatement {
	st := new(attemptStatement)
	var sets []string
	for i := range attemptColumns {
		c := &attemptColumns[i]
		r := by.rule(c)
		if r == stays {
			continue
		}
		st.fields = append(st.fields, c.field)
		switch r {
		case larger:
			st.fields = append(st.fields, c.field)
			sets = append(sets, c.name+" = CASE WHEN "+c.name+" > ? THEN "+c.name+" ELSE ? END")
		case given:
			sets = append(sets, c.name+" = COALESCE(?, "+c.name+")")
		case missing:
			sets = append(sets, c.name+" = COALESCE("+c.name+", ?)")
		case empty:
			sets = append(sets, c.name+" = CASE "+c.name+" WHEN '' THEN ? ELSE "+c.name+" END")
		default:
			sets = append(sets, c.name+" = ?")
		}
	}
	st.text = "UPDATE attempts SET " + strings.Join(sets, ", ") + " WHERE cluster = ? AND job_id = ? AND attempt = ?"
	return st
}

// forgetReported takes back what reports wrote into an attempt's row. If Slurm has confirmed the
// attempt, what Slurm said stays; else the row is deleted.
func (w *writer) forgetReported(k attemptKey, told bool) error {
	if !told {
		return w.forget("attempts", k)
	}
	var columns []string
	for i := range attemptColumns {
		if c := &attemptColumns[i]; from(opening, accounting, usage).rule(c) != stays {
			columns = append(columns, c.name)
		}
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	list := strings.Join(columns, ", ")
	err := w.one("DELETE FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ? RETURNING "+list, k.args(), into)
	if err != nil {
		return err
	}
	return w.insertRows("attempts ("+list+")", values)
}

// merge puts the figures of merged reports into the row.
func (r *attemptRow) merge(j *job.Job) error {
	var steps, warnings, noData, cgroup, gpus string
	err := errors.Join(encode(true, j.Steps, &steps), encode(true, j.Warnings, &warnings), encode(j.NoData != (doubt.Warning{}), j.NoData, &noData),
		encode(j.Cgroup != nil, j.Cgroup, &cgroup), encode(j.GPUUse != nil, j.GPUUse, &gpus))
	if err != nil {
		return err
	}
	reports, nodes := r.job.Reports, max(r.job.Nodes, j.Nodes)
	r.job = *j
	r.job.Reports, r.job.Nodes, r.job.Threaded = reports, nodes, job.ThreadsUnknown(j.Executions)
	r.steps, r.scriptArgs, r.warnings, r.noData, r.cgroup, r.gpus = steps, job.ScriptArgs(j.Steps), warnings, noData, cgroup, gpus
	r.rankSeconds, r.ranked = job.CoreSeconds(j.Executions), true
	r.setMetrics(j.Metrics)
	return nil
}

func (r *attemptRow) setMetrics(m *job.Metrics) {
	if m != nil {
		r.metrics, r.measured = *m, true
		if r.threaded = m.Hybrid != nil; r.threaded {
			r.hybrid = *m.Hybrid
		}
	}
}

// setElapsed puts into the row how long the attempt ran, as Slurm says, and the core time of that.
func (r *attemptRow) setElapsed(d time.Duration) {
	r.elapsed, r.timed = int64(d/time.Second), true
	r.usedTime = job.UsedCoreTime(r.job.CPUs, d.Truncate(time.Second))
}

// setUsage puts into the row what the attempt's steps used; nil means unknown.
func (r *attemptRow) setUsage(u *job.Usage) {
	r.usageRead = true
	if r.used = u != nil; r.used {
		r.usage, r.totalCPU = *u, u.TotalCPU.Microseconds()
	}
}

// rowOfSlurm is the row with what sacct says of an attempt.
func rowOfSlurm(k attemptKey, j *slurm.Job) *attemptRow {
	r := &attemptRow{attemptKey: k, job: job.Job{ArrayJobID: j.ArrayJobID, ArrayTaskID: j.ArrayTaskID, HetJobID: j.HetJobID, HetOffset: j.HetOffset,
		User: clean(j.User), Account: clean(j.Account), Partition: clean(j.Partition), QOS: clean(j.QOS), Name: clean(j.Name),
		State: clean(j.State), ExitCode: clean(j.ExitCode), Nodes: j.Nodes, CPUs: j.CPUs, GPUs: j.GPUs, TRES: clean(j.TRES), Submit: j.Submit, Eligible: j.Eligible},
		cancelledBy: j.CancelledBy, nodelist: clean(j.NodeList), slurmStart: j.Start, slurmEnd: j.End, limit: int64(j.TimeLimit / time.Second)}
	if !j.Start.IsZero() {
		r.setElapsed(j.Elapsed)
		r.usedTime = cmp.Or(j.Used, r.usedTime)
		r.gpuTime.Used = (&job.Job{CPUs: j.CPUs, Used: j.Used, GPUs: j.GPUs, GPUUsed: j.GPUUsed, Elapsed: j.Elapsed.Truncate(time.Second)}).GPUTime().Used
	}
	r.setUsage(j.Usage)
	return r
}
