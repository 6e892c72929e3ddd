package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"jobeff/cmd/cli"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report"
	"jobeff/report/view"
	"jobeff/report/words"
)

const workloadHelp = `jobeff workload shows what all runs of one program on one input say together: the
time and efficiency on each core count, the overhead curve through them, and the
core counts to use. Without a name it lists your workloads.

Runs belong to one workload if they have the same user, executable, arguments and
input files, or the same name from sbatch --jobeff-workload=NAME. Runs whose
collective calls or amount of work differ are set apart, and jobeff says so.

NAME is a workload's name, its key, or the beginning of one. Jobs that jobeff could not
measure go by their job name. A JOBID stands for the workload of that job; its run is
then compared with the others.`

// workloadFlags are the flags of jobeff workload.
type workloadFlags struct {
	json     bool
	user     string
	cluster  string
	all      bool
	since    string
	limit    int
	predict  []string
	html     string
	proposal string
	list     words.ListOptions
}

// workloadsSince is the default of --since, for a list of workloads.
const workloadsSince = "-90days"

func (p *program) workloadCommand() *cobra.Command {
	var flags workloadFlags
	c := &cobra.Command{
		Use:   "workload [NAME|JOBID]",
		Short: "Show how a program scales, from all its runs",
		Long:  workloadHelp,
		Example: `  jobeff workload                      my workloads of the last 90 days
  jobeff workload lmp-3fa2c1           one of them, with its curve
  jobeff workload --predict 64,128 123 that of job 123, and its time on more cores
  jobeff workload lmp-3fa2c1 --html lmp.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("jobeff workload shows one workload at a time, not %d: quote a name with blanks", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			switch {
			case len(args) > 0 && (given("sort") || given("noheader") || given("parsable2")):
				return cli.Usagef("--sort, -n and -P are for the list of workloads: leave them out, or the name")
			case flags.html+flags.proposal != "" && (len(args) == 0 || flags.json):
				return cli.Usagef("jobeff workload NAME --html FILE writes one workload, as does --proposal: give its name, and no --json")
			case len(args) == 0:
				return p.workloads(cmd.Context(), flags)
			}
			return p.workload(cmd.Context(), args[0], flags)
		},
	}
	c.Flags().BoolVar(&flags.json, "json", false, "print a JSON document")
	c.Flags().StringVarP(&flags.user, "user", "u", "", "workloads of this `USER`, a name or a uid, for operators")
	clusterFlag(c, &flags.cluster)
	c.Flags().StringVar(&flags.html, "html", "", "write one workload as a page with pictures to the new `FILE`; - is standard output")
	c.Flags().StringVar(&flags.proposal, "proposal", "", proposalHelp)
	c.Flags().BoolVarP(&flags.all, "allusers", "a", false, "workloads of all users whose jobs you may see")
	c.Flags().StringVarP(&flags.since, "since", "S", workloadsSince, "list workloads with runs after `TIME`")
	c.Flags().IntVar(&flags.limit, "limit", 50, "list `N` workloads at most: those that ran last, or with --sort the first")
	c.Flags().StringVar(&flags.list.Sort, "sort", words.LastRun, "order a list by `KEY`: last (the newest at its end), lost, corehours or runs (most first), name")
	c.Flags().BoolVarP(&flags.list.NoHeader, "noheader", "n", false, "no column headings in a list")
	c.Flags().BoolVarP(&flags.list.Parsable2, "parsable2", "P", false, "a list with whole values, separated by |, for scripts")
	c.Flags().StringSliceVar(&flags.predict, "predict", nil, predictHelp)
	return c
}

// workload shows one workload.
func (p *program) workload(ctx context.Context, name string, flags workloadFlags) error {
	predict, err := coreCounts("--predict", flags.predict)
	if err == nil {
		err = wantProposal(flags.proposal)
	}
	if err == nil && name == "" {
		err = cli.Usagef("the name of the workload is empty: jobeff workload lists yours")
	}
	if err != nil {
		return err
	}
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if flags.json {
		return p.document(c.WorkloadDocument(ctx, name, flags.user, oneCluster(flags.cluster), predict))
	}
	w, err := c.Workload(ctx, name, flags.user, oneCluster(flags.cluster))
	if err != nil {
		return err
	}
	study := workload.NewStudy(w.Workload, w.Job(), p.now(), curve.Settings{Predict: predict})
	if study == nil {
		return p.namedJobs(w.Workload, flags)
	}
	if err := p.saveProposal(flags.proposal, study); err != nil || flags.proposal != "" && flags.html == "" {
		return err
	}
	v := view.NewWorkload(study, flags.html != "" || p.options().Unicode)
	if flags.html != "" {
		return p.save(flags.html, func(w io.Writer) error { return report.PageOfWorkload(w, v, report.Links{}) })
	}
	return report.TextOfWorkload(p.stdout, v, p.options())
}

// namedJobs shows a workload of jobs that left no record of a program.
func (p *program) namedJobs(w *job.Workload, flags workloadFlags) error {
	if flags.html+flags.proposal != "" {
		return fmt.Errorf("the jobs named %q left no record of a program: there is no curve to draw", w.Name)
	}
	return report.TextOfNamedJobs(p.stdout, view.NewNamedJobs(w, p.options().Unicode), p.options())
}

// keyOfJob returns the key of a job's workload if name reads as a job id, else name.
func keyOfJob(ctx context.Context, c *client.Client, name, user string) (string, error) {
	if _, err := slurmid.Parse(name); err != nil {
		return name, nil
	}
	w, err := c.Workload(ctx, name, user, "")
	if err != nil {
		return "", err
	}
	if j := w.Job(); j != nil && len(w.Runs) == 0 {
		return "", fmt.Errorf("job %s belongs to no workload: %s", j.DisplayID, job.WhyNoWorkload(j))
	}
	return w.Key, nil
}

// workloads lists workloads. jobeffd has them by their newest run alone: for another order jobeff asks for all.
func (p *program) workloads(ctx context.Context, flags workloadFlags) error {
	now := p.now()
	q := listing.WorkloadQuery{User: cmp.Or(flags.user, myself()), Cluster: oneCluster(flags.cluster), Limit: flags.limit}
	var err error
	if q.Since, err = cli.ParsePast(flags.since, now); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	switch {
	case flags.limit < 1:
		return cli.Usagef("--limit %d: give a number of workloads, or leave it out", flags.limit)
	case words.WorkloadSorts[flags.list.Sort] == "":
		return cli.Usagef("--sort %.40q is not one of %s", flags.list.Sort, strings.Join(slices.Sorted(maps.Keys(words.WorkloadSorts)), ", "))
	case flags.json && flags.list.Sort != words.LastRun:
		return cli.Usagef("--sort orders lines, and the workloads of --json stand in the order of their newest runs: leave one of them out")
	case flags.list.Sort != words.LastRun:
		q.Limit = mostSorted
	}
	if flags.all {
		q.User = ""
	}
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	ofNames, ofRuns := q, q
	ofNames.Named, ofRuns.Detail = true, true
	if flags.json {
		return p.workloadDocuments(ctx, c, q, ofNames)
	}
	summaries := func(ctx context.Context, q listing.WorkloadQuery) ([]listing.WorkloadSummary, string, error) {
		list, err := c.Workloads(ctx, q)
		if err != nil {
			return nil, "", err
		}
		return list.Workloads, listing.After(list.Next), nil
	}
	named, moreNamed, err := allWorkloads(ctx, ofNames, summaries)
	if err != nil {
		return err
	}
	detailed, more, err := allWorkloads(ctx, ofRuns, summaries)
	if err != nil {
		return err
	}
	var studies []*workload.Study
	for _, one := range detailed {
		if one.Workload != nil { // nil: its runs were removed meanwhile
			studies = append(studies, workload.NewStudy(one.Workload, nil, now, curve.Settings{}))
		}
	}
	opts, list := p.options(), flags.list
	list.Most, list.More = flags.limit, more || moreNamed
	return report.TextOfWorkloads(p.stdout, view.NewWorkloads(studies, named, list, opts.Unicode), flags.list, opts)
}

// workloadDocuments writes the JSON of the workloads of two queries: of programs, and of names of jobs.
func (p *program) workloadDocuments(ctx context.Context, c *client.Client, ofRuns, ofNames listing.WorkloadQuery) error {
	named, moreNamed, err := allWorkloads(ctx, ofNames, c.WorkloadDocuments)
	if err != nil {
		return err
	}
	all, more, err := allWorkloads(ctx, ofRuns, c.WorkloadDocuments)
	if err != nil {
		return err
	}
	return view.Write(p.stdout, view.Workloads{Workloads: all, Named: named, More: more || moreNamed})
}

// allWorkloads asks for the first q.Limit workloads, page by page, and returns the oldest first.
func allWorkloads[T any](ctx context.Context, q listing.WorkloadQuery, page func(context.Context, listing.WorkloadQuery) (some []T, next string, err error)) (all []T, more bool, err error) {
	all = []T{}
	most := q.Limit
	for more = true; more && len(all) < most; {
		q.Limit = most - len(all)
		some, next, err := page(ctx, q)
		if err != nil {
			return nil, false, err
		}
		all, q.After = append(all, some...), next
		more = next != ""
	}
	slices.Reverse(all)
	return all, more, nil
}
