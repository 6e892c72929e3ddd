package words

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// todo returns what a job's owner can do first: the request. While the job runs, or if the request does not
// help against what is wrong, it is the command that shows more. The request is then among the others.
func todo(j *job.Job, verdicts []policy.Verdict, r *policy.Request, wide bool) (first block.Action, others []block.Action) {
	request := requestAction(r, wide)
	beside := isWrong(j, verdicts) && r.Leave() || waits(j) && r.Kind == policy.AskAsItRan && len(r.More) == 0
	if request.Line != "" && !j.IsRunning() && !beside {
		return request, nil
	}
	if request.Line != "" {
		others = []block.Action{request}
	}
	said := r.Said()
	if request.Line != "" && !r.Leave() { // the request says it
		said = ""
	}
	text, line := tellsMore(j, verdicts, said)
	return block.Action{Text: inert.Text(text, wide), Line: inert.Text(line, wide)}, others
}

// belowLine reports whether a job is known to be less efficient than POP recommends.
func belowLine(j *job.Job) bool { return j.Metrics != nil && j.Metrics.Parallel < figure.Line }

// isWrong reports whether something is known to be wrong with a job.
func isWrong(j *job.Job, verdicts []policy.Verdict) bool {
	return len(policy.Flags(verdicts)) > 0 || belowLine(j) || policy.CauseOf(j).Code != ""
}

// waits reports whether the ranks of a job lost so much in MPI that the places of these losses come first.
func waits(j *job.Job) bool {
	return belowLine(j) && job.PlacedExecution(j.Executions) != nil
}

// tellsMore returns the command that shows more about a job, after what is said of its request.
func tellsMore(j *job.Job, verdicts []policy.Verdict, said string) (text, line string) {
	wrong := isWrong(j, verdicts)
	placed := job.PlacedExecution(j.Executions) != nil
	id := j.DisplayID
	switch {
	case j.IsRunning() && j.Unconfirmed:
		return "If it still runs, its figures now, and again every ten seconds:", "jobeff live " + id
	case j.IsRunning():
		return "It runs. Its figures now, and again every ten seconds:", "jobeff live " + id
	case wrong && placed:
		return join(said, "Where in its program it waits in MPI:"), "jobeff where " + id
	case wrong:
		return join(said, "What each rule says of it, and why:"), "jobeff explain " + id
	}
	return join(said, "What each rule says of it:"), "jobeff explain " + id
}

// beside links to the runs of a job's workload before and after it, and to comparisons.
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
