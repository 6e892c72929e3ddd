package report

import (
	"io"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
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
		p.heat(heats(j))
		p.parts(nodesPart(j), ranksPart(j), callsPart(j), sizesPart(j))
	}
	p.parts(stepsPart(j))
	p.line("")
	p.facts(dataFacts(j))
	p.warnings(allWarnings(j))
	return p.to(w)
}
