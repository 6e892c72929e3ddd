package words

import (
	"fmt"
	"path"

	"jobeff/ingest/listing"
	"jobeff/policy/harm"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// OfCost words what jobeff costs a site. wide: its reader sees characters outside ASCII.
func OfCost(cost *listing.Cost, wide bool) Answer {
	c := inert.Copy(cost, wide)
	a := Answer{Headline: SlowdownText(&c.Times), Parts: []block.Part{{Facts: comparedFacts(&c.Times)}}, Notes: costNotes(c)}
	if c.Cluster != "" {
		a.Headline = "On cluster " + c.Cluster + ": " + a.Headline
	}
	if len(a.Parts[0].Facts) == 0 {
		a.Parts = nil
	}
	if len(c.Busiest) > 0 {
		a.Parts = append(a.Parts, block.Part{Heading: "Runs that call MPI most often", Tables: []block.Table{busiestTable(c.Busiest)}, Notes: []string{
			fmt.Sprintf("Their calls x %s, what the median call took longer on the machine of doc/COSTS.md (the dearest: %s). It is an estimate. Looked at was the newest run of each workload, of %s.",
				nanoseconds(listing.CallSeconds), nanoseconds(listing.DearestSeconds), figure.Counted(c.Looked, "workload"))}})
	}
	a.Parts = append(a.Parts, block.Part{Heading: "What else it takes", Facts: spentFacts(c)})
	return a
}

func nanoseconds(s float64) string { return figure.Number(1e9*s) + " ns" }

// SlowdownText says in one sentence how much longer measured jobs took, or why that is not known.
func SlowdownText(s *harm.Slowdown) string {
	if s.Time == nil {
		return cannotTell("measured jobs take longer", s.Cannot)
	}
	text := fmt.Sprintf("Measured jobs took %s more time than others of the same work (%s)", figure.Between(*s.TimeLow, *s.TimeHigh), figure.Percent(s.Level))
	switch {
	case *s.TimeLow > 0:
		return text + ": measuring most likely slows them down."
	case *s.TimeHigh < 0:
		return text + ": they were faster."
	}
	return text + ": no difference is sure."
}

// comparedFacts say what was compared, and what a better answer needs.
func comparedFacts(s *harm.Slowdown) (facts block.Facts) {
	if s.Measured+s.Others == 0 {
		return nil
	}
	facts.Add("compared", fmt.Sprintf("%s and %s, in %s of %s", figure.Counted(s.Measured, "measured job"), figure.Counted(s.Others, "other"), figure.Counted(s.Works, "work"), figure.Counted(s.Users, "user")))
	if s.Figures < s.Measured {
		facts.Add("", fmt.Sprintf("%s of the measured ones have figures; in the rest jobeff did less, so the interval is too near to 0", figure.Count(s.Figures)))
	}
	aim := figure.Small(harm.Aim)
	switch {
	case s.Needed == 0:
	case s.Needed <= s.Measured+s.Others:
		facts.Add("precise", "to "+aim+" either way, or better")
	default:
		facts.Add("precise", fmt.Sprintf("to %s either way with about %s in the same mix", aim, figure.Counted(s.Needed, "job")))
	}
	return facts
}

func busiestTable(runs []listing.BusyRun) block.Table {
	t := block.Table{Heads: []string{"<=Job", "<Program", "Ranks", "Calls/s of a rank", "of its time"}}
	for _, r := range runs {
		t.Rows = append(t.Rows, []string{r.Job, path.Base(r.Program), figure.Count(r.Ranks), figure.Number(r.Rate), figure.Small(r.Part)})
	}
	return t
}

// spentFacts say what reports, records and jobeff's own processes take.
func spentFacts(c *listing.Cost) (facts block.Facts) {
	reports := "none"
	if c.Reports > 0 {
		reports = fmt.Sprintf("%s a day", figure.Number(float64(c.Reports)/c.Days()))
	}
	if c.Kept > 0 {
		reports += fmt.Sprintf(", %s each in the mean, %s the largest, as they travel and are kept", figure.Bytes(uint64(c.Bytes/c.Kept)), figure.Bytes(uint64(c.Largest)))
	}
	facts.Add("reports", reports)
	records := fmt.Sprintf("%s of memory on each node, and %s for each rank, without windows", figure.Bytes(listing.RecordHead), figure.Bytes(listing.RecordRank))
	most := 0
	for _, r := range c.Busiest {
		most = max(most, r.OnNode)
	}
	if most > 0 {
		records += fmt.Sprintf(": %s for the %s that one of these runs had on a node", figure.Bytes(listing.RecordBytes(most)), figure.Counted(most, "rank"))
	}
	facts.Add("records", records)
	if c.Reports > 0 {
		facts.Add("nodes", fmt.Sprintf("about %s of CPU time a day on all nodes, at the %s of a prolog and an epilog in doc/COSTS.md", figure.Seconds(c.NodesCPU()), figure.Number(1e3*listing.NodeSeconds)+" ms"))
	}
	facts.Add("sender", "not known: no node tells what sending takes")
	daemon := "not known"
	if d := c.Daemon; d != nil {
		daemon = fmt.Sprintf("%s of CPU time since it began %s ago", figure.Seconds(d.CPU), figure.Age(figure.Duration(d.Up)))
		if day := d.PerDay(); day != nil {
			daemon += fmt.Sprintf(": %s a day", figure.Seconds(*day))
		}
	}
	facts.Add("jobeffd", daemon)
	return facts
}

func costNotes(c *listing.Cost) []string {
	notes := []string{fmt.Sprintf("Of jobs that ended from %s to %s, UTC.", utcMinute(c.From), utcMinute(c.To))}
	if c.Times.Time != nil {
		notes = append(notes, "A work is what one user runs under one name in one partition, on as many CPUs and nodes. The id of a job decides whether it is measured, so but for chance these jobs differ in nothing else (doc/METRICS.md, section 7).")
	}
	if c.Times.Full {
		notes = append(notes, "Only the first "+figure.Count(harm.MostTimes)+" jobs were compared. Ask for a shorter time.")
	}
	return notes
}
