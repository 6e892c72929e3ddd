package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/words"
)

const backtestHelp = `jobeff admin policy backtest judges past jobs by the rules of FILE, a jobeff.toml.
For each rule it counts the jobs and users that the rule would have flagged, and the
mails that would have followed. It uses the workloads as they are known today. It
changes nothing and sends no mail. Root and operators judge the jobs of all users,
others only their own.`

// backtestPage is the number of jobs in one request.
const backtestPage = 200

func (p *program) backtestCommand() *cobra.Command {
	var since string
	c := &cobra.Command{
		Use:     "backtest FILE",
		Short:   "Count the past jobs that each rule would have flagged",
		Long:    backtestHelp,
		Example: "  jobeff admin policy backtest --since -30days new.toml",
		Args:    cli.One("file of rules", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := p.backtest(cmd.Context(), args[0], since)
			if err != nil {
				return err
			}
			return report.TextOfBacktest(p.stdout, words.OfBacktest(b), p.options())
		},
	}
	c.Flags().StringVar(&since, "since", defaultStart, "jobs that ended after `TIME`")
	return c
}

// backtest judges the jobs since a time by a file's rules.
func (p *program) backtest(ctx context.Context, path, since string) (*notice.Backtest, error) {
	now := p.now()
	start, err := cli.ParsePast(since, now)
	if err != nil {
		return nil, fmt.Errorf("--since: %w", err)
	}
	tried, err := etc.Load(path)
	if err != nil {
		return nil, err
	}
	rules, err := rule.Compile(tried.Rules)
	if err != nil {
		return nil, err
	}
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return nil, err
	}
	c := newClient(cfg)
	defer c.Close()
	b := notice.NewBacktest(rules.Settings(), notice.SettingsOf(tried))
	studies := workload.NewStudies(now)
	bar, judged := cli.NewBar("jobs judged", -1), int64(0) // -1: the number of jobs is not known before the last page
	defer bar.Done()
	return b, eachJob(ctx, c, listing.JobQuery{Start: start, End: now, Limit: backtestPage, Detail: true}, func(j *job.Job) error {
		study, err := studies.Of(j, func() (*job.Workload, error) { return workloadOf(ctx, c, j) })
		c := policy.Describe(j, study)
		b.Add(notice.NewJudged(j, study, c, rules.JudgeCase(c)))
		judged++
		bar.Set(judged)
		return err
	})
}

// workloadOf asks for a job's workload; nil where there is none.
func workloadOf(ctx context.Context, c *client.Client, j *job.Job) (*job.Workload, error) {
	w, err := c.Workload(ctx, job.WorkloadOf(j), "", j.Cluster)
	var e *client.ServerError
	switch {
	case errors.As(err, &e) && e.Status == http.StatusNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return w.Workload, nil
}

// eachJob calls do with every job of a query, page by page.
func eachJob(ctx context.Context, c *client.Client, q listing.JobQuery, do func(*job.Job) error) error {
	for {
		list, err := c.Jobs(ctx, q)
		if err != nil {
			return err
		}
		for i := range list.Jobs {
			if err := do(&list.Jobs[i]); err != nil {
				return err
			}
		}
		if q.After = listing.After(list.Next); q.After == "" {
			return nil
		}
	}
}
