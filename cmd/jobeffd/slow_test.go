package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/listing"
	"jobeff/policy/rule"
	"jobeff/policy/slow"
)

// TestSlowNode: jobs of two users run on five nodes, and compute 15 % longer on one of them. A day's look names that node and no
// other, once. A restart, other rules and another jobeffd change nothing of that. Once the node is as fast as others,
// a later look says so.
func TestSlowNode(t *testing.T) {
	c := newMadeCluster(t, "")
	rules, err := rule.Compile(c.cfg.Rules)
	must(t, err)
	now, id := situationsNow, uint32(1000)
	judgeAll := func() {
		t.Helper()
		must(t, c.db.JudgeBy(ctx, rules.Mark()))
		for n := 1; n > 0; {
			n, err = c.db.Judge(ctx, judging(rules, 0), now)
			must(t, err)
		}
	}
	// end has jobs end in the days before now: on each of them one of each user on each node. factor is how much longer they compute on node 3.
	end := func(days int, factor float64) {
		var lines []string
		for day := range days {
			for user, name := range []string{"anna", "bert"} {
				for node := range 5 {
					t := 3600 + 20*float64((7*day+3*node+5*user)%11)
					if node == 3 {
						t *= factor
					}
					lines = append(lines, fmt.Sprintf("4 nodes=1 from=%d user=%s t=%.0f day=%g", node, name, t, float64(days-day)+.5))
				}
			}
		}
		jobs := makeJobs(t, strings.Join(lines, "\n"), id, now)
		id += uint32(len(jobs))
		c.end(jobs)
		judgeAll()
	}
	var log bytes.Buffer
	look := func() *listing.SlowNodes {
		t.Helper()
		s := &slowWatcher{db: c.db, log: zerolog.New(&log), now: func() time.Time { return now }}
		must(t, s.look(ctx))
		found, err := c.db.SlowNodes(ctx)
		must(t, err)
		return found
	}
	said := func(want string) {
		t.Helper()
		if got := log.String(); strings.Count(got, "\n") != min(len(want), 1) || !strings.Contains(got, want) || want != "" && !strings.Contains(got, `"node":"n004"`) {
			t.Errorf("the log should say %q: %q", want, got)
		}
		log.Reset()
	}

	if first := look(); first == nil || first.Observed != 0 || len(first.Nodes) != 0 {
		t.Errorf("without jobs: %+v", first)
	}
	said("")
	end(20, 1.15)
	now = now.Add(slowEvery - time.Second)
	if soon := look(); soon.Observed != 0 {
		t.Errorf("a second look within a day: %+v", soon)
	}
	now = now.Add(time.Second)
	found := look()
	if found.Observed != 5 || !found.At.Equal(now) || len(found.Nodes) != 1 {
		t.Fatalf("%+v", found)
	}
	n := found.Nodes[0]
	if n.Machine != (slow.Machine{Cluster: clusterName, Node: "n004"}) || n.Low > 1.15 || n.High < 1.15 || n.Users != 2 || n.Jobs < 10 || n.Jobs > 40 {
		t.Errorf("%+v", n)
	}
	said("a node computes slower than its like")

	c.cfg.Rules[0].Enabled = false
	rules, err = rule.Compile(c.cfg.Rules)
	must(t, err)
	judgeAll()
	must(t, c.db.SetMark(ctx, markSlow, now)) // as if this look were the first
	if d := cmp.Diff(found, look()); d != "" {
		t.Errorf("other rules, and a new process: %s", d)
	}
	said("")

	now = now.Add(slowEvery)
	var wg sync.WaitGroup
	var logs [8]bytes.Buffer
	must(t, c.db.KeepSlowNodes(ctx, &listing.SlowNodes{At: now.Add(-slowEvery)})) // so each look has something to say
	for i := range logs {
		wg.Go(func() {
			s := &slowWatcher{db: c.db, log: zerolog.New(&logs[i]), now: func() time.Time { return now }}
			must(t, s.look(ctx))
		})
	}
	wg.Wait()
	for i := range logs {
		log.Write(logs[i].Bytes())
	}
	said("a node computes slower than its like")

	now = now.AddDate(0, 0, 60)
	end(50, 1)
	if found := look(); found.Observed != 5 || len(found.Nodes) != 0 {
		t.Errorf("it is as fast as others: %+v", found)
	}
	said("a node is no longer seen to compute slower than its like")
}

// TestSlowLookIsTriedAgain: a look that was broken off is not done, and another one is made soon.
func TestSlowLookIsTriedAgain(t *testing.T) {
	c := newMadeCluster(t, "")
	now := situationsNow
	s := &slowWatcher{db: c.db, log: zerolog.Nop(), now: func() time.Time { return now }}
	ended, end := context.WithCancel(ctx)
	end()
	if err := s.look(ended); err == nil {
		t.Error("it knows nothing of the end")
	}
	must(t, c.db.SetMark(ctx, markSlow, now.Add(slowLease))) // as a killed process leaves it
	for _, after := range []time.Duration{slowLease - time.Second, slowLease} {
		now = situationsNow.Add(after)
		must(t, s.look(ctx))
		if found, err := c.db.SlowNodes(ctx); err != nil || (found != nil) != (after == slowLease) {
			t.Errorf("after %s: %+v, %v", after, found, err)
		}
	}
}
