package policy

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// waiting says whether ranks wait for each other's work or for messages (METRICS 1). It is empty
// where the intervals overlap: then it is not known which figure is the lower one.
func waiting(w *job.Windows) Cause {
	if !w.Determined() {
		return Cause{}
	}
	s, t := w.Serialisation, w.Transfer
	switch {
	case s.High < t.Low:
		return Cause{CauseSerialisation, fmt.Sprintf("Most of the time lost in MPI is waiting for other ranks' work (serialisation efficiency %s, transfer efficiency %s).%s",
			figure.Efficiency(s.Value), figure.Efficiency(t.Value), through(w.Path)), "See whether the work can be ordered or distributed so that fewer ranks wait."}
	case t.High < s.Low:
		return Cause{CauseTransfer, fmt.Sprintf("Most of the time lost in MPI is the transfer of messages (transfer efficiency %s, serialisation efficiency %s).",
			figure.Efficiency(t.Value), figure.Efficiency(s.Value)), "Fewer and larger messages may help, or computing while they travel."}
	}
	return Cause{}
}

// through names the ranks in whose chain most of the waiting is.
func through(p *job.WaitPath) string {
	if p == nil || p.Inside*p.ChainShare < 0.5 || len(p.Chain) < 2 {
		return ""
	}
	return fmt.Sprintf(" Most of the waits are in a chain through ranks %s.", p.ChainText())
}
