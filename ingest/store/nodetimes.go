package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/slow"
)

// nodeTime is what node_times has of an observation, besides the columns of its row.
type nodeTime struct {
	Stratum []byte  `json:"s"`
	Node    string  `json:"n"`
	Value   float64 `json:"v"`
}

// packTimes makes the column times; nil: there are no observations.
func packTimes(all []slow.Observation) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	times := make([]nodeTime, len(all))
	for i := range all {
		times[i] = nodeTime{all[i].Stratum[:], all[i].Machine.Node, all[i].Value}
	}
	return pack(times)
}

// toKeepTimes changes nothing if the row is there, or if the attempt got new figures or is gone since it was read.
const toKeepTimes = `INSERT INTO node_times (cluster, job_id, attempt, end_us, uid, times)
	SELECT cluster, job_id, attempt, end_us, uid, ? FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ? AND judged_by = ?
	ON CONFLICT (cluster, job_id, attempt) DO UPDATE SET end_us = excluded.end_us, uid = excluded.uid, times = excluded.times
	WHERE node_times.end_us <> excluded.end_us OR node_times.times <> excluded.times`

// keepTimes keeps what an attempt says of its nodes.
func (w *writer) keepTimes(u *unjudged) error {
	if u.times == nil {
		return w.forget("node_times", u.attemptKey)
	}
	return w.exec(toKeepTimes, append(append([]any{u.times}, u.args()...), u.judgedBy)...)
}

// timesAtOnce is how many attempts NodeTimes reads at once. One on 10,000 nodes has half a MiB of them.
const timesAtOnce = 100

const nodeTimes = `SELECT end_us, cluster, job_id, attempt, uid, times FROM node_times
	WHERE (end_us, cluster, job_id, attempt) > (?, ?, ?, ?) AND end_us < ? ORDER BY end_us, cluster, job_id, attempt LIMIT ?`

// NodeTimes calls do with what the attempts that ended in a span say of their nodes, in the order of their ends. It reads
// some at a time, and while do runs, nothing of the database is in use: so do may rest.
func (s *Store) NodeTimes(ctx context.Context, from, to time.Time, do func(slow.Observation)) error {
	after := []any{from.UnixMicro(), "", 0, 0}
	for n := timesAtOnce; n == timesAtOnce; {
		var packed [][]byte
		var all []slow.Observation // one of each attempt, without its node
		err := s.eachRow(ctx, nodeTimes, append(after, to.UnixMicro(), timesAtOnce), func(rows *sql.Rows) error {
			var k attemptKey
			var o slow.Observation
			var end int64
			var times []byte
			err := rows.Scan(&end, &k.cluster, &k.jobID, &k.attempt, &o.UID, &times)
			o.Machine.Cluster, o.At = k.cluster, time.UnixMicro(end).UTC()
			packed, all, after = append(packed, times), append(all, o), append([]any{end}, k.args()...)
			return err
		})
		for i := 0; i < len(all) && err == nil; i++ {
			err = eachTime(all[i], packed[i], do)
		}
		if err != nil {
			return fmt.Errorf("store: times of nodes: %w", unavailable(err))
		}
		n = len(all)
	}
	return nil
}

func eachTime(o slow.Observation, packed []byte, do func(slow.Observation)) error {
	var times []nodeTime
	if err := unpack(packed, &times); err != nil {
		return err
	}
	for _, t := range times {
		copy(o.Stratum[:], t.Stratum)
		o.Machine.Node, o.Value = t.Node, t.Value
		do(o)
	}
	return nil
}

// LookAtNodes looks at what the jobs of the last year say of their nodes, keeps which are slow, and returns that. It calls rest
// after each piece of work.
func (s *Store) LookAtNodes(ctx context.Context, now time.Time, rest func()) (*listing.SlowNodes, error) {
	w := slow.New()
	err := s.NodeTimes(ctx, slow.Begin(now), now, func(o slow.Observation) {
		w.Add(o)
		rest()
	})
	if err != nil {
		return nil, err
	}
	found := &listing.SlowNodes{At: now, Observed: w.Nodes(), Nodes: w.Look(now)}
	return found, s.KeepSlowNodes(ctx, found)
}

// KeepSlowNodes keeps what a look at the nodes found.
func (s *Store) KeepSlowNodes(ctx context.Context, found *listing.SlowNodes) error {
	return s.keepOnly(ctx, "slow_nodes", found)
}

// SlowNodes is what KeepSlowNodes kept last; nil: nothing yet.
func (s *Store) SlowNodes(ctx context.Context) (*listing.SlowNodes, error) {
	return keptOnly[listing.SlowNodes](ctx, s, "slow_nodes")
}
