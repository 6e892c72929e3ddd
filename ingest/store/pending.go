package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
)

// QueueLook is one look at a cluster's queue.
type QueueLook struct {
	Cluster string
	At      time.Time
	Until   time.Time // after it its lines are no longer shown
	LeftOut int       // lines that it had beyond these
}

// pendingAtOnce is how many lines one transaction writes: reports wait meanwhile.
const pendingAtOnce = 1000

const writePending = `INSERT INTO pending (cluster, job_id, head_id, id, uid, account, partition_name, qos, name, cpus, submit_us, line_json)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (cluster, job_id) DO UPDATE SET head_id = excluded.head_id, id = excluded.id, uid = excluded.uid,
	account = excluded.account, partition_name = excluded.partition_name, qos = excluded.qos, name = excluded.name, cpus = excluded.cpus,
	submit_us = excluded.submit_us, line_json = excluded.line_json`

const writeLook = `INSERT INTO pending_looks (cluster, looked_us, until_us, left_out) VALUES (?, ?, ?, ?)
	ON CONFLICT (cluster) DO UPDATE SET looked_us = excluded.looked_us, until_us = excluded.until_us, left_out = excluded.left_out`

// SetPending replaces the lines of a cluster's queue. It writes those that differ.
func (s *Store) SetPending(ctx context.Context, look QueueLook, lines []slurmid.Pending) error {
	changes, err := s.pendingChanges(ctx, look.Cluster, lines)
	changes = append(changes, change{writeLook, []any{look.Cluster, look.At.UnixMicro(), look.Until.UnixMicro(), look.LeftOut}})
	for some := range slices.Chunk(changes, pendingAtOnce) {
		if err == nil {
			err = s.do(ctx, func(w *writer) (err error) {
				for _, c := range some {
					if err == nil {
						err = w.exec(c.query, c.args...)
					}
				}
				return err
			})
		}
	}
	if err != nil {
		return fmt.Errorf("store: the queue: %w", err)
	}
	return nil
}

// change is a statement with its arguments.
type change struct {
	query string
	args  []any
}

// pendingChanges are the statements that turn the stored lines into these.
func (s *Store) pendingChanges(ctx context.Context, cluster string, lines []slurmid.Pending) (all []change, err error) {
	have := map[uint32]string{}
	err = s.eachRow(ctx, "SELECT job_id, line_json FROM pending WHERE cluster = ?", []any{cluster}, func(rows *sql.Rows) error {
		var id uint32
		var line string
		err := rows.Scan(&id, &line)
		have[id] = line
		return err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	for i := range lines {
		p := &lines[i]
		line, err := json.Marshal(p)
		if err != nil { // a year beyond 9999
			continue
		}
		if have[p.JobID] != string(line) {
			all = append(all, change{writePending, []any{cluster, p.JobID, cmp.Or(p.ArrayJobID, p.HetJobID, p.JobID), p.ID, p.UID, p.Account, p.Partition, p.QOS, p.Name,
				p.CPUs, p.Submit.UnixMicro(), string(line)}})
		}
		delete(have, p.JobID)
	}
	arrays := map[uint32]bool{}
	for id, line := range have {
		all = append(all, change{"DELETE FROM pending WHERE cluster = ? AND job_id = ?", []any{cluster, id}})
		var p slurmid.Pending
		if err := json.Unmarshal([]byte(line), &p); err == nil && p.ArrayJobID > 0 && !arrays[p.ArrayJobID] {
			arrays[p.ArrayJobID] = true
			all = append(all, change{toAskLast, []any{-time.Now().UnixMicro(), p.ArrayJobID, cluster}})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.args[1].(uint32), b.args[1].(uint32)) }) // in one order, so that daemons do not deadlock
	return all, nil
}

// toAskLast lets Judge ask the rules again about the task of an array that ended last: none of the
// array waits any more.
const toAskLast = `UPDATE attempts SET judged_by = ? WHERE array_job_id > 0 AND array_job_id = ? AND cluster = ? AND judged_by > 0
	AND slurm_end_us = (SELECT max(l.slurm_end_us) FROM attempts l WHERE l.array_job_id > 0 AND l.array_job_id = attempts.array_job_id AND l.cluster = attempts.cluster)`

// notBegun is true for a line if sacct has listed no attempt of it. A job that is requeued is submitted anew.
const notBegun = `(SELECT 1 FROM attempts o WHERE o.cluster = r.cluster AND o.job_id = r.job_id AND o.slurm_submit_us IS NOT NULL AND o.start_us >= r.submit_us LIMIT 1) IS NULL`

// mostPendingListed is how many lines a list of what waits has.
const mostPendingListed = 1000

// Pending lists the waiting jobs that a query selects and the viewer may see. It is nil if the query
// asks for none that wait, or if Slurm's last answer is too old, or Slurm was never asked.
func (s *Store) Pending(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32) (*slurmid.PendingList, error) {
	if !asksPending(q) {
		return nil, nil
	}
	list, err := s.pendingList(ctx, v, q, uids, time.Now())
	if err != nil {
		return nil, fmt.Errorf("store: what waits: %w", unavailable(err))
	}
	return list, nil
}

// asksPending says whether the first page of a query can hold jobs that have not begun.
func asksPending(q listing.JobQuery) bool {
	return (q.State == "" || slices.Contains(strings.Split(q.State, ","), "PENDING")) && q.Program == "" && q.Rule == "" &&
		q.LeastElapsed == 0 && q.MostElapsed == 0 && q.Offset == 0 && q.After == ""
}

func (s *Store) pendingList(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32, now time.Time) (*slurmid.PendingList, error) {
	looks, err := s.looks(ctx, now)
	if err != nil || len(looks) == 0 {
		return nil, err
	}
	c, sets, err := chosenPending(v, q, uids, now)
	if err != nil {
		return nil, err
	}
	list := &slurmid.PendingList{Jobs: []slurmid.Pending{}}
	for _, l := range looks {
		if list.LeftOut += l.LeftOut; list.AsOf.IsZero() || l.At.Before(list.AsOf) {
			list.AsOf = l.At
		}
	}
	err = s.eachRow(ctx, "SELECT r.line_json FROM pending r WHERE "+strings.Join(c.where, " AND ")+" ORDER BY r.submit_us, r.cluster, r.job_id LIMIT ?",
		append(c.args, mostPendingListed+1), func(rows *sql.Rows) error {
			var line sql.RawBytes
			var p slurmid.Pending
			err := rows.Scan(&line)
			if err == nil {
				err = json.Unmarshal(line, &p)
			}
			list.Jobs = append(list.Jobs, p)
			return err
		})
	if err != nil {
		return nil, err
	}
	if list.More = len(list.Jobs) > mostPendingListed; list.More {
		list.Jobs = list.Jobs[:mostPendingListed]
	}
	all := list.Jobs
	list.Jobs = all[:0]
	for i := range all {
		p := &all[i]
		there, err := s.startTasks(ctx, p, list.AsOf)
		if err != nil {
			return nil, err
		}
		if there && (len(sets) == 0 || slices.ContainsFunc(sets, func(set slurmid.Set) bool { return set.Holds(p) })) {
			p.ID = s.named(p.Cluster, p.ID)
			list.Jobs = append(list.Jobs, *p)
		}
	}
	return list, nil
}

// looks are those whose lines may still be shown.
func (s *Store) looks(ctx context.Context, now time.Time) (all []QueueLook, err error) {
	err = s.eachRow(ctx, "SELECT cluster, looked_us, left_out FROM pending_looks WHERE until_us > ?", []any{now.UnixMicro()}, func(rows *sql.Rows) error {
		var l QueueLook
		var at int64
		err := rows.Scan(&l.Cluster, &at, &l.LeftOut)
		l.At = time.UnixMicro(at).UTC()
		all = append(all, l)
		return err
	})
	return all, err
}

// chosenPending are the conditions of a query on pending, and the sets of jobs that it names.
func chosenPending(v Viewer, q listing.JobQuery, uids []uint32, now time.Time) (c conditions, sets []slurmid.Set, err error) {
	c.add("r.cluster IN (SELECT cluster FROM pending_looks WHERE until_us > ?)", now.UnixMicro())
	c.add(notBegun)
	if mine, args := v.sees(); mine != "" {
		c.add(mine, args...)
	}
	if len(uids) > 0 {
		in(&c, "r.uid", uids)
	}
	for column, list := range map[string]string{"r.account": q.Account, "r.qos": q.QOS, "r.cluster": q.Cluster} {
		if list != "" {
			in(&c, column, strings.Split(list, ","))
		}
	}
	if q.Partition != "" {
		c.lists("r.partition_name", strings.Split(q.Partition, ","))
	}
	if q.Name != "" {
		c.named(q.Name)
	}
	if q.LeastCores > 0 {
		c.add("r.cpus >= ?", q.LeastCores)
	}
	if q.MostCores > 0 {
		c.add("r.cpus <= ?", q.MostCores)
	}
	if !q.End.IsZero() {
		c.add("r.submit_us < ?", q.End.UnixMicro())
	}
	if q.Jobs == "" {
		return c, nil, nil
	}
	if sets, err = slurmid.ParseSets(q.Jobs); err != nil {
		return c, nil, &SelectionError{err}
	}
	if of := slurmid.ClusterOf(sets); of != "" {
		in(&c, "r.cluster", []string{of})
	}
	var either conditions
	var whole, heads []uint32
	var parts []string
	for _, set := range sets {
		if set.ArrayTask != nil || set.HetOffset != nil {
			set.Ref.Cluster = ""
			heads, parts = append(heads, set.ID), append(parts, set.Ref.String())
		} else {
			whole = append(whole, set.ID)
		}
	}
	if len(whole) > 0 {
		in(&either, "r.job_id", whole)
		in(&either, "r.head_id", whole)
	}
	if len(heads) > 0 { // each has a line of its own, or is in one of several tasks
		in(&either, "r.head_id", heads)
		either.where[len(either.where)-1] += " AND (replace(r.id, '[', '') <> r.id OR r.id IN (?" + strings.Repeat(", ?", len(parts)-1) + "))"
		for _, id := range parts {
			either.args = append(either.args, id)
		}
	}
	c.add(anyOf(either.where), either.args...)
	return c, sets, nil
}

// startedSince is how long before a look a task may have begun and still be in its line: clocks
// differ.
const startedSince = 2 * time.Minute

// startTasks takes those tasks out of a line that have begun since the look, and says whether any are left.
func (s *Store) startTasks(ctx context.Context, p *slurmid.Pending, looked time.Time) (bool, error) {
	if p.ArrayJobID == 0 || !strings.Contains(p.ID, "[") {
		return true, nil
	}
	started, err := onlyColumn[uint32](s.read.QueryContext(ctx, "SELECT r.array_task_id FROM attempts r WHERE "+ofArrayOf+" AND r.start_us >= ? AND r.slurm_submit_us IS NOT NULL AND r.array_task_id IS NOT NULL ORDER BY r.array_task_id",
		p.Cluster, p.ArrayJobID, looked.Add(-startedSince).UnixMicro()))
	return p.Start(started), err
}
