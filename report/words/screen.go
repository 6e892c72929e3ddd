package words

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/text"
)

// screen is what of a job is seen first, in a text and on its page: what happened and why, one request to
// copy, who ran what, POP's tree, where the core-hours went, and what jobeff could not tell. screenOf
// alone decides what it holds. A text cuts what has no room, a page nothing.
type screen struct {
	headline block.Headline
	ask      *block.Action // nil: there is none
	facts    block.Facts
	tree     []block.Branch
	verdict  block.Facts  // what the rules say
	told     block.Facts  // core-hours, doubts
	parts    []block.Part // further lines of a job that waits
	id       string       // "" of a job without Slurm
	rest     []string     // what there is beyond it
}

// reader is who looks: whether they see characters outside ASCII, and how wide a text is; a page's is broad.
type reader struct {
	wide  bool
	width int
}

// ofPage is who reads a page.
var ofPage = reader{true, broad - 1}

// Screen writes what is first to be known of a job, in one screen of 80 columns and 40 lines. Study and verdicts
// are nil if they were not asked for.
func Screen(w io.Writer, of *job.Job, study *workload.Study, verdicts []policy.Verdict, opts text.Options) error {
	p := text.NewPage(opts)
	s := screenOf(of, study, verdicts, reader{p.Unicode, p.Width})
	for i, room := range rooms {
		p = text.NewPage(opts)
		if s.write(p, room); i == len(rooms)-1 || p.Height() <= mostLines {
			break
		}
	}
	return p.To(w)
}

// mostLines is how many lines a screen has.
const mostLines = 40

// room is how many lines parts of a screen may take.
type room struct{ headline, ask, fact, verdict, rest int }

// rooms are tried one after the other, until all fits.
var rooms = []room{{9, 4, 2, 5, 3}, {7, 3, 1, 3, 2}, {5, 2, 1, 1, 1}}

func (s *screen) write(p *text.Page, r room) {
	p.HeadlineIn(s.headline, r.headline)
	if s.ask != nil {
		p.ParagraphIn(s.ask.Text, r.ask)
		p.Command(s.ask.Line)
		p.Line("")
	}
	p.FactsIn(s.facts, r.fact)
	p.Parts(s.parts...)
	if len(s.tree) > 0 {
		p.Tree(s.tree, nil)
	}
	if len(s.verdict)+len(s.told) > 0 {
		p.Line("")
	}
	p.FactsIn(s.verdict, r.verdict)
	p.FactsIn(s.told, r.fact)
	if len(s.rest) > 0 {
		p.Line("")
		p.ParagraphIn(s.fullForm()+": "+strings.Join(s.rest, ", "), r.rest)
	}
}

// fullForm is how to see all of it; who printed a record adds the option.
func (s *screen) fullForm() string {
	if s.id == "" {
		return "--full"
	}
	return "jobeff --full " + s.id
}

// screenOf decides what of a job is seen first.
func screenOf(of *job.Job, study *workload.Study, verdicts []policy.Verdict, r reader) *screen {
	j := inert.Copy(of, r.wide)
	if of.OnlyWaits() {
		return pendingScreen(j.Pending, r)
	}
	best := policy.Recommend(study, of)
	s := &screen{headline: headline(j, best), facts: briefFacts(j), id: j.DisplayID, rest: beyond(j, study, verdicts)}
	s.headline.Text = inert.Text(s.headline.Text, r.wide)
	if ref, err := slurmid.Parse(of.DisplayID); err == nil && ref.Step == "" { // else it is a step, or there is no Slurm
		s.ask = first(todo(of, study, verdicts, r.wide))
	}
	if j.Metrics != nil && !measure.Singletons(j) {
		s.tree = branches(j)
	}
	s.verdict.Add("Verdict", ruledText(inertVerdicts(verdicts, r.wide), s.headline.Text, best))
	s.told.Add("Core-hours", coreHours(j, verdicts))
	s.told = append(s.told, doubtFacts(j)...)
	return s
}

func first(all []block.Action) *block.Action {
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// pendingScreen is that of a job of which nothing has begun.
func pendingScreen(list *slurmid.PendingList, r reader) *screen {
	s := &screen{headline: pendingHeadline(list), facts: pendingFacts(list), id: list.Jobs[0].ID}
	if array := list.Jobs[0].ArrayJobID; array > 0 { // a list of tasks may be too long for a command
		s.id = fmt.Sprint(array)
	}
	if part := pendingPart(list, mostPendingFirst, r.wide, r.width); part.Heading != "" {
		s.parts = []block.Part{part}
	}
	if len(list.Jobs) > mostPendingFirst {
		s.rest = []string{"further lines"}
	}
	return s
}

// mostPendingFirst is how many lines of a job that waits stand on the first screen.
const mostPendingFirst = 10

// briefFacts say who ran what, where and when, and how it ended.
func briefFacts(j *job.Job) block.Facts {
	f := block.Facts(slices.DeleteFunc(jobFacts(j), func(f block.Fact) bool { return !slices.Contains(briefLabels, f.Label) }))
	f.Add("Program", block.Joined(", ", distinct(j.Executions, func(e job.Execution) string { return e.Executable }), distinct(j.Executions, mpiText)))
	return f
}

// briefLabels are those of the facts that are seen first.
var briefLabels = []string{"Job", "User", "State", "Waits", "Time", "Size"}

// coreHours says what the job used and lost: of one that runs so far, once a rule flags it.
func coreHours(j *job.Job, verdicts []policy.Verdict) string {
	if all := flagged(verdicts, ""); j.IsRunning() && len(all) > 0 && all[0].Hours.Used != nil {
		return hoursText(all[0].Hours)
	}
	return coreHoursText(j)
}

// ruledText names the rules that flag a job, with what their texts tell beyond what was said: the headline has the efficiency
// and its cause, the request the core count. The verdicts are inert.
func ruledText(verdicts []policy.Verdict, said string, best *workload.Recommendation) string {
	var all []string
	var muted string
	for _, v := range flagged(verdicts, said) {
		muted = mutedText(v.Muted)
		var news []string
		for s := range strings.SplitSeq(strings.TrimSuffix(v.Text, "."), ". ") {
			if s != "" && !strings.HasSuffix(s, " was computing") && (best == nil || !strings.Contains(s, " longer on ") && !strings.HasPrefix(s, "Ask for ")) {
				news = append(news, s+".")
			}
		}
		all = append(all, block.Joined(": ", v.Rule, strings.Join(news, " ")))
	}
	return block.Joined(" ", strings.Join(all, "; "), of("-- muted", muted)) // a workload is muted, not a rule
}

// mostDoubts is how many lines tell of doubts. Of those that have no room, the last names the codes.
const mostDoubts = 4

// poorlyCovered: figures that speak of less than this part of the allocated core time are said to.
const poorlyCovered = 0.8

// doubtFacts are what jobeff could not tell, in short words: first what casts doubt on the efficiency.
func doubtFacts(j *job.Job) (f block.Facts) {
	warnings := measure.Warnings(j)
	slices.SortStableFunc(warnings, func(a, b doubt.Warning) int { return cmp.Compare(weight(a), weight(b)) })
	all := missing(j, warnings)
	for i, d := range doubt.All(warnings) {
		if len(all) == mostDoubts-1 && i < len(warnings)-1 {
			all = append(all, "and "+figure.Count(len(warnings)-i)+" more: "+codes(warnings[i:]))
			break
		}
		all = append(all, d.Short())
	}
	for i, s := range all {
		f.Add([]string{"Doubts", ""}[min(i, 1)], s)
	}
	return f
}

// missing says what the figures do not speak of, where no warning does.
func missing(j *job.Job, warnings []doubt.Warning) (all []string) {
	if j.Metrics == nil || measure.ByHand(j) {
		return nil
	}
	if j.Reports < j.Nodes && !slices.ContainsFunc(warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnNodesMissing }) {
		all = append(all, doubt.Reported(j.Reports, j.Nodes))
	}
	if j.Covered != nil && *j.Covered < poorlyCovered {
		all = append(all, fmt.Sprintf("the figures cover %s of the allocated core time", figure.Percent(*j.Covered)))
	}
	return all
}

func codes(warnings []doubt.Warning) string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Code)
	}
	return strings.Join(all, ", ")
}

// weight orders warnings: those first that change what the figures mean.
func weight(w doubt.Warning) int {
	if policy.CastsDoubt(w.Code) {
		return 0
	}
	return 1
}

// beyond names what there is of a job that the first screen does not hold.
func beyond(j *job.Job, study *workload.Study, verdicts []policy.Verdict) (all []string) {
	add := func(name string, there bool) {
		if there {
			all = append(all, name)
		}
	}
	add("texts of rules", len(flagged(verdicts, "")) > 0)
	add("its workload", study != nil)
	add("core counts", study != nil && len(policy.Options(study, j)) > 0)
	add("memory", memoryText(j) != "")
	if j.Metrics != nil {
		_, heat := heats(j)
		add("course", len(course(j).Buckets) > 0)
		add("ranks by node", len(heat) > 0)
		for _, one := range []struct {
			name string
			part block.Part
		}{{"programs", executionsPart(j)}, {"sections", sectionsPart(j)}, {"waits", waitsPart(j)}, {"nodes", nodesPart(j, costly)}, {"busiest ranks", ranksPart(j)}, {"calls", callsPart(j, costly)},
			{"places", placesPart(j)}, {"sizes", sizesPart(j)}, {"overlap", overlapPart(j)}} {
			add(one.name, one.part.Heading != "")
		}
	}
	add("steps", stepsPart(j).Heading != "")
	add("warnings", len(measure.Warnings(j)) > 0)
	return all
}
