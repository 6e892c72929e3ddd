package words

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/slow"
	"jobeff/report/figure"
)

// slowNamed bounds the slow nodes that a remark names.
const slowNamed = 3

// slowText says on which nodes jobs computed longer, as the last look found; "": on none.
func slowText(s *listing.SlowNodes) string {
	if s == nil || len(s.Nodes) == 0 {
		return ""
	}
	several := slices.ContainsFunc(s.Nodes, func(n slow.Slow) bool { return n.Cluster != s.Nodes[0].Cluster })
	var named []string
	for i := range s.Nodes[:min(len(s.Nodes), slowNamed)] {
		n := &s.Nodes[i]
		name := n.Node
		if several {
			name += " of cluster " + n.Cluster
		}
		longer, between := slowBy(n)
		named = append(named, fmt.Sprintf("%s on %s (%s; %s of %s since %s)", longer, name, between, figure.Counted(n.Jobs, "job"), figure.Counted(n.Users, "user"), dayText(n.Since)))
	}
	text := fmt.Sprintf("As of %s, compared with alike jobs elsewhere, jobs computed %s", dayText(s.At), strings.Join(named, "; "))
	if more := len(s.Nodes) - len(named); more > 0 {
		text += "; longer on " + figure.Counted(more, "more node") + ", too: jobeff admin status --json"
	}
	return text + "."
}

// slowBy writes by how much a node is slower, and the interval.
func slowBy(n *slow.Slow) (longer, between string) {
	return figure.LongerBetween(n.Slower-1, n.Low-1, n.High-1)
}

// slowCell is slowBy in a table; nil: the node was not found slow.
func slowCell(n *slow.Slow) string {
	if n == nil {
		return "-"
	}
	longer, between := slowBy(n)
	return longer + " (" + between + ")"
}

func dayText(t time.Time) string { return t.UTC().Format("2 January 2006") }

// notSlowText says what is known where slowText names no node, or that the look is old; "": there is nothing to add.
func notSlowText(s *listing.SlowNodes, now time.Time) string {
	because := ""
	switch {
	case s == nil:
		because = "none was compared yet: jobeffd does so once a day"
	case s.Observed == 0:
		because = "no job of the last year shows how fast one is (" + utcMinute(s.At) + ", UTC)"
	case s.Old(now):
		because = "they were last compared on " + utcMinute(s.At) + ", UTC: jobeffd does so once a day"
	case len(s.Nodes) == 0:
		return fmt.Sprintf("none was found slow of %s whose jobs show how fast they computed there (%s, UTC)", figure.Counted(s.Observed, "node"), utcMinute(s.At))
	}
	if because != "" {
		return "whether nodes are slow: cannot tell, because " + because
	}
	return ""
}
