package report

import (
	"io"

	"jobeff/report/view"
)

// TextOfLive writes a running job: its last moment, and all of it so far.
func TextOfLive(w io.Writer, v *view.Live, opts Options) error {
	p, s := newTerminal(opts), &v.Words
	p.headline(s.Headline)
	p.facts(s.Facts)
	for _, quiet := range s.Quiet {
		p.paragraph("! ", "  ", quiet, nil)
	}
	if s.Heads != "" {
		p.line("")
		p.line(s.Heads)
	}
	if len(s.Tree) > 0 {
		p.tree(s.Tree, s.Shares)
	}
	p.parts(s.Parts...)
	return p.writeTo(w)
}

// TextOfPlaces writes where a job called MPI.
func TextOfPlaces(w io.Writer, v *view.Places, opts Options) error {
	p := newTerminal(opts)
	if v.Words.None != "" {
		p.line(v.Words.None)
	}
	p.parts(v.Words.Parts...)
	return p.writeTo(w)
}
