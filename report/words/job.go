package words

import (
	"io"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/text"
)

// Job writes all that is known of one job, the headline first, with the study of its workload and the
// verdicts of the rules. Both are nil if they were not asked for. Screen writes the first of it.
func Job(w io.Writer, of *job.Job, study *workload.Study, verdicts []policy.Verdict, opts text.Options) error {
	if of.OnlyWaits() {
		return pendingJob(w, of, opts)
	}
	p := text.NewPage(opts)
	j := inert.Copy(of, p.Unicode)
	best := policy.Recommend(study, of)
	first := headline(j, best)
	p.Headline(first)
	told := flaggedFacts(inertVerdicts(verdicts, p.Unicode), first.Text, j.IsRunning())
	p.Block(told)
	if study != nil {
		p.Facts(placeFacts(study, of, best, block.Joined(" ", append(told.Texts(), first.Text)...)).Inert(p.Unicode))
		p.Parts(optionsPart(policy.Options(study, of)))
		p.Line("")
	}
	p.Facts(jobFacts(j))
	if j.Metrics != nil {
		if !measure.Singletons(j) {
			p.Tree(branches(j), sharesOf(j))
		}
		p.Course(course(j))
		p.Parts(executionsPart(j), sectionsPart(j))
		p.Heat(heats(j))
		p.Parts(waitsPart(j), nodesPart(j, costly), ranksPart(j), callsPart(j, costly), placesPart(j), sizesPart(j), overlapPart(j))
	}
	p.Parts(stepsPart(j))
	p.Line("")
	p.Facts(dataFacts(j))
	p.Warnings(doubt.All(measure.Warnings(j)))
	l, name := policy.LineFor(study, of)
	writeLine(p, l, name)
	return p.To(w)
}
