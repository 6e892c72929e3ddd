// Package report turns what is known of jobs into what people and programs read:
// text for a terminal and the JSON document. It is pure: data in, text out; it
// asks nobody and knows no clock. Before it in the flow stand ingest, which
// measures and folds, and policy, which judges; after it only the programs in cmd.
//
// Everything that a user can name (jobs, programs, nodes) is hostile text: each
// entry point makes it inert with Inert before anything else sees it.
package report

import (
	"io"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
)

// Options say what the reader of a text can see. The zero value is plain text of
// 80 columns in ASCII, which any reader can.
type Options struct {
	Width   int  // columns; 0 means 80, more than 120 is not used
	Color   bool // ANSI colours, never the only carrier of a meaning
	Unicode bool // characters outside ASCII
	Plain   bool // bars in ASCII even where Unicode could be shown
}

const (
	minWidth = 80
	maxWidth = 120
)

// Job writes what is known of one job, the verdict first; study is that of its
// workload and verdicts are what the rules say of it, nil where they were not asked.
func Job(w io.Writer, job *job.Job, study *workload.Study, verdicts []policy.Verdict, opts Options) error {
	p := newPage(opts)
	j := Inert(job, p.unicode)
	p.headline(headline(j, leading(study, job)))
	p.block(flaggedFacts(inertVerdicts(verdicts, p.unicode)))
	if study != nil {
		p.block(placeFacts(study, job).inert(p.unicode))
	}
	p.facts(jobFacts(j))
	if j.Metrics != nil {
		if !singletons(j) {
			p.tree(branches(j), sharesOf(j))
		}
		p.parts(executionsPart(j), sectionsPart(j))
		p.balance(j)
		p.parts(nodesPart(j), ranksPart(j), callsPart(j), sizesPart(j))
	}
	p.parts(stepsPart(j))
	p.line("")
	p.facts(dataFacts(j))
	p.warnings(j)
	_, err := p.out.WriteTo(w)
	return err
}
