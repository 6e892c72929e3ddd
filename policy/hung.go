package policy

import (
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// A text names at most mostGroups groups of ranks, and the nodes and processes of a group of at
// most mostOdd ranks.
const (
	mostGroups = 4
	mostOdd    = 3
)

// HungText says since when nothing of a running job has moved, what its ranks are in, and how to see where in
// its program; "": it is not known to hang.
func HungText(j *job.Job) string {
	h := j.Hung
	if h == nil {
		return ""
	}
	text := fmt.Sprintf("It seems to hang: nothing of it has moved since %s, as of %s.", figure.Minute(h.Since), figure.Minute(h.AsOf)) + groupsText(h, now)
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

// stoodText is HungText for a job that has ended. Whether it moved between its nodes' last report and its end
// is not known.
func stoodText(h *hang.Hung) string {
	return fmt.Sprintf("It seemed to hang: from %s to %s, when its nodes last told of it before its end, nothing of it moved.", figure.Minute(h.Since), figure.Minute(h.AsOf)) + groupsText(h, then)
}

// tense holds the verbs for what ranks do: for one rank, and for several.
type tense struct{ is, are, has, have string }

var now, then = tense{"is", "are", "has", "have"}, tense{"was", "were", "had", "had"}

// groupsText says which ranks are in which call, a sentence for each.
func groupsText(h *hang.Hung, t tense) (text string) {
	for i := range h.Calls[:min(len(h.Calls), mostGroups)] {
		text += " " + callsText(&h.Calls[i], t)
	}
	if more := len(h.Calls) - mostGroups; more > 0 {
		text += fmt.Sprintf(" Others %s in %s.", t.are, figure.Counted(more, "further call"))
	}
	return text
}

// callsText says which ranks are in which call. If they are few, it names their nodes and, while the job runs,
// processes.
func callsText(c *hang.OpenCalls, t tense) string {
	who, verb, have := "ranks "+c.Ranks, t.are, t.have
	switch {
	case c.Count == 1:
		who, verb, have = "rank "+c.Ranks, t.is, t.has
	case c.Count == c.Size:
		who = "all " + figure.Counted(c.Count, "rank")
	case c.Count > mostOdd:
		who = figure.Count(c.Count) + " of " + figure.Counted(c.Size, "rank")
	}
	if c.Ranks == "" || c.Size == 0 { // it is not known which ranks they are before MPI_Init ends
		who = figure.Counted(c.Count, "rank")
	}
	if c.Function == hang.RankEnded {
		return sentence(who + " " + have + " ended")
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
		place := r.Node
		if t == now {
			place += fmt.Sprintf(" pid %d", r.PID)
		}
		places = append(places, place+states[r.State])
	}
	if len(places) == 0 {
		return sentence(text)
	}
	return sentence(text + " (" + strings.Join(places, ", ") + ")")
}

// states words the kernel's letters that are worth a word.
var states = map[string]string{"S": ", asleep", "D": ", waiting for a device or a file system"}
