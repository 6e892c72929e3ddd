package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
)

// Bounds of the logs of windows that wait to be replayed. A run has at most 64 MiB of them
// (replay.MostBytes): a user and a sender have room for two such runs. A node has one row for
// each of its jobs.
var (
	roomOfAll  = logsRoom{20_000, 512 << 20}
	roomOfUser = logsRoom{roomOfAll.rows / 4, roomOfAll.bytes / 4} // and of a sender
	roomOfNode = logsRoom{roomOfAll.rows / 20, roomOfAll.bytes / 16}
)

type logsRoom struct{ rows, bytes int64 }

// holds reports whether what is there leaves room for one more.
func (r logsRoom) holds(there logsRoom, bytes int) bool {
	return there.rows < r.rows && there.bytes+int64(bytes) <= r.bytes
}

// A replay that did not end, by a kill or for want of memory, is tried again: logTries times, and
// after logAgain at the earliest.
const (
	logTries = 3
	logAgain = time.Minute
)

// LogsHead is what is known of the logs of one node before they are unpacked.
type LogsHead struct {
	Node, Nonce    string // of its report
	Ranks, Entries int
	Bytes          int // compressed
	Start          time.Time
}

// WindowLogs are the logs of all nodes of an execution.
type WindowLogs struct {
	attemptKey
	world     string
	Heads     []LogsHead
	Execution *job.Execution // merged from the nodes' reports
}

// LostLogs are logs that were dropped without a replay.
type LostLogs struct {
	Job  uint32 // or one of them
	Logs int
	Why  string
}

// WantsLogs reports whether AddLogs would keep logs now, without waiting for a writer.
func (s *Store) WantsLogs(ctx context.Context, l *wire.NodeLogs, bytes int, sender string) (isNew bool, err error) {
	isNew, err = s.incomingLogs(l, bytes, sender).mayAdd(func(query string, args, into []any) error {
		return s.read.QueryRowContext(ctx, query, args...).Scan(into...)
	})
	if err != nil {
		err = fmt.Errorf("store: logs of job %d from %s: %w", l.JobID, l.Node, unavailable(err))
	}
	return isNew, err
}

// AddLogs keeps the logs of one node until they are replayed, and returns after the COMMIT. packed
// is their form on the wire, sender whose part of the room they take. added is false if they were there
// already, or have been replayed.
func (s *Store) AddLogs(ctx context.Context, l *wire.NodeLogs, packed []byte, sender string) (added bool, err error) {
	in := s.incomingLogs(l, len(packed), sender)
	err = s.doJob(ctx, jobKey{l.Cluster, l.JobID}, func(w *writer) (err error) {
		if added, err = in.mayAdd(w.one); err != nil || !added {
			return err
		}
		return w.exec(`INSERT INTO window_logs (cluster, job_id, node, nonce, world, uid, sender, size, ranks, entries, start_us, received_us, bytes, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(in.key(), l.Key, in.uid, sender, l.Size, l.Ranks, l.Entries, l.Start.UnixMicro(), time.Now().UnixMicro(), len(packed), packed)...)
	})
	if err != nil {
		return false, fmt.Errorf("store: logs of job %d from %s: %w", l.JobID, l.Node, err)
	}
	return added, nil
}

func (s *Store) incomingLogs(l *wire.NodeLogs, bytes int, sender string) *incomingLogs {
	return &incomingLogs{NodeLogs: l, sender: sender, bytes: bytes, unconfirmed: s.patience <= 0}
}

// incomingLogs are logs that are about to enter the database.
type incomingLogs struct {
	*wire.NodeLogs
	sender      string
	bytes       int
	unconfirmed bool  // logs of jobs that Slurm has not confirmed are taken, too
	uid         int64 // of the job, as its reports say
}

func (in *incomingLogs) key() []any { return []any{in.Cluster, in.JobID, in.Node, in.Nonce} }

// one reads one row.
type one func(query string, args, into []any) error

// mayAdd reports whether the logs are new, or why they are not taken. It takes only logs whose
// report is joined to an attempt that Slurm has confirmed.
func (in *incomingLogs) mayAdd(one one) (isNew bool, err error) {
	var attempt, there int64
	var told bool
	err = one(reportOfLogs, in.key(), []any{&attempt, &in.uid, &told})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, ErrLogsEarly
	case err != nil:
		return false, err
	case attempt < 0:
		return false, ErrForeignNode
	case !told && !in.unconfirmed:
		return false, ErrLogsEarly
	}
	if err := one(logsThere, append(in.key(), in.Cluster, in.JobID, in.Key, attempt), []any{&there}); err != nil || there > 0 {
		return false, err
	}
	return true, in.hasRoom(one)
}

// reportOfLogs finds the attempt that a node's report is joined to. The report of a node that the
// attempt did not have is stored under the negative number.
const reportOfLogs = `SELECT r.attempt, a.uid, a.slurm_submit_us IS NOT NULL FROM reports r JOIN attempts a ON a.cluster = r.cluster AND a.job_id = r.job_id AND a.attempt = abs(r.attempt)
	WHERE r.cluster = ? AND r.job_id = ? AND r.node = ? AND r.nonce = ?`

// logsThere counts the same logs, and the results of their replay.
const logsThere = `SELECT (SELECT count(*) FROM window_logs WHERE cluster = ? AND job_id = ? AND node = ? AND nonce = ?)
	+ (SELECT count(*) FROM windows v JOIN reports r ON r.cluster = v.cluster AND r.job_id = v.job_id AND r.node = v.node AND r.nonce = v.nonce
		WHERE v.cluster = ? AND v.job_id = ? AND v.world = ? AND r.attempt = ?)`

// logsWaiting adds up what waits: of all, of a user, of a sender, of a node.
var logsWaiting = func() string {
	sums := "SELECT count(*), COALESCE(SUM(bytes), 0)"
	for _, of := range []string{"uid", "sender", "node"} {
		sums += ", COALESCE(SUM(CASE WHEN " + of + " = ? THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN " + of + " = ? THEN bytes ELSE 0 END), 0)"
	}
	return sums + " FROM window_logs"
}()

func (in *incomingLogs) hasRoom(one one) error {
	var all, user, sender, node logsRoom
	err := one(logsWaiting, []any{in.uid, in.uid, in.sender, in.sender, in.Node, in.Node},
		[]any{&all.rows, &all.bytes, &user.rows, &user.bytes, &sender.rows, &sender.bytes, &node.rows, &node.bytes})
	switch {
	case err != nil:
		return err
	case !roomOfUser.holds(user, in.bytes), in.sender != "" && !roomOfUser.holds(sender, in.bytes), !roomOfNode.holds(node, in.bytes):
		return ErrLogsPart
	case !roomOfAll.holds(all, in.bytes):
		return ErrManyLogs
	}
	return nil
}

// logsOfReports ties logs to the attempt of their report.
const logsOfReports = ` FROM window_logs l JOIN reports r ON r.cluster = l.cluster AND r.job_id = l.job_id AND r.node = l.node AND r.nonce = l.nonce
	WHERE r.attempt > 0 `

// logsToReplay finds logs to replay: those of all ranks are there, and their reports are merged.
const logsToReplay = "SELECT l.cluster, l.job_id, r.attempt, l.world, l.size, MIN(l.received_us)" + logsOfReports + `AND l.tried_us < ?
	AND EXISTS (SELECT 1 FROM attempts a WHERE a.cluster = r.cluster AND a.job_id = r.job_id AND a.attempt = r.attempt AND a.unmerged = 0)
	GROUP BY l.cluster, l.job_id, r.attempt, l.world, l.size HAVING SUM(l.ranks) >= l.size ORDER BY 6 LIMIT 1`

// NextLogs claims the logs that are to be replayed next; nil: none are. It drops those that wait
// for others of their execution longer than grace, and those that do not fit their report.
func (s *Store) NextLogs(ctx context.Context, now time.Time, grace time.Duration) (l *WindowLogs, lost []LostLogs, err error) {
	l = new(WindowLogs)
	before, stale := now.Add(-logAgain).UnixMicro(), now.Add(-max(grace, 2*logTries*logAgain))
	var size int
	var came int64
	err = s.read.QueryRowContext(ctx, logsToReplay, before).Scan(&l.cluster, &l.jobID, &l.attempt, &l.world, &size, &came)
	none := errors.Is(err, sql.ErrNoRows)
	if none || err == nil && came >= stale.UnixMicro() { // what is older waits for others
		if lost, err = s.dropLogs(ctx, stale); none || err != nil || len(lost) > 0 {
			return nil, lost, err
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("store: logs to replay: %w", unavailable(err))
	}
	unfit, damaged := s.headsOf(ctx, l)
	if damaged != nil {
		damaged = fmt.Errorf("store: logs of job %d: %w", l.jobID, unavailable(damaged))
	} else if len(unfit) > 0 { // what is left may not be all of the execution: it is looked for again
		return nil, []LostLogs{{l.jobID, len(unfit), "they do not fit the report of their node"}}, s.forgetLogs(ctx, l, unfit)
	}
	mine, lost, err := s.claimLogs(ctx, l, now, before) // also of what cannot be read: it must not stay the next
	if err = errors.Join(damaged, err); err != nil || !mine {
		return nil, lost, err
	}
	return l, nil, nil
}

// headsOf finds the execution that the logs are of, and those that do not fit it.
func (s *Store) headsOf(ctx context.Context, l *WindowLogs) (unfit []LogsHead, err error) {
	sizes := map[LogsHead]int{}
	err = s.eachRow(ctx, "SELECT l.node, l.nonce, l.size, l.ranks, l.entries, l.bytes, l.start_us"+logsOfReports+"AND l.cluster = ? AND l.job_id = ? AND l.world = ? AND r.attempt = ? ORDER BY l.node",
		[]any{l.cluster, l.jobID, l.world, l.attempt}, func(rows *sql.Rows) error {
			var h LogsHead
			var size int
			var start int64
			err := rows.Scan(&h.Node, &h.Nonce, &size, &h.Ranks, &h.Entries, &h.Bytes, &start)
			h.Start = time.UnixMicro(start)
			sizes[h], l.Heads = size, append(l.Heads, h)
			return err
		})
	if err != nil {
		return nil, err
	}
	all, err := s.executionsOf(ctx, executionsOfWorld, append(l.args(), l.world))
	if err != nil {
		return nil, err
	}
	best := -1
	for i := range all {
		x := &all[i]
		if x.Folded != nil || x.Key != l.world || x.Metrics == nil {
			continue
		}
		fit, not := fitting(l.Heads, sizes, x)
		if len(fit) > best {
			best, l.Execution, unfit = len(fit), x, not
		}
	}
	if l.Execution == nil { // folded with others, or its report was trimmed
		return l.Heads, nil
	}
	return unfit, nil
}

const executionsOfWorld = "SELECT detail FROM executions WHERE cluster = ? AND job_id = ? AND attempt = ? AND key = ? ORDER BY execution"

func (s *Store) executionsOf(ctx context.Context, query string, args []any) (all []job.Execution, err error) {
	err = s.eachRow(ctx, query, args, func(rows *sql.Rows) error {
		var detail sql.RawBytes
		var x job.Execution
		if err := rows.Scan(&detail); err != nil {
			return err
		}
		err := unpack(detail, &x)
		all = append(all, x)
		return err
	})
	return all, err
}

// fitting are the logs that began while the execution ran, on a node that reported at least as many
// ranks of it.
func fitting(heads []LogsHead, sizes map[LogsHead]int, x *job.Execution) (fit, not []LogsHead) {
	ranks := map[string]int{}
	for i := range x.Nodes {
		ranks[x.Nodes[i].Node] += x.Nodes[i].Ranks
	}
	for _, h := range heads {
		if sizes[h] != x.Size || h.Ranks > ranks[h.Node] || h.Start.Before(x.Start.Truncate(time.Microsecond)) || h.Start.After(x.End) {
			not = append(not, h)
		} else {
			fit = append(fit, h)
		}
	}
	return fit, not
}

// dropLogs deletes what came before a time.
func (s *Store) dropLogs(ctx context.Context, before time.Time) ([]LostLogs, error) {
	old := LostLogs{Why: "logs of their other nodes did not come in time"}
	err := s.read.QueryRowContext(ctx, "SELECT count(*), COALESCE(MIN(job_id), 0) FROM window_logs WHERE received_us < ?", before.UnixMicro()).Scan(&old.Logs, &old.Job)
	if err != nil || old.Logs == 0 {
		return nil, unavailable(err)
	}
	return []LostLogs{old}, s.do(ctx, func(w *writer) error {
		return w.exec("DELETE FROM window_logs WHERE received_us < ?", before.UnixMicro())
	})
}

// logsOfAttempt selects the logs whose reports are joined to an attempt. Others may name the same job
// and world.
const logsOfAttempt = `cluster = ? AND job_id = ? AND world = ?
	AND EXISTS (SELECT 1 FROM reports r WHERE r.cluster = window_logs.cluster AND r.job_id = window_logs.job_id AND r.node = window_logs.node AND r.nonce = window_logs.nonce AND r.attempt = ?)`

func (l *WindowLogs) mine() []any { return []any{l.cluster, l.jobID, l.world, l.attempt} }

// claimLogs counts a try, unless another daemon claimed the logs. After the last try they are
// dropped.
func (s *Store) claimLogs(ctx context.Context, l *WindowLogs, now time.Time, before int64) (mine bool, lost []LostLogs, err error) {
	err = s.doJob(ctx, jobKey{l.cluster, l.jobID}, func(w *writer) error {
		var tries int64
		mine, lost = false, nil
		err := w.one("SELECT COALESCE(MAX(tries), -1) FROM window_logs WHERE "+logsOfAttempt+" AND tried_us < ?", append(l.mine(), before), []any{&tries})
		switch {
		case err != nil || tries < 0:
			return err
		case tries >= logTries:
			lost = []LostLogs{{l.jobID, len(l.Heads), "jobeffd ended in each of their replays"}}
			return l.forget(w)
		}
		mine = true
		return w.exec("UPDATE window_logs SET tries = tries + 1, tried_us = ? WHERE "+logsOfAttempt, append([]any{now.UnixMicro()}, l.mine()...)...)
	})
	return mine, lost, err
}

// forget deletes the logs that are joined to the attempt.
func (l *WindowLogs) forget(w *writer) error {
	return w.exec("DELETE FROM window_logs WHERE "+logsOfAttempt, l.mine()...)
}

// forgetLogs deletes some of the logs.
func (s *Store) forgetLogs(ctx context.Context, l *WindowLogs, some []LogsHead) error {
	return s.doJob(ctx, jobKey{l.cluster, l.jobID}, func(w *writer) error {
		for _, h := range some {
			if err := w.exec("DELETE FROM window_logs WHERE cluster = ? AND job_id = ? AND node = ? AND nonce = ?", l.cluster, l.jobID, h.Node, h.Nonce); err != nil {
				return err
			}
		}
		return nil
	})
}

// Logs reads the logs of one node, and unpacks their outermost layer.
func (s *Store) Logs(ctx context.Context, l *WindowLogs, h *LogsHead) (*wire.NodeLogs, error) {
	var body []byte
	err := s.read.QueryRowContext(ctx, "SELECT body FROM window_logs WHERE cluster = ? AND job_id = ? AND node = ? AND nonce = ?", l.cluster, l.jobID, h.Node, h.Nonce).Scan(&body)
	if err != nil {
		return nil, fmt.Errorf("store: logs of job %d from %s: %w", l.jobID, h.Node, unavailable(err))
	}
	return wire.DecodeLogs(body)
}

// JobID is the job's.
func (l *WindowLogs) JobID() uint32 { return l.jobID }

// Cluster is the job's.
func (l *WindowLogs) Cluster() string { return l.cluster }

// KeepWindows keeps what a replay found, for the merge, under the report of first, the logs with
// rank 0. Then it forgets the logs.
func (s *Store) KeepWindows(ctx context.Context, l *WindowLogs, first *LogsHead, told *job.Windows) error {
	text, err := json.Marshal(told)
	if err == nil {
		err = s.doJob(ctx, jobKey{l.cluster, l.jobID}, func(w *writer) error {
			return errors.Join(l.forget(w), w.exec(`INSERT INTO windows (cluster, job_id, node, nonce, world, start_us, windows_json) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (cluster, job_id, node, nonce, world, start_us) DO UPDATE SET windows_json = excluded.windows_json`,
				l.cluster, l.jobID, first.Node, first.Nonce, l.world, first.Start.UnixMicro(), string(text)), w.mergeAgain(l.attemptKey))
		})
	}
	if err != nil {
		return fmt.Errorf("store: windows of job %d: %w", l.jobID, err)
	}
	return nil
}

// windowsOfJob reads those of all attempts: they differ in the nodes' nonces.
const windowsOfJob = "SELECT node, nonce, world, start_us, windows_json FROM windows WHERE cluster = ? AND job_id = ?"

// toldWindows are what a replay found of an execution.
type toldWindows struct {
	world   string
	start   int64 // us, on the node of rank 0
	windows job.Windows
}

// tell gives the windows to their execution in its node's report.
func (t *toldWindows) tell(r *job.NodeReport) {
	for i := range r.Executions {
		if x := &r.Executions[i]; x.Key == t.world && x.Start.UnixMicro() == t.start {
			x.Windows = &t.windows
		}
	}
}
