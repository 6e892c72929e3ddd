package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/report"
	"jobeff/report/view"
)

const coverageHelp = `jobeff admin coverage shows which part of the site's core-hours has which figures,
and why the rest has none, by partition and month (UTC). The sum is that of sacct,
exactly. What is known of a job is one of

  threads   figures of its ranks and of their threads
  ranks     figures of its ranks
  memory    no figures, but memory and CPU time as Slurm or the kernel counted them
  slurm     only Slurm's times
  removed   only the sums of its month: retention removed the job

Without options it is about the month before and this one so far. jobeffd reads every
job of the time, so a long one takes a while. Only root and operators may ask.`

func (p *program) coverageCommand() *cobra.Command {
	var start, end string
	var asJSON bool
	c := &cobra.Command{
		Use:   "coverage",
		Short: "Show which core-hours have figures, and why the others have none",
		Long:  coverageHelp,
		Example: `  jobeff admin coverage
  jobeff admin coverage -S 2026-10-01 -E 2026-11-01 --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.coverage(cmd.Context(), start, end, asJSON) },
	}
	c.Flags().StringVarP(&start, "starttime", "S", "", "jobs that ended at `TIME` or later")
	c.Flags().StringVarP(&end, "endtime", "E", "", "jobs that ended before `TIME`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	return c
}

// coverage prints the ledger of a time.
func (p *program) coverage(ctx context.Context, start, end string, asJSON bool) error {
	var span [2]time.Time
	for i, text := range []string{start, end} {
		if text == "" {
			continue
		}
		var err error
		if span[i], err = cli.ParsePast(text, p.now()); err != nil {
			return fmt.Errorf("--%s: %w", []string{"starttime", "endtime"}[i], err)
		}
	}
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := c.Coverage(ctx, span[0], span[1])
	if err != nil {
		return err
	}
	v := view.NewCoverage(l, p.options().Unicode)
	if asJSON {
		return view.Write(p.stdout, v)
	}
	return report.TextOfCoverage(p.stdout, v, p.options())
}
