package main

import (
	"html"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/store"
	views "jobeff/report"
)

// oddNames are names for accounts, partitions, users and jobs. Slurm takes nearly all of them.
var oddNames = []string{"", "a/b", "..", "100%", "%2e%2e%2f", "a?b=c", "#x", "a&user=root", "a b", "ä→\u202eb", "\x1b[31m", "=1+1", "'; --", hostile, strings.Repeat("x", 1000)}

// TestEveryLinkLeads: each link on a page leads the person who sees it to a page, and the link of a row to its jobs. Jobs,
// users, accounts and programs may have any name.
func TestEveryLinkLeads(t *testing.T) {
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("it fills a database; several users need root")
	}
	at, database := madeUpPages(t)
	db, err := store.OpenBeside(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var jobs []*job.Job
	for i, name := range oddNames {
		end := time.Now().Add(-time.Hour)
		jobs = append(jobs, &job.Job{Cluster: "demo", JobID: uint32(5000 + i), Attempt: 1, UID: 70_000 + uint32(i), User: name, Account: name, Partition: name, Name: name,
			State: "COMPLETED", Submit: end.Add(-time.Hour), Start: end.Add(-time.Hour), End: end, Elapsed: time.Hour, Nodes: 1, CPUs: 4000})
	}
	if err := db.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	held := heldBy(t, database)
	for _, user := range []string{"games", "bin", "daemon"} {
		c := &crawler{T: t, at: at, user: user, left: []string{"/"}, known: map[string]bool{"/": true}}
		for len(c.left) > 0 && c.seen < 300 {
			c.visit()
		}
		if least := map[string]int{"games": 300, "bin": 100, "daemon": 70}[user]; c.seen < least {
			t.Errorf("%s found %d pages", user, c.seen)
		}
		if user == "games" && c.rows < 2*(len(oddNames)-1) {
			t.Errorf("%d links to the jobs of a name", c.rows)
		}
	}
	if heldBy(t, database) != held {
		t.Error("somebody who followed links changed the database")
	}
}

// crawler follows links as a user.
type crawler struct {
	*testing.T
	at, user   string
	left       []string
	known      map[string]bool
	seen, rows int // rows: links to jobs of an odd name
}

var hrefs = regexp.MustCompile(`href="([^"]*)"`)

// visit opens the next address and notes its links: those to the jobs of a name first.
func (c *crawler) visit() {
	here := c.left[0]
	c.left = c.left[1:]
	c.seen++
	status, text, header := pageOf(c.T, c.at, here, c.user)
	policy := strings.TrimSuffix(header.Get("Content-Security-Policy"), "; frame-ancestors 'none'")
	mails := strings.HasPrefix(here, "/digest?")
	if status != 200 || !mails && policy != views.FormPolicy && policy != views.ContentSecurityPolicy || !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(text, "<script") {
		c.Errorf("%s at %s: %d, %q: %.500s", c.user, here, status, policy, text[max(strings.Index(text, "<main"), 0):])
	}
	from, err := url.Parse(here)
	if err != nil {
		c.Fatal(err)
	}
	q := from.Query()
	if of := q.Get("account") + q.Get("user"); from.Path == "/jobs" && q.Get("sort") == "" && of != "" && slices.Contains(oddNames, of) {
		if c.rows++; !strings.Contains(text, "Total of ") {
			c.Errorf("%s at %s: no jobs: %.500s", c.user, here, text[strings.Index(text, "<main"):])
		}
	}
	for _, m := range hrefs.FindAllStringSubmatch(text, -1) {
		link, err := url.Parse(html.UnescapeString(m[1]))
		if err != nil || strings.ContainsAny(m[1], "\"<>' ") {
			c.Errorf("%s at %s: a link to %q: %v", c.user, here, m[1], err)
			continue
		}
		to := from.ResolveReference(link)
		if to.Fragment = ""; to.Host != "" || link.Scheme != "" || c.known[to.RequestURI()] {
			continue
		}
		c.known[to.RequestURI()] = true
		switch query := to.Query(); {
		case to.Path != "/jobs" || query.Get("account")+query.Get("user") == "":
			c.left = append(c.left, to.RequestURI())
		case query.Get("sort") == "":
			c.left = slices.Insert(c.left, 0, to.RequestURI())
		}
	}
}
