package words

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/doubt"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Answer is what an admin asked about the whole site, in words.
type Answer struct {
	Headline string
	Parts    []block.Part
	Notes    []string
}

// classes are the classes of a ledger with what is known of their jobs.
var classes = []struct{ name, text string }{
	{listing.ClassThreads, "figures of ranks and of their threads"},
	{listing.ClassRanks, "figures of ranks"},
	{listing.ClassMemory, "no figures, but memory and CPU time as Slurm or the kernel counted them"},
	{listing.ClassSlurm, "only Slurm's times"},
	{listing.ClassRemoved, "retention removed the jobs, and kept the sums of their months (in the table: Slurm)"},
}

// OfCoverage words a ledger. wide: its reader sees characters outside ASCII.
func OfCoverage(ledger *listing.Ledger, wide bool) (c Answer) {
	l := inert.Copy(ledger, wide)
	span := fmt.Sprintf("from %s to %s, UTC", utcMinute(l.From), utcMinute(l.To))
	if l.Cluster != "" {
		span = "on cluster " + l.Cluster + " " + span
	}
	all := listing.ByClass(l.Lines)
	c.Notes = coverageNotes(l)
	switch {
	case len(l.Lines) == 0 && l.Read.IsZero():
		c.Headline = notRead
	case len(l.Lines) == 0:
		c.Headline = "No job ended " + span + "."
	case all.Total() == 0:
		c.Headline = "The jobs that ended " + span + " used no core-hours."
	default:
		c.Headline = fmt.Sprintf("%s of %s core-hours were measured, of jobs that ended %s.", figure.Part(all.Measured(), all.Total()), figure.Hours(all.Total()), span)
		c.Parts = []block.Part{{Facts: classFacts(all)}, {Heading: "By month and partition, in core-hours", Tables: []block.Table{coverageTable(l.Lines)}}}
		if items := reasonItems(l.Lines, all.Total()); len(items) > 0 {
			c.Parts = append(c.Parts, block.Part{Heading: "Why the rest has no figures", Items: items})
		}
	}
	if l.GPUs != nil {
		c.Parts = append(c.Parts, gpuPart(l.GPUs))
	}
	return c
}

// gpuPart says of which GPU-hours it is known what the GPUs did, and why of the others it is not.
func gpuPart(g *listing.GPULedger) block.Part {
	p := block.Part{Heading: "GPU-hours", Items: []string{gpuHoursText(listing.Hours{GPU: g.Used.Hours(), GPUKnown: g.Known.Hours(), GPUIdle: g.Idle.Hours()})}}
	reasons := slices.SortedFunc(maps.Keys(g.Unknown), func(a, b string) int { return cmp.Or(cmp.Compare(g.Unknown[b], g.Unknown[a]), cmp.Compare(a, b)) })
	for _, why := range reasons {
		text := WhyNoGPU(why)
		switch why {
		case "":
			text = "no node spoke of these GPUs: the job was not measured, or a node has not reported"
		case listing.ClassRemoved:
			text = "retention removed the jobs, and the reason with them"
		}
		p.Items = append(p.Items, fmt.Sprintf("%s, %s not known: %s", figure.Part(g.Unknown[why].Hours(), g.Used.Hours()), figure.Hours(g.Unknown[why].Hours()), text))
	}
	return p
}

const notRead = "The core-hours are not known: jobeffd has not read sacct. Its log says why."

func utcMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// classFacts say what is known of the jobs of each class that there is.
func classFacts(t listing.ClassTimes) (facts block.Facts) {
	for _, c := range classes {
		if hours := t.Of(c.name); hours > 0 {
			facts.Add(c.name, fmt.Sprintf("%s, %s core-hours: %s", figure.Part(hours, t.Total()), figure.Hours(hours), c.text))
		}
	}
	return facts
}

// coverageTable has a row for each partition and month. What retention removed stands beside what only Slurm knows.
func coverageTable(lines []listing.LedgerLine) block.Table {
	t := block.Table{Heads: []string{"<=Month", "<Partition"}, Gap: " "}
	type place struct {
		month     time.Time
		partition string
	}
	at := map[place][]listing.LedgerLine{}
	for _, l := range lines {
		p := place{l.Month, l.Partition}
		at[p] = append(at[p], l)
	}
	type row struct {
		place
		times listing.ClassTimes
	}
	var rows []row
	for p, some := range at {
		rows = append(rows, row{p, listing.ByClass(some)})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(a.month.Compare(b.month), cmp.Compare(b.times.Total(), a.times.Total()), cmp.Compare(a.partition, b.partition))
	})
	for _, c := range classes[:4] {
		t.Heads = append(t.Heads, upperFirst(c.name), "%")
	}
	for _, r := range rows {
		total := r.times.Total()
		r.times[listing.ClassSlurm] += r.times[listing.ClassRemoved]
		cells := []string{r.month.Format("2006-01"), cmp.Or(r.partition, "-")}
		for _, c := range classes[:4] {
			if h := r.times.Of(c.name); h > 0 {
				cells = append(cells, figure.Hours(h), figure.Part(h, total))
			} else {
				cells = append(cells, "-", "")
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// reasonSum is what jobs used that have no figures for one reason.
type reasonSum struct {
	why   doubt.Warning
	hole  bool
	jobs  int
	hours float64
}

// reasonsOf adds up the lines without figures by reason, the most core-hours first. Jobs that never began used none.
func reasonsOf(lines []listing.LedgerLine) (all []reasonSum) {
	for i := range lines {
		l := &lines[i]
		if l.Measured() || l.Used <= 0 {
			continue
		}
		at := slices.IndexFunc(all, func(r reasonSum) bool { return r.why == l.Why() })
		if at < 0 {
			at, all = len(all), append(all, reasonSum{why: l.Why(), hole: l.Hole})
		}
		all[at].jobs, all[at].hours = all[at].jobs+int(l.Jobs), all[at].hours+l.Used.Hours()
	}
	slices.SortStableFunc(all, func(a, b reasonSum) int {
		return cmp.Or(cmp.Compare(b.hours, a.hours), cmp.Compare(a.why.Code, b.why.Code), cmp.Compare(a.why.Args.Kind, b.why.Args.Kind))
	})
	return all
}

func reasonItems(lines []listing.LedgerLine, total float64) (items []string) {
	for _, r := range reasonsOf(lines) {
		of := figure.Counted(r.jobs, "job")
		if r.hole {
			of += " (a hole)"
		}
		items = append(items, fmt.Sprintf("%s, %s core-hours of %s: %s", figure.Part(r.hours, total), figure.Hours(r.hours), of, ReasonText(r.why)))
	}
	return items
}

func coverageNotes(l *listing.Ledger) (notes []string) {
	if slices.ContainsFunc(l.Lines, func(one listing.LedgerLine) bool { return one.Hole && one.Used > 0 }) {
		notes = append(notes, "A hole is what those who run the site can mend: doc/ADMIN.md, section 11.")
	}
	if l.Cut {
		notes = append(notes, "Retention removed jobs of a month of which this time is a part: they are left out. Ask for whole months of UTC, as -S 2026-10-01T00:00:00Z.")
	}
	if !l.Read.IsZero() {
		notes = append(notes, "sacct was read up to "+utcMinute(l.Read)+", UTC.")
	}
	return notes
}

// leastShare is the least part of the core-hours that a digest mentions.
const leastShare = 0.005

// MeasuredText says in one sentence which part of the core time has figures, and the largest reason of the rest.
// holes words the further reasons that a site can mend. bad: so is the largest.
func MeasuredText(lines []listing.LedgerLine) (text string, bad bool, holes []string) {
	all := listing.ByClass(lines)
	total := all.Total()
	if total == 0 {
		return "", false, nil
	}
	text = fmt.Sprintf("Measured: %s of the core-hours", figure.Part(all.Measured(), total))
	for i, r := range reasonsOf(lines) {
		switch {
		case r.hours < leastShare*total:
		case i == 0:
			bad = r.hole
			text += fmt.Sprintf("; the largest part without figures, %s (%s): %s", figure.Part(r.hours, total), figure.Counted(r.jobs, "job"), ReasonText(r.why))
		case r.hole:
			holes = append(holes, fmt.Sprintf("%s (%s core-hours) without figures: %s.", figure.Counted(r.jobs, "job"), figure.Hours(r.hours), ReasonText(r.why)))
		}
	}
	return text + ".", bad, holes
}

// ReasonText says why jobs have no figures, for those who can do something about it.
func ReasonText(why doubt.Warning) string {
	switch {
	case why.Code == doubt.WhyNoReport && why.Args.Kind == "":
		return "no report has arrived from their nodes (is the package installed there, and does `jobeff admin doctor` find it well?)"
	case why.Code == doubt.WhyNoRoom:
		return "the records found no room: raise measure.record_mib"
	case why.Code == doubt.WhyOtherTimes:
		return "reports came, but their times or nodes are not those that Slurm says of the job: is the clock of a node wrong?"
	}
	return cmp.Or(doubt.Text(why), "no reason was recorded")
}
