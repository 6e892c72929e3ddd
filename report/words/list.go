package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// ListOptions say what a list of jobs should show.
type ListOptions struct {
	Columns   []Column // nil: the default ones
	NoHeader  bool
	Parsable2 bool              // values in full, separated by |, as in sacct -P, and a line for each task
	Title     string            // over the list, for people
	Which     string            // the choice of jobs, "of account chem that you may see "; "": none
	Sort      string            // a field of ParseSort; "": the order given
	Most      int               // how many lines at most; 0: all
	All       *listing.Selected // sums over all that the query selects, if the lines are only a part; nil: they are all
	Rest      string            // the command that lists the rest; "": none
	More      bool              // the server has more lines, in its own order
	// Pending holds what is waiting; nil: nobody asked for it. OnlyPending means that nothing else was asked for.
	Pending     *slurmid.PendingList
	OnlyPending bool
}

// List is a list of jobs in words.
type List struct {
	ListOptions
	Table   block.Table // all columns that a page may have room for
	Empty   string      // replaces a list without lines; "": nothing
	Left    []string    // what the list leaves out
	Notes   []string    // sums of what is listed
	Legend  []Legend
	Waiting block.Part // without a heading: nothing
}

// Legend explains a table if its columns have one of these heads. Without heads, it explains every table.
type Legend struct {
	Text  string
	Heads []string
}

// OfList makes a list of lines in the given order, or sorted.
func OfList(given []listing.Line, opts ListOptions, wide bool) List {
	l := List{ListOptions: opts}
	asLines := opts.Parsable2 || opts.Columns != nil || opts.NoHeader // read by programs, which ask for the state if they want it
	if opts.Pending != nil && opts.OnlyPending && asLines {
		var waits []job.Job
		for i := range opts.Pending.Jobs {
			waits = append(waits, *job.OfPending(&opts.Pending.Jobs[i]))
		}
		given = slices.Concat(given, listing.LinesOf(waits))
	}
	lines := linesOf(given)
	all, left := selected(lines, opts), len(lines)
	sortLines(lines, opts.Sort)
	if opts.Most > 0 {
		lines = lines[:min(opts.Most, len(lines))]
	}
	chosen := opts.Columns
	if chosen == nil {
		chosen = usual(lines, opts.Parsable2)
	}
	l.Table = linesTable(lines, chosen, wide)
	if !opts.OnlyPending || opts.Pending == nil {
		l.Empty = noJobsOf(opts.Which)
	}
	if !opts.Parsable2 && len(lines) > 0 {
		l.legend(lines)
		l.under(left-len(lines), all)
	}
	if !asLines {
		l.Waiting = waitingUnder(opts, wide)
	}
	return l
}

// selected sums up all that the query selects, these lines and others.
func selected(lines []line, opts ListOptions) listing.Selected {
	if opts.All != nil {
		return listing.Selected{Sum: opts.All.Sum, Unjudged: max(opts.All.Unjudged, unjudged(lines))}
	}
	all := listing.Selected{Sum: new(listing.Hours), Unjudged: unjudged(lines)}
	for i := range lines {
		all.Sum.Add(policy.HoursOf(lines[i].tasks))
	}
	return all
}

// unjudged counts the ended jobs of the lines that the present rules have not judged yet.
func unjudged(lines []line) (n int) {
	for i := range lines {
		for k := range lines[i].tasks {
			if j := &lines[i].tasks[k]; j.Flags == nil && !j.End.IsZero() {
				n++
			}
		}
	}
	return n
}

// unjudgedText says how many jobs the present rules have not judged yet. ruled means that the query selects
// only jobs that some rules flag.
func unjudgedText(n int, ruled bool) string {
	count := figure.Count(n)
	if n >= listing.MostUnjudged {
		count += " or more"
	}
	switch {
	case n == 0:
		return ""
	case ruled:
		return fmt.Sprintf("Of the jobs that the other filters select, the present rules have not judged %s yet: they may flag these, too.", count)
	}
	return fmt.Sprintf("Of the jobs that are listed, the present rules have not judged %s yet: which flag them is not known.", count)
}

// usual returns the columns of a plain list. If all jobs belong to one user, it leaves out the user.
func usual(lines []line, parsable2 bool) []Column {
	listed := listColumns
	if !parsable2 {
		listed += gpuColumns(lines)
	}
	chosen := shown(listed + wideColumns)
	if len(lines) > 0 && !parsable2 && !slices.ContainsFunc(lines, func(l line) bool { return l.User != lines[0].User }) {
		chosen = slices.DeleteFunc(chosen, func(c Column) bool { return c.Name == "User" })
	}
	return chosen
}

// linesTable makes a table of the lines of a list.
func linesTable(lines []line, chosen []Column, wide bool) block.Table {
	t := block.Table{Rows: make([][]string, len(lines))}
	for i := range chosen {
		c := &chosen[i]
		t.Heads = append(t.Heads, c.head)
		if c.alike != nil {
			var all []float64
			for k := range lines {
				if n, _ := lines[k].number(c); n != nil {
					all = append(all, *n)
				}
			}
			c.write = c.alike(all...)
		}
	}
	for i := range lines {
		for k := range chosen {
			t.Rows[i] = append(t.Rows[i], inert.Text(lines[i].text(&chosen[k]), wide))
			if lines[i].isBad(&chosen[k]) {
				t.Red(i, k)
			}
		}
	}
	return t
}

// jobsTable makes a table of jobs, a line for each.
func jobsTable(jobs []job.Job, chosen []Column, wide bool) block.Table {
	return linesTable(linesOf(listing.LinesOf(jobs)), chosen, wide)
}

// marks follow the efficiencies of jobs that these do not describe fully.
var marks = []struct {
	mark, legend string
	is           func(*job.Job) bool
}{
	{"~", "~: so far, it runs.", (*job.Job).IsRunning},
	{"!", "!: not all ranks were recorded.", func(j *job.Job) bool { return j.Metrics.Coverage < 1 }},
	{"*", "*: of MPI on the host only; threads and GPUs are not measured.", func(j *job.Job) bool { return j.Threaded || j.GPUs > 0 }},
}

// legend puts the marks into the table, and explains what it shows.
func (l *List) legend(lines []line) {
	if l.Columns == nil {
		l.Legend = []Legend{{Text: "PE: parallel efficiency. CPUEff: part of its cores' time that was busy, also with waiting in MPI. Core-h: core-hours used. " +
			"Lost: those in which its cores did no computing for it. -: not known, jobeff JOBID says why."}}
	}
	if gpuColumns(lines) != "" {
		l.Legend = append(l.Legend, gpuLegend...)
	}
	for _, m := range marks {
		is, said := func(j job.Job) bool { return j.Metrics != nil && m.is(&j) }, Legend{Text: m.legend}
		for i := range lines {
			if !slices.ContainsFunc(lines[i].counted(), is) {
				continue
			}
			for k, head := range l.Table.Heads {
				if cell := &l.Table.Rows[i][k]; slices.Contains([]string{"PE", "LB", "CommE"}, block.Name(head)) && *cell != "-" && *cell != differing {
					*cell += m.mark
					said.Heads = append(said.Heads, head)
				}
			}
		}
		if len(said.Heads) > 0 {
			l.Legend = append(l.Legend, said)
		}
	}
	if slices.ContainsFunc(lines, func(l line) bool { return l.array != nil }) {
		l.Legend = append(l.Legend, Legend{Text: "An array is one line, with the means of its completed tasks and the sums of core-hours; differ: its tasks ran several programs. " +
			"jobeff ARRAY sums it up, --tasks lists them."})
	}
}

// Yours begins ListOptions.Which if these are the reader's own jobs.
const Yours = "of yours "

// noJobsOf returns the same text for jobs that do not exist, for jobs that the reader may not see, and for
// names that nobody has. So it does not reveal which names exist.
func noJobsOf(which string) string {
	narrowed, own := strings.CutPrefix(which, Yours)
	said := "no jobs " + which + "in this time: look further back with -S, as -S -30days"
	if own {
		said += ", or with -a at the jobs of all users that you may see"
	}
	if narrowed != "" {
		said += "; a name that is not written right has none, either"
	}
	return said
}

// under says that `left` lines are not listed, or that the server has more, and sums up all.
func (l *List) under(left int, all listing.Selected) {
	how := "raise --limit"
	if l.Rest != "" {
		how = l.Rest + " lists them"
	}
	switch {
	case l.More && l.Sort != "": // it has them in another order
		l.Left = append(l.Left, "there are older jobs that are not listed: narrow -S and -E, or raise --limit")
	case l.More:
		l.Left = append(l.Left, "and more: "+how)
	case left > 0:
		l.Left = append(l.Left, fmt.Sprintf("and %s more: %s", figure.Count(left), how))
	}
	l.Notes = block.Notes(jobsTotal(all.Sum))
	if slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Name == "Flags" }) {
		l.Notes = append(l.Notes, block.Notes(unjudgedText(all.Unjudged, false))...)
	}
}

// totalText sums up the listed hours. Lost hours are a part of those whose loss is known.
func totalText(listed string, sum listing.Hours) string {
	if sum.Used == 0 {
		return ""
	}
	return sumText(listed, sum)
}

// jobsTotal sums up the jobs of a list; nil: there are too many.
func jobsTotal(sum *listing.Hours) string {
	if sum == nil {
		return notSummed
	}
	return totalText(figure.Counted(sum.Jobs, "job"), *sum)
}

const notSummed = "They are not summed up: too many jobs ran in this time to look for those. Narrow the time, or choose by user, account, partition or cluster alone."

// sumText says what the listed jobs used and lost.
func sumText(listed string, sum listing.Hours) string {
	said := fmt.Sprintf("Total of %s: %s core-hours used", listed, figure.Hours(sum.Used))
	if sum.Judged == 0 {
		said += "; of none is it known what was lost."
	} else {
		said = fmt.Sprintf("%s; %s lost of %s that were judged (%s).", said, figure.Hours(sum.Lost), figure.Hours(sum.Judged), figure.Part(sum.Lost, sum.Judged))
	}
	return block.Joined(" ", said, GPUHoursText("", sum))
}

// sortColumn returns the number to sort a list by, and whether the least comes first; nil: the field is no
// number.
func sortColumn(by string) (c *Column, least bool) {
	name, least := strings.CutPrefix(strings.ToLower(by), "-")
	if one, err := column(name); err == nil && one.number != nil {
		c = &one
	}
	return c, least
}

// ParseSort returns the name of a field that lists can be sorted by, the most first; with "-" in front, the
// least first.
func ParseSort(by string) (string, error) {
	if c, least := sortColumn(by); c != nil {
		return map[bool]string{true: "-"}[least] + strings.ToLower(c.Name), nil
	}
	var all []string
	for _, c := range columns {
		if c.number != nil {
			all = append(all, strings.ToLower(c.Name))
		}
	}
	slices.Sort(all)
	return "", fmt.Errorf("--sort %.40q is not one of %s; -FIELD puts the smallest first", by, strings.Join(all, ", "))
}

// sortLines sorts by a field of ParseSort. Lines whose number is not known come last.
func sortLines(lines []line, by string) {
	c, least := sortColumn(by)
	if c == nil {
		return
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		x, _ := a.number(c)
		y, _ := b.number(c)
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		case least:
			return cmp.Compare(*x, *y)
		}
		return cmp.Compare(*y, *x)
	})
}
