package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/listing"
	"jobeff/policy/rule"
	"jobeff/report/view"
)

// flagsOf are the flags of each job of a document's list or of single documents; "?" is null.
func flagsOf(t *testing.T, documents []json.RawMessage) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, text := range documents {
		var d view.Job
		must(t, json.Unmarshal(text, &d))
		all[d.ID] = "?"
		if d.Flags != nil {
			all[d.ID] = strings.Join(d.Flags, ",")
		}
	}
	return all
}

// TestFlagsOfLists: a list shows the rules that flag each job, as the job's own document does. It shows null
// until jobeffd has judged the job, and again once the rules change.
func TestFlagsOfLists(t *testing.T) {
	c := newMadeCluster(t, "")
	var ids []string
	jobs := makeJobs(t, past256, 1000, situationsNow)
	for _, j := range jobs {
		ids = append(ids, j.word.ID)
	}
	c.end(jobs)
	listed := func() map[string]string {
		documents, next, err := c.client.JobDocuments(ctx, listing.JobQuery{Limit: 1000})
		must(t, err)
		if next != "" {
			t.Fatal("more jobs than are listed")
		}
		return flagsOf(t, documents)
	}
	same := func(flags string) map[string]string {
		all := map[string]string{}
		for _, id := range ids {
			all[id] = flags
		}
		return all
	}
	if d := cmp.Diff(same("?"), listed()); d != "" {
		t.Error(d)
	}
	var own []json.RawMessage
	for _, id := range ids {
		text, err := c.client.JobDocument(ctx, id)
		must(t, err)
		own = append(own, text)
	}
	want := flagsOf(t, own)
	if !strings.Contains(fmt.Sprint(want), "past-inflexion") || cmp.Equal(want, same(want[ids[0]])) {
		t.Fatalf("the jobs are too much alike: %v", want)
	}
	rules, err := rule.Compile(c.cfg.Rules)
	must(t, err)
	must(t, c.db.JudgeBy(ctx, rules.Mark()))
	c.judge(t, rules)
	if d := cmp.Diff(want, listed()); d != "" {
		t.Error(d)
	}
	off := c.cfg.Rules
	for i := range off {
		off[i].Enabled = false
	}
	if rules, err = rule.Compile(off); err != nil {
		t.Fatal(err)
	}
	must(t, c.db.JudgeBy(ctx, rules.Mark()))
	if d := cmp.Diff(same("?"), listed()); d != "" {
		t.Error(d)
	}
	c.judge(t, rules)
	if d := cmp.Diff(same(""), listed()); d != "" {
		t.Error(d)
	}
}

// judge judges as jobeffd does until nothing is left.
func (c *madeCluster) judge(t *testing.T, rules *rule.Rules) {
	t.Helper()
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		judge(run, c.db, judging(rules, time.Duration(c.cfg.Server.Grace)), zerolog.New(zerolog.NewTestWriter(t)))
	})
	defer wg.Wait()
	defer stop()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left, err := c.db.Unjudged(ctx)
		must(t, err)
		switch {
		case left == 0:
			return
		case time.Since(begin) > 5*time.Minute:
			t.Fatalf("%d jobs are not judged", left)
		}
	}
}
