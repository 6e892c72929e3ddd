package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jobeff/cmd/cli"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report"
	"jobeff/report/figure"
	"jobeff/report/view"
	"jobeff/report/words"
)

// listFlags select and shape a list of jobs, named as in sacct.
type listFlags struct {
	user, account, state    string
	partition, qos, cluster string
	jobs                    string
	start, end              string
	format, sort            string
	all, tasks              bool
	noHeader, parsable2     bool
	limit                   int
}

// defaultDays bounds a list without --starttime, in days before now.
const defaultDays = 7

var defaultStart = fmt.Sprintf("-%ddays", defaultDays)

func (l *listFlags) register(fs *pflag.FlagSet) {
	fs.StringVarP(&l.user, "user", "u", "me", "jobs of these `USERS`, names or uids; me is you")
	fs.BoolVarP(&l.all, "allusers", "a", false, "jobs of all users that you may see")
	fs.StringVarP(&l.account, "account", "A", "", "jobs of these `ACCOUNTS`")
	fs.StringVarP(&l.qos, "qos", "q", "", "jobs of these `QOS`")
	fs.StringVarP(&l.partition, "partition", "p", "", "jobs of these `PARTITIONS`; -r is the same")
	fs.StringVarP(&l.partition, "in-partition", "r", "", "as --partition")
	fs.Lookup("in-partition").Hidden = true
	fs.StringVarP(&l.jobs, "jobs", "j", "", "these `JOBS`, as in sacct; they may stand without it")
	fs.Lookup("jobs").Hidden = true
	fs.StringVarP(&l.cluster, "clusters", "M", "", "jobs of these `CLUSTERS`")
	fs.StringVarP(&l.state, "state", "s", "", "jobs in these `STATES`, as COMPLETED or CD, TIMEOUT or TO, RUNNING or R, PENDING or PD")
	fs.StringVarP(&l.start, "starttime", "S", defaultStart, "jobs that ended after `TIME`")
	fs.StringVarP(&l.end, "endtime", "E", "", "jobs that began before `TIME`")
	fs.StringVarP(&l.format, "format", "o", "", "show these `FIELDS`, as jobid,user%20,pe")
	fs.StringVar(&l.sort, "sort", "", "most of `FIELD` first, as lost, pe, elapsed; -FIELD: least first")
	fs.BoolVar(&l.tasks, "tasks", false, "show each task of an array on its own line, as -P does")
	fs.BoolVarP(&l.noHeader, "noheader", "n", false, "no column headings")
	fs.BoolVarP(&l.parsable2, "parsable2", "P", false, "whole values, separated by |, for scripts")
	fs.IntVar(&l.limit, "limit", 0, "show `N` lines at most: the newest jobs, or with --sort the first")
}

// listFlagUsed reports whether an option of lists was given. One job without such an option
// is shown by itself.
func listFlagUsed(cmd *cobra.Command) (used bool) {
	var list pflag.FlagSet
	new(listFlags).register(&list)
	cmd.Flags().Visit(func(f *pflag.Flag) { used = used || list.Lookup(f.Name) != nil && f.Name != "jobs" })
	return used
}

// sacctHabits answers the options of sacct that jobeff lacks, by their letters: what does the same here, or that nothing does.
var sacctHabits = map[string]string{
	"V": "jobeff --version", "X": "jobeff lists whole jobs, as sacct -X does; jobeff 123.0 shows a step", "f": "jobeff reads no file of jobs; name them, as jobeff 123,124",
	"l": "-o chooses fields, and --json has all of them", "b": "-o jobid,state,exitcode shows these",
	"p": "-P separates values by |", "k": "jobeff has no time limits; sacct does", "N": "jobeff selects no nodes; jobeff --json JOBID names them",
	"D": "jobeff shows the last attempt of a requeued job", "T": "jobeff does not cut times at -S and -E", "W": "jobeff shows no wckeys",
	"i": "jobeff does not select by the number of nodes; -o jobid,nnodes shows it", "g": "jobeff does not select groups; -A selects accounts",
}

// which names what a query was narrowed to: "of account chem and partition gpu".
func (l *listFlags) which() string {
	var all []string
	user := l.user
	if user == "me" {
		user = ""
	}
	for _, one := range []struct{ word, value string }{{"user", user}, {"account", l.account}, {"partition", l.partition},
		{"QOS", l.qos}, {"cluster", l.cluster}, {"state", l.state}} {
		if one.value != "" {
			all = append(all, one.word+" "+one.value)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "of " + figure.And(all) + " "
}

// whose extends which by whose jobs these are: the caller's, or all that the caller may see.
func (l *listFlags) whose(q listing.JobQuery) string {
	switch which := l.which(); {
	case l.user == "me" && q.User != "":
		return words.Yours + which
	case which == "":
		return ""
	default:
		return which + "that you may see "
	}
}

// query is the question to the server. As in sacct, named jobs may be of any time and of any user
// whose jobs the caller may see, unless an option says otherwise.
func (l *listFlags) query(now time.Time, jobs string, given func(name string) bool) (listing.JobQuery, error) {
	q := listing.JobQuery{Jobs: jobs, User: l.user, Account: l.account, Partition: l.partition, QOS: l.qos, Cluster: oneCluster(l.cluster), Limit: l.limit}
	if _, err := slurmid.ParseSets(jobs); jobs != "" && err != nil {
		return q, cli.Usage(err)
	}
	var err error
	if q.State, err = fullStates(l.state); err != nil {
		return q, err
	}
	if jobs == "" || given("starttime") {
		if q.Start, err = cli.ParsePast(l.start, now); err != nil {
			return q, fmt.Errorf("--starttime: %w", err)
		}
	}
	if l.end != "" {
		if q.End, err = cli.ParsePast(l.end, now); err != nil {
			return q, fmt.Errorf("--endtime: %w", err)
		}
		if !q.End.After(q.Start) {
			return q, cli.Usagef("--endtime %s is not after --starttime %s: the list would be empty", l.end, l.start)
		}
	}
	switch {
	case l.limit < 0:
		return q, cli.Usagef("--limit %d: give a number of lines, or leave it out", l.limit)
	case (l.all || jobs != "") && !given("user"):
		q.User = ""
	default:
		q.User = withMe(l.user)
	}
	return q, nil
}

// withMe puts the caller's name in place of "me".
func withMe(users string) string {
	all := strings.Split(users, ",")
	for i := range all {
		if all[i] == "me" {
			all[i] = myself()
		}
	}
	return strings.Join(all, ",")
}

// fullStates turns states, in full or abbreviated as in sacct, into sacct's full names.
func fullStates(list string) (string, error) {
	if list == "" {
		return "", nil
	}
	long := slices.Sorted(maps.Values(words.ShortStates))
	typed, all := strings.Split(list, ","), strings.Split(strings.ToUpper(list), ",")
	for i, s := range all {
		all[i] = cmp.Or(words.ShortStates[s], s)
		if !slices.Contains(long, all[i]) {
			return "", cli.Usagef("--state: %.40q is no state of a job: give one of %s, or its short form", typed[i], strings.Join(long, ", "))
		}
	}
	return strings.Join(all, ","), nil
}

// mostShown bounds the lines of a list without --limit, worstShown those of jobeff without any argument.
const (
	mostShown  = 1000
	worstShown = 20
)

// mostSorted bounds the lines that jobeff itself sorts, if jobeffd cannot sort by the field. jobeff asks for the newest ones.
const mostSorted = 10_000

// list shows the named or selected jobs, the newest last, as in sacct.
func (p *program) list(ctx context.Context, cmd *cobra.Command, l listFlags, jobs string, asJSON bool) error {
	q, err := l.query(p.now(), jobs, func(name string) bool { return cmd.Flags().Changed(name) })
	if err != nil {
		return err
	}
	opts := words.ListOptions{Which: l.whose(q), NoHeader: l.noHeader, Parsable2: l.parsable2}
	l.tasks = l.tasks || l.parsable2 || strings.Contains(jobs, "_")
	if l.format != "" {
		if asJSON {
			return cli.Usagef("--format chooses columns, and --json has every field: leave one of them out")
		}
		if opts.Columns, err = words.ParseColumns(l.format); err != nil {
			return cli.Usage(err)
		}
	}
	if l.sort != "" {
		if l.sort, err = words.ParseSort(l.sort); err != nil {
			return cli.Usage(err)
		}
	}
	q.Detail = words.Deep(opts.Columns)
	if asJSON && l.sort != "" {
		return cli.Usagef("--sort orders lines, and the jobs of --json stand in the order of their start: leave one of them out")
	}
	if asJSON {
		return p.documents(ctx, q, jobs)
	}
	if jobs == "" {
		opts.Title = l.title(q)
	}
	return p.listed(ctx, q, l, jobs, opts)
}

// worst shows the caller's last jobs, most core-hours lost first.
func (p *program) worst(ctx context.Context) error {
	q := listing.JobQuery{User: myself(), Start: p.now().AddDate(0, 0, -defaultDays)}
	l := listFlags{user: "me", start: defaultStart, sort: "lost", limit: worstShown}
	return p.listed(ctx, q, l, "", words.ListOptions{Title: l.title(q), Which: words.Yours, Rest: "jobeff -S " + defaultStart})
}

// listed prints the jobs of a query as a list, for people or, with --parsable2, for scripts.
func (p *program) listed(ctx context.Context, q listing.JobQuery, l listFlags, jobs string, opts words.ListOptions) error {
	here := l.sort != "" && !slices.Contains(listing.Sorts, strings.TrimPrefix(l.sort, "-"))
	if q.Sort, q.Limit = l.sort, l.limit; !l.tasks {
		q.Limit = cmp.Or(l.limit, mostShown)
	}
	if here {
		opts.Sort, opts.Most = l.sort, q.Limit
		if q.Sort, q.Limit = "", 0; !l.tasks {
			q.Limit = mostSorted
		}
	}
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	lines, more, err := askLines(ctx, c, q, l, &opts)
	var pending *slurmid.PendingList
	if err == nil {
		pending, opts.OnlyPending, err = askPending(ctx, c, q)
	}
	switch {
	case err != nil:
		return err
	case jobs != "" && len(lines) == 0 && (pending == nil || len(pending.Jobs) == 0):
		return noneOf(jobs)
	}
	if l.sort == "" {
		slices.Reverse(lines)
	}
	opts.More, opts.Pending = more, pending
	return report.TextOfJobs(p.stdout, view.NewJobs(lines, opts, p.options().Unicode), p.options())
}

// askLines asks for the lines of a list: one for each array, or one for each task. more says that others are left.
func askLines(ctx context.Context, c *client.Client, q listing.JobQuery, l listFlags, opts *words.ListOptions) (lines []listing.Line, more bool, err error) {
	if l.tasks {
		all := l.parsable2 || l.format != "" || l.sort != ""
		found, more, err := ask(ctx, q, all, func(ctx context.Context, q listing.JobQuery) ([]job.Job, string, error) {
			list, err := c.Jobs(ctx, q)
			if err != nil {
				return nil, "", err
			}
			return list.Jobs, listing.After(list.Next), nil
		})
		return listing.LinesOf(found), more, err
	}
	return ask(ctx, q, true, func(ctx context.Context, q listing.JobQuery) ([]listing.Line, string, error) {
		list, err := c.Lines(ctx, q)
		if err != nil {
			return nil, "", err
		}
		if opts.All == nil {
			opts.All = &list.Selected
		}
		return list.Lines, listing.After(list.Next), nil
	})
}

// askPending asks for the waiting jobs of a query. It returns none if the query selects states without PENDING. only says that
// it selects PENDING.
func askPending(ctx context.Context, c *client.Client, q listing.JobQuery) (list *slurmid.PendingList, only bool, err error) {
	states := strings.Split(q.State, ",")
	if only = slices.Contains(states, "PENDING"); q.State != "" && !only {
		return nil, false, nil
	}
	list, err = c.Pending(ctx, q)
	return list, only, err
}

// documents writes the JSON of the jobs of a query.
func (p *program) documents(ctx context.Context, q listing.JobQuery, jobs string) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	documents, more, err := ask(ctx, q, true, c.JobDocuments)
	var pending *slurmid.PendingList
	if err == nil {
		pending, _, err = askPending(ctx, c, q)
	}
	switch {
	case err != nil:
		return err
	case jobs != "" && len(documents) == 0 && (pending == nil || len(pending.Jobs) == 0):
		return noneOf(jobs)
	}
	slices.Reverse(documents)
	return view.Write(p.stdout, view.Jobs{Jobs: documents, More: more, Pending: pending})
}

func noneOf(jobs string) error {
	return fmt.Errorf("none of the jobs %s was found: jobeff shows your own jobs and those that Slurm lets you see", jobs)
}

// title is the line above a list: whose jobs, since when, in which order.
func (l *listFlags) title(q listing.JobQuery) string {
	whose := "Your jobs"
	if l.user != "me" || q.User == "" {
		whose = "Jobs"
		if q.User == "" {
			whose += " of all users that you may see"
		}
	}
	if which := l.which(); which != "" {
		whose += " " + strings.TrimSuffix(which, " ")
	}
	when := " since " + figure.Minute(q.Start)
	if days, ok := strings.CutSuffix(strings.TrimPrefix(l.start, "-"), "days"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			when = ", the last " + strings.TrimPrefix(figure.Counted(n, "day"), "1 ")
		}
	}
	if !q.End.IsZero() {
		when += ", begun before " + figure.Minute(q.End)
	}
	order := "the newest last"
	if l.sort != "" {
		order = words.OrderWords(l.sort)
	}
	return whose + when + "; " + order
}

// ask asks the server for jobs, page by page. Each page begins behind the last job of the page before, so jobs that begin or
// end meanwhile shift nothing. Without a limit, all chooses between all jobs and the first answer that holds any. An empty
// answer may still name a next page: the server looked at many jobs, and none of them fitted.
func ask[T any](ctx context.Context, q listing.JobQuery, all bool, page func(context.Context, listing.JobQuery) (some []T, next string, err error)) (found []T, more bool, err error) {
	found = []T{}
	for most := q.Limit; ; q.Limit = max(most-len(found), 0) {
		some, next, err := page(ctx, q)
		if err != nil {
			return nil, false, err
		}
		found = append(found, some...)
		if next == "" || most == 0 && !all && len(found) > 0 || most > 0 && len(found) >= most {
			return found, next != "", nil
		}
		q.After = next
	}
}
