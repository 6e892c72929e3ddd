// Package slurm asks Slurm's accounting, in bulk, how jobs ended, and who may see whose jobs.
//
// It runs sacct on jobeffd's machine, never on a compute node and never once per job. The store
// joins its rows with what the nodes reported.
package slurm

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sacct asks sacct. It prefers JSON, whose times have no zone. Not every site's Slurm has the plugin for
// it, or writes it in a known form. JSON also holds texts of users that are not asked for, such as a
// command line of a MiB for each task of an array. If JSON is unreadable, too much or too slow, Sacct
// keeps to the parsable form, and tries JSON again after jsonAgain. The zero value is ready, for one goroutine.
type Sacct struct {
	Of     Commands
	noJSON error // why
	until  time.Time
	now    func() time.Time // nil: time.Now
	wait   time.Duration    // jsonTimeout, unless a test waits less
}

// jsonAgain is how long the parsable form is read until JSON is tried again: Slurm may be upgraded,
// or a plugin installed.
const jsonAgain = time.Hour

// errForm says that sacct cannot write JSON, or not in a known form. Any other failure is temporary.
var errForm = errors.New("no JSON")

// jsonTimeout bounds one answer in JSON: sacct holds all of it before it writes the first byte.
const jsonTimeout = 45 * time.Second

// cannotJSON are words of a sacct that has no --json, or not its plugins.
var cannotJSON = regexp.MustCompile(`unrecognized option|serializer|data_parser|openapi`)

// Form is how sacct is read: "json", or "parsable" with the reason.
func (s *Sacct) Form() (form string, why error) {
	if s.noJSON != nil || s.Of.Foreign {
		return "parsable", s.noJSON
	}
	return "json", nil
}

// Between reads all attempts that were queued, running or ending at or after from, and before
// to (zero: now). Steps are left out: slurmdbd reads them with one more query for each job.
// Attempts that have not started are left out, too. ErrTooMuch says that there are too many to read
// at once.
func (s *Sacct) Between(ctx context.Context, from, to time.Time) ([]Job, error) {
	which := []string{"--allocations", "--starttime=" + from.UTC().Format(sacctTime)}
	if !to.IsZero() {
		which = append(which, "--endtime="+to.UTC().Format(sacctTime))
	}
	jobs, err := s.ask(ctx, maxOutput, which...)
	if err != nil {
		return jobs, err
	}
	jobs, lone := joinResized(jobs)
	for ids := range slices.Chunk(lone, unsureAtOnce) { // their first lines ended before
		rest, err := s.ask(ctx, maxOutput, "--allocations", byID(ids))
		if err != nil {
			return jobs, err
		}
		rest, _ = joinResized(rest)
		jobs = append(slices.DeleteFunc(jobs, func(j Job) bool { return slices.Contains(ids, j.RawID) }), rest...)
	}
	return jobs, nil
}

// ByID reads all attempts of the given raw job ids, and what their steps used. ErrTooMuch says
// that they have too many steps to read at once.
func (s *Sacct) ByID(ctx context.Context, ids []uint32) ([]Job, error) {
	jobs, err := s.ask(ctx, maxSteps, byID(ids))
	jobs, _ = joinResized(jobs)
	for i := range jobs {
		j := &jobs[i]
		if j.WithSteps = !j.StepsOpen || time.Since(j.End) > Settled; !j.WithSteps {
			j.Usage = nil
		}
	}
	return jobs, err
}

// Settled is how long after its end an attempt's steps are final. Slurm's database may learn of
// a job's end before that of a step on another node. Until then it gives the step the job's end
// and no figures.
const Settled = 5 * time.Minute

func byID(ids []uint32) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatUint(uint64(id), 10)
	}
	return "--jobs=" + strings.Join(list, ",")
}

// ask reads JSON, or the parsable form, of at most so many bytes.
func (s *Sacct) ask(ctx context.Context, most int, which ...string) ([]Job, error) {
	now := time.Now
	if s.now != nil {
		now = s.now
	}
	if s.Of.Foreign || s.noJSON != nil && now().Before(s.until) {
		return s.Of.askText(ctx, most, which...)
	}
	timed, cancel := context.WithTimeout(ctx, cmp.Or(s.wait, jsonTimeout))
	defer cancel()
	jobs, unsure, err := s.Of.askJSON(timed, most, which...)
	if errors.Is(err, ErrNoSlurm) {
		return nil, err
	}
	if err != nil {
		jobs, textErr := s.Of.askText(ctx, most, which...)
		if textErr == nil && (errors.Is(err, errForm) || errors.Is(err, ErrTooMuch) || errors.Is(err, context.DeadlineExceeded)) {
			s.noJSON, s.until = err, now().Add(jsonAgain)
		}
		return jobs, textErr
	}
	s.noJSON = nil
	for ids := range slices.Chunk(unsure, unsureAtOnce) { // the parsable form has uids and exit codes
		rest, err := s.Of.askText(ctx, most, append(slices.Clone(which), byID(ids))...)
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, rest...)
	}
	return jobs, nil
}

// unsureAtOnce bounds a command line: one argument holds at most 128 KiB.
const unsureAtOnce = 5000

func (c Commands) askJSON(ctx context.Context, most int, which ...string) (jobs []Job, unsure []uint32, err error) {
	out, err := c.run(ctx, most, append([]string{"--json"}, which...)...)
	if err != nil && cannotJSON.MatchString(err.Error()) {
		err = fmt.Errorf("%w: %w", errForm, err)
	}
	if err != nil {
		return nil, nil, err
	}
	jobs, unsure, bad, err := ParseJSON(out, userIDs())
	if err == nil && bad > 0 {
		err = fmt.Errorf("slurm: %w: %d jobs of sacct --json do not have the expected form", errForm, bad)
	}
	return jobs, unsure, err
}

// newDelimiter is random, so no job's name can hold it and forge a field or a line.
func newDelimiter() string {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return "@" + hex.EncodeToString(b[:]) + "@"
}

// askText asks for the parsable form.
func (c Commands) askText(ctx context.Context, most int, which ...string) ([]Job, error) {
	delimiter := newDelimiter()
	out, err := c.run(ctx, most, append([]string{"--parsable2", "--noheader", "--noconvert",
		"--delimiter=" + delimiter, "--format=" + strings.Join(fields, ",")}, which...)...)
	if err != nil {
		return nil, err
	}
	jobs, bad := Parse(out, delimiter)
	if bad > 0 && len(jobs) == 0 {
		return nil, fmt.Errorf("slurm: sacct's %d lines do not have the expected form", bad)
	}
	return jobs, nil
}
