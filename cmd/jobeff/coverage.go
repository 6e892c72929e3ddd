package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/client"
	"jobeff/report"
	"jobeff/report/view"
	"jobeff/report/words"
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
	return p.ofSpan(&cobra.Command{
		Use:   "coverage",
		Short: "Show which core-hours have figures, and why the others have none",
		Long:  coverageHelp,
		Example: `  jobeff admin coverage
  jobeff admin coverage -S 2026-10-01 -E 2026-11-01 --json`,
	}, func(ctx context.Context, c *client.Client, from, to time.Time, cluster string) (any, words.Answer, error) {
		l, err := c.Coverage(ctx, from, to, cluster)
		if err != nil {
			return nil, words.Answer{}, err
		}
		v := view.NewCoverage(l, p.options().Unicode)
		return v, v.Words, nil
	})
}

const costHelp = `jobeff admin cost shows what jobeff costs: run times of measured and unmeasured jobs
of the same work, with the interval as it is; what the library takes of the runs
that call MPI most often; reports, records and CPU time.

Run times are compared only if the share of measured jobs is below 1: the job's id
then decides which jobs are measured. Without options it is about the last four
weeks, or since that share was changed. jobeffd reads every job of the time. Only
root and operators may ask.`

func (p *program) costCommand() *cobra.Command {
	return p.ofSpan(&cobra.Command{
		Use:   "cost",
		Short: "Show what jobeff costs: run times, calls, reports, CPU time",
		Long:  costHelp,
		Example: `  jobeff admin cost
  jobeff admin cost -S -90days --json`,
	}, func(ctx context.Context, c *client.Client, from, to time.Time, cluster string) (any, words.Answer, error) {
		of, err := c.Cost(ctx, from, to, cluster)
		if err != nil {
			return nil, words.Answer{}, err
		}
		v := view.NewCost(of, p.options().Unicode)
		return v, v.Words, nil
	})
}

const statusHelp = `jobeff admin status shows what needs a hand today, each with what helps, and how
jobeff itself does on all nodes: what was measured in the last 24 hours, outboxes,
silent and slow nodes, the alarm, and what jobeff costs. The web page "Status" is the
same. Only root and operators may ask. jobeff admin doctor checks one machine.`

func (p *program) statusCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what needs a hand today",
		Long:  statusHelp,
		Example: `  jobeff admin status
  jobeff admin status --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.answer(asJSON, func(c *client.Client) (any, words.Answer, error) {
				is, err := c.Status(cmd.Context())
				if err != nil {
					return nil, words.Answer{}, err
				}
				v := view.NewStatus(is, p.options().Unicode)
				return v, v.Words.Answer, nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	return c
}

// clusterFlag lets a command ask about one of several clusters.
func clusterFlag(c *cobra.Command, cluster *string) {
	c.Flags().StringVarP(cluster, "clusters", "M", "", "only jobs of this `CLUSTER`, of several that jobeffd serves; all: of each")
}

// oneCluster is what clusterFlag's value asks for; "": all.
func oneCluster(given string) string {
	if strings.EqualFold(given, "all") {
		return ""
	}
	return given
}

// ofSpan completes a command that asks about the whole site in a time.
func (p *program) ofSpan(c *cobra.Command, ask func(ctx context.Context, c *client.Client, from, to time.Time, cluster string) (document any, said words.Answer, err error)) *cobra.Command {
	var start, end, cluster string
	var asJSON bool
	c.Args = cli.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
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
		return p.answer(asJSON, func(c *client.Client) (any, words.Answer, error) {
			return ask(cmd.Context(), c, span[0], span[1], oneCluster(cluster))
		})
	}
	c.Flags().StringVarP(&start, "starttime", "S", "", "jobs that ended at `TIME` or later")
	clusterFlag(c, &cluster)
	c.Flags().StringVarP(&end, "endtime", "E", "", "jobs that ended before `TIME`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	return c
}

// answer asks jobeffd about the whole site, and prints what it said.
func (p *program) answer(asJSON bool, ask func(*client.Client) (document any, said words.Answer, err error)) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	document, said, err := ask(c)
	switch {
	case err != nil:
		return err
	case asJSON:
		return view.Write(p.stdout, document)
	}
	return report.TextOfAnswer(p.stdout, said, p.options())
}
