package policy

import (
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// Most groups of ranks, and most of the odd ones out, that a text names.
const (
	mostGroups = 4
	mostOdd    = 3
)

// HungText says since when nothing of a job that runs has moved, what its ranks are in, and how to see where in
// its program; "" for a job that is not known to hang.
func HungText(j *job.Job) string {
	h := j.Hung
	if h == nil {
		return ""
	}
	text := fmt.Sprintf("It seems to hang: nothing of it has moved since %s, as of %s.", figure.Minute(h.Since), figure.Minute(h.AsOf))
	for i := range h.Calls[:min(len(h.Calls), mostGroups)] {
		text += " " + callsText(&h.Calls[i])
	}
	if more := len(h.Calls) - mostGroups; more > 0 {
		text += fmt.Sprintf(" Others are in %s.", figure.Counted(more, "further call"))
	}
	for _, c := range append(h.OddCalls(), h.Calls...) {
		if c.Function == hang.RankEnded || len(c.Some) == 0 {
			continue
		}
		r, which := c.Some[0], "a rank"
		if c.Ranks != "" {
			which = fmt.Sprintf("rank %d", r.Rank)
		}
		return text + fmt.Sprintf(" Where %s is: srun --jobid=%d --overlap -w %s gdb -p %d -batch -ex 'thread apply all bt'", which, j.JobID, r.Node, r.PID)
	}
	return text
}

// callsText says which ranks are in what, with node and process where they are few.
func callsText(c *hang.OpenCalls) string {
	who, verb := "ranks "+c.Ranks, "are"
	switch {
	case c.Count == 1:
		who, verb = "rank "+c.Ranks, "is"
	case c.Count == c.Size:
		who = "all " + figure.Counted(c.Count, "rank")
	case c.Count > mostOdd:
		who = figure.Count(c.Count) + " of " + figure.Counted(c.Size, "rank")
	}
	if c.Ranks == "" || c.Size == 0 { // MPI_Init has not told who they are
		who = figure.Counted(c.Count, "rank")
	}
	if c.Function == hang.RankEnded {
		return sentence(who + " " + map[string]string{"is": "has", "are": "have"}[verb] + " ended")
	}
	where := c.Function
	if where != hang.OutsideMPI {
		where = "in " + where
	}
	text := who + " " + verb + " " + where
	if !c.Since.IsZero() {
		text += " since " + c.Since.Local().Format(time.TimeOnly)
	}
	if c.Count > mostOdd {
		return sentence(text)
	}
	var places []string
	for _, r := range c.Some {
		places = append(places, fmt.Sprintf("%s pid %d%s", r.Node, r.PID, states[r.State]))
	}
	if len(places) == 0 {
		return sentence(text)
	}
	return sentence(text + " (" + strings.Join(places, ", ") + ")")
}

// states are what the kernel's letters mean, where that says something.
var states = map[string]string{"S": ", asleep", "D": ", waiting for a device or a file system"}
