package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/slurmid"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// reasons explains Slurm's reasons for waiting. Each entry matches the beginning of a reason; the first match
// counts.
var reasons = []struct{ word, means string }{
	{"Priority", "jobs of a higher priority come first"},
	{"Resources", "what it asks for is not free yet"},
	{"DependencyNeverSatisfied", "what it waits for has ended otherwise than it asks, so it never starts"},
	{"Dependency", "it waits for another job"},
	{"JobHeldUser", "it is held, and starts no sooner than scontrol release lets it go"},
	{"JobHeldAdmin", "an administrator holds it"},
	{"BeginTime", "its begin time has not come"},
	{"JobArrayTaskLimit", "as many tasks of its array run as it allows at once"},
	{"PartitionTimeLimit", "it asks for more time than its partition gives"},
	{"PartitionNodeLimit", "it asks for other numbers of nodes than its partition gives"},
	{"ReqNodeNotAvail", "a node that it needs is not available"},
	{"QOS", "a limit of its QOS is reached"},
	{"Assoc", "a limit of its account or user is reached"},
}

// reasonText writes Slurm's reason, and its meaning if that is known.
func reasonText(p *slurmid.Pending) string {
	if p.Reason == "" || p.Reason == "None" {
		return "Slurm has not said why yet"
	}
	said := "reason " + p.Reason
	for _, r := range reasons {
		if strings.HasPrefix(p.Reason, r.word) {
			return said + ": " + r.means
		}
	}
	return said
}

// sinceText says since when a line has been waiting, and why.
func sinceText(p *slurmid.Pending) string {
	return "since " + figure.Minute(p.Submit) + ", " + reasonText(p)
}

// pendingHeadline is the headline of a job that has not begun.
func pendingHeadline(list *slurmid.PendingList) block.Headline {
	p := &list.Jobs[0]
	what := "It waits"
	if p.Tasks > 1 {
		what = figure.Count(p.Tasks) + " tasks wait"
	}
	return block.Headline{Text: what + " " + sinceText(p) + "."}
}

// pendingFacts say who asked for what, and when it may begin.
func pendingFacts(list *slurmid.PendingList) block.Facts {
	p := &list.Jobs[0]
	f := block.Facts{{Label: "Job", Strong: p.ID, Text: p.Name}}
	f.Add("User", block.Joined(", ", p.User, of("account", p.Account), of("partition", p.Partition), of("QOS", p.QOS)))
	f.Add("State", "PENDING, as Slurm said at "+figure.Minute(list.AsOf))
	asked := askedText(p)
	if p.ArrayJobID > 0 {
		asked += ", for each task"
	}
	f.Add("Asked", asked)
	f.Add("Start", startText(p, list.AsOf))
	return f
}

// askedText writes what a line asks for.
func askedText(p *slurmid.Pending) string {
	var parts []string
	for _, one := range []struct {
		n    int
		noun string
	}{{p.Nodes, "node"}, {p.CPUs, "core"}, {p.GPUs, "GPU"}} {
		if one.n > 0 {
			parts = append(parts, figure.Counted(one.n, one.noun))
		}
	}
	if p.Memory > 0 {
		parts = append(parts, figure.Bytes(uint64(p.Memory))+" of memory")
	}
	limit := "no time limit of its own"
	if p.TimeLimit > 0 {
		limit = "a time limit of " + limitText(p)
	}
	return strings.Join(append(parts, limit), ", ")
}

func limitText(p *slurmid.Pending) string {
	return figure.Clock(time.Duration(p.TimeLimit) * time.Second)
}

// startText says when a line may begin.
func startText(p *slurmid.Pending, asOf time.Time) string {
	var parts []string
	if p.Eligible.After(asOf) {
		parts = append(parts, "not before "+figure.Minute(p.Eligible))
	}
	if p.Expected.After(asOf) && p.Expected.After(p.Eligible) {
		parts = append(parts, "expected "+figure.Minute(p.Expected)+", as Slurm planned then; it may come to be earlier or later")
	}
	return strings.Join(parts, "; ")
}

// mostPendingTold bounds the waiting lines that are shown with an attempt, mostPendingShown those in a list
// without --limit.
const (
	mostPendingTold  = 3
	mostPendingShown = 20
)

// waitsText says what is still waiting of a job that has begun in part.
func waitsText(list *slurmid.PendingList) string {
	if list == nil {
		return ""
	}
	var all []string
	for i := range list.Jobs[:min(mostPendingTold, len(list.Jobs))] {
		all = append(all, briefID(list.Jobs[i].ID)+" "+sinceText(&list.Jobs[i]))
	}
	if left := len(list.Jobs) - len(all); left > 0 {
		all = append(all, "and "+figure.Count(left)+" more")
	}
	return strings.Join(all, "; ") + "; as Slurm said at " + figure.Minute(list.AsOf)
}

// longestID bounds an id in a table: that of an array may list many tasks.
const longestID = 20

// briefID shortens an id to the first of its tasks, as Slurm does.
func briefID(id string) string {
	if len(id) <= longestID {
		return id
	}
	if at := strings.LastIndex(id[:longestID-len("...]")+1], ","); at > 0 {
		return id[:at+1] + "...]"
	}
	return id
}

// pendingTable makes a table of waiting lines. others means that they may belong to several users.
func pendingTable(list []slurmid.Pending, others, wide bool) block.Table {
	t := block.Table{Heads: []string{"<=JobID", "<JobName", "<User", "<Partition", "Nodes", "CPUs", "Limit", "<=Since", "<=Expected", "<!Reason"}}
	for i := range list {
		p := &list[i]
		expected := "-"
		if !p.Expected.IsZero() {
			expected = figure.Minute(p.Expected)
		}
		row := []string{briefID(p.ID), p.Name, cmp.Or(p.User, fmt.Sprint(p.UID)), p.Partition, figure.Count(p.Nodes), figure.Count(p.CPUs), "-", figure.Minute(p.Submit), expected, cmp.Or(p.Reason, "-")}
		if p.TimeLimit > 0 {
			row[6] = limitText(p)
		}
		for c := range row {
			row[c] = inert.Text(row[c], wide)
		}
		t.Rows = append(t.Rows, row)
	}
	if !others {
		t = t.Without("<User")
	}
	if !slices.ContainsFunc(list, func(p slurmid.Pending) bool { return !p.Expected.IsZero() }) {
		t = t.Without("<=Expected")
	}
	return t
}

// pendingNotes say how many lines a list leaves out, and which it lacks. rest is the command that lists the
// former.
func pendingNotes(list *slurmid.PendingList, shown int, rest string) (all []string) {
	if left := len(list.Jobs) - shown; left > 0 {
		all = append(all, fmt.Sprintf("and %s more: %s lists them", figure.Count(left), rest))
	}
	if list.More {
		all = append(all, "There are further ones: name an account, a partition or a user.")
	}
	if list.LeftOut > 0 {
		all = append(all, fmt.Sprintf("Slurm's queue has %s beyond those that jobeff knows, of whomever: squeue lists them.", figure.Counted(list.LeftOut, "line")))
	}
	return all
}

// pendingHeading is the heading of a table of waiting lines.
func pendingHeading(list *slurmid.PendingList) string {
	if list.Jobs == nil {
		return "Which jobs wait is not known here now: squeue lists them."
	}
	if len(list.Jobs) == 0 {
		return "None waits, as Slurm said at " + figure.Minute(list.AsOf) + "."
	}
	jobs := 0
	for i := range list.Jobs {
		jobs += max(1, list.Jobs[i].Tasks)
	}
	more := ""
	if list.More {
		more = " and more"
	}
	return fmt.Sprintf("Waiting, as Slurm said at %s: %s%s", figure.Minute(list.AsOf), figure.Counted(jobs, "job"), more)
}

// severalUsers reports whether lines belong to several users.
func severalUsers(list []slurmid.Pending) bool {
	return slices.ContainsFunc(list, func(p slurmid.Pending) bool { return p.UID != list[0].UID })
}

// waitingUnder shows what is waiting of all that a list selects. It has no heading if there is nothing to show.
func waitingUnder(opts ListOptions, wide bool) (b block.Part) {
	list, rest := opts.Pending, "a higher --limit"
	if opts.Rest != "" {
		rest = "jobeff -s PENDING"
	}
	if list == nil || len(list.Jobs) == 0 && !opts.OnlyPending {
		return b
	}
	b.Heading = pendingHeading(list)
	shown := list.Jobs[:min(cmp.Or(opts.Most, mostPendingShown), len(list.Jobs))]
	if len(shown) > 0 {
		b.Tables = []block.Table{pendingTable(shown, severalUsers(shown), wide)}
	}
	b.Notes = pendingNotes(list, len(shown), rest)
	return b
}

// pendingPart is a table of at most `most` waiting lines of a job; empty if there is only one.
func pendingPart(list *slurmid.PendingList, most int, wide bool) block.Part {
	if len(list.Jobs) < 2 {
		return block.Part{}
	}
	shown := list.Jobs[:min(most, len(list.Jobs))]
	return block.Part{Heading: "All of it that waits", Tables: []block.Table{pendingTable(shown, false, wide)}, Notes: pendingNotes(list, len(shown), "--json")}
}

// mostPendingFirst bounds the waiting lines on the first screen of a job.
const mostPendingFirst = 10

// ofQueue words a job that has not begun.
func (w *Job) ofQueue(list *slurmid.PendingList, wide bool) {
	w.Waits, w.ID, w.Headline, w.Brief = true, list.Jobs[0].ID, pendingHeadline(list), pendingFacts(list)
	if array := list.Jobs[0].ArrayJobID; array > 0 { // an array's id may list too many tasks for a command
		w.ID = fmt.Sprint(array)
	}
	w.Pending = Cut{pendingPart(list, mostPendingFirst, wide), pendingPart(list, mostPendingShown, wide)}
	if len(list.Jobs) > mostPendingFirst {
		w.Beyond = FullForm(w.ID) + ": further lines"
	}
}
