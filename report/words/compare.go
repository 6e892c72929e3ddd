package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/compare"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Comparison says why one run of the same work took longer than another.
type Comparison struct {
	Title         string // of its page
	Before, After string // the jobs' ids; Before "": there is no such job
	Headline      block.Headline
	Facts         block.Facts
	Parts         []block.Part
}

// OfComparison puts a comparison into words.
func OfComparison(of *compare.Comparison, wide bool) Comparison {
	c := inert.Copy(of, wide)
	before, after := c.Before.Job.DisplayID, c.After.Job.DisplayID
	return Comparison{fmt.Sprintf("Job %s against job %s", after, before), before, after, compareHeadline(c), compareFacts(c), compareParts(c)}
}

// OfNoComparison says why a job cannot be compared.
func OfNoComparison(j *job.Job, why string, wide bool) Comparison {
	id := inert.Text(j.DisplayID, wide)
	return Comparison{Title: "Job " + id, After: id, Headline: block.Headline{Text: upperFirst(inert.Text(why, wide)) + "."}}
}

// compareHeadline says how much longer the later job took, and mostly why.
func compareHeadline(c *compare.Comparison) block.Headline {
	if c.Different != "" {
		return block.Headline{Text: upperFirst(c.Different) + ". " + longerText(c) + "."}
	}
	said := []string{longerText(c) + "; " + usualText(c)}
	if c.Nothing() {
		said[0] += ": nothing happened"
	} else {
		said = append(said, block.Notes(mostlyText(c), outlierText(c), lackedText(c))...)
	}
	h := block.Headline{Text: strings.Join(said, ". ") + "."}
	if change := c.After.Time/c.Before.Time - 1; !c.Nothing() && !sameLength(change) {
		h.Bad, h.Good = change > 0, change < 0
	}
	return h
}

// longerText writes "Job 456 took 121 s, 12 % longer than job 123 (108 s)".
func longerText(c *compare.Comparison) string {
	whose, seconds := "Job ", figure.SecondsAlike(c.Before.Time, c.After.Time)
	if !c.Before.Whole || !c.After.Whole {
		whose = "The program of job "
	}
	return fmt.Sprintf("%s%s took %s, %s job %s (%s)%s", whose, c.After.Job.DisplayID, seconds(c.After.Time), thanText(c.After.Time/c.Before.Time-1), c.Before.Job.DisplayID, seconds(c.Before.Time), medianText(c))
}

// thanText writes a change with the word that follows it: "12 % longer than", "2.3 times as long as".
func thanText(change float64) string {
	said := figure.Change(change)
	if strings.HasSuffix(said, "as long") {
		return said + " as"
	}
	return said + " than"
}

func medianText(c *compare.Comparison) string {
	builds := ""
	if c.Rebuilt {
		builds = ", of other builds of the program"
	}
	switch {
	case c.Median == 0:
		return ""
	case c.Median == 1:
		return ", the only earlier run on as many cores" + builds
	}
	return fmt.Sprintf(", the median of %s on as many cores%s", figure.Counted(c.Median, "earlier run"), builds)
}

// usualText says how much such runs usually differ.
func usualText(c *compare.Comparison) string {
	if !c.Usual.Known() {
		return fmt.Sprintf("how much such runs usually differ is not known (%s)", figure.Counted(c.Usual.Runs, "other run"))
	}
	return fmt.Sprintf("such runs usually differ by less than %s", figure.Bound(c.Usual.Time))
}

// The parts of the difference from which something is called nearly all of it, or most of it, or is mentioned
// at all.
const (
	nearlyAll = 0.8
	most      = 0.5
	worthWord = 0.2
)

// sameLength reports whether a change in time is too small to be shown.
func sameLength(change float64) bool { return figure.Change(change) == figure.Change(0) }

// mostlyText names the parts that make the difference, if they differ more than usual.
func mostlyText(c *compare.Comparison) string {
	var with, against []compare.Part
	longer, shorter := 0.0, 0.0
	for _, p := range c.Parts {
		longer, shorter = longer+max(p.Seconds, 0), shorter+min(p.Seconds, 0)
	}
	if sameLength(longer/c.Before.Time) && sameLength(shorter/c.Before.Time) {
		return ""
	}
	whole := longer // the sum of the parts that go the same way as the difference
	if c.Longer() < 0 {
		whole = shorter
	}
	for _, p := range c.Parts {
		switch share := p.Seconds / whole; {
		case !c.Told(&p) || math.Abs(share) < worthWord:
		case share > 0:
			with = append(with, p)
		default:
			against = append(against, p)
		}
	}
	order := func(a, b compare.Part) int { return cmp.Compare(math.Abs(b.Seconds), math.Abs(a.Seconds)) }
	slices.SortFunc(with, order)
	slices.SortFunc(against, order)
	if len(with) > 0 && len(against) > 0 && math.Abs(c.Longer()) < (1-nearlyAll)*math.Abs(whole) {
		return "What changed makes up for each other, nearly or wholly: " + listedParts(append(with, against...), false)
	}
	said := "No single part of it differs by more than usual"
	if len(with) > 0 {
		first := with[0].Seconds / whole
		switch rest := listedParts(with[1:], false); {
		case first >= nearlyAll:
			said = "Nearly all of it is " + partText(&with[0])
		case first >= most && rest != "":
			said = "Most of it is " + partText(&with[0]) + ", then " + rest
		case first >= most:
			said = "Most of it is " + partText(&with[0])
		default:
			said = "It is " + listedParts(with, false)
		}
	}
	if len(against) > 0 {
		said += "; beside it, " + listedParts(against, true)
	}
	return said
}

// listedParts names parts, each with its seconds.
func listedParts(all []compare.Part, changed bool) string {
	var said []string
	for i := range all {
		p := &all[i]
		one := partText(p) + ": " + signed(p.Seconds, figure.Seconds)
		if changed {
			one = partText(p) + " made it " + figure.Seconds(math.Abs(p.Seconds)) + map[bool]string{true: " longer", false: " shorter"}[p.Seconds > 0]
		}
		said = append(said, one)
	}
	return figure.And(said)
}

// partText writes a part with its factor on both sides: "load balance (0.95, now 0.82)".
func partText(p *compare.Part) string {
	return fmt.Sprintf("%s (%s, now %s)", compare.Name(p.Code), factorText(p.Code, p.Before), factorText(p.Code, p.After))
}

func factorText(code string, v float64) string {
	switch code {
	case compare.Outside, compare.Computing:
		return figure.Seconds(v)
	case compare.Instructions:
		return figure.Number(v)
	case compare.Files: // people read the part in files, not its complement
		return figure.Percent(1 - v)
	case compare.Clock:
		return figure.Ratio(v/1e9) + " GHz"
	case compare.Cores:
		return figure.Count(int(math.Round(v)))
	case compare.IPC, compare.Unsampled, compare.OpenMPRest:
		return figure.Ratio(v)
	}
	return figure.Efficiency(v)
}

// outlierText names what computed much longer than the rest, if the load is balanced worse.
func outlierText(c *compare.Comparison) string {
	if !slices.ContainsFunc(c.Parts, func(p compare.Part) bool { return p.Code == compare.LoadBalance && p.Seconds > 0 && c.Told(&p) }) {
		return ""
	}
	var said []string
	for _, g := range slices.Concat(c.Nodes, c.Ranks) {
		where := "before"
		if g.Was != "" {
			where = "the same ranks on " + g.Was
		}
		said = append(said, fmt.Sprintf("%s computed %s %s, the others %s", upperFirst(g.Name), thanText(g.Share()), where, figure.Change(g.Others)))
	}
	return strings.Join(said, ". ")
}

// lackedText says that ranks waited for CPUs, which makes computing seem longer.
func lackedText(c *compare.Comparison) string {
	at := slices.IndexFunc(c.Changed, func(one compare.Change) bool { return one.What == compare.WaitedForCPU })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("Its threads waited for a CPU in %s, in %s before: that counts as computing", c.Changed[at].After, c.Changed[at].Before)
}

// signed writes a difference of times with its sign.
func signed(s float64, write func(float64) string) string {
	sign := "+"
	if s < 0 {
		sign = "-"
	}
	return sign + write(math.Abs(s))
}

// compareFacts say which jobs are compared.
func compareFacts(c *compare.Comparison) block.Facts {
	var f block.Facts
	for _, one := range []struct {
		label string
		side  *compare.Side
	}{{"Before", &c.Before}, {"After", &c.After}} {
		s := one.side
		f.Add(one.label, block.Joined(", ", "job "+s.Job.DisplayID+" of "+figure.Minute(s.Run.Start), of("user", s.Job.User),
			figure.Counted(s.Run.Ranks, "rank")+" on "+figure.Counted(s.Run.Nodes, "node")))
	}
	if c.Usual.Known() {
		f.Add("Usually", fmt.Sprintf("in 9 of 10 cases such runs differ by less than %s (%s)", figure.Bound(c.Usual.Time), figure.Counted(c.Usual.Runs, "other run")))
	}
	for _, d := range c.Doubts {
		f.Add("But", d)
	}
	return f
}

// compareParts show where the difference comes from, what changed, and what grew.
func compareParts(c *compare.Comparison) []block.Part {
	return []block.Part{timeParts(c), changedPart(c),
		grownPart(c, "MPI calls that changed most, mean time per rank", "call", c.Calls),
		grownPart(c, "Sections that changed most, mean time per rank without inner sections", "section", c.Sections), placesGrown(c)}
}

// placesGrown lists the places that changed most, with the command that names them.
func placesGrown(c *compare.Comparison) block.Part {
	part := grownPart(c, "Places in the code that changed most, mean time per rank", "place", c.Places)
	if len(c.Places) > 0 && !c.Named {
		part.Notes = []string{fmt.Sprintf("`jobeff compare %s %s` names functions, files and lines, where the program lies", c.Before.Job.DisplayID, c.After.Job.DisplayID)}
	}
	return part
}

// leastShown is the shortest time, s, that is not written as 0.
const leastShown = 0.0005

func timeParts(c *compare.Comparison) block.Part {
	t := block.Table{Heads: []string{"<part", "before", "after", "longer by", "usually"}}
	all := []float64{}
	for _, p := range c.Parts {
		all = append(all, math.Abs(p.Seconds))
	}
	seconds := figure.SecondsAlike(append(all, c.Before.Time, c.After.Time)...)
	for i := range c.Parts {
		p := &c.Parts[i]
		if math.Abs(p.Seconds) < leastShown {
			continue
		}
		usual := "-"
		if p.Usual != nil && p.Code != compare.Cores {
			usual = seconds(*p.Usual)
		}
		t.Rows = append(t.Rows, []string{upperFirst(compare.Name(p.Code)), factorText(p.Code, p.Before), factorText(p.Code, p.After), signed(p.Seconds, seconds), usual})
	}
	usual := "-"
	if c.Usual.Known() {
		usual = seconds(c.Usual.Time * c.Before.Elapsed)
	}
	t.Rows = append(t.Rows, []string{"All", seconds(c.Before.Time), seconds(c.After.Time), signed(c.Longer(), seconds), usual})
	return block.Part{Heading: "Where the difference comes from", Tables: []block.Table{t},
		Notes: []string{"the parts add up to the difference, those of no difference are left out; usually: what such runs differ by in 9 of 10 cases, as far as they tell it"}}
}

func changedPart(c *compare.Comparison) block.Part {
	b := block.Part{Heading: "What changed"}
	for _, one := range c.Changed {
		b.Items = append(b.Items, fmt.Sprintf("%s: %s; now %s", one.What, one.Before, one.After))
	}
	if len(c.Changed) == 0 {
		b.Items = []string{"as far as both tell them, program, MPI library, input, machine, nodes, placement and threads are the same"}
	}
	return b
}

func grownPart(c *compare.Comparison, heading, what string, all []compare.Grown) block.Part {
	if len(all) == 0 {
		return block.Part{}
	}
	t := block.Table{Heads: []string{"<!" + what, "before", "after", "longer by"}}
	seconds := alike(all, func(g compare.Grown) float64 { return g.Before }, func(g compare.Grown) float64 { return g.After })
	for _, g := range all {
		t.Rows = append(t.Rows, []string{g.Name, seconds(g.Before), seconds(g.After), signed(g.After-g.Before, seconds)})
	}
	return block.Part{Heading: heading, Tables: []block.Table{t}}
}
