package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/report/inert"
)

// mostLive is the time after which `jobeff-ingest live` ends by itself. Otherwise it could stay in a job when
// everything that could end it is gone.
const mostLive = time.Hour

// firstSpan is the longest wait for the first line. That line covers the time since the start.
const firstSpan = time.Second

// liveCommand reads the record of the job in whose step it runs. jobeff live starts it by srun.
func liveCommand() *cobra.Command {
	var every time.Duration
	var once bool
	var id uint32
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Tell the figures of the job that runs here, again and again",
		Long: `jobeff-ingest live reads the record of the job in whose step it runs, as the job's user. It
prints a line at each moment that is a multiple of --every, and ends when nobody reads
them, or after an hour. jobeff live starts it on the job's nodes.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := newLive(os.Getenv, id)
			if err != nil {
				return err
			}
			runtime.GOMAXPROCS(1)
			unix.Setpriority(unix.PRIO_PGRP, 0, 19) // the job's own processes come first
			return watch(l, every, once, c.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.DurationVar(&every, "every", 10*time.Second, "print a line each `TIME`")
	fs.BoolVar(&once, "once", false, "print one line")
	fs.Uint32Var(&id, "job", 0, "the job's raw `ID`, instead of SLURM_JOB_ID")
	return cmd
}

// newLive finds the job in the environment of a step. In a heterogeneous job SLURM_JOB_ID may be that of another part:
// id then names the right one.
func newLive(getenv func(string) string, id uint32) (*node.Live, error) {
	if own, err := strconv.ParseUint(getenv("SLURM_JOB_ID"), 10, 32); err == nil && id == 0 {
		id = uint32(own)
	}
	if id == 0 {
		return nil, fmt.Errorf("this is no step of a job: jobeff live JOBID starts one")
	}
	cluster, _, _ := strings.Cut(getenv("SLURM_WORKING_CLUSTER"), ":") // srun sets it
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	return &node.Live{Path: node.LivePath(id), JobID: id, Step: getenv("SLURM_JOB_ID") + "." + getenv("SLURM_STEP_ID"),
		Cluster: cmp.Or(getenv("SLURM_CLUSTER_NAME"), cluster, "unknown"), Node: cmp.Or(getenv("SLURMD_NODENAME"), host)}, nil
}

// watch prints lines until nobody reads them.
func watch(l *node.Live, every time.Duration, once bool, out io.Writer) error {
	machine := node.ThisMachine()
	l.Read(machine) // the first line covers the time since this
	begun, first := time.Now(), true
	for time.Since(begun) < mostLive {
		moment := time.Now().Truncate(every).Add(every)
		if soon := begun.Add(firstSpan); first && (once || soon.Before(moment)) {
			moment = soon
		}
		first = false
		if !pauseUntil(moment, out) {
			return nil
		}
		if err := tell(l, machine, out); err != nil || once {
			return err
		}
	}
	return nil
}

// tell writes one line.
func tell(l *node.Live, m node.Machine, out io.Writer) error {
	soFar, last, err := l.Read(m)
	line := &node.LiveLine{Step: l.Step, Node: l.Node}
	if err != nil {
		line.Why = inert.Text(err.Error(), false)
	}
	for _, part := range []struct {
		r  *job.NodeReport
		to *json.RawMessage
	}{{soFar, &line.SoFar}, {last, &line.Last}} {
		if part.r == nil {
			continue
		}
		if *part.to, err = json.Marshal(part.r); err != nil {
			return err
		}
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		line.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return line.Write(out)
}

// pauseUntil waits until a moment. It returns false if the reader of the output went away meanwhile.
func pauseUntil(moment time.Time, out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		time.Sleep(time.Until(moment))
		return true
	}
	for {
		left := time.Until(moment)
		if left <= 0 {
			return true
		}
		reader := []unix.PollFd{{Fd: int32(f.Fd())}}
		n, err := unix.Poll(reader, int(left.Milliseconds())+1)
		if err == nil && n > 0 && reader[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0 {
			return false
		}
	}
}
