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
	"time"

	"github.com/spf13/cobra"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// interimTimeout bounds a fold of all jobs that run. It has the lowest priority, so jobs may keep it from
// the CPUs for long.
const interimTimeout = 10 * time.Minute

// mostInterim bounds what is read from the fold, bytes.
const mostInterim = 64 * job.MaxReportBytes

// interimCommand reports the jobs that run. A timer starts it.
func interimCommand() *cobra.Command {
	var config, runDir, fold string
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
				return node.FoldRunning(runDir, moment, c.OutOrStdout())
			}
			return interim(config, runDir)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&config, "config", "", "configuration `FILE` ($JOBEFF_CONFIG, else "+etc.DefaultPath+")")
	fs.StringVar(&runDir, "run-dir", node.NotesPath, "`FOLDER` of the run directories")
	fs.StringVar(&fold, "fold", "", "fold as nobody, and write the reports")
	fs.MarkHidden("run-dir")
	fs.MarkHidden("fold")
	return cmd
}

// interim reads the memory of the jobs that run, and makes the reports of the last multiple of report.interim,
// unless that was done before. Its
// lock keeps the time of what was done. A child folds, as nobody, what users can write.
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
	child := exec.CommandContext(ctx, "/proc/self/exe", "interim", "--run-dir", runDir, "--fold", moment.Format(time.RFC3339Nano))
	child.Stderr = os.Stderr
	reports, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	outbox := node.Outbox{Spool: cfg.Report.Spool, Most: int64(cfg.Report.SpoolMiB) << 20}
	kept := keepInterim(outbox, runDir, reports)
	if kept != nil {
		cancel()
	}
	return errors.Join(kept, child.Wait())
}

// keepInterim writes the reports of a child to the outbox.
func keepInterim(outbox node.Outbox, runDir string, reports io.Reader) error {
	var errs []error
	for in := json.NewDecoder(io.LimitReader(reports, mostInterim)); ; {
		var r job.NodeReport
		err := in.Decode(&r)
		if errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		}
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("from the fold: %w", err))...)
		}
		errs = append(errs, outbox.KeepInterim(runDir, &r))
	}
}
