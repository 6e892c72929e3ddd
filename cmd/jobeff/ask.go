package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"jobeff/cmd/cli"
	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/munge"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/document"
)

// myself is the caller's name, or their uid where it has no name.
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
	sign := func(payload []byte) (string, error) { return munge.Encode(cfg.Munge.Socket, payload, 0) }
	return client.NewClient(cfg.Address(), clientTimeout, sign)
}

// clientTimeout bounds one request. A long list of jobs takes longer than a report.
const clientTimeout = 30 * time.Second

// job shows one job.
func (p *program) job(ctx context.Context, id string, asJSON bool) error {
	a, err := p.judged(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return document.WriteJob(p.stdout, a.job, a.study, a.verdicts)
	}
	return report.Job(p.stdout, a.job, a.study, a.verdicts, p.options())
}

// judgedJob is a job, the study of its workload and the verdicts of the rules. For a step, which
// is no run of a workload, it has only the job.
type judgedJob struct {
	job      *job.Job
	study    *workload.Study
	verdicts []policy.Verdict
}

// judged asks for a job and its workload, and judges them by the rules.
func (p *program) judged(ctx context.Context, id string) (a judgedJob, err error) {
	ref, err := job.ParseJobID(id)
	if err != nil {
		return a, cli.Usage(err)
	}
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return a, err
	}
	c := newClient(cfg)
	defer c.Close()
	var w *job.Workload
	var asked errgroup.Group
	asked.Go(func() (err error) {
		if ref.Step != "" {
			a.job, err = c.Job(ctx, id)
		} else {
			a.job, w, err = c.JobWorkload(ctx, id)
		}
		return err
	})
	rules, err := policy.Compile(cfg.Rules) // while jobeffd works
	if err := errors.Join(err, asked.Wait()); err != nil || ref.Step != "" {
		return a, err
	}
	a.study = workload.NewStudy(w, a.job, p.now(), curve.Settings{})
	a.verdicts = rules.Judge(a.job, a.study)
	return a, nil
}
