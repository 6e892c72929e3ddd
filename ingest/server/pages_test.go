package server

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/admit"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/notice"
	"jobeff/report/mail"
)

// Users that every Debian has. The proxy of the tests runs as wwwData.
const wwwData, games = 33, 5

// believed is the proxy of the tests.
var believed = admit.Proxy{Header: "X-Forwarded-User", Users: []uint32{wwwData}}

// pageServer is a server with pages on a unix socket.
func pageServer(t *testing.T, proxy admit.Proxy) (socket string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("requests as several users need root")
	}
	dir := shared(t)
	db, err := store.Open(filepath.Join(dir, "db", "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ListenUnix(filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	letters, err := mail.Load("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	serve(t, Options{Store: db, Log: zerolog.Nop(), Operators: []uint32{games}, Proxy: proxy, Letters: letters, Weeks: notice.Weekly{Zone: time.UTC}, Link: "https://portal.example.org/pun/jobeff"}, l)
	told := []listing.Told{{UID: daemon, Subject: "w", Rule: "low", Job: "7"}, {UID: daemon, Subject: "hung", Rule: "hung", Job: "7", Running: true}, {UID: daemon, Subject: "s", Rule: "shadowed", Job: "7", Shadow: true}}
	for i := range told {
		told[i].At = time.Now()
	}
	if _, err := db.DecideMail(ctx, &notice.Mail{Key: "notice:1", Kind: notice.MailNotice, UID: daemon, Decided: time.Now(), NotBefore: time.Now(), Told: told}); err != nil {
		t.Fatal(err)
	}
	socket = "unix:" + l.Addr().String()
	for id, uid := range map[uint32]uint32{7: daemon, 8: wwwData, 9: 0} {
		text := textOf(report(id, uid))
		if got := (request{Addr: socket, Method: "POST", Path: "/v1/reports", Body: text}).do(); got.Status != 200 {
			t.Fatalf("%+v", got)
		}
	}
	return socket
}

// TestPages asks for pages as several users, directly and through a proxy.
func TestPages(t *testing.T) {
	socket := pageServer(t, believed)
	named := func(name string) map[string]string { return map[string]string{"X-Forwarded-User": name} }
	const job7 = `<a href="jobs/7">7</a>`
	for name, c := range map[string]struct {
		path   string
		uid    int
		header map[string]string
		status int
		text   string
	}{
		"own job":               {"/jobs/7", daemon, nil, 200, "<h1>Job 7"},
		"own jobs":              {"/", daemon, nil, 200, job7},
		"another's":             {"/jobs/9", daemon, nil, 404, "job 9 was not found"},
		"operator":              {"/jobs/7", games, nil, 200, "<h1>Job 7"},
		"no job id":             {"/jobs/x", daemon, nil, 400, "is not a job id"},
		"digest":                {"/digest?week=2026-W46", games, nil, 200, "9 to 15 November 2026"},
		"no week":               {"/digest?week=x", games, nil, 404, "no such page for you"},
		"unknown parameter":     {"/digest?from=3", games, nil, 400, "known are week, cluster, account"},
		"an order":              {"/?sort=start", daemon, nil, 200, job7},
		"no order":              {"/?sort=x", daemon, nil, 400, `sort="x" is not one of alloccpus`},
		"an empty field":        {"/?sort=&start=&name=", daemon, nil, 200, job7},
		"no time":               {"/?start=yesterday", daemon, nil, 400, `start="yesterday" is not a time`},
		"a filter as SQL":       {"/?name=%27)%20OR%201=1%20--", daemon, nil, 200, "There are no such jobs"},
		"another parameter":     {"/?user=root", daemon, nil, 400, "known are tasks, job, account"},
		"a list":                {"/jobs?user=daemon,games", games, nil, 200, job7},
		"a list of nobody's":    {"/jobs?user=games", games, nil, 200, "There are no such jobs"},
		"too long a list":       {"/jobs?start=2020-01-01", games, nil, 400, `Name users, or a later day in "Ended since".`},
		"no list":               {"/nodes", daemon, nil, 404, "no such page for you"},
		"no such page":          {"/favicon.ico", daemon, nil, 404, `<a href="./">jobeff</a>`},
		"no such page, deep":    {"/a/b/c", daemon, nil, 404, `<a href="../../">jobeff</a>`},
		"no such page, asked":   {"/jobs.php?id=7&id=8", daemon, nil, 404, `<a href="./">jobeff</a>`},
		"no such page, nobody":  {"/a/b/c", wwwData, nil, 404, `<a href="./../../">jobeff</a>`},
		"a slash in a name":     {"/a/b%2Fc", daemon, nil, 404, `<a href="../">jobeff</a>`},
		"nothing is posted":     {"/jobs/7/compare/8/x", daemon, nil, 404, `<a href="../../../../">jobeff</a>`},
		"a typed job":           {"/jobs?job=7", daemon, nil, 200, "<h1>Job 7"},
		"a typed job, not mine": {"/jobs?job=9", daemon, nil, 404, "job 9 was not found"},
		"a typed step":          {"/jobs?job=7.0", daemon, nil, 404, "job 7 has no step 0"},
		"no job is typed":       {"/jobs?job=x", daemon, nil, 400, "is not a job id"},
		"typed jobs":            {"/jobs?job=7,9", daemon, nil, 200, job7},
		"a job among filters":   {"/jobs?job=7&sort=", daemon, nil, 200, job7},
		"no digest":             {"/digest", daemon, nil, 404, "no such page for you"},
		"a user's header":       {"/jobs/9", daemon, named("root"), 404, "not found"},
		"proxy on the socket":   {"/jobs/7", wwwData, named("daemon"), 200, "<h1>Job 7"},
		"proxy for another":     {"/jobs/7", wwwData, named("bin"), 404, "not found"},
		"proxy names nobody":    {"/jobs/8", wwwData, nil, 401, "names no user"},
		"proxy names a uid":     {"/jobs/7", wwwData, named("1"), 401, "is no user"},
		"proxy, operator":       {"/jobs/7", wwwData, named("games"), 200, "<h1>Job 7"},
		"proxy, root's own":     {"/jobs/9", wwwData, named("root"), 200, "<h1>Job 9"},
		"proxy, root, others'":  {"/jobs/7", wwwData, named("root"), 404, "not found"},
		"programs, proxy's own": {"/v1/jobs/8", wwwData, named("daemon"), 200, `"job_id":8`},
		"no workload":           {"/workloads/x", wwwData, named("daemon"), 404, `workload "x" was not found`},
	} {
		t.Run(name, func(t *testing.T) {
			got := request{Addr: socket, Method: "GET", Path: c.path, Header: c.header}.as(t, c.uid)
			if got.Status != c.status || !strings.Contains(html.UnescapeString(got.Text), c.text) {
				t.Errorf("got %d %s, want %d %s", got.Status, got.Text, c.status, c.text)
			}
			if strings.HasPrefix(c.path, "/v1") && c.status == 200 {
				return
			}
			known, frames := !strings.HasPrefix(name, "proxy names") && name != "no such page, nobody", !strings.HasPrefix(c.path, "/digest?week=2026")
			for _, part := range []string{`<nav aria-label="Lists">`, `<form class="find"`} {
				if c.status != 400 && strings.Contains(got.Text, part) != (known && frames) {
					t.Errorf("is %s there? %v", part, !(known && frames))
				}
			}
			if csp := got.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("the policy is %q", csp)
			}
			if got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("headers %v", got.Header)
			}
		})
	}
}

// TestNoPath: a request without a path is answered with a page, too.
func TestNoPath(t *testing.T) {
	socket := pageServer(t, admit.Proxy{})
	for _, line := range []string{"GET http://x", "CONNECT x:80", "GET *", "POST http://x"} {
		conn, err := net.Dial("unix", strings.TrimPrefix(socket, "unix:"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", line)
		text, err := io.ReadAll(conn)
		conn.Close()
		if got := string(text); !strings.HasPrefix(got, "HTTP/1.1 404 ") || !strings.Contains(got, `<a href="./">jobeff</a>`) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// TestWhoReadsWhat: programs get JSON, whatever goes wrong, and people a page.
func TestWhoReadsWhat(t *testing.T) {
	socket := pageServer(t, believed)
	for _, c := range []struct {
		uid                int
		method, path, kind string
		status             int
	}{
		{daemon, "GET", "/v1/jobs/x", "application/problem+json", 400}, {daemon, "GET", "/v1/nosuch", "application/problem+json", 404}, {daemon, "GET", "/metrics", "application/problem+json", 403},
		{daemon, "GET", "/v1//jobs", "application/problem+json", 404}, {daemon, "GET", "/jobs/x", "text/html; charset=utf-8", 400}, {daemon, "GET", "//jobs/7", "text/html; charset=utf-8", 404}, {daemon, "GET", "//", "text/html; charset=utf-8", 404},
		{daemon, "POST", "/jobs/7", "text/html; charset=utf-8", 404}, {daemon, "DELETE", "/users", "text/html; charset=utf-8", 404},
		{wwwData, "GET", "/", "text/html; charset=utf-8", 401},
	} {
		got := request{Addr: socket, Method: c.method, Path: c.path}.as(t, c.uid)
		if kind := got.Header.Get("Content-Type"); got.Status != c.status || kind != c.kind {
			t.Errorf("%s %s: %d %s %s, want %d %s", c.method, c.path, got.Status, kind, got.Text, c.status, c.kind)
		}
	}
}

// TestNobodyIsBelieved: without a configured proxy its header means nothing.
func TestNobodyIsBelieved(t *testing.T) {
	socket := pageServer(t, admit.Proxy{})
	header := map[string]string{"X-Forwarded-User": "daemon"}
	if got := (request{Addr: socket, Method: "GET", Path: "/jobs/7", Header: header}).as(t, wwwData); got.Status != 404 {
		t.Errorf("%d %s, want 404", got.Status, got.Text)
	}
}

// TestDigestPageOfCoordinator: the page of a week shows a coordinator their accounts, and nobody else's.
func TestDigestPageOfCoordinator(t *testing.T) {
	db := openStore(t)
	end := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	var jobs []*job.Job
	for i, of := range []string{"chemist chem", "biologist bio"} {
		user, account, _ := strings.Cut(of, " ")
		jobs = append(jobs, &job.Job{Cluster: "test", JobID: uint32(7 + i), Attempt: 1, UID: uint32(2000 + i), User: user, Account: account, State: "COMPLETED",
			CPUs: 1000, Submit: end.Add(-time.Hour), Start: end.Add(-time.Hour), End: end, Elapsed: time.Hour})
	}
	if err := db.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	letters, err := mail.Load("")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Store: db, Log: zerolog.Nop(), Letters: letters, Weeks: notice.Weekly{Zone: time.UTC}})
	asked := func(v store.Viewer, accounts ...string) ([]byte, error) {
		q := url.Values{"week": {"2026-W46"}, "account": accounts}
		return s.digestPage(httptest.NewRequest("GET", "/digest?"+q.Encode(), nil), viewer{Viewer: v})
	}
	chem := store.Viewer{UID: 2002, Accounts: []string{"chem"}}
	for _, accounts := range [][]string{nil, {"chem"}} {
		text, err := asked(chem, accounts...)
		if shown := string(text); err != nil || !strings.Contains(shown, "chemist") || !strings.Contains(shown, "1,000") || strings.Contains(shown, "bio") || strings.Contains(shown, "2,000") {
			t.Errorf("%v: %v: %s", accounts, err, text)
		}
	}
	for _, c := range []struct {
		v       store.Viewer
		account string
	}{{chem, "bio"}, {store.Viewer{UID: 2000}, "chem"}} {
		if text, err := asked(c.v, c.account); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%+v sees %s: %v: %s", c.v, c.account, err, text)
		}
	}
}
