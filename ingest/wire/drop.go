package wire

import (
	"cmp"
	"slices"

	json "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// checkLists bounds the lists of a node's part of an execution.
func checkLists(x *job.Execution) error {
	if x.Key == "" || len(x.Nodes) == 0 || len(x.Nodes) > maxSharesOfNode || max(len(x.HistP2P), len(x.HistCol)) > maxHistogram ||
		max(len(x.Calls), len(x.Classes)) > maxCalls || len(x.Args) > MostArgs || len(x.Sections) > maxSections ||
		max(len(x.Endings), len(x.Warnings)) > maxNamed || len(x.Steps) > maxSteps {
		return job.ErrLists
	}
	return nil
}

// DropImpossible leaves out a report's impossible executions: users write the records that they come
// from. The rest of the report stays, since root's program made it.
func DropImpossible(r *job.NodeReport) {
	if len(r.Executions) > job.MostExecutions {
		refuse(r, job.ErrMany, len(r.Executions)-job.MostExecutions)
		r.Executions = r.Executions[:job.MostExecutions]
	}
	r.Executions = slices.DeleteFunc(r.Executions, func(x job.Execution) bool {
		err := cmp.Or(checkLists(&x), x.Check())
		if err != nil {
			refuse(r, err, 1)
		}
		return err != nil
	})
}

// ReportText is a report as JSON. Its executions are left out if it would be larger than the server
// takes.
func ReportText(r *job.NodeReport) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil || len(text) <= MaxReportBytes {
		return text, err
	}
	small := *r
	small.Executions = nil
	refuse(&small, job.ErrBytes, len(r.Executions))
	return json.Marshal(&small)
}

// refuse warns that n executions were left out.
func refuse(r *job.NodeReport, why error, n int) {
	r.Warnings = doubt.MergeWarnings(r.Warnings, []doubt.Warning{{Code: doubt.WarnImpossible, Args: doubt.Arguments{Other: why.Error()}, Count: n}})
}
