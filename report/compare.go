package report

import (
	"io"

	"jobeff/report/page"
	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfComparison writes why one run took longer than another.
func TextOfComparison(w io.Writer, v *view.Comparison, opts text.Options) error {
	p := text.NewPage(opts)
	p.Headline(v.Words.Headline)
	p.Facts(v.Words.Facts)
	p.Parts(v.Words.Parts...)
	return p.To(w)
}

// PageOfComparison writes the same as a page of its own.
func PageOfComparison(w io.Writer, v *view.Comparison, links page.Links) error {
	c := &v.Words
	return page.Write(w, "compare", &page.Compare{Frame: page.NewFrame(c.Title+" – jobeff", links),
		Before: page.Cell{Text: c.Before, Link: links.Job(c.Before)}, After: page.Cell{Text: c.After, Link: links.Job(c.After)},
		Verdict: c.Headline, Facts: c.Facts, Parts: page.Parts(c.Parts...)})
}
