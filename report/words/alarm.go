package words

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"jobeff/policy/harm"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// alarmWords say what happened to too many measured jobs.
var alarmWords = map[string]string{
	harm.AlarmCrashed:  "crashed (FAILED with SIGSEGV or its like)",
	harm.AlarmFailed:   "failed (FAILED, but no crash)",
	harm.AlarmMemory:   "ran out of memory",
	harm.AlarmTimeout:  "reached their time limit",
	harm.AlarmNodeFail: "lost a node (NODE_FAIL)",
	harm.AlarmSlower:   "took longer than the same work before",
}

// OfAlarms says which alarms are up, or that they were ended. Without alarms it uses c to say what would have
// been noticed by now.
func OfAlarms(up []harm.Alarm, c *harm.Comparison, ended bool) (b block.Part) {
	for i := range up {
		b.Notes = append(b.Notes, "ALARM: "+AlarmText(&up[i], time.Local))
	}
	switch {
	case len(up) == 0:
		b.Notes = append(b.Notes, "no alarm is up", cmp.Or(CannotTell(c), comparisonText(c)))
	case !ended:
		b.Notes = append(b.Notes, AlarmHelp)
	}
	if ended {
		b.Notes = append(b.Notes, "No alarm is up now. Jobs that end from now on are compared. Nodes learn of it with the reports that they send.")
	}
	return b
}

// cannotWords say why no harm would be noticed, and what to do.
var cannotWords = map[string]string{
	harm.NoneMeasured: "no job is measured. [measure] enabled and share in jobeff.toml decide that",
	harm.AllMeasured:  "all jobs are measured: there are no others to compare with. measure.share = 0.9 leaves a tenth of the jobs alone",
	harm.FewUsers:     fmt.Sprintf("jobs of fewer than %d users have ended since the comparison began", harm.AlarmUsers),
	harm.FewJobs:      "too few jobs have ended since the comparison began: chance alone could do as much as one crash in ten measured jobs. It compares on",

	harm.FewAlike:   fmt.Sprintf("fewer than %d measured jobs, or fewer than %[1]d others, completed whose user, name, partition, CPUs and nodes are the same", harm.LeastAlike),
	harm.OtherShare: "jobs that the share leaves alone have figures: nodes measure another share than this jobeffd knows, or did in that time ([measure] share in jobeff.toml)",
}

// CannotTell says why a harm by jobeff would not be noticed; "": it would be, or nothing is known yet.
func CannotTell(c *harm.Comparison) string {
	if c == nil || cannotWords[c.Cannot] == "" {
		return ""
	}
	return cannotTell("jobeff harms jobs", c.Cannot)
}

func cannotTell(whether, cannot string) string {
	return "Whether " + whether + ": cannot tell, because " + cannotWords[cannot] + "."
}

// comparisonText says which harm would have been noticed by now.
func comparisonText(c *harm.Comparison) string {
	if c == nil {
		return "jobeffd has compared nothing yet: it does a minute after its start."
	}
	return fmt.Sprintf("Compared were %s and %s that jobeff left alone, of %s. If jobeff crashed 1 in %s of the measured ones and nothing else crashed, an alarm would be likely up by now.",
		figure.Counted(c.Measured, "measured job"), figure.Count(c.Others), figure.Counted(c.Users, "user"), figure.Count(c.OneIn))
}

// AlarmText says what was counted, and that this proves no cause.
func AlarmText(a *harm.Alarm, zone *time.Location) string {
	others := "of %s jobs that jobeff left alone in that time, %s did. Chance alone raises an alarm in at most one of twenty years."
	if a.Before {
		others = "of %s jobs in the worst week before, %s did. A week a quarter worse than that has a chance of 1 %% at most to raise this alarm; what else has changed since is not known."
	}
	said := fmt.Sprintf("From %s to %s, %s of %s measured jobs %s; "+others+" That jobeff is the cause is not proven. Without any one user it would be the same.",
		a.From.In(zone).Format("2 January 2006 15:04"), a.At.In(zone).Format("2 January 15:04"), figure.Count(a.MeasuredBad), figure.Count(a.Measured), alarmWords[a.Kind],
		figure.Count(a.Others), figure.Count(a.OthersBad))
	var ids []string
	for _, id := range a.Jobs {
		ids = append(ids, fmt.Sprint(id))
	}
	return said + " The newest of them: " + strings.Join(ids, ", ") + "."
}

// AlarmHelp says what operators can do.
const AlarmHelp = "Look at these jobs, and at what else changed. With stop_on_harm = true under [measure], nodes have stopped measuring new jobs, each since it sent a report. " +
	"Without it they go on: enabled = false, or touch /etc/jobeff/off on a node, stops them. To end the alarm and compare anew: jobeff admin alarm --go-on"
