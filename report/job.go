package report

import (
	"cmp"
	"html/template"
	"io"
	"slices"

	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/view"
)

// TextOfJob writes all that is known of a job, the headline first. ScreenOfJob writes its beginning.
func TextOfJob(w io.Writer, v *view.Job, opts Options) error {
	p, s := newTerminal(opts), v.Words()
	p.headline(s.Headline)
	if s.Waits {
		p.facts(s.Brief)
		p.parts(queuePart(s.Pending.Long, p.Width))
		return p.writeTo(w)
	}
	p.block(s.Flagged)
	if len(s.Advice) > 0 {
		p.facts(s.Advice)
		p.parts(s.Options)
		p.line("")
	}
	p.facts(s.Facts)
	if len(s.Tree) > 0 {
		p.tree(s.Tree, s.Shares)
	}
	p.course(s.Course)
	p.parts(s.Executions, s.Sections)
	p.heat(s.HeatOf, s.Heats)
	p.parts(s.Waiting.Short, s.Nodes.Short, s.Ranks, s.GPUs, s.Calls.Short, s.Places, s.Sizes, s.Overlap, s.Steps)
	p.line("")
	p.facts(s.Data)
	p.warnings(s.Warnings)
	lineTo(p, s.Line)
	return p.writeTo(w)
}

// mostLines is the number of lines of a screen.
const mostLines = 40

// room bounds the lines of the parts of a screen.
type room struct{ headline, ask, fact, verdict, rest int }

// ScreenOfJob tries rooms one after the other until all fits.
var rooms = []room{{9, 4, 2, 5, 3}, {7, 3, 1, 3, 2}, {5, 2, 1, 1, 1}}

// ScreenOfJob writes the most important facts about a job, in one screen of 80 columns and 40 lines.
func ScreenOfJob(w io.Writer, v *view.Job, opts Options) error {
	var p *terminal
	for _, r := range rooms {
		p = newTerminal(opts)
		if firstOf(p, v, r); p.height() <= mostLines {
			break
		}
	}
	return p.writeTo(w)
}

func firstOf(p *terminal, v *view.Job, r room) {
	s := v.Words()
	p.headlineIn(s.Headline, r.headline)
	if s.Ask != nil {
		p.action(*s.Ask, r.ask)
	}
	p.factsIn(s.Brief, r.fact)
	p.parts(queuePart(s.Pending.Short, p.Width))
	if len(s.Tree) > 0 {
		p.tree(s.Tree, nil)
	}
	if len(s.Ruled)+len(s.Told) > 0 {
		p.line("")
	}
	p.factsIn(s.Ruled, r.verdict)
	p.factsIn(s.Told, r.fact)
	if s.Beyond != "" {
		p.line("")
		p.paragraphIn(s.Beyond, r.rest)
	}
}

// broad is the page width from which a table of waiting jobs has all of its columns.
const broad = 120

// queuePart fits a part about waiting jobs to a page's width.
func queuePart(b block.Part, width int) block.Part {
	if width < broad {
		b.Tables = slices.Clone(b.Tables)
		for i := range b.Tables {
			b.Tables[i] = b.Tables[i].Without("Nodes", "Limit", "<=Expected")
		}
	}
	return b
}

// PageOfJob writes a page on a job: first the contents of a screen; the rest is folded.
func PageOfJob(w io.Writer, v *view.Job, links Links) error {
	s := v.Words()
	p := &jobPage{ID: cmp.Or(s.ID, "by hand"), Name: s.Brief[0].Text, Verdict: s.Headline, Ask: s.Ask, Brief: s.Brief[1:], Pending: partsOf(queuePart(s.Pending.Short, 0)),
		Tree: treeLines(s.Tree), ToldFirst: slices.Concat(s.Ruled, s.Told),
		Todo: s.Todo, Beside: beside(v, links), Told: s.FlaggedBy, Advice: s.Advice, Options: partsOf(s.Options), Curves: pictures(s.Curves), Shares: s.Shares, Warnings: s.Warnings,
		Timeline: timeline(v), Steps: slices.Concat(s.Steps.Items, s.Steps.Notes), Programs: partsOf(s.Executions, s.Sections), Balance: partsOf(s.Nodes.Long, s.Ranks, s.GPUs),
		MPI: partsOf(s.Waiting.Long, s.Calls.Long, s.Places, s.Sizes, s.Overlap)}
	p.frame = newFrame(block.Joined(" ", "Job", s.ID, p.Name)+" – jobeff", links)
	if !s.Waits {
		p.Facts, p.Rules = slices.Concat(s.Facts[1:], s.Confidence, s.Data), s.Rules // the first one is the heading
	}
	if c := s.Course; len(c.Buckets) > 0 {
		p.CourseNote, p.CourseWords = "Parallel efficiency"+c.Which+"; each bar: "+c.Length+".", c.Words
		p.Course = block.CoursePlot{Alt: p.CourseNote, Course: c}.Picture().HTML()
		p.CourseMap, p.CourseMapNote = drawn(&s.CourseMap, s.CourseMap.Alt)
	}
	p.Heat, p.HeatNote = drawn(&s.HeatMap, s.HeatMap.Alt)
	return writePage(w, "job", p)
}

// drawn returns a picture and its text; nothing if the text is empty.
func drawn(picture interface{ Picture() *block.Picture }, alt string) (template.HTML, string) {
	if alt == "" {
		return "", ""
	}
	return picture.Picture().HTML(), alt
}

func treeLines(branches []block.Branch) (all []treeLine) {
	for _, b := range branches {
		all = append(all, treeLine{Name: b.Name, Depth: b.Depth, Value: figure.Efficiency(b.Value), Below: b.Low(),
			Bar: bar{To: b.Value, Bad: b.Low(), Line: true}, Meaning: b.Meaning})
	}
	return all
}

// timeline shows when the job, its steps and its programs ran; nil: not known.
func timeline(v *view.Job) *table {
	if len(v.Words().Ran) == 0 {
		return nil
	}
	t := &table{Caption: "When it ran", Heads: []head{{Text: "what"}, {Text: "start to end of the job"}, {Text: "time", Number: true}}, Note: v.Words().RanNote}
	for _, r := range v.Words().Ran {
		row := []cell{{Text: r.What, Head: true}, {Text: r.Unknown}, {Text: r.Time, Number: true}}
		if r.Unknown == "" {
			row[1].Bar = &bar{From: r.From, To: r.To}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// beside returns links from a job to related pages; none if its own page has no address.
func beside(v *view.Job, links Links) (all []block.Action) {
	if links.Job(v.ID) == "" {
		return nil
	}
	for _, b := range v.Words().Beside {
		link := links.Workloads + b.Workload
		if b.Job != "" {
			link = links.Job(b.Job) + b.Below
		}
		all = append(all, block.Action{Text: b.Text, Line: b.Line, Link: link})
	}
	return all
}

// TextOfVerdicts writes each rule's verdict on a job.
func TextOfVerdicts(w io.Writer, v *view.Job, opts Options) error {
	p := newTerminal(opts)
	p.paragraph("", "", v.Words().Outcomes, p.Title)
	if len(v.Words().Explained) > 0 {
		p.line("")
		p.facts(v.Words().Explained)
	}
	for _, t := range v.Words().Rules {
		p.line("")
		c, shadow := p.Title, ""
		if t.Bad {
			c = p.Bad
		}
		if t.Shadow {
			shadow = " (in shadow: told to nobody)"
		}
		p.line(c.Sprint(t.Rule+": "+t.Outcome) + shadow)
		for _, item := range []block.Fact{{Label: "asks", Text: t.Condition}, {Label: "because", Text: t.Reason}, {Label: "says", Text: t.Text}, {Label: "see", Text: t.Link},
			{Label: "advice", Text: t.Advice}, {Label: "but", Text: t.But}, {Label: "muted", Text: t.Muted}} {
			p.field("  "+item.Label, item.Text)
		}
	}
	return p.writeTo(w)
}
