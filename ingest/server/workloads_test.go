package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/munge"
)

// oddName is a name that a path cannot hold unescaped.
const oddName = "a/b//../c+d@e:1"

// TestWorkloadRequests: every request gives a workload only to its owner and to operators. The
// socket and munge behave alike.
func TestWorkloadRequests(t *testing.T) {
	s := start(t)
	r := report(7, alice)
	r.Executions[0].Workload = "melt"
	if _, err := keep(s.store, r); err != nil {
		t.Fatal(err)
	}
	told := known(7, "n1", 1)
	told.User = "left.ldap" // no user of this machine
	tell(t, s.store, told)
	theirs := report(8, 61003)
	theirs.Executions[0].Workload = "mine"
	if _, err := keep(s.store, theirs); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, addr := range []string{s.unix, s.tcp} {
		for _, c := range []struct {
			name         string
			uid          int
			method, path string
			body         string
			status       int
			want         string
		}{
			{"the owner reads", alice, "GET", "/v1/workloads/melt", "", 200, `"name":"melt"`},
			{"the owner lists", alice, "GET", "/v1/workloads", "", 200, `"all_runs":1`},
			{"the owner lists what is stored", alice, "GET", "/v1/workloads?stored=1", "", 200, `"runs":1`},
			{"the owner reads what is stored", alice, "GET", "/v1/workloads/melt?stored=1", "", 200, `"runs":[{`},
			{"the owner reads that of their job", alice, "GET", "/v1/workloads/7", "", 200, `"name":"melt"`},
			{"another reads that of the owner's job", 61003, "GET", "/v1/workloads/7", "", 404, "job 7 was not found"},
			{"the owner reads their job", alice, "GET", "/v1/jobs/7?stored=1", "", 200, `"workload":{"key":"`},
			{"an operator reads", bob, "GET", "/v1/workloads/me?user=61001", "", 200, `"name":"melt"`},
			{"another reads", 61003, "GET", "/v1/workloads/melt", "", 404, `workload \"melt\" was not found`},
			{"another reads the owner's", 61003, "GET", "/v1/workloads/melt?user=61001", "", 404, `workload \"melt\" was not found`},
			{"another reads their own workload as the owner's", 61003, "GET", "/v1/workloads/mine?user=61001", "", 404, `workload \"mine\" was not found`},
			{"another mutes their own workload as the owner's", 61003, "PUT", "/v1/workloads/mine/mute?user=61001", `{"until":"` + end + `"}`, 404, "was not found"},
			{"another lists", 61003, "GET", "/v1/workloads?user=61001", "", 200, `{"workloads":[]}`},
			{"another mutes", 61003, "PUT", "/v1/workloads/melt/mute", `{"until":"` + end + `"}`, 404, "was not found"},
			{"another unmutes", 61003, "DELETE", "/v1/workloads/melt/mute", "", 404, "was not found"},
			{"the owner mutes", alice, "PUT", "/v1/workloads/melt/mute", `{"until":"` + end + `","reason":"x\u001b"}`, 200, `"reason":"x?"`},
			{"what is muted", alice, "GET", "/v1/workloads?muted=1", "", 200, `"until":"` + end},
			{"an operator unmutes", bob, "DELETE", "/v1/workloads/melt/mute", "", 200, `"until":"` + end},
			{"nothing is muted", alice, "GET", "/v1/workloads?muted=1&since=2026-01-01T00:00:00Z&limit=5&user=61001", "", 200, `{"workloads":[]}`},
			{"no end", alice, "PUT", "/v1/workloads/melt/mute", `{}`, 400, "the mute has no end"},
			{"past", alice, "PUT", "/v1/workloads/melt/mute", `{"until":"2020-01-01T00:00:00Z"}`, 400, "is in the past"},
			{"for ever", alice, "PUT", "/v1/workloads/melt/mute", `{"until":"2150-01-01T00:00:00Z"}`, 400, "two years at most"},
			{"no JSON", alice, "PUT", "/v1/workloads/melt/mute", `until`, 400, "is not a mute"},
			{"a large one", alice, "PUT", "/v1/workloads/melt/mute", strings.Repeat(" ", maxMuteBytes+1), 413, "too large"},
			{"an unknown parameter", alice, "GET", "/v1/workloads?account=x", "", 400, "is no parameter of this path"},
			{"with their runs", alice, "GET", "/v1/workloads?stored=1&detail=1&offset=0", "", 200, `"runs":[{`},
			{"past the last", alice, "GET", "/v1/workloads?stored=1&detail=1&offset=1", "", 200, `{"workloads":[]}`},
			{"another's with their runs", 61003, "GET", "/v1/workloads?stored=1&detail=1&user=61001", "", 200, `{"workloads":[]}`},
			{"no offset", alice, "GET", "/v1/workloads?offset=-1", "", 400, "a number from 0"},
			{"no detail", alice, "GET", "/v1/workloads?detail=yes", "", 400, "is not 1"},
			{"no user", alice, "GET", "/v1/workloads/melt?user=nobody-at-all", "", 404, `workload \"melt\" was not found`},
			{"one who left", 61003, "GET", "/v1/workloads/melt?user=left.ldap", "", 404, `workload \"melt\" was not found`},
			{"an operator reads that of one who left", bob, "GET", "/v1/workloads/melt?user=left.ldap", "", 200, `"name":"melt"`},
			{"an operator lists those of one who left", bob, "GET", "/v1/workloads?user=left.ldap", "", 200, `"name":"melt"`},
			{"an operator lists their jobs", bob, "GET", "/v1/jobs?user=61003,left.ldap&stored=1", "", 200, `"user":"left.ldap"`},
			{"an operator lists nobody's", bob, "GET", "/v1/workloads?user=nobody-at-all", "", 200, `{"workloads":[]}`},
			{"an operator lists nobody's jobs", bob, "GET", "/v1/jobs?user=nobody-at-all", "", 200, `"jobs":[]`},
			{"another lists jobs of one who left", 61003, "GET", "/v1/jobs?user=left.ldap", "", 200, `"jobs":[]`},
			{"an operator mutes that of one who left", bob, "PUT", "/v1/workloads/melt/mute?user=left.ldap", `{"until":"` + end + `"}`, 200, `"until"`},
			{"an operator unmutes it", bob, "DELETE", "/v1/workloads/melt/mute?user=left.ldap", "", 200, `"until"`},
			{"too many users", bob, "GET", "/v1/jobs?user=" + strings.Repeat("a,", mostNames), "", 400, "1001 users are named, more than 1000"},
			{"too many rules", bob, "GET", "/v1/jobs?rule=a" + strings.Repeat(",a", mostSought), "", 400, "51 rules are named, more than 50"},
			{"too many programs", bob, "GET", "/v1/jobs?program=" + strings.Repeat(",", 999), "", 400, "name fewer, and ask again for the others"},
			{"as many rules as may be", bob, "GET", "/v1/jobs?rule=a" + strings.Repeat(",a", mostSought-1), "", 200, `"jobs":[]`},
		} {
			req := request{Addr: addr, Method: c.method, Path: c.path, Body: []byte(c.body)}
			if addr == s.tcp {
				req.Munge = s.munge
			}
			got := req.as(t, c.uid)
			s.check(t, c.name, got, c.status, c.want)
			if c.name == "the job without it" && strings.Contains(got.Text, `"workload":{`) {
				t.Errorf("%s: %s", c.name, got.Text)
			}
		}
	}
	unsigned := request{Addr: s.tcp, Method: "PUT", Path: "/v1/workloads/melt/mute", Body: []byte(`{"until":"` + end + `"}`)}
	s.check(t, "without a credential", unsigned.do(), 401, "no munge credential")
}

// TestExactNameFirst: the name of jobs without a record of a program comes before workloads whose names only begin so.
func TestExactNameFirst(t *testing.T) {
	s := start(t)
	c := client.NewClient(s.unix, 10*time.Second, nil)
	defer c.Close()
	id := uint32(7)
	add := func(workload, called string) {
		r := report(id, alice)
		if r.Executions[0].Workload = workload; workload == "" {
			r.Executions = nil
		}
		word := known(id, "n1", 1)
		word.Name = called
		if err := c.PostReport(ctx, body(t, r)); err != nil {
			t.Fatal(err)
		}
		tell(t, s.store, word)
		s.merged(t)
		id++
	}
	is := func(name, want string, jobs int) {
		t.Helper()
		w, err := c.Workload(ctx, name, "", "")
		if err != nil && want != "" || err == nil && (w.Name != want || len(w.Jobs) != jobs) {
			t.Errorf("%s is %+v, %v; want %s", name, w, err, want)
		}
	}
	add("melt-prod", "x")
	is("melt", "melt-prod", 1)
	add("", "melt")
	is("melt", "melt", 1)
	add("melt-test", "y")
	is("melt", "melt", 1)
	is("melt-", "", 0) // two begin so
	add("melt", "z")
	is("melt", "melt", 1)
	if w, err := c.Workload(ctx, "melt", "", ""); err != nil || len(w.Runs) != 1 {
		t.Errorf("the workload melt: %+v, %v", w, err)
	}
}

// TestWorkloadClient: the client's methods against the real server, with a name that must be
// escaped in a path.
func TestWorkloadClient(t *testing.T) {
	s := start(t)
	for i, addr := range []string{s.unix, s.tcp} {
		c := client.NewClient(addr, 10*time.Second, munge.Site{Socket: s.munge})
		defer c.Close()
		r := report(uint32(7+i), alice)
		r.Executions[0].Workload = oddName
		if err := c.PostReport(ctx, body(t, r)); err != nil {
			t.Fatal(err)
		}
		tell(t, s.store, known(uint32(7+i), "n1", 1))
		s.merged(t)
		w, err := c.Workload(ctx, oddName, "61001", "")
		if err != nil || len(w.Runs) != i+1 || w.Name != oddName {
			t.Fatalf("%v, %+v", err, w)
		}
		j, err := c.Job(ctx, fmt.Sprint(r.JobID))
		if err != nil || j.JobID != r.JobID || j.Metrics == nil || j.Workload == nil || j.Workload.Key != w.Key {
			t.Errorf("%v, %+v", err, j)
		}
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		if muted, err := c.SetMute(ctx, oddName, "", job.Mute{Until: until, Reason: "why"}); err != nil || muted.Mute == nil {
			t.Errorf("%v, %+v", err, muted)
		}
		list, err := c.Workloads(ctx, listing.WorkloadQuery{User: "61001", Since: time.Now().Add(-time.Hour), Muted: true, Limit: 5})
		if err != nil || len(list.Workloads) != 1 || !list.Workloads[0].Mute.Until.Equal(until) || list.Workloads[0].Mute.Reason != "why" {
			t.Errorf("%v, %+v", err, list)
		}
		if was, err := c.ClearMute(ctx, w.Key, ""); err != nil || was.Mute == nil {
			t.Errorf("%v, %+v", err, was)
		}
		if w, err = c.Workload(ctx, w.Key[:9], "", ""); err != nil || w.Mute != nil {
			t.Errorf("%v, %+v", err, w)
		}
		for _, name := range []string{"", "..", "nothing"} {
			if _, err := c.Workload(context.Background(), name, "", ""); err == nil {
				t.Errorf("there is a workload %q", name)
			}
		}
	}
}
