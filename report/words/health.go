package words

import (
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/harm"
	"jobeff/report/figure"
)

// Remark says one thing of how jobeff itself does.
type Remark struct {
	Text string
	Bad  bool   // somebody should look
	Mend string // the command or the section that helps with a bad one
}

// Sections and commands that help.
const (
	mendHoles   = "jobeff admin coverage, and doc/ADMIN.md, section 11"
	mendNodes   = "jobeff admin doctor, there"
	mendSlow    = "jobeff admin doctor, there, and doc/ADMIN.md, section 11"
	mendMails   = "journalctl -u jobeffd, and doc/ADMIN.md, section 7"
	mendWarning = "doc/ADMIN.md, section 13: the warnings of these jobs"
)

// OfHealth says how well jobeff itself works, the same in a digest and on the page for admins.
func OfHealth(h *listing.Health, c *harm.Comparison) (all []Remark) {
	add := func(bad bool, mend, format string, args ...any) {
		all = append(all, Remark{fmt.Sprintf(format, args...), bad, mend})
	}
	measured, bad, holes := MeasuredText(h.Known)
	if measured != "" {
		add(bad, mendHoles, "%s", measured)
	}
	for _, hole := range holes {
		add(true, mendHoles, "%s", hole)
	}
	if cannot := CannotTell(c); cannot != "" {
		add(false, "", "%s", cannot)
	}
	if h.Partial > 0 {
		add(true, mendWarning, "%s with some ranks not recorded.", figure.Counted(h.Partial, "job"))
	}
	if h.NodesMissed > 0 {
		add(true, mendNodes, "%s of jobs did not report although others of the same job did.", figure.Counted(h.NodesMissed, "node"))
	}
	if h.PrologFailed > 0 {
		add(true, mendNodes, "%s ran where jobeff's part of a node's prolog failed or was too slow: slurmd's log on these nodes says which, and so does `jobeff admin doctor`.", figure.Counted(h.PrologFailed, "job"))
	}
	if h.Late > 0 {
		add(10*h.Late > h.Reports, mendNodes, "%s came later than %s after the job's end.", figure.Counted(h.Late, "report"), figure.Age(listing.LateAfter))
	}
	if len(h.Silent) > 0 {
		add(true, mendNodes, "No report came from these nodes, which reported in the four weeks before: %s.", firstNodes(h.Silent))
	}
	if text := slowText(h.SlowNodes); text != "" {
		add(true, mendSlow, "%s", text)
	}
	all = append(all, outboxes(h.Outboxes)...)
	if h.Unsent > 0 {
		add(true, mendMails, "%s could not be sent; jobeffd's log says why.", figure.Counted(h.Unsent, "mail"))
	}
	return all
}

// outboxes says which reports the nodes could not deliver.
func outboxes(boxes []listing.NodeOutbox) (all []Remark) {
	for _, trouble := range []struct {
		format string
		of     func(*listing.NodeOutbox) int
	}{
		{"%s refused by jobeffd for good, each kept with its reason in refused/ of its node's spool", func(b *listing.NodeOutbox) int { return b.Refused }},
		{"%s dropped, and their owners told, since a node's spool was full", func(b *listing.NodeOutbox) int { return b.Cut }},
		{"%s lost since a node's spool was full", func(b *listing.NodeOutbox) int { return b.Lost }},
	} {
		sum, nodes := 0, []string{}
		for i := range boxes {
			if n := trouble.of(&boxes[i]); n > 0 {
				sum += n
				nodes = append(nodes, fmt.Sprintf("%s (%s)", boxes[i].Node, figure.Count(n)))
			}
		}
		if sum > 0 {
			all = append(all, Remark{fmt.Sprintf(trouble.format, figure.Counted(sum, "report")) + ": " + firstNodes(nodes) + ".", true, mendNodes})
		}
	}
	var oldest time.Duration
	var nodes []string
	for _, b := range boxes {
		if b.Oldest >= listing.LateAfter {
			oldest = max(oldest, b.Oldest)
			nodes = append(nodes, b.Node)
		}
	}
	if len(nodes) > 0 {
		all = append(all, Remark{fmt.Sprintf("Reports wait to be sent on %s, the oldest for %s: %s.", figure.Counted(len(nodes), "node"), figure.Age(oldest), firstNodes(nodes)), oldest >= time.Hour, mendNodes})
	}
	return all
}

// nodesNamed bounds the nodes that a remark names.
const nodesNamed = 10

// firstNodes lists the first names.
func firstNodes(names []string) string {
	if more := len(names) - nodesNamed; more > 0 {
		return strings.Join(names[:nodesNamed], ", ") + " and " + figure.Count(more) + " more"
	}
	return strings.Join(names, ", ")
}
