// Package slurm asks Slurm's accounting, in bulk, how jobs ended.
//
// It runs sacct beside jobeffd, never on a compute node and never per job, and
// hands rows to the store, which joins them to what the nodes reported.
package slurm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest"
)

// Job is one line of sacct: one run of one job. Times are Slurm's, in whole
// seconds; zero is unknown.
type Job struct {
	Cluster     string
	ID          string // as people write it: 123, 123_4, 123+1
	RawID       uint32
	ArrayJobID  uint32
	ArrayTaskID *uint32
	HetJobID    uint32
	HetOffset   *uint32
	UID         uint32
	User        string
	State       string // the word alone: COMPLETED, CANCELLED, …
	CancelledBy *uint32
	ExitCode    string // "0:9": exit code, signal
	Submit      time.Time
	Start       time.Time
	End         time.Time
	Elapsed     time.Duration
	Nodes       int
	CPUs        int // AllocCPUS
	GPUs        int
	TRES        string // AllocTRES
	NodeList    string
	Account     string
	QOS         string
	Partition   string
	Name        string // hostile: may hold anything, also line breaks
	// WithSteps says that its steps were asked for; Usage is what they used, nil
	// where there are none or the run has not ended.
	WithSteps bool
	Usage     *ingest.Usage
}

// fields are asked of sacct in this order. All are in Slurm 22.05 and later. The
// job's name is the last, since it may hold line breaks.
var fields = []string{"Cluster", "JobID", "JobIDRaw", "UID", "User", "State", "ExitCode", "Submit", "Start", "End",
	"ElapsedRaw", "NNodes", "AllocCPUS", "NodeList", "Account", "QOS", "Partition", "AllocTRES", "TotalCPU", "MaxRSS", "TRESUsageInTot", "JobName"}

// ErrNoSlurm says that there is no sacct on this machine.
var ErrNoSlurm = errors.New("slurm: sacct is not installed here")

// maxOutput bounds one answer of sacct: some million jobs.
const maxOutput = 1 << 30

// Since reads every run of every job that Slurm knows to have been queued,
// running or ending at since or later, without its steps: slurmdbd reads these in a
// question of its own for each job. A run that has not started is left out.
func Since(ctx context.Context, since time.Time) ([]Job, error) {
	return ask(ctx, "--allocations", "--starttime="+since.UTC().Format(sacctTime))
}

// ByID reads every run of the given raw job ids, and what its steps used.
func ByID(ctx context.Context, ids []uint32) ([]Job, error) {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatUint(uint64(id), 10)
	}
	jobs, err := ask(ctx, "--jobs="+strings.Join(list, ","))
	for i := range jobs {
		jobs[i].WithSteps = true
	}
	return jobs, err
}

// sacctTime is how sacct writes and reads times, in the zone of TZ.
const sacctTime = "2006-01-02T15:04:05"

// ask runs sacct. The delimiter is random: a job's name cannot hold it, so no
// name can forge a field or a line.
func ask(ctx context.Context, which ...string) ([]Job, error) {
	bin, err := exec.LookPath("sacct")
	if err != nil {
		return nil, ErrNoSlurm
	}
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	delimiter := "@" + hex.EncodeToString(b[:]) + "@"
	args := append([]string{"--allusers", "--duplicates", "--parsable2", "--noheader", "--noconvert",
		"--delimiter=" + delimiter, "--format=" + strings.Join(fields, ",")}, which...)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "SLURM_TIME_FORMAT=standard", "LC_ALL=C.UTF-8")
	cmd.WaitDelay = time.Second
	out, errOut := &limited{most: maxOutput}, &limited{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("slurm: sacct: %w: %s", err, firstLine(errOut.Bytes()))
	}
	jobs, bad := Parse(out.Bytes(), delimiter)
	if bad > 0 && len(jobs) == 0 {
		return nil, fmt.Errorf("slurm: sacct's %d lines have not the expected form", bad)
	}
	return jobs, nil
}

// limited is a buffer that drops what goes past its limit.
type limited struct {
	bytes.Buffer
	most int
}

// Write never fails, so that the child is not stopped by a full buffer.
func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return strings.ToValidUTF8(string(line), "?")
}
