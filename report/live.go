package report

import (
	"io"

	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfLive writes a job that runs: what it did in the last moment beside all of it so far.
func TextOfLive(w io.Writer, v *view.Live, opts text.Options) error {
	p, s := text.NewPage(opts), &v.Words
	p.Headline(s.Headline)
	p.Facts(s.Facts)
	for _, quiet := range s.Quiet {
		p.Paragraph("! ", "  ", quiet, nil)
	}
	if s.Heads != "" {
		p.Line("")
		p.Line(s.Heads)
	}
	if len(s.Tree) > 0 {
		p.Tree(s.Tree, s.Shares)
	}
	p.Parts(s.Parts...)
	return p.To(w)
}

// TextOfPlaces writes where a job called MPI.
func TextOfPlaces(w io.Writer, v *view.Places, opts text.Options) error {
	p := text.NewPage(opts)
	if v.Words.None != "" {
		p.Line(v.Words.None)
	}
	p.Parts(v.Words.Parts...)
	return p.To(w)
}
