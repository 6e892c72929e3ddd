package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ErrNoSlurm says that there is no sacct on this machine.
var ErrNoSlurm = errors.New("slurm: sacct is not installed here")

// Installed tells whether there is a sacct on this machine.
func Installed() bool {
	_, err := exec.LookPath("sacct")
	return err == nil
}

// maxOutput bounds one output of sacct: some million jobs.
const maxOutput = 1 << 30

// run runs sacct for all attempts of everybody's jobs and returns its output.
func run(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, "sacct", append([]string{"--allusers", "--duplicates"}, args...)...)
}

// output runs one of Slurm's commands and returns its output.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	bin, err := exec.LookPath(name)
	if err != nil && name == "sacct" {
		return nil, ErrNoSlurm
	}
	if err != nil {
		return nil, fmt.Errorf("slurm: %s is not installed here, though sacct may be", name)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "SLURM_TIME_FORMAT=standard", "LC_ALL=C.UTF-8")
	cmd.WaitDelay = time.Second
	out, errOut := &limited{most: maxOutput}, &limited{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("slurm: %s: %w: %s", name, err, firstLine(errOut.Bytes()))
	}
	if out.Len() == maxOutput {
		return nil, fmt.Errorf("slurm: %s printed more than %d MiB", name, maxOutput>>20)
	}
	return out.Bytes(), nil
}

// limited is a buffer that drops what exceeds its limit.
type limited struct {
	bytes.Buffer
	most int
}

// Write never fails: a full buffer must not stop the child.
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
