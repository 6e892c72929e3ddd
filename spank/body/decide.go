package main

import (
	"fmt"
	"slices"

	"jobeff/etc"
)

// asked is what a decision depends on besides the configuration.
type asked struct {
	killed    bool  // etc.KillSwitch is there
	configErr error // the configuration cannot be read
	optedOut  bool  // --jobeff=off
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
	case len(m.Partitions) > 0 && !slices.Contains(m.Partitions, a.partition):
		return fmt.Sprintf("off the site does not measure partition %s (measure.partitions)", clean(a.partition))
	case slices.Contains(m.ExcludePartitions, a.partition):
		return fmt.Sprintf("off the site does not measure partition %s (measure.exclude_partitions)", clean(a.partition))
	case draw(a.jobID) >= m.Share:
		return fmt.Sprintf("off not among the jobs that the site measures, %g %% of all (measure.share)", m.Share*100)
	}
	return "on"
}

// draw maps job ids evenly to [0, 1). It gives the same number on every node of a job
// (splitmix64).
func draw(jobID uint32) float64 {
	z := uint64(jobID) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}
