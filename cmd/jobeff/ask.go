package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jobeff/etc"
	"jobeff/ingest"
	"jobeff/ingest/munge"
	"jobeff/policy"
	"jobeff/report"
)

// listFlags select and shape a list of jobs, named as in sacct.
type listFlags struct {
	user, account, state string
	start, end           string
	all                  bool
	noHeader, parsable2  bool
	limit                int
}

// defaultStart is how far back a list goes that names no start.
const defaultStart = "-7days"

func (l *listFlags) register(fs *pflag.FlagSet) {
	fs.StringVarP(&l.user, "user", "u", "me", "jobs of this `USER`, a name or a uid; me is yourself")
	fs.BoolVarP(&l.all, "allusers", "a", false, "jobs of all users that you may see")
	fs.StringVarP(&l.account, "account", "A", "", "jobs of this `ACCOUNT`")
	fs.StringVarP(&l.state, "state", "s", "", "jobs that ended in this `STATE`, as COMPLETED or CD, TIMEOUT or TO")
	fs.StringVarP(&l.start, "starttime", "S", defaultStart, "jobs that ended after `TIME`")
	fs.StringVarP(&l.end, "endtime", "E", "", "jobs that began before `TIME`")
	fs.BoolVarP(&l.noHeader, "noheader", "n", false, "no heads over the columns")
	fs.BoolVarP(&l.parsable2, "parsable2", "P", false, "whole values with | between, for scripts")
	fs.IntVar(&l.limit, "limit", 0, "at most `N` jobs, the newest")
}

// listFlagUsed names an option that only a list knows, where one was given.
func listFlagUsed(cmd *cobra.Command) (name string) {
	var list pflag.FlagSet
	new(listFlags).register(&list)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list.Lookup(f.Name) != nil {
			name = f.Name
		}
	})
	return name
}

// query is what the server is asked for.
func (l *listFlags) query(now time.Time) (ingest.JobQuery, error) {
	q := ingest.JobQuery{User: l.user, Account: l.account, State: fullState(l.state), Limit: l.limit}
	var err error
	if q.Start, err = parseTime(l.start, now); err != nil {
		return q, fmt.Errorf("--starttime: %w", err)
	}
	if l.end != "" {
		if q.End, err = parseTime(l.end, now); err != nil {
			return q, fmt.Errorf("--endtime: %w", err)
		}
		if !q.End.After(q.Start) {
			return q, usagef("--endtime %s is not after --starttime %s: there is no time between them", l.end, l.start)
		}
	}
	switch {
	case l.limit < 0:
		return q, usagef("--limit %d: give a number of jobs, or leave it out", l.limit)
	case l.all:
		q.User = ""
	case l.user == "me":
		q.User = myself()
	}
	return q, nil
}

// myself is the caller's name, or his uid where no name belongs to it.
func myself() string {
	if me, err := user.Current(); err == nil && me.Username != "" {
		return me.Username
	}
	return strconv.Itoa(os.Getuid())
}

// shortStates are sacct's abbreviations.
var shortStates = map[string]string{
	"BF": "BOOT_FAIL", "CA": "CANCELLED", "CD": "COMPLETED", "DL": "DEADLINE", "F": "FAILED", "NF": "NODE_FAIL",
	"OOM": "OUT_OF_MEMORY", "PD": "PENDING", "PR": "PREEMPTED", "R": "RUNNING", "RQ": "REQUEUED", "S": "SUSPENDED", "TO": "TIMEOUT",
}

// fullState is sacct's word for a state or its abbreviation.
func fullState(s string) string {
	s = strings.ToUpper(s)
	if long, ok := shortStates[s]; ok {
		return long
	}
	return s
}

// client makes the connection to jobeffd that the configuration names.
func client(cfg *etc.Config) *ingest.Client {
	sign := func(payload []byte) (string, error) { return munge.Encode(cfg.Munge.Socket, payload, 0) }
	return ingest.NewClient(cfg.Address(), clientTimeout, sign)
}

// clientTimeout bounds one question to the server; a long list of jobs takes longer than a report.
const clientTimeout = 30 * time.Second

// configPath is the configuration file for messages.
func configPath() string { return etc.Path() }

// job shows one job.
func (p *program) job(ctx context.Context, id string, asJSON bool) error {
	a, err := p.judged(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return report.JSON(p.stdout, a.job, a.study, a.verdicts)
	}
	return report.Job(p.stdout, a.job, a.study, a.verdicts, p.options())
}

// answer is a job with what its workload and the rules say of it; of a step, which is
// no run of a workload, only the job.
type answer struct {
	job      *ingest.Job
	study    *policy.Study
	verdicts []policy.Verdict
}

// judged asks for a job and its workload, and the rules about both.
func (p *program) judged(ctx context.Context, id string) (a answer, err error) {
	ref, err := ingest.ParseJobID(id)
	if err != nil {
		return a, usageError{err}
	}
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return a, err
	}
	rules, err := policy.Compile(cfg.Rules)
	if err != nil {
		return a, err
	}
	c := client(cfg)
	defer c.Close()
	if ref.Step != "" {
		a.job, err = c.Job(ctx, id)
		return a, err
	}
	var w *ingest.Workload
	if a.job, w, err = c.JobWorkload(ctx, id); err != nil {
		return a, err
	}
	a.study = policy.NewStudy(w, a.job, p.now(), policy.Settings{})
	a.verdicts = rules.Judge(a.job, a.study)
	return a, nil
}

// list shows the jobs that the options select, the newest last as sacct does.
func (p *program) list(ctx context.Context, l listFlags, asJSON bool) error {
	q, err := l.query(p.now())
	if err != nil {
		return err
	}
	cfg, err := etc.Load(etc.Path())
	if err != nil {
		return err
	}
	c := client(cfg)
	defer c.Close()
	found, err := c.Jobs(ctx, q)
	if err != nil {
		return err
	}
	slices.Reverse(found.Jobs)
	if asJSON {
		return report.JSONList(p.stdout, found.Jobs, found.More)
	}
	return report.List(p.stdout, found.Jobs, report.ListOptions{
		Options: p.options(), NoHeader: l.noHeader, Parsable2: l.parsable2, More: found.More,
	})
}
