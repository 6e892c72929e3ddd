package main

import (
	"fmt"

	"jobeff/etc"
)

// asked is what a decision depends on besides the configuration.
type asked struct {
	killed    bool  // etc.KillSwitch is there
	configErr error // the configuration cannot be read
	optedOut  bool  // --jobeff=off
	alarm     bool  // jobeffd warned this node that measured jobs end worse
	jobID     uint32
	partition string // "": not known
}

// decide returns the line of the job's `decision` file: "on", or "off" and the reason, which
// the job's user will read.
func decide(m etc.Measure, a asked) string {
	switch {
	case a.killed:
		return "off switched off on this node (" + etc.KillSwitch + ")"
	case a.configErr != nil:
		return "off " + clean(a.configErr.Error())
	case a.optedOut:
		return "off asked by the job (--jobeff=off)"
	case !m.Enabled:
		return "off the site measures no jobs at present (measure.enabled)"
	case m.StopOnHarm && a.alarm:
		return "off the site stopped measuring, as measured jobs may end worse (measure.stop_on_harm)"
	case !m.Covers(a.partition):
		return fmt.Sprintf("off the site does not measure partition %s (measure.partitions, measure.exclude_partitions)", clean(a.partition))
	case !m.Draws(a.jobID):
		return fmt.Sprintf("off not among the jobs that the site measures, %g %% of all (measure.share)", m.Share*100)
	}
	return "on"
}
