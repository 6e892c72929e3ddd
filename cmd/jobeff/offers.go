package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/figure"
	"jobeff/report/shell"
	"jobeff/report/words"
)

// mostOffered bounds the jobs and the workloads that are offered, each the caller's last ones.
const mostOffered = 100

// offers are the completions for the words that stand for values in the help of commands
// ("explain JOBID") and of flags ("-S TIME"). The shell itself completes FILE.
func (p *program) offers() map[string]cli.Offer {
	return map[string]cli.Offer{
		"JOBID":      p.offerJobs,
		"NAME|JOBID": p.offerWorkloads,
		"FIELDS":     func(context.Context) ([]cobra.Completion, error) { return offerFields(), nil },
		"STATES":     func(context.Context) ([]cobra.Completion, error) { return offerStates(), nil },
		"USERS":      cli.Fixed("me"),
		"USER":       cli.Fixed(),
		"TIME":       cli.Fixed("-7days", "-30days", "-12hours", "today", "yesterday"),
		"DATE":       cli.Fixed("+1week", "+30days", "+90days"),
		"LONG":       cli.Fixed("1week", "30days", "90days"),
		"WEEK":       p.offerWeeks,
		"KEY":        cli.Fixed(slices.Sorted(maps.Keys(words.WorkloadSorts))...),
		"ACCOUNTS":   p.offerOf(func(j *job.Job) string { return j.Account }),
		"ACCOUNT":    p.offerOf(func(j *job.Job) string { return j.Account }),
		"PARTITIONS": p.offerOf(func(j *job.Job) string { return j.Partition }),
		"QOS":        p.offerOf(func(j *job.Job) string { return j.QOS }),
		"CLUSTERS":   p.offerOf(func(j *job.Job) string { return j.Cluster }),
	}
}

func offerFields() (all []cobra.Completion) {
	for _, c := range words.AllColumns() {
		all = append(all, cobra.CompletionWithDesc(strings.ToLower(c.Name), c.Doc))
	}
	return all
}

func offerStates() (all []cobra.Completion) {
	for _, short := range slices.Sorted(maps.Keys(words.ShortStates)) {
		all = append(all, cobra.CompletionWithDesc(words.ShortStates[short], short))
	}
	return all
}

// lastJobs asks for the caller's last jobs.
func (p *program) lastJobs(ctx context.Context) ([]job.Job, error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Jobs(ctx, listing.JobQuery{User: myself(), Limit: mostOffered})
	if err != nil {
		return nil, err
	}
	return list.Jobs, nil
}

func (p *program) offerJobs(ctx context.Context) (all []cobra.Completion, err error) {
	jobs, err := p.lastJobs(ctx)
	for _, j := range jobs {
		doc := strings.TrimSpace(fmt.Sprintf("%s %s", j.Name, j.State))
		if !j.End.IsZero() {
			doc += j.End.Local().Format(" 2006-01-02 15:04")
		}
		all = append(all, cobra.CompletionWithDesc(j.DisplayID, doc))
	}
	return all, err
}

// offerOf offers the values that a field has in the caller's last jobs.
func (p *program) offerOf(field func(*job.Job) string) cli.Offer {
	return func(ctx context.Context) (all []cobra.Completion, err error) {
		jobs, err := p.lastJobs(ctx)
		for i := range jobs {
			if v := field(&jobs[i]); v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		return all, err
	}
}

func (p *program) offerWorkloads(ctx context.Context) (all []cobra.Completion, err error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Workloads(ctx, listing.WorkloadQuery{User: myself(), Limit: mostOffered})
	if err != nil {
		return nil, err
	}
	for _, w := range list.Workloads {
		all = append(all, cobra.CompletionWithDesc(shell.Workload(w.Name, w.Key), fmt.Sprintf("%s, %s to %s cores", figure.Counted(w.Runs, "run"), figure.Count(w.FewestCores), figure.Count(w.MostCores))))
	}
	return all, nil
}

// weeksOffered is the number of past weeks that are offered.
const weeksOffered = 8

func (p *program) offerWeeks(context.Context) (all []cobra.Completion, err error) {
	for i := range weeksOffered {
		year, week := p.now().AddDate(0, 0, -7*(i+1)).ISOWeek()
		all = append(all, fmt.Sprintf("%d-W%02d", year, week))
	}
	return all, nil
}
