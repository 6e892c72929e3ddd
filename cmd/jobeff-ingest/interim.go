package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/report/inert"
)

// interimTimeout bounds the folds of all running jobs, foldTimeout the fold of one. Folds have the lowest
// priority, so jobs may keep them off the CPUs for long.
const (
	interimTimeout = 10 * time.Minute
	foldTimeout    = time.Minute
)

// interimCommand reports the jobs that run. A timer starts it.
func interimCommand() *cobra.Command {
	var config, runDir, fold, id string
	cmd := &cobra.Command{
		Use:   "interim",
		Short: "Report the jobs that run",
		Long: `jobeff-ingest interim leaves a report of each job that runs in the outbox, with its
figures so far. It does so once for each multiple of report.interim, which is the same
moment on all nodes. In between it only reads how much memory the jobs' cgroups hold, and
notes the most. A timer starts it each minute, as root.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if fold != "" {
				moment, err := time.Parse(time.RFC3339, fold)
				if err != nil {
					return err
				}
				return node.FoldRunning(runDir, id, moment, c.OutOrStdout())
			}
			return interim(config, runDir)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&config, "config", "", "configuration `FILE` ($JOBEFF_CONFIG, else "+etc.DefaultPath+")")
	fs.StringVar(&runDir, "run-dir", node.NotesPath, "`FOLDER` of the run directories")
	fs.StringVar(&fold, "fold", "", "fold a job as nobody, as of this moment, and write its report")
	fs.StringVar(&id, "job", "", "the job")
	for _, own := range []string{"run-dir", "fold", "job"} {
		fs.MarkHidden(own)
	}
	return cmd
}

// interim reads the memory of the running jobs. Then it makes their reports as of the last multiple of report.interim,
// unless an earlier call did: the lock file's modification time is that multiple. Users can write records, so a child
// folds them as the user nobody.
func interim(config, runDir string) error {
	if config == "" {
		config = etc.Path()
	}
	cfg, err := etc.Load(config)
	if err != nil || cfg.Report.Interim == 0 {
		return err
	}
	moment := time.Now().Truncate(time.Duration(cfg.Report.Interim))
	lock, err := node.LockFile(filepath.Join(cfg.Report.Spool, ".interim.lock"))
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close()
	node.ReadMemory(runDir)
	if info, err := lock.Stat(); err != nil || info.ModTime().Equal(moment) {
		return err
	}
	if err := os.Chtimes(lock.Name(), moment, moment); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), interimTimeout)
	defer cancel()
	outbox := node.Outbox{Spool: cfg.Report.Spool, Most: int64(cfg.Report.SpoolMiB) << 20}
	var errs []error
	for _, id := range node.RunningJobs(runDir) {
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("some jobs have no interim report: the others took %v", interimTimeout))
			break
		}
		errs = append(errs, interimOf(ctx, outbox, runDir, id, moment, time.Duration(cfg.Report.Interim)))
	}
	return errors.Join(errs...)
}

// interimOf makes one job's interim report and keeps it. A child folds it, as the user nobody. If the child fails, a user may be
// at fault, so that is no error: the other jobs get their reports, and the systemd unit does not fail.
func interimOf(ctx context.Context, outbox node.Outbox, runDir, id string, moment time.Time, every time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	child := exec.CommandContext(ctx, "/proc/self/exe", "interim", "--run-dir", runDir, "--job", id, "--fold", moment.Format(time.RFC3339Nano))
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the user nobody must not get root's terminal
	words := new(complaint)
	child.Stderr = words
	report, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return err
	}
	r := new(job.NodeReport)
	said := json.NewDecoder(io.LimitReader(report, wire.MaxReportBytes)).Decode(r)
	report.Close() // nothing after the report is read
	if ended := child.Wait(); ended != nil {
		fmt.Fprintf(os.Stderr, "jobeff-ingest: job %s has no interim report: %v %s\n", id, ended, inert.Text(string(*words), false))
		return nil
	}
	if said == nil {
		said = outbox.KeepInterim(runDir, every, r)
	} else if errors.Is(said, io.EOF) { // there are no figures yet
		said = nil
	}
	return said
}

// complaint keeps the first mostComplaint bytes of a child's standard error.
type complaint []byte

func (c *complaint) Write(b []byte) (int, error) {
	*c = append(*c, b[:min(len(b), mostComplaint-len(*c))]...)
	return len(b), nil
}

const mostComplaint = 1 << 10 // bytes
