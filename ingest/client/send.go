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
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// Sender empties a node's outbox into jobeffd.
type Sender struct {
	Spool  string
	Client *Client
	// Jitter is the most that is waited before sending, so that the nodes of a
	// large job do not all come at once.
	Jitter time.Duration
}

// SendResult counts what became of the reports found.
type SendResult struct {
	Sent    int // accepted and deleted here
	Kept    int // for the next try: all that is in the outbox now
	Refused int // for good: set aside with the reason
	// Busy says that another sender was already waiting, and will take ours too.
	Busy bool
	// Problems says why reports were kept or refused.
	Problems []error
}

// How many files in a row may fail for now before a round ends: of those to which no
// jobeffd answered fewer, since it is away then and the rest would only wait for the same
// time-out; of those in which it failed more, so that they keep no others back.
const (
	givesUp    = 3
	mostFaults = 10 * givesUp
)

// word is what was said of something sent, the more the higher.
type word int

const (
	nothing  word = iota // nobody is there, or not jobeffd, or it cannot now
	fault                // it failed in just this: 500
	decision             // it took it, or refused it for good
)

func wordOf(err error) word {
	var answer *ServerError
	switch {
	case err == nil || isFinal(err):
		return decision
	case errors.As(err, &answer) && answer.Status == http.StatusInternalServerError && !answer.Foreign:
		return fault
	}
	return nothing
}

// staleTemp is the age after which a temporary file's writer is surely dead.
const staleTemp = time.Hour

// Send delivers what is in the outbox until a look at it brings nothing new. A
// file is deleted only after the server's 200; a refusal for good sets it aside;
// anything else keeps it. At most one Send runs per spool and one waits: a third
// returns at once, since the waiting one will look after it.
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
	var res SendResult
	tried := map[string]bool{}
	for failures := 0; failures < mostFaults && ctx.Err() == nil; {
		names, err := s.waiting(tried)
		if err != nil {
			return res, err
		}
		if len(names) == 0 {
			break
		}
		failures = s.round(ctx, names, tried, failures, &res)
	}
	if res.Kept, _, err = node.ReportsIn(node.OutboxDir(s.Spool)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return res, err
}

// round tries each name once and returns the failures in a row, one without an answer as
// several.
func (s *Sender) round(ctx context.Context, names []string, tried map[string]bool, failures int, res *SendResult) int {
	for _, name := range names {
		if failures >= mostFaults || ctx.Err() != nil {
			break
		}
		tried[name] = true
		if name == node.OpenBatch {
			// what is added from here on is for the next sender, or it would send line by line
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
		case decision:
			failures = 0
		case fault:
			failures++
		case nothing:
			failures += mostFaults / givesUp
		}
	}
	return failures
}

// one sends one file.
func (s *Sender) one(ctx context.Context, name string, res *SendResult) word {
	body, err := node.ReadBounded(filepath.Join(node.OutboxDir(s.Spool), name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return decision // somebody took it away by hand
	case err == nil && filepath.Ext(name) == node.BatchExt:
		return s.batch(ctx, name, node.BatchLines(body), res)
	case err == nil:
		err = patiently(ctx, func() error { return s.Client.PostReport(ctx, body) })
	}
	return s.settle(name, 1, err, res)
}

// settle does with a file of n reports what the answer to it asks for.
func (s *Sender) settle(name string, n int, answer error, res *SendResult) word {
	err := answer
	switch {
	case answer == nil:
		res.Sent += n
		err = os.Remove(filepath.Join(node.OutboxDir(s.Spool), name))
	case isFinal(answer):
		res.Refused += n
		err = errors.Join(answer, s.setAside(name, answer))
	}
	if err != nil {
		res.Problems = append(res.Problems, fmt.Errorf("%s: %w", name, err))
	}
	return wordOf(answer)
}

// isFinal says that what was sent will never be accepted.
func isFinal(err error) bool {
	var answer *ServerError
	return errors.As(err, &answer) && answer.Final() || errors.Is(err, node.ErrNoReport)
}

// batch sends a batch. What the server has not decided about stays in it, for the next time.
func (s *Sender) batch(ctx context.Context, name string, lines [][]byte, res *SendResult) word {
	answers, err := s.Client.PostReports(ctx, lines)
	if err != nil {
		return s.settle(name, len(lines), err, res)
	}
	said, left := nothing, [][]byte{}
	for i, answer := range answers {
		said = max(said, wordOf(answer))
		switch {
		case answer == nil:
			res.Sent++
			continue
		case isFinal(answer):
			res.Refused++
			if err := s.keepRefused(lineName(name, i, lines[i]), lines[i], answer); err != nil {
				left = append(left, lines[i]) // it stands nowhere else
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
		if err := s.leave(name, left); err != nil { // all are sent again: that does no harm
			res.Problems = append(res.Problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return said
}

// leave leaves these lines of a batch in it, as old as they are: their age is shown.
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

// lineName is the name that a batch's report has as a file of its own.
func lineName(batch string, i int, line []byte) string {
	var r job.NodeReport
	if err := json.Unmarshal(line, &r); err == nil {
		if name, err := node.OutboxName(&r); err == nil {
			return name + node.ReportExt
		}
	}
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(batch, node.BatchExt), i+1, node.ReportExt)
}

// waiting lists the reports not yet tried, in random order so that a report that
// stalls the server is not always the first, and removes dead temporary files.
func (s *Sender) waiting(tried map[string]bool) ([]string, error) {
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
		}
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names, nil
}

// removeStale removes a temporary file that no writer will rename any more. Its
// report was never acknowledged to the fold, which writes it again.
func removeStale(dir string, e os.DirEntry) {
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleTemp {
		os.Remove(filepath.Join(dir, e.Name()))
	}
}

// setAside moves a file out of the way; the reason is on the disk before.
func (s *Sender) setAside(name string, reason error) error {
	if err := s.writeReason(name, reason); err != nil {
		return err
	}
	dir := node.RefusedDir(s.Spool)
	if err := os.Rename(filepath.Join(node.OutboxDir(s.Spool), name), filepath.Join(dir, name)); err != nil {
		return err
	}
	return errors.Join(node.SyncDir(dir), node.SyncDir(node.OutboxDir(s.Spool)))
}

// keepRefused sets one report of a batch aside.
func (s *Sender) keepRefused(name string, report []byte, reason error) error {
	if err := s.writeReason(name, reason); err != nil {
		return err
	}
	return node.WriteDurable(node.RefusedDir(s.Spool), name, report)
}

func (s *Sender) writeReason(name string, reason error) error {
	dir := node.RefusedDir(s.Spool)
	if err := node.MakePrivateDir(dir); err != nil {
		return err
	}
	text := fmt.Sprintf("%s %v\n", time.Now().UTC().Format(time.RFC3339), reason)
	return node.WriteDurable(dir, name+".reason", []byte(text))
}

// takeTurn waits for the spool's lock. Release is nil where another sender is
// already waiting: it will look at the outbox after the caller wrote to it.
func (s *Sender) takeTurn(ctx context.Context) (release func(), err error) {
	next, err := node.LockFile(node.NextLock(s.Spool))
	if err != nil || next == nil {
		return nil, err
	}
	defer next.Close()
	if s.Jitter > 0 {
		sleep(ctx, rand.N(s.Jitter))
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
