package report

import (
	"io"

	"jobeff/report/view"
)

// TextOfComparison writes why one run took longer than another.
func TextOfComparison(w io.Writer, v *view.Comparison, opts Options) error {
	p := newTerminal(opts)
	p.headline(v.Words.Headline)
	p.facts(v.Words.Facts)
	p.parts(v.Words.Parts...)
	return p.writeTo(w)
}

// PageOfComparison writes a page on why one run took longer than another.
func PageOfComparison(w io.Writer, v *view.Comparison, links Links) error {
	c := &v.Words
	return writePage(w, "compare", &comparePage{frame: newFrame(c.Title+" – jobeff", links),
		Before: cell{Text: c.Before, Link: links.Job(c.Before)}, After: cell{Text: c.After, Link: links.Job(c.After)},
		Verdict: c.Headline, Facts: c.Facts, Parts: partsOf(c.Parts...)})
}
