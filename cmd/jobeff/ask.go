package main

import (
	"context"
	"encoding/json"
	"os"
	"os/user"
	"strconv"
	"time"

	"jobeff/cmd/cli"
	"jobeff/cmd/source"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/view"
)

// myself returns the caller's user name, or the uid if it has no name.
func myself() string {
	if me, err := user.Current(); err == nil && me.Username != "" {
		return me.Username
	}
	return strconv.Itoa(os.Getuid())
}

// connect makes a client of the jobeffd that the configuration names. The caller closes it.
func connect() (*client.Client, error) {
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return nil, err
	}
	return newClient(cfg), nil
}

// newClient makes a client of the jobeffd that the configuration names.
func newClient(cfg *etc.Config) *client.Client {
	return client.NewClient(cfg.Address(), clientTimeout, cli.Munge(cfg))
}

// clientTimeout bounds one request. A long list of jobs takes longer than a report.
const clientTimeout = 30 * time.Second

// job shows one job: its first screen, or all.
func (p *program) job(ctx context.Context, id string, asJSON, full bool) error {
	if asJSON {
		return p.document(served(ctx, id))
	}
	a, err := p.judged(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case a.found.Tasks != nil && full:
		return report.TextOfArray(p.stdout, view.NewArray(a.found, p.options().Unicode), p.options())
	case a.found.Tasks != nil:
		return report.ScreenOfArray(p.stdout, view.NewArray(a.found, p.options().Unicode), p.options())
	case full:
		source.Find(ctx, a.found.Job, false)
		return report.TextOfJob(p.stdout, a.view(p.options().Unicode), p.options())
	}
	return report.ScreenOfJob(p.stdout, a.view(p.options().Unicode), p.options())
}

// document prints the JSON document that jobeffd answered.
func (p *program) document(answered json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	return view.Write(p.stdout, answered)
}

// served asks jobeffd for the JSON document of a job.
func served(ctx context.Context, id string) (json.RawMessage, error) {
	if _, err := slurmid.Parse(id); err != nil {
		return nil, cli.Usage(err)
	}
	c, err := connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.JobDocument(ctx, id)
}

// judgedJob is a job, the study of its workload and the verdicts of the site's rules. For a step,
// which is no run of a workload, it has only the job.
type judgedJob struct {
	found    *listing.JobAndWorkload
	study    *workload.Study
	verdicts []policy.Verdict
}

// view returns the job's view. wide means that its reader sees characters outside ASCII.
func (a *judgedJob) view(wide bool) *view.Job { return view.NewJob(a.found, a.study, a.verdicts, wide) }

// judged asks for a job, its workload and the verdicts.
func (p *program) judged(ctx context.Context, id string) (a judgedJob, err error) {
	if _, err := slurmid.Parse(id); err != nil {
		return a, cli.Usage(err)
	}
	c, err := connect()
	if err != nil {
		return a, err
	}
	defer c.Close()
	found, err := c.Job(ctx, id)
	if err != nil {
		return a, err
	}
	if a.found = found; found.Step {
		return a, nil
	}
	a.study = workload.NewStudy(found.Workload, found.Job, p.now(), curve.Settings{})
	a.verdicts, err = view.ReadVerdicts(found.Verdicts)
	return a, err
}
