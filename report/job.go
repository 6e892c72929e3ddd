package report

import (
	"cmp"
	"html/template"
	"io"
	"slices"

	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/page"
	"jobeff/report/plot"
	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfJob writes all that is known of a job, the headline first. ScreenOfJob writes the first of it.
func TextOfJob(w io.Writer, v *view.Job, opts text.Options) error {
	p, s := text.NewPage(opts), v.Words()
	p.Headline(s.Headline)
	if s.Waits {
		p.Facts(s.Brief)
		p.Parts(queuePart(s.Pending.Long, p.Width))
		return p.To(w)
	}
	p.Block(s.Flagged)
	if len(s.Advice) > 0 {
		p.Facts(s.Advice)
		p.Parts(s.Options)
		p.Line("")
	}
	p.Facts(s.Facts)
	if len(s.Tree) > 0 {
		p.Tree(s.Tree, s.Shares)
	}
	p.Course(s.Course)
	p.Parts(s.Executions, s.Sections)
	p.Heat(s.HeatOf, s.Heats)
	p.Parts(s.Waiting.Short, s.Nodes.Short, s.Ranks, s.Calls.Short, s.Places, s.Sizes, s.Overlap, s.Steps)
	p.Line("")
	p.Facts(s.Data)
	p.Warnings(s.Warnings)
	lineTo(p, s.Line)
	return p.To(w)
}

// mostLines is how many lines a screen has.
const mostLines = 40

// room is how many lines parts of a screen may take.
type room struct{ headline, ask, fact, verdict, rest int }

// rooms are tried one after the other, until all fits.
var rooms = []room{{9, 4, 2, 5, 3}, {7, 3, 1, 3, 2}, {5, 2, 1, 1, 1}}

// ScreenOfJob writes what is first to be known of a job, in one screen of 80 columns and 40 lines.
func ScreenOfJob(w io.Writer, v *view.Job, opts text.Options) error {
	var p *text.Page
	for _, r := range rooms {
		p = text.NewPage(opts)
		if firstOf(p, v, r); p.Height() <= mostLines {
			break
		}
	}
	return p.To(w)
}

func firstOf(p *text.Page, v *view.Job, r room) {
	s := v.Words()
	p.HeadlineIn(s.Headline, r.headline)
	if s.Ask != nil {
		p.ParagraphIn(s.Ask.Text, r.ask)
		p.Command(s.Ask.Line)
		p.Line("")
	}
	p.FactsIn(s.Brief, r.fact)
	p.Parts(queuePart(s.Pending.Short, p.Width))
	if len(s.Tree) > 0 {
		p.Tree(s.Tree, nil)
	}
	if len(s.Ruled)+len(s.Told) > 0 {
		p.Line("")
	}
	p.FactsIn(s.Ruled, r.verdict)
	p.FactsIn(s.Told, r.fact)
	if s.Beyond != "" {
		p.Line("")
		p.ParagraphIn(s.Beyond, r.rest)
	}
}

// broad is the page width from which a table of what waits has all of its columns.
const broad = 120

// queuePart is a part of what waits, for a page of a width.
func queuePart(b block.Part, width int) block.Part {
	if width < broad {
		b.Tables = slices.Clone(b.Tables)
		for i := range b.Tables {
			b.Tables[i] = b.Tables[i].Without("Nodes", "Limit", "<=Expected")
		}
	}
	return b
}

// PageOfJob writes a job as a page of its own: first what a screen has; the rest is folded.
func PageOfJob(w io.Writer, v *view.Job, links page.Links) error {
	s := v.Words()
	p := &page.Job{ID: cmp.Or(s.ID, "by hand"), Name: s.Brief[0].Text, Verdict: s.Headline, Ask: s.Ask, Brief: s.Brief[1:], Pending: page.Parts(queuePart(s.Pending.Short, 0)),
		Tree: treeLines(s.Tree), ToldFirst: slices.Concat(s.Ruled, s.Told),
		Todo: s.Todo, Beside: beside(v, links), Told: s.FlaggedBy, Advice: s.Advice, Options: page.Parts(s.Options), Curves: pictures(s.Curves), Shares: s.Shares, Warnings: s.Warnings,
		Timeline: timeline(v), Steps: slices.Concat(s.Steps.Items, s.Steps.Notes), Programs: page.Parts(s.Executions, s.Sections), Balance: page.Parts(s.Nodes.Long, s.Ranks),
		MPI: page.Parts(s.Waiting.Long, s.Calls.Long, s.Places, s.Sizes, s.Overlap)}
	p.Frame = page.NewFrame(block.Joined(" ", "Job", s.ID, p.Name)+" – jobeff", links)
	if !s.Waits {
		p.Facts, p.Rules = slices.Concat(s.Facts[1:], s.Confidence, s.Data), s.Rules // the first one is the heading
	}
	if c := s.Course; len(c.Buckets) > 0 {
		p.CourseNote, p.CourseWords = "Parallel efficiency"+c.Which+"; each bar: "+c.Length+".", c.Words
		p.Course = plot.Course{Alt: p.CourseNote, Course: c}.Picture().HTML()
		p.CourseMap, p.CourseMapNote = drawn(&s.CourseMap, s.CourseMap.Alt)
	}
	p.Heat, p.HeatNote = drawn(&s.HeatMap, s.HeatMap.Alt)
	return page.Write(w, "job", p)
}

// drawn is a picture and what it says; nothing where it says nothing.
func drawn(picture interface{ Picture() *plot.Picture }, alt string) (template.HTML, string) {
	if alt == "" {
		return "", ""
	}
	return picture.Picture().HTML(), alt
}

func treeLines(branches []block.Branch) (all []page.TreeLine) {
	for _, b := range branches {
		all = append(all, page.TreeLine{Name: b.Name, Depth: b.Depth, Value: figure.Efficiency(b.Value), Below: b.Low(),
			Bar: page.Bar{To: b.Value, Bad: b.Low(), Line: true}, Meaning: b.Meaning})
	}
	return all
}

// timeline shows when the job, its steps and its programs ran; nil: that is not known.
func timeline(v *view.Job) *page.Table {
	if len(v.Words().Ran) == 0 {
		return nil
	}
	t := &page.Table{Caption: "When it ran", Heads: []page.Head{{Text: "what"}, {Text: "start to end of the job"}, {Text: "time", Number: true}}, Note: v.Words().RanNote}
	for _, r := range v.Words().Ran {
		row := []page.Cell{{Text: r.What, Head: true}, {Text: r.Unknown}, {Text: r.Time, Number: true}}
		if r.Unknown == "" {
			row[1].Bar = &page.Bar{From: r.From, To: r.To}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// beside are links to what a job leads to; none where its page has no address.
func beside(v *view.Job, links page.Links) (all []block.Action) {
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

// TextOfVerdicts writes how each rule decided on a job.
func TextOfVerdicts(w io.Writer, v *view.Job, opts text.Options) error {
	p := text.NewPage(opts)
	p.Paragraph("", "", v.Words().Outcomes, p.Title)
	if len(v.Words().Explained) > 0 {
		p.Line("")
		p.Facts(v.Words().Explained)
	}
	for _, t := range v.Words().Rules {
		p.Line("")
		c, shadow := p.Title, ""
		if t.Bad {
			c = p.Bad
		}
		if t.Shadow {
			shadow = " (in shadow: told to nobody)"
		}
		p.Line(c.Sprint(t.Rule+": "+t.Outcome) + shadow)
		for _, item := range []block.Fact{{Label: "asks", Text: t.Condition}, {Label: "because", Text: t.Reason}, {Label: "says", Text: t.Text}, {Label: "see", Text: t.Link},
			{Label: "advice", Text: t.Advice}, {Label: "but", Text: t.But}, {Label: "muted", Text: t.Muted}} {
			p.Field("  "+item.Label, item.Text)
		}
	}
	return p.To(w)
}
