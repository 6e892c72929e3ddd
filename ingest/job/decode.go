package job

import (
	"errors"
	"fmt"
	"reflect"
)

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
	if r.Version > ReportVersion && r.Sequence > 0 {
		return nil, ErrNewer
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	r.Executions = FoldWhole(r.Executions) // a made-up report may not
	return r, nil
}

// Validate refuses a report that does not say which job on which node it is of. It leaves out
// executions that cannot be, and cleans the rest in place: control, format and broken
// characters become '?', long text is cut, negative numbers become 0, and an end before its
// start becomes the start. Node and server both ask it, so the server takes what a node keeps.
func (r *NodeReport) Validate() error {
	switch {
	case r.Version != ReportVersion || r.Sequence < 1:
		return errors.New("the report is of another version of jobeff, from before its first release: delete it, or let a jobeffd of that version take it")
	case r.JobID == 0:
		return errors.New("the report has no job id")
	case !IsHex32(r.Nonce):
		return errors.New("the report's nonce is not 32 hex digits")
	case r.BootID != "" && !IsHex32(r.BootID):
		return errors.New("the report's boot id is not 32 hex digits")
	case !isName(r.Node, 255):
		return errors.New("the report has no valid node name")
	case !isName(r.Cluster, 64):
		return errors.New("the report has no valid cluster name")
	}
	if len(r.Steps) > maxSteps || len(r.Warnings) > maxNamed {
		return fmt.Errorf("the report has %d steps and %d warnings", len(r.Steps), len(r.Warnings))
	}
	r.DropImpossible()
	scrubReport(reflect.ValueOf(r).Elem())
	if r.NNodes > maxListed {
		return fmt.Errorf("the report's job has %d nodes", r.NNodes)
	}
	r.Start, r.End = cleanSpan(r.Start, r.End)
	if r.End.IsZero() {
		r.End = r.Start
	}
	exits := 0
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Start, s.End = cleanSpan(s.Start, s.End)
		if exits += len(s.Exits); exits > maxExits {
			s.Exits = nil
		}
	}
	for i := range r.Executions {
		r.Executions[i].Clean(r.Node)
	}
	return nil
}

// checkCounters removes impossible counters.
func (n *NodeShare) checkCounters() {
	if c := n.Counters; c != nil && (c.Ranks < 1 || c.Ranks > n.Ranks || c.Useful < 0) {
		n.Counters = nil
	}
}
