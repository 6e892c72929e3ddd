package words

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/inert"
)

// Job holds all words about a job. Fields are empty if they are not known, or do not apply to such a job.
type Job struct {
	ID       string // "" without Slurm
	Waits    bool   // nothing of it has begun
	Headline block.Headline
	Ask      *block.Action  // what to do first; nil: nothing
	Todo     []block.Action // what else
	Brief    block.Facts    // who ran what, where and when, and how it ended
	Pending  Cut            // what is waiting, if the job has not begun
	Tree     []block.Branch // POP's efficiencies
	Shares   []block.Fact   // figures under them
	Ruled    block.Facts    // verdicts of rules, without what the headline and the request say
	Told     block.Facts    // core-hours, doubts
	Beyond   string         // the command that shows the rest, and what that is

	Flagged    block.Facts   // verdicts of rules, without what the headline says
	Rules      []block.Told  // all verdicts
	FlaggedBy  []block.Told  // verdicts that say more than the headline
	Advice     block.Facts   // what the runs of its workload show about its core count
	Options    block.Part    // core counts to choose from
	Curves     []block.Curve // of its workload
	Beside     []Beside
	Facts      block.Facts // all of Brief, and more
	Confidence block.Facts // in the verdicts
	Data       block.Facts // how much was measured
	Warnings   []doubt.Doubt
	Line       block.Action // for sbatch

	Ran        []Ran
	RanNote    string
	Course     block.Course    // efficiency over time
	CourseMap  block.CourseMap // ranks or nodes over time
	HeatOf     string          // names the execution whose ranks and nodes Heats compares
	Heats      []block.Heat
	HeatMap    block.HeatMap
	Executions block.Part
	Sections   block.Part
	Waiting    Cut // why ranks wait
	Nodes      Cut
	Ranks      block.Part
	GPUs       block.Part // those that differ
	Calls      Cut
	Places     block.Part
	Sizes      block.Part
	Overlap    block.Part
	Steps      block.Part // steps that ended badly or were switched off

	Outcomes  string      // counts the verdicts
	Explained block.Facts // what the verdicts are based on
}

// Cut is a part in two lengths.
type Cut struct{ Short, Long block.Part }

// Beside is a job or a workload that a job leads to.
type Beside struct {
	Text, Line string
	Job, Below string // leads to the page of a job, or to a page below it
	Workload   string // or leads to the page of a workload, by its key
}

// OfJob words a job, with the study of its workload, the verdicts of the rules and its request. study and
// verdicts are nil if nobody asked for them. wide means that the reader sees characters outside ASCII.
func OfJob(found *listing.JobAndWorkload, study *workload.Study, verdicts []policy.Verdict, r *policy.Request, wide bool) Job {
	of := found.Job
	j, rules := inert.Copy(of, wide), inertVerdicts(verdicts, wide)
	w := Job{ID: j.DisplayID, Outcomes: fmt.Sprintf("Job %s: %s", j.DisplayID, outcomes(rules)), Rules: told(rules), Explained: explained(j, rules)}
	if of.OnlyWaits() {
		w.ofQueue(j.Pending, wide)
		return w
	}
	best := r.Best
	w.Headline = headline(j, best)
	w.Headline.Text = inert.Text(w.Headline.Text, wide)
	if ref, err := slurmid.Parse(of.DisplayID); err == nil && ref.Step == "" { // neither a step nor a job without Slurm
		first, others := todo(of, verdicts, r, wide)
		w.Ask, w.Todo = &first, others
	}
	w.Facts, w.Brief, w.Data, w.Steps, w.Warnings = jobFacts(j), briefFacts(j), dataFacts(j), stepsPart(j), doubt.All(warningsOf(j))
	w.GPUs = gpusPart(j)
	w.Told.Add("Core-hours", coreHours(j, verdicts))
	w.Told = append(w.Told, doubtFacts(j)...)
	w.Ran, w.RanNote = ran(j)
	w.ofRules(rules, best, j.IsRunning())
	if len(verdicts) > 0 {
		w.Confidence = block.Facts{confidenceFact(verdicts)}.Inert(wide)
	}
	if study != nil {
		w.Advice = placeFacts(study, of, best, block.Joined(" ", append(w.Flagged.Texts(), w.Headline.Text)...)).Inert(wide)
		w.Options = optionsPart(policy.Options(study, of), r)
		w.Curves = curvesOf(study)
	}
	if j.Metrics != nil {
		w.ofFigures(j)
	}
	w.Line = requestAction(r, wide)
	if !found.Step {
		w.Beside = beside(found, study, wide)
	}
	if rest := w.beyond(len(policy.Flags(verdicts)) > 0, study != nil); len(rest) > 0 {
		w.Beyond = FullForm(w.ID) + ": " + strings.Join(rest, ", ")
	}
	return w
}

// ofRules fills in the words of the verdicts. best is the advice, nil for none. The verdicts are inert. runs
// means that the job is running.
func (w *Job) ofRules(verdicts []policy.Verdict, best *workload.Recommendation, runs bool) {
	w.Ruled.Add("Verdict", ruledText(verdicts, w.Headline.Text, best))
	w.Flagged = flaggedFacts(verdicts, w.Headline.Text, runs)
	w.FlaggedBy = slices.DeleteFunc(told(flagged(verdicts, w.Headline.Text)), func(t block.Told) bool { return t.Text == "" && t.Link == "" })
}

// ofFigures fills in the words of the figures of a job with data. The job is inert.
func (w *Job) ofFigures(j *job.Job) {
	if !j.NeverMet() {
		w.Tree, w.Shares = branches(j), sharesOf(j)
	}
	if w.Course = course(j); len(w.Course.Buckets) > 0 {
		w.CourseMap = courseMap(j)
	}
	w.HeatOf, w.Heats = heats(j)
	w.HeatMap = heat(j)
	w.Executions, w.Sections, w.Ranks, w.Places, w.Sizes, w.Overlap = executionsPart(j), sectionsPart(j), ranksPart(j), placesPart(j), sizesPart(j), overlapPart(j)
	w.Waiting, w.Nodes, w.Calls = Cut{waitsPart(j), waitsOnPage(j)}, Cut{nodesPart(j, costly), nodesPart(j, listed)}, Cut{callsPart(j, costly), callsPart(j, listed)}
}

// beyond names the parts of a job that its first screen does not show.
func (w *Job) beyond(flagged, studied bool) (all []string) {
	for _, one := range []struct {
		name  string
		there bool
	}{
		{"texts of rules", flagged}, {"its workload", studied}, {"core counts", w.Options.Heading != ""},
		{"memory", slices.ContainsFunc(w.Facts, func(f block.Fact) bool { return f.Label == "Memory" })},
		{"course", len(w.Course.Buckets) > 0}, {"ranks by node", len(w.Heats) > 0}, {"programs", w.Executions.Heading != ""}, {"sections", w.Sections.Heading != ""},
		{"waits", w.Waiting.Short.Heading != ""}, {"nodes", w.Nodes.Short.Heading != ""}, {"busiest ranks", w.Ranks.Heading != ""}, {"GPUs", w.GPUs.Heading != ""}, {"calls", w.Calls.Short.Heading != ""},
		{"places", w.Places.Heading != ""}, {"sizes", w.Sizes.Heading != ""}, {"overlap", w.Overlap.Heading != ""}, {"steps", w.Steps.Heading != ""},
		{"warnings", len(w.Warnings) > 0},
	} {
		if one.there {
			all = append(all, one.name)
		}
	}
	return all
}

// FullForm returns the command that shows all of a job. Without an id, it returns the option that shows all of
// a record.
func FullForm(id string) string {
	if id == "" {
		return "--full"
	}
	return "jobeff --full " + id
}
