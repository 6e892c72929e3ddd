package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// ErrNoSlurm says that there is no sacct on this machine.
var ErrNoSlurm = errors.New("slurm: sacct is not installed here")

// Commands says how a cluster's Slurm is asked. The zero value asks this machine's.
type Commands struct {
	Conf string   // SLURM_CONF; "": the environment's
	Via  []string // a command that runs what follows it on a machine of the cluster, as ["ssh", "login"]; empty: here
	// Foreign says that users have other uids than on this machine: sacct's JSON, which has their names alone, is not read.
	Foreign bool
}

// Installed reports whether Slurm can be asked: there is a sacct on this machine, unless another is asked.
func (c Commands) Installed() bool {
	_, err := exec.LookPath("sacct")
	return err == nil || len(c.Via) > 0
}

// ErrTooMuch says that a command printed more than is read. It was stopped.
var ErrTooMuch = errors.New("more than is read")

// Bounds of one output, bytes.
const (
	maxOutput = 256 << 20 // some 75,000 jobs as JSON, 700,000 in the parsable form, without their steps
	maxSteps  = 64 << 20  // some 20,000 steps as JSON, 200,000 in the parsable form
)

// run runs sacct for all attempts of everybody's jobs and returns its output.
func (c Commands) run(ctx context.Context, most int, args ...string) ([]byte, error) {
	return c.output(ctx, most, "sacct", append([]string{"--allusers", "--duplicates"}, args...)...)
}

// output runs one of Slurm's commands and returns its output.
func (c Commands) output(ctx context.Context, most int, name string, args ...string) ([]byte, error) {
	env := []string{"TZ=UTC", "SLURM_TIME_FORMAT=standard", fmt.Sprint("SLURM_BITSTR_LEN=", bitstrLen), "LC_ALL=C.UTF-8"}
	if c.Conf != "" {
		env = append(env, "SLURM_CONF="+c.Conf)
	}
	if len(c.Via) > 0 { // ssh passes no environment, and a shell there reads the words: none of ours needs quotes
		cmd := exec.CommandContext(ctx, c.Via[0], slices.Concat(c.Via[1:], []string{"env"}, env, []string{name}, args)...) // #nosec G204 -- root names it
		return execute(ctx, cmd, most, name)
	}
	bin, err := exec.LookPath(name)
	if err != nil && name == "sacct" {
		return nil, ErrNoSlurm
	}
	if err != nil {
		return nil, fmt.Errorf("slurm: %s is not installed here, though sacct may be", name)
	}
	cmd := exec.CommandContext(ctx, bin, args...) // #nosec G204 -- sacct or scontrol, without a shell
	cmd.Env = append(os.Environ(), env...)
	return execute(ctx, cmd, most, name)
}

// execute runs a command and returns its output.
func execute(ctx context.Context, cmd *exec.Cmd, most int, name string) ([]byte, error) {
	cmd.WaitDelay = time.Second
	out, errOut := &limited{most: most, ends: true}, &limited{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errOut
	err := cmd.Run()
	switch {
	case out.over:
		return nil, fmt.Errorf("slurm: %s: %w (%d MiB)", name, ErrTooMuch, most>>20)
	case ctx.Err() != nil: // err only says that it was killed
		return nil, fmt.Errorf("slurm: %s: %w", name, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("slurm: %s: %w: %s", name, err, firstLine(errOut.held.Bytes()))
	}
	return out.held.Bytes(), nil
}

// limited is a buffer that drops what exceeds its limit. It does not embed bytes.Buffer, since
// io.Copy would use its ReadFrom and write past the limit.
type limited struct {
	held bytes.Buffer
	most int
	ends bool // the child is stopped then
	over bool
}

// Write fails if the child is to be stopped: its pipe breaks.
func (l *limited) Write(p []byte) (int, error) {
	room := l.most - l.held.Len()
	l.held.Write(p[:min(room, len(p))])
	l.over = l.over || len(p) > room
	if l.over && l.ends {
		return 0, ErrTooMuch
	}
	return len(p), nil
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return strings.ToValidUTF8(string(line), "?")
}
