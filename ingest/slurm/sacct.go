// Package slurm asks Slurm's accounting, in bulk, how jobs ended and who may see
// whose.
//
// It runs sacct beside jobeffd, never on a compute node and never per job, and
// hands rows to the store, which joins them to what the nodes reported.
package slurm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sacct asks sacct. It prefers JSON, whose times are in no zone, and keeps to the
// parsable form once JSON was seen not to work where that does: not every site's
// Slurm has the plugin. The zero value is ready; it is for one goroutine.
type Sacct struct {
	noJSON error // why
}

// Form is how sacct is read: "json", or "parsable" and why.
func (s *Sacct) Form() (form string, why error) {
	if s.noJSON != nil {
		return "parsable", s.noJSON
	}
	return "json", nil
}

// Between reads every run of every job that Slurm knows to have been queued, running
// or ending at from or later and before to (zero: up to now), without its steps:
// slurmdbd reads these in a question of its own for each job. A run that has not
// started is left out.
func (s *Sacct) Between(ctx context.Context, from, to time.Time) ([]Job, error) {
	which := []string{"--allocations", "--starttime=" + from.UTC().Format(sacctTime)}
	if !to.IsZero() {
		which = append(which, "--endtime="+to.UTC().Format(sacctTime))
	}
	return s.ask(ctx, which...)
}

// ByID reads every run of the given raw job ids, and what its steps used.
func (s *Sacct) ByID(ctx context.Context, ids []uint32) ([]Job, error) {
	jobs, err := s.ask(ctx, byID(ids))
	for i := range jobs {
		j := &jobs[i]
		if j.WithSteps = !j.StepsOpen || time.Since(j.End) > Settled; !j.WithSteps {
			j.Usage = nil
		}
	}
	return jobs, err
}

// Settled is after how long a run's steps are taken as they are. Slurm's database may
// learn of a job's end before it learns of the end of a step on another node: until then
// it gives that step the job's end and no figures.
const Settled = 5 * time.Minute

func byID(ids []uint32) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatUint(uint64(id), 10)
	}
	return "--jobs=" + strings.Join(list, ",")
}

// ask reads JSON, or the parsable form.
func (s *Sacct) ask(ctx context.Context, which ...string) ([]Job, error) {
	if s.noJSON != nil {
		return askText(ctx, which...)
	}
	jobs, unsure, err := askJSON(ctx, which...)
	if errors.Is(err, ErrNoSlurm) {
		return nil, err
	}
	if err != nil {
		jobs, textErr := askText(ctx, which...)
		if textErr == nil {
			s.noJSON = err
		}
		return jobs, textErr
	}
	for ids := range slices.Chunk(unsure, unsureAtOnce) { // the parsable form tells uids and exit codes
		rest, err := askText(ctx, append(slices.Clone(which), byID(ids))...)
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, rest...)
	}
	return jobs, nil
}

// unsureAtOnce bounds a command line: one argument holds at most 128 KiB.
const unsureAtOnce = 5000

func askJSON(ctx context.Context, which ...string) (jobs []Job, unsure []uint32, err error) {
	out, err := run(ctx, append([]string{"--json"}, which...)...)
	if err != nil {
		return nil, nil, err
	}
	jobs, unsure, bad, err := ParseJSON(out, userIDs())
	if err == nil && bad > 0 {
		err = fmt.Errorf("slurm: %d jobs of sacct --json have not the expected form", bad)
	}
	return jobs, unsure, err
}

// askText asks for the parsable form. The delimiter is random: a job's name cannot
// hold it, so no name can forge a field or a line.
func askText(ctx context.Context, which ...string) ([]Job, error) {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	delimiter := "@" + hex.EncodeToString(b[:]) + "@"
	out, err := run(ctx, append([]string{"--parsable2", "--noheader", "--noconvert",
		"--delimiter=" + delimiter, "--format=" + strings.Join(fields, ",")}, which...)...)
	if err != nil {
		return nil, err
	}
	jobs, bad := Parse(out, delimiter)
	if bad > 0 && len(jobs) == 0 {
		return nil, fmt.Errorf("slurm: sacct's %d lines have not the expected form", bad)
	}
	return jobs, nil
}
