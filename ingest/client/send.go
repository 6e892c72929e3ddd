package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// Sender empties a node's outbox into jobeffd.
type Sender struct {
	Spool  string
	Client *Client
	// Jitter is the longest that Send waits before it sends: a random time, so that
	// the nodes of a large job do not all send at once.
	Jitter time.Duration
	// GoesOn says that the site measures during an alarm, too. The alarm is then not noted on the node.
	GoesOn bool
}

// SendResult counts what became of the reports found.
type SendResult struct {
	Sent    int // accepted and deleted here
	Kept    int // for the next time: all reports in the outbox now
	Refused int // for good: moved to refused/ with the reason
	// Busy says that another sender was already waiting. It will send our reports too.
	Busy bool
	// LogsWait is how long to wait before sending again those logs of windows that came too early for
	// jobeffd; 0: there are none.
	LogsWait time.Duration
	// Problems says why reports were kept or refused.
	Problems []error
}

// A round ends after givesUp unanswered sends in a row: jobeffd is away, and the others would
// only wait for the same time-out. After answers of 500 it goes on for longer, up to
// mostFaults in a row, so that a few reports that jobeffd cannot take do not hold back the rest.
const (
	givesUp    = 3
	mostFaults = 10 * givesUp
)

// outcome says how far a delivery got: unanswered < failed < decided.
type outcome int

const (
	unanswered outcome = iota // jobeffd is away, something else answers, or jobeffd cannot take reports now
	failed                    // jobeffd failed with this one alone: 500, it came too early, or it is of another cluster
	decided                   // jobeffd took it, or refused it for good
)

func outcomeOf(err error) outcome {
	var answer *ServerError
	switch {
	case err == nil || isFinal(err):
		return decided
	case errors.As(err, &answer) && slices.Contains([]int{http.StatusInternalServerError, http.StatusTooEarly, http.StatusMisdirectedRequest}, answer.Status) && !answer.Foreign:
		return failed
	}
	return unanswered
}

// staleTemp is the age after which a temporary file's writer is surely dead.
const staleTemp = time.Hour

// Send sends the files of the outbox until it finds no new ones. It deletes a file only
// after the server's 200, sets a file aside that is refused for good, and keeps all others. At
// the end it removes refused reports beyond their bounds.
// Per spool one Send runs and one waits. A third returns at once: the waiting one will find
// its reports.
func (s *Sender) Send(ctx context.Context) (SendResult, error) {
	release, err := s.takeTurn(ctx)
	if err != nil {
		return SendResult{}, err
	}
	if release == nil {
		return SendResult{Busy: true}, nil
	}
	defer release()
	if state, err := node.ReadOutbox(s.Spool); err == nil {
		s.Client.TellOutbox(state)
	}
	if state, err := node.ReadRunDirs(node.RunDirPath); err == nil {
		s.Client.TellRunDir(state)
	}
	var res SendResult
	tried := map[string]bool{}
	for failures := 0; failures < mostFaults && ctx.Err() == nil; {
		names, err := s.waiting(tried, &res)
		if err != nil {
			return res, err
		}
		if len(names) == 0 {
			break
		}
		failures = s.round(ctx, names, tried, failures, &res)
	}
	s.sendLogs(ctx, &res)
	if s.Client.alarm.Load() == nil && node.Alarm(s.Spool) { // nobody else asks when it ends
		if err := s.Client.AskAlarm(ctx); err != nil {
			res.Problems = append(res.Problems, fmt.Errorf("ingest: whether jobeffd's alarm has ended: %w", err))
		}
	}
	if up := s.Client.alarm.Load(); up != nil {
		if err := node.KeepAlarm(s.Spool, *up && !s.GoesOn); err != nil {
			res.Problems = append(res.Problems, err)
		}
	}
	if err := node.PruneRefused(s.Spool, time.Now()); err != nil {
		res.Problems = append(res.Problems, fmt.Errorf("ingest: refused reports: %w", err))
	}
	if res.Kept, _, err = node.ReportsIn(node.OutboxDir(s.Spool)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return res, err
}

// round tries each name once and returns the failures in a row. An unanswered send counts as
// several.
func (s *Sender) round(ctx context.Context, names []string, tried map[string]bool, failures int, res *SendResult) int {
	for _, name := range names {
		if failures >= mostFaults || ctx.Err() != nil {
			break
		}
		tried[name] = true
		if name == node.OpenBatch {
			// lines that are added from now on wait for the next sender; else each would be a request
			closed, err := node.TakeBatch(node.OutboxDir(s.Spool))
			if err != nil {
				res.Problems = append(res.Problems, err)
			}
			if closed == "" {
				continue
			}
			name = closed
			tried[name] = true
		}
		switch s.one(ctx, name, res) {
		case decided:
			failures = 0
		case failed:
			failures++
		case unanswered:
			failures += mostFaults / givesUp
		}
	}
	return failures
}

// one sends one file.
func (s *Sender) one(ctx context.Context, name string, res *SendResult) outcome {
	body, err := node.ReadBounded(filepath.Join(node.OutboxDir(s.Spool), name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return decided // somebody removed it by hand
	case err == nil && filepath.Ext(name) == node.BatchExt:
		return s.batch(ctx, name, node.BatchLines(body), res)
	case err == nil:
		err = patiently(ctx, func() error { return s.Client.PostReport(ctx, body) })
	}
	return s.settle(name, 1, err, res)
}

// settle deletes a file of n reports, sets it aside or keeps it, as the answer asks.
func (s *Sender) settle(name string, n int, answer error, res *SendResult) outcome {
	err := answer
	switch {
	case answer == nil:
		res.Sent += n
		err = os.Remove(filepath.Join(node.OutboxDir(s.Spool), name))
	case isFinal(answer):
		res.Refused += n
		err = errors.Join(answer, node.SetAside(s.Spool, name, answer))
	}
	if err != nil {
		res.Problems = append(res.Problems, fmt.Errorf("%s: %w", name, err))
	}
	return outcomeOf(answer)
}

// isFinal says that what was sent will never be accepted.
func isFinal(err error) bool {
	var answer *ServerError
	return errors.As(err, &answer) && answer.Final() || errors.Is(err, node.ErrNoReport)
}

// batch sends a batch. Reports that the server has not decided about stay in it.
func (s *Sender) batch(ctx context.Context, name string, lines [][]byte, res *SendResult) outcome {
	answers, err := s.Client.PostReports(ctx, lines)
	if err != nil {
		return s.settle(name, len(lines), err, res)
	}
	best, left := unanswered, [][]byte{}
	for i, answer := range answers {
		best = max(best, outcomeOf(answer))
		switch {
		case answer == nil:
			res.Sent++
			continue
		case isFinal(answer):
			res.Refused++
			if err := node.KeepRefused(s.Spool, lineName(name, i, lines[i]), lines[i], answer); err != nil {
				left = append(left, lines[i]) // it is nowhere else
				answer = errors.Join(answer, err)
			}
		default:
			left = append(left, lines[i])
		}
		res.Problems = append(res.Problems, fmt.Errorf("%s, report %d: %w", name, i+1, answer))
	}
	if len(left) == 0 {
		return s.settle(name, 0, nil, res)
	}
	if len(left) < len(lines) {
		if err := s.leave(name, left); err != nil { // all are sent again, which does no harm
			res.Problems = append(res.Problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return best
}

// leave cuts a batch down to these lines. It keeps the file's time, which shows their age.
func (s *Sender) leave(name string, lines [][]byte) error {
	path := filepath.Join(node.OutboxDir(s.Spool), name)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := node.WriteDurable(node.OutboxDir(s.Spool), name, bytes.Join(lines, []byte("\n"))); err != nil {
		return err
	}
	return os.Chtimes(path, time.Time{}, info.ModTime())
}

// lineName names the file of one report that is taken out of a batch.
func lineName(batch string, i int, line []byte) string {
	var r job.NodeReport
	if err := json.Unmarshal(line, &r); err == nil {
		if name, err := node.OutboxName(&r); err == nil {
			return name + node.ReportExt
		}
	}
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(batch, node.BatchExt), i+1, node.ReportExt)
}

// waiting lists the files not yet tried, and removes dead temporary files. A file of a kind that
// this program does not know stays, and becomes a problem. The order is
// random, so that a report that stalls the server is not always the first.
func (s *Sender) waiting(tried map[string]bool, res *SendResult) ([]string, error) {
	entries, err := os.ReadDir(node.OutboxDir(s.Spool))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ingest: outbox: %w", err)
	}
	var names []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
			removeStale(node.OutboxDir(s.Spool), e)
		case node.IsOutboxFile(e.Name()) && !tried[e.Name()]:
			names = append(names, e.Name())
		case node.IsUnknownFile(e.Name()) && !tried[e.Name()]:
			tried[e.Name()] = true
			res.Problems = append(res.Problems, fmt.Errorf("%s: %w", e.Name(), errUnknownFile))
		}
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names, nil
}

// errUnknownFile says why a file is not sent.
var errUnknownFile = errors.New("this jobeff-ingest does not know such a file: a newer one wrote it; install that version again")

// removeStale removes a temporary file whose writer is dead. The fold was never told that
// the report was written, so it writes the report again.
func removeStale(dir string, e os.DirEntry) {
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleTemp {
		os.Remove(filepath.Join(dir, e.Name()))
	}
}

// takeTurn waits for the spool's lock. release is nil if another sender already waits: it
// will read the outbox after the caller wrote to it.
func (s *Sender) takeTurn(ctx context.Context) (release func(), err error) {
	next, err := node.LockFile(node.NextLock(s.Spool))
	if err != nil || next == nil {
		return nil, err
	}
	defer next.Close()
	if s.Jitter > 0 {
		sleep(ctx, rand.N(s.Jitter)) // #nosec G404 -- a wait needs no secret
	}
	for ctx.Err() == nil {
		now, err := node.LockFile(filepath.Join(s.Spool, ".send.lock"))
		if err != nil {
			return nil, err
		}
		if now != nil {
			return func() { now.Close() }, nil
		}
		sleep(ctx, 50*time.Millisecond)
	}
	return nil, fmt.Errorf("ingest: another sender holds %s/.send.lock: %w", s.Spool, ctx.Err())
}

// logsKept is how long the sender tries to send logs. After that jobeffd no longer waits for them.
const logsKept = time.Hour

// sendLogs sends the logs of windows, once the reports are sent. It deletes what jobeffd took or
// refused for good, and what is old. It keeps the others for the next time. It stops after one
// unanswered send, or after mostFaults in a row that failed. The order is random, so that not always
// the same logs are left.
func (s *Sender) sendLogs(ctx context.Context, res *SendResult) {
	dir := node.LogsDir(s.Spool)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		res.Problems = append(res.Problems, fmt.Errorf("ingest: logs: %w", err))
	}
	rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	failures := 0
	for _, e := range entries {
		if !node.IsLogsFile(e.Name()) {
			removeStale(dir, e)
			continue
		}
		path := filepath.Join(dir, e.Name())
		outcome := unanswered
		if failures < mostFaults && ctx.Err() == nil {
			switch outcome = s.sendLog(ctx, path, res); outcome {
			case decided:
				failures = 0
			case failed:
				failures++
			case unanswered:
				failures = mostFaults
			}
		}
		if info, err := e.Info(); outcome == decided || err == nil && time.Since(info.ModTime()) > logsKept {
			os.Remove(path)
		}
	}
}

func (s *Sender) sendLog(ctx context.Context, path string, res *SendResult) outcome {
	body, err := node.ReadBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return decided // a report took its room
	}
	if err == nil {
		err = patiently(ctx, func() error { return s.Client.PostLogs(ctx, body) })
	}
	if early := new(ServerError); errors.As(err, &early) && early.Status == http.StatusTooEarly && !early.Foreign {
		res.LogsWait = max(res.LogsWait, early.RetryAfter, time.Second)
	}
	if err != nil {
		res.Problems = append(res.Problems, fmt.Errorf("%s: %w", filepath.Base(path), err))
	}
	return outcomeOf(err)
}
