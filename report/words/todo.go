package words

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
)

// TryText says what to change, and gives the line for it; study may be nil.
func TryText(t *notice.Try, study *workload.Study) (text, line string) {
	switch {
	case t.Advice != nil:
		return strings.TrimSpace(fmt.Sprintf("Instead of %s: %s. %s", figure.Counted(t.Cores, "core"), betterText(t.Advice), t.Advice.Asks)), shell.Sbatch(int(t.Advice.Cores.Value), study)
	case t.CPUs > 0:
		text = fmt.Sprintf("Give each of its %s %s of its own.", figure.Counted(t.Ranks, "rank"), figure.Counted(t.CPUs, "CPU"))
		if t.Line != "" {
			return text, t.Line
		}
		return text, shell.CPUs(t.Ranks, t.CPUs)
	case t.One:
		return fmt.Sprintf("Give each of its %s one CPU: the others had hardly anything to do.", figure.Counted(t.Ranks, "rank")), shell.CPUs(t.Ranks, 1)
	case t.Launch:
		return fmt.Sprintf("Start its %s together: each of them did the whole work alone.", figure.Counted(t.Ranks, "rank")), shell.Srun(t.MPI)
	}
	return fmt.Sprintf("Ask for %s only: no rank ran on the others, and Slurm saw them idle.", figure.Counted(t.Nodes, "node")), shell.Nodes(t.Nodes, t.Ranks)
}

// todo is what a job's owner can do, each with a line to copy: first what is known to be better, else, and while it runs, what tells
// more. Study and verdicts may be nil. wide: its reader sees characters outside ASCII.
func todo(j *job.Job, study *workload.Study, verdicts []policy.Verdict, wide bool) (all []block.Action) {
	add := func(text, line string) {
		if line != "" && !slices.ContainsFunc(all, func(a block.Action) bool { return a.Line == line }) {
			all = append(all, block.Action{Text: inert.Text(text, wide), Line: inert.Text(line, wide)})
		}
	}
	for i := range verdicts {
		if t := notice.TryOf(j, &verdicts[i], study); t != nil && !verdicts[i].Shadow {
			text, line := TryText(t, study)
			if t.Advice != nil { // the first words and the advice say what it would have done
				text = askText(t.Advice, " instead of "+figure.Count(t.Cores))
			}
			add(text, line)
		}
	}
	if best := policy.Recommend(study, j); best != nil {
		add(askText(best, ""), shell.Sbatch(int(best.Cores.Value), study))
	}
	if l, name := policy.LineFor(study, j); l.Why == "" {
		add(lineAsk+lineText(l), shell.Line(l, name))
	}
	if _, err := slurmid.Parse(j.DisplayID); err == nil && (len(all) == 0 || j.IsRunning()) {
		add(tellsMore(j, study, verdicts))
	}
	return all
}

// askText says which core count to ask for, what it saves, and what else it needs.
func askText(r *workload.Recommendation, instead string) string {
	text := "Ask for " + figure.Counted(int(r.Cores.Value), "core") + instead
	if saved := savedHours(r); saved != "" {
		text += ", which would have saved " + saved
	}
	return strings.TrimSpace(text + ". " + r.Asks)
}

// tellsMore is what tells more of a job for which nothing better is known.
func tellsMore(j *job.Job, study *workload.Study, verdicts []policy.Verdict) (text, line string) {
	wrong := len(policy.Flags(verdicts)) > 0 || j.Metrics != nil && j.Metrics.Parallel < figure.Line || policy.CauseOf(j).Code != ""
	placed := job.PlacedExecution(j.Executions) != nil
	id := j.DisplayID
	switch {
	case j.IsRunning() && j.Unconfirmed:
		return "If it still runs, its figures now, and again every ten seconds:", "jobeff live " + id
	case j.IsRunning():
		return "It runs. Its figures now, and again every ten seconds:", "jobeff live " + id
	case wrong && placed:
		return "No line is known that would do better. Where in its program it waits in MPI:", "jobeff where " + id
	case wrong:
		return "No line is known that would do better. What each rule says of it, and why:", "jobeff explain " + id
	}
	return "Nothing that is known of it asks for a change. What each rule says of it:", "jobeff explain " + id
}

// beside leads to the runs of a job's workload before and after it, and to comparisons.
func beside(found *listing.JobAndWorkload, study *workload.Study, wide bool) (all []Beside) {
	for _, one := range []struct {
		what string
		run  *job.Run
	}{{"The run before", found.Before}, {"The run after", found.After}} {
		if one.run != nil {
			all = append(all, Beside{Text: one.what, Line: fmt.Sprintf("job %s of %s, %s, %s", one.run.DisplayID, figure.Minute(one.run.Start),
				figure.Counted(one.run.Cores(), "core"), figure.Seconds(one.run.Elapsed)), Job: one.run.DisplayID})
		}
	}
	if found.Before != nil {
		all = append(all, Beside{Text: "Compare with", Line: "the run before", Job: found.Before.DisplayID, Below: "/compare/" + found.DisplayID})
	}
	if study != nil {
		all = append(all, Beside{Text: "Compare with", Line: "its earlier runs, the one of median time", Job: found.DisplayID, Below: "/compare"},
			Beside{Text: "All runs", Line: "workload " + inert.Text(study.Workload.Name, wide), Workload: study.Workload.Key})
	}
	return all
}
