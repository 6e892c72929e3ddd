package job

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrNewer marks a report of a later version. The report is not wrong: keep it until the
// server is upgraded.
var ErrNewer = errors.New("the report is of a later version of jobeff: upgrade jobeffd first")

// DecodeReport reads one report's JSON. It refuses a report that identifies no job on a node,
// and makes the rest harmless: text printable, numbers not negative.
func DecodeReport(body []byte) (*NodeReport, error) {
	if len(body) > MaxReportBytes {
		return nil, ErrTooLarge
	}
	r := new(NodeReport)
	if err := unmarshalReport(body, r); err != nil {
		return nil, fmt.Errorf("the report is not JSON of the expected form: %s", CleanText(err.Error(), 200))
	}
	if r.Version > ReportVersion {
		return nil, ErrNewer
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// Validate refuses a report whose identity or size is impossible. It cleans the rest in place:
// control, format and broken characters become '?', long text is cut, negative numbers become
// 0, and an end before its start becomes the start.
func (r *NodeReport) Validate() error {
	switch {
	case r.Version < 1:
		return errors.New("the report has no version")
	case r.JobID == 0:
		return errors.New("the report has no job id")
	case !IsHex32(r.Nonce):
		return errors.New("the report's run is not 32 hex digits")
	case r.BootID != "" && !IsHex32(r.BootID):
		return errors.New("the report's boot id is not 32 hex digits")
	case !isName(r.Node, 255):
		return errors.New("the report has no valid node name")
	case !isName(r.Cluster, 64):
		return errors.New("the report has no valid cluster name")
	}
	if err := r.checkSizes(); err != nil {
		return err
	}
	scrubReport(reflect.ValueOf(r).Elem())
	if r.NNodes > maxListed {
		return fmt.Errorf("the report's job has %d nodes", r.NNodes)
	}
	r.Start, r.End = cleanSpan(r.Start, r.End)
	if r.End.IsZero() {
		r.End = r.Start
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Start, s.End = cleanSpan(s.Start, s.End)
	}
	for i := range r.Executions {
		r.Executions[i].Clean(r.Node)
	}
	return nil
}

// checkSizes bounds the lists before anything walks them.
func (r *NodeReport) checkSizes() error {
	if len(r.Executions) > maxExecutions || len(r.Steps) > maxSteps || len(r.Warnings) > maxListed {
		return fmt.Errorf("the report has %d executions, %d steps and %d warnings", len(r.Executions), len(r.Steps), len(r.Warnings))
	}
	for i := range r.Executions {
		x := &r.Executions[i]
		if x.Key == "" || len(x.Nodes) == 0 || len(x.Nodes) > maxSharesOfNode {
			return fmt.Errorf("execution %d of the report has no key, or does not have exactly one node", i)
		}
		if len(x.HistP2P) > maxHistogram || len(x.HistCol) > maxHistogram || len(x.Calls) > maxCalls || len(x.Classes) > maxCalls {
			return fmt.Errorf("execution %d of the report has a list that is too long", i)
		}
		if len(x.Args) > MostArgs {
			return fmt.Errorf("execution %d of the report has %d arguments", i, len(x.Args))
		}
		if len(x.Sections) > maxSections {
			return fmt.Errorf("execution %d of the report has %d sections", i, len(x.Sections))
		}
		for _, n := range x.Nodes {
			if err := n.checkRanks(); err != nil {
				return fmt.Errorf("execution %d of the report: %w", i, err)
			}
		}
	}
	return nil
}

// checkRanks bounds the length of the list of ranks.
func (n *NodeShare) checkRanks() error {
	if len(n.UsefulShare) > maxListed || len(n.MPIShare) > maxListed || len(n.RankIDs) > maxRankIDs {
		return errors.New("a list of ranks is too long")
	}
	count := 0
	err := EachRange(n.RankIDs, func(lo, hi int) {
		count += min(hi, maxRank+1) - min(lo, maxRank) + 1
		if hi > maxRank {
			count += maxListed
		}
	})
	if err == nil && count > maxListed {
		err = errors.New("rank_ids lists more ranks than a node has")
	}
	return err
}

// checkCounters removes impossible counters.
func (n *NodeShare) checkCounters() {
	if c := n.Counters; c != nil && (c.Ranks < 1 || c.Ranks > n.Ranks || c.Useful < 0) {
		n.Counters = nil
	}
}
