package words

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/slow"
	"jobeff/report/inert"
)

// TestSlowNodes: what is said of slow nodes, and where nothing may be said. A node that is not named is never called fast.
func TestSlowNodes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	node := func(name string, slower, low, high float64) slow.Slow {
		return slow.Slow{Machine: slow.Machine{Cluster: "c", Node: name}, Slower: slower, Low: low, High: high, Since: time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), Jobs: 34, Users: 5, Days: 20}
	}
	look := func(ago time.Duration, observed int, nodes ...slow.Slow) *listing.SlowNodes {
		return &listing.SlowNodes{At: now.Add(-ago), Observed: observed, Nodes: nodes}
	}
	n17, far := node("n17", 1.051, 1.038, 1.0613), node("n18", 1.0449, 1.021, 1.121)
	other := node("n17", 2.345, 1.86, 3.001)
	other.Cluster, other.Jobs, other.Users, other.Since = "d", 1, 1, now.AddDate(-1, 0, 0)
	for name, c := range map[string]struct {
		look         *listing.SlowNodes
		remark, fact string
	}{
		"no look":                {nil, "", "whether nodes are slow: cannot tell, because none was compared yet: jobeffd does so once a day"},
		"nothing observed":       {look(time.Hour, 0), "", "whether nodes are slow: cannot tell, because no job of the last year shows how fast one is (2026-11-20 08:30, UTC)"},
		"nothing observed, long": {look(72*time.Hour, 0), "", "whether nodes are slow: cannot tell, because no job of the last year shows how fast one is (2026-11-17 09:30, UTC)"},
		"none":                   {look(time.Hour, 240), "", "none was found slow of 240 nodes whose jobs show how fast they computed there (2026-11-20 08:30, UTC)"},
		"none, two days":         {look(48*time.Hour, 1), "", "none was found slow of 1 node whose jobs show how fast they computed there (2026-11-18 09:30, UTC)"},
		"none, old": {look(48*time.Hour+time.Minute, 240), "",
			"whether nodes are slow: cannot tell, because they were last compared on 2026-11-18 09:29, UTC: jobeffd does so once a day"},
		"one": {look(time.Hour, 240, n17),
			"As of 20 November 2026, compared with alike jobs elsewhere, jobs computed 5.1 % longer on n17 (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026).", ""},
		"one, old": {look(72*time.Hour, 240, n17),
			"As of 17 November 2026, compared with alike jobs elsewhere, jobs computed 5.1 % longer on n17 (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026).",
			"whether nodes are slow: cannot tell, because they were last compared on 2026-11-17 09:30, UTC: jobeffd does so once a day"},
		"three": {look(time.Hour, 240, n17, far, n17),
			"As of 20 November 2026, compared with alike jobs elsewhere, jobs computed 5.1 % longer on n17 (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026); " +
				"4 % longer on n18 (2 to 13 %; 34 jobs of 5 users since 3 October 2026); 5.1 % longer on n17 (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026).", ""},
		"four": {look(time.Hour, 240, n17, n17, n17, far),
			"As of 20 November 2026, compared with alike jobs elsewhere, jobs computed " + strings.Repeat("5.1 % longer on n17 (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026); ", 3) +
				"longer on 1 more node, too: jobeff admin status --json.", ""},
		"two clusters": {look(time.Hour, 240, n17, other),
			"As of 20 November 2026, compared with alike jobs elsewhere, jobs computed 5.1 % longer on n17 of cluster c (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026); " +
				"2.3 times as long on n17 of cluster d (1.8 to 3.1 times; 1 job of 1 user since 20 November 2025).", ""},
		"a name with control characters": {look(time.Hour, 240, node("n\x1b[2J\n17", 1.051, 1.038, 1.062)),
			`As of 20 November 2026, compared with alike jobs elsewhere, jobs computed 5.1 % longer on n\x1b[2J\x0a17 (3.8 to 6.2 %; 34 jobs of 5 users since 3 October 2026).`, ""},
	} {
		s := OfStatus(&listing.Status{At: now, Read: now, Health: listing.Health{SlowNodes: c.look}}, true)
		remark, fact := "", ""
		for _, h := range s.Hands {
			remark += h.Text
			if h.Mend != "jobeff admin doctor, there, and doc/ADMIN.md, section 11" {
				t.Errorf("%s: %+v", name, h)
			}
		}
		for _, f := range s.Parts[len(s.Parts)-1].Facts {
			if f.Label == "speed" {
				fact += f.Text
			}
		}
		if remark != c.remark || fact != c.fact {
			t.Errorf("%s:\n%s\n%s, want\n%s\n%s", name, remark, fact, c.remark, c.fact)
		}
		inDigest := fmt.Sprint(OfHealth(inert.Copy(&listing.Health{SlowNodes: c.look}, true), nil))
		if got := strings.Contains(inDigest, "jobs computed"); got != (c.remark != "") || !strings.Contains(inDigest, c.remark) {
			t.Errorf("%s: a digest says %s", name, inDigest)
		}
	}
}

// TestSlowInList: slow nodes stand behind those in trouble, each with its figure. Without any, nothing is said of speed.
func TestSlowInList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	nodes := make([]listing.Node, 4)
	for i := range nodes {
		nodes[i].Node, nodes[i].Heard = fmt.Sprint("n", i), now.Add(time.Duration(i-5)*time.Hour)
	}
	nodes[3].Lost, nodes[3].Said = 1, now
	look := &listing.SlowNodes{At: now, Observed: 4, Nodes: []slow.Slow{{Machine: slow.Machine{Node: "n2"}, Slower: 1.05, Low: 1.04, High: 1.07}, {Machine: slow.Machine{Node: "gone"}, Slower: 2, Low: 1.8, High: 2.2}}}
	l := OfNodes(listing.JobQuery{Limit: 50}, nodes, look, now)
	var got []string
	for _, row := range l.Table.Rows {
		got = append(got, row[0]+" "+row[len(row)-1])
	}
	if want := "n3 -, n2 5.0 % longer (4.0 to 7.0 %), n0 -, n1 -"; strings.Join(got, ", ") != want || !strings.Contains(l.Table.Note, "as of 20 November 2026; -: not found to be longer.") || !strings.Contains(l.Span, "found slow") {
		t.Errorf("%q, want %q: %s %s", got, want, l.Span, l.Table.Note)
	}
	for _, none := range []*listing.SlowNodes{nil, {At: now, Observed: 4}} {
		l := OfNodes(listing.JobQuery{Limit: 50}, nodes, none, now)
		if said := fmt.Sprint(l); strings.Contains(said, "slow") || strings.Contains(said, "computed") || len(l.Table.Heads) != 8 || l.Table.Rows[1][0] != "n0" {
			t.Errorf("%+v", l)
		}
	}
}
