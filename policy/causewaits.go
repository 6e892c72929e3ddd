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
		mend := "Fewer and larger messages may help, or computing while they travel."
		if w.Talking == 0 {
			mend = "Fewer and larger collectives may help: the sampled part of the run has no other messages."
		}
		return Cause{CauseTransfer, fmt.Sprintf("Most of the time lost in MPI is data transfer and MPI itself (transfer efficiency %s, serialisation efficiency %s).",
			figure.Efficiency(t.Value), figure.Efficiency(s.Value)), mend}
	}
	return Cause{}
}

// most is the share from which on one of several is told as the cause.
const most = 0.5

// through tells which ranks wait, and in which call, where most of the waiting is there.
func through(p *job.WaitPath) string {
	switch {
	case p == nil:
		return ""
	case p.Varies():
		return " Another rank has the most work each time."
	case p.Inside*p.ChainShare < most || len(p.Chain) < 2:
		return ""
	}
	text := fmt.Sprintf(" Most of it is %s", p.Who())
	if len(p.Calls) > 0 && p.Calls[0].Share >= most {
		text += ", in " + p.Calls[0].Call
	}
	return text + "."
}
