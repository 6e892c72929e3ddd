package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/admit"
	"jobeff/ingest/client"
	"jobeff/ingest/listing"
	"jobeff/ingest/server"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	views "jobeff/report"
	"jobeff/test/browser"
	"jobeff/test/trial"
)

// Users that every Debian has: an operator, a coordinator of an account, and one who has jobs.
const games, bin, daemonUser = 5, 2, 1

// listedJobs is how many jobs a page of a list has.
const listedJobs = 50

// hostile is a name, an account, a program and a path at once.
const hostile = `<script>alert(1)</script>"' OR 1=1 -- =cmd`

// madeUpPages serves the pages of a made-up site, as jobeffd does for a proxy, which stands before it. Beside the site's
// jobs there are some of the user daemon, three of them under the account that bin coordinates.
func madeUpPages(t *testing.T) (address, database string) {
	t.Helper()
	database = filepath.Join(t.TempDir(), "site.db")
	if cmd, stderr := adminProcess("demo-data", "--jobs", "4000", database); cmd.Run() != nil {
		t.Fatal(stderr)
	}
	db, err := store.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.SetGrants(ctx, "", []store.Grant{{UID: bin, Account: "chem"}}); err != nil {
		t.Fatal(err)
	}
	o := server.Options{Store: db, Log: zerolog.Nop(), Operators: []uint32{games}, Proxy: admit.Proxy{Header: "X-Forwarded-User", Users: []uint32{uint32(os.Getuid())}}}
	if err := show(&o, etc.Default()); err != nil {
		t.Fatal(err)
	}
	socket, err := server.ListenUnix(filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- server.New(o).Serve(run, socket) }()
	t.Cleanup(func() { stop(); <-done })
	addJobs(t, db, "unix:"+socket.Addr().String())
	how := judging(o.Rules, 0)
	if err := db.JudgeBy(ctx, how.Rules); err != nil {
		t.Fatal(err)
	}
	for all := 0; all < 80; { // the newest first
		n, err := db.Judge(ctx, how, time.Now())
		if all += n; err != nil || n == 0 {
			t.Fatal(all, err)
		}
	}
	web := httptest.NewServer(trial.ProxyTo(socket.Addr().String()))
	t.Cleanup(web.Close)
	return web.URL, database
}

// addJobs adds jobs of the user daemon: 7, 8 and 9 under the account chem, 10 and 11 under a hostile one.
func addJobs(t *testing.T, db *store.Store, socket string) {
	t.Helper()
	post := client.NewClient(socket, time.Minute, nil)
	defer post.Close()
	now := time.Now().Truncate(time.Second)
	var lines []slurm.Job
	for i := range uint32(5) {
		r := nodeOf(7+i, 0, 1)
		e := &r.Executions[0]
		r.UID, r.User, r.Cluster = daemonUser, "daemon", "demo"
		r.Start = now.Add(-time.Duration(i+1) * time.Hour)
		r.End, e.Start, e.End = r.Start.Add(20*time.Minute), r.Start, r.Start.Add(19*time.Minute)
		e.Executable, e.BuildID, e.ArgsHash, e.InputHash = "/opt/md", "ab", strings.Repeat("c", 32), strings.Repeat("d", 32)
		account, name := "chem", "melt"
		if i >= 3 {
			account = hostile
		}
		if i == 4 {
			name, e.Executable, e.Workload = hostile, "/opt/"+hostile, hostile
		}
		if err := post.PostReport(ctx, mustJSON(t, r)); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, slurm.Job{Cluster: "demo", ID: fmt.Sprint(7 + i), RawID: 7 + i, UID: daemonUser, User: "daemon", State: "COMPLETED", Submit: r.Start, Start: r.Start, End: r.End,
			Elapsed: r.End.Sub(r.Start), Nodes: 1, CPUs: 128, NodeList: r.Node, Account: account, Partition: "main", QOS: "normal", Name: name, WithSteps: true})
	}
	if _, err := db.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := db.Merge(ctx); err != nil {
			t.Fatal(err)
		}
		if _, all, err := db.EachLine(ctx, store.Viewer{UID: daemonUser}, listing.JobQuery{}, nil, func(*listing.Line) error { return nil }); err != nil || all.Sum.Measured == len(lines) {
			return
		}
		if time.Now().After(late) {
			t.Fatal("their reports are not merged within a minute")
		}
	}
}

// pageOf asks for a page as the proxy does for a user.
func pageOf(t *testing.T, address, path, user string) (status int, text string, header http.Header) {
	t.Helper()
	req, err := http.NewRequest("GET", address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-User", user)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

// TestListsOfViewers: what an operator, a coordinator, a user and a stranger find at each address, and that the
// filters hold for all of it.
func TestListsOfViewers(t *testing.T) {
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("it fills a database; several users need root")
	}
	at, database := madeUpPages(t)
	held := heldBy(t, database)
	filter := "?name=" + url.QueryEscape(hostile)
	for _, c := range []struct {
		user, path string
		status     int
		has, lacks []string
	}{
		{"daemon", "/", 200, []string{"Your jobs", "Total of 5 jobs", `href="jobs/7"`, "&lt;script&gt;", `href="workloads/`, `href="months"`}, []string{`href="users"`, `href="nodes"`, "<script"}},
		{"daemon", "/jobs", 200, []string{"Total of 5 jobs"}, nil},
		{"daemon", "/jobs?user=root&account=chem", 200, []string{"There are no such jobs"}, nil},
		{"daemon", "/months", 200, []string{"Total of 5 jobs"}, nil},
		{"daemon", "/users", 200, []string{"1 user", "Total of 5 jobs"}, nil},
		{"daemon", "/accounts", 200, []string{"2 accounts", "chem", "&lt;script&gt;"}, []string{"<script"}},
		{"daemon", "/workloads", 200, []string{"md-", "&lt;script&gt;"}, []string{"<script"}},
		{"daemon", "/notices", 200, []string{"Nobody was told"}, nil},
		{"daemon", "/programs", 404, []string{"there is no such page for you"}, nil},
		{"daemon", "/nodes", 404, []string{"there is no such page for you"}, nil},
		{"daemon", "/status", 404, []string{"there is no such page for you"}, nil},
		{"daemon", "/digests", 404, []string{"there is no such page for you"}, nil},
		{"daemon", "/" + filter, 200, []string{"Total of 1 job", "Your jobs"}, []string{"<script"}},
		{"daemon", "/?account=" + url.QueryEscape(hostile), 200, []string{"Total of 2 jobs"}, nil},
		{"daemon", "/?program=md&least_cores=1&sort=-pe", 200, []string{"Total of 4 jobs", "least parallel efficiency first"}, nil},
		{"daemon", "/?least_elapsed=1h", 200, []string{"There are no such jobs"}, nil},
		{"daemon", "/?rule=nosuch", 200, []string{"There are no such jobs", `<option value="nosuch" selected>`}, nil},
		{"daemon", "/?name=&start=&sort=&least_cores=", 200, []string{"Total of 5 jobs"}, nil},
		{"daemon", "/?sort=r.uid", 400, []string{"is not one of"}, nil},
		{"daemon", "/?stored=1", 400, []string{"is no parameter of this path"}, nil},
		{"bin", "/", 200, []string{"There are no such jobs", `href="users"`}, []string{`href="nodes"`}},
		{"bin", "/jobs?user=daemon", 200, []string{"Total of 3 jobs", `href="jobs/7"`}, []string{`href="jobs/10"`, "script"}},
		{"bin", "/jobs?user=daemon&account=" + url.QueryEscape(hostile), 200, []string{"There are no such jobs"}, nil},
		{"bin", "/accounts", 200, []string{"1 account"}, []string{"physics", "script"}},
		{"bin", "/workloads?user=daemon", 200, []string{"md-"}, []string{"script"}},
		{"bin", "/programs", 200, []string{"md"}, []string{"script"}},
		{"bin", "/digests", 200, []string{"of the accounts that you coordinate", `href="digest?week=`}, []string{"account="}},
		{"bin", "/nodes", 404, nil, nil},
		{"bin", "/status", 404, nil, nil},
		{"games", "/status", 200, []string{"a hand today", "No report came from these nodes", `<a href="status" aria-current="page">Status</a>`, "no alarm is up"}, []string{"<script"}},
		{"games", "/", 200, []string{"There are no such jobs", `href="nodes"`}, nil},
		{"games", "/jobs?user=daemon", 200, []string{"Total of 5 jobs"}, nil},
		{"games", "/jobs?name=convert", 200, []string{">60 tasks: 57 CD, 3 F</a>", "Total of 60 jobs", "tasks=1"}, []string{"Next page"}},
		{"games", "/jobs?name=convert&tasks=1", 200, []string{"Total of 60 jobs", `value="1" selected>has a line for each task`, "Next page"}, []string{" tasks: "}},
		{"games", "/jobs?tasks=2", 400, []string{"is not 1"}, nil},
		{"daemon", "/jobs/7", 200, []string{`href="../"`, `href="../months"`}, []string{`href="../nodes"`, `href="../users"`, "aria-current"}},
		{"games", "/jobs/7", 200, []string{`href="../nodes"`, `href="../jobs"`}, nil},
		{"daemon", "/jobs/7/compare", 200, []string{`href="../../months"`}, []string{`href="../../users"`}},
		{"bin", "/jobs/8/compare/7", 200, []string{`href="../../../users"`}, []string{`href="../../../nodes"`}},
		{"games", "/jobs?rule=low-efficiency", 200, []string{"Total of", ">low-efficiency"}, nil},
		{"games", "/jobs?user=" + url.QueryEscape("daemon' OR ''='"), 200, []string{"There are no such jobs"}, nil},
		{"games", "/jobs?start=2020-01-01", 400, []string{"spans 92 days at most", "Name users"}, nil},
		{"games", "/jobs?start=2020-01-01&user=daemon", 200, []string{"Total of 5 jobs"}, nil},
		{"games", "/programs?start=2020-01-01", 400, []string{"92 days at most"}, nil},
		{"games", "/accounts?name=chem", 200, []string{"1 account."}, []string{"physics"}},
		{"games", "/programs", 200, []string{"script&gt;&#34;"}, []string{"<script"}},
		{"games", "/nodes", 200, []string{"n0"}, nil},
		{"games", "/digests", 200, []string{`href="digest?week=`, "of all accounts"}, nil},
		{"games", "/notices", 200, []string{"What became of it", "since, most on"}, nil},
		{"games", "/users?sort=pe", 400, []string{"is not one of lost"}, nil},
		{"games", "/months?sort=-name", 200, []string{"by name"}, nil},
		{"games", "/programs?sort=x", 400, []string{"is not one of lost"}, nil},
		{"games", "/workloads?sort=jobs", 400, []string{"is not one of lost"}, nil},
		{"games", "/accounts?account=" + strings.Repeat(",", 40_000), 400, []string{"accounts are named, more than 1000"}, nil},
		{"nosuchuser", "/jobs", 401, []string{"is no user of this machine"}, nil},
	} {
		status, text, header := pageOf(t, at, c.path, c.user)
		if status != c.status || !strings.HasPrefix(text, "<!doctype html>") {
			t.Errorf("%s %s: %d, want %d: %.300s", c.user, c.path, status, c.status, text)
		}
		main := text[max(strings.Index(text, "<header>"), 0):] // the style is not what is looked for
		for _, want := range c.has {
			if !strings.Contains(main, want) {
				t.Errorf("%s %s: no %q in %.3000s", c.user, c.path, want, main)
			}
		}
		for _, other := range c.lacks {
			if strings.Contains(main, other) {
				t.Errorf("%s %s: there is %q", c.user, c.path, other)
			}
		}
		if policy := header.Get("Content-Security-Policy"); !slices.Contains([]string{views.FormPolicy + "; frame-ancestors 'none'", views.ContentSecurityPolicy + "; frame-ancestors 'none'"}, policy) {
			t.Errorf("%s: the policy is %q", c.path, policy)
		}
	}
	if heldBy(t, database) != held {
		t.Error("somebody who read pages changed the database")
	}
}

// heldBy returns the hashes of an SQLite database's files.
func heldBy(t *testing.T, database string) [2][sha256.Size]byte {
	t.Helper()
	var all [2][sha256.Size]byte
	for i, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(database + end)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = sha256.Sum256(text)
	}
	return all
}

// reader is an operator who looks at the pages of the made-up site in a Chromium.
type reader struct {
	*testing.T
	ctx        context.Context
	at         string
	complaints []string
}

type action = chromedp.Action[chromedp.Void]

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{T: t, ctx: browser.Start(t)}
	r.at, _ = madeUpPages(t)
	r.do("begin", chromedp.Navigate("about:blank"))
	if err := chromedp.Listen(r.ctx, func(event any) {
		if e, is := event.(*log.EventEntryAdded); is && !strings.Contains(e.Entry.Text, "404") {
			r.complaints = append(r.complaints, e.Entry.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	browser.Call(r.ctx, t, log.Enable, cdp.Empty{})
	browser.Call(r.ctx, t, network.Enable, network.EnableParams{})
	browser.Call(r.ctx, t, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"X-Forwarded-User": "games"}})
	t.Cleanup(func() {
		if len(r.complaints) > 0 {
			t.Errorf("the browser complains: %q", r.complaints)
		}
	})
	return r
}

func (r *reader) do(what string, actions ...action) {
	r.Helper()
	if err := chromedp.Do(r.ctx, actions...); err != nil {
		r.Fatal(what, err)
	}
}

// follow does what must lead to another page, and waits for that page.
func (r *reader) follow(what string, actions ...action) {
	r.Helper()
	if _, err := chromedp.RunResponse(r.ctx, actions...); err != nil {
		r.Fatal(what, err)
	}
}

func (r *reader) ask(script string) string {
	r.Helper()
	said, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](script))
	if err != nil {
		r.Fatal(script, err)
	}
	return said
}

// reads fails where the page does not say something.
func (r *reader) reads(what, want string) {
	r.Helper()
	if text := r.ask(`document.querySelector("main").innerText.replace(/\s+/g, " ")`); !strings.Contains(text, want) {
		r.Errorf("%s: no %q in %.500s", what, want, text)
	}
}

// TestListsLookRight: at several widths, light and dark, nothing of a page is cut, and axe-core finds nothing.
func TestListsLookRight(t *testing.T) {
	axe := browser.Axe(t)
	r := newReader(t)
	for i, path := range []string{"jobs", "jobs?user=daemon", "months", "users", "accounts", "programs", "workloads", "nodes", "status", "notices", "digests", "", "nosuch", "jobs?name=convert", "jobs/7", "jobs/7/compare", "jobs/8/compare/7"} {
		for k, width := range []int64{1280, 800, 400} {
			scheme := []string{"light", "dark"}[(i+k)%2]
			browser.Look(r.ctx, t, width, scheme)
			r.do(path, chromedp.Navigate(r.at+"/"+path))
			browser.Shoot(r.ctx, t, fmt.Sprintf("list-%s-%d-%s", wire.CleanText(strings.NewReplacer("?", "-", "=", "-", "/", "-").Replace(path), 40), width, scheme))
			if !strings.Contains(path, "/") { // other pages' wide tables scroll
				browser.CheckEdge(r.ctx, t)
			}
			browser.CheckAxe(r.ctx, t, axe)
		}
	}
}

// TestListsAreUsed: somebody filters, sorts, pages and follows links, and does so by keyboard alone.
func TestListsAreUsed(t *testing.T) {
	r := newReader(t)
	browser.Look(r.ctx, t, 1280, "light")
	r.do("the form", chromedp.Navigate(r.at+"/jobs"), chromedp.Click("form summary"), chromedp.SendKeys(`input[name=user]`, "daemon"), chromedp.SendKeys(`input[name=program]`, "md"))
	r.follow("send it", chromedp.Click(chromedp.CSS("main button"))) // as text, it stands in the style sheet, too
	r.reads("the form", "Total of 4 jobs")
	r.follow("sort by a head", chromedp.Click(`thead a[href*="sort=-pe"]`))
	r.reads("sorted", "or still run, least parallel efficiency first")
	r.reads("still filtered", "Total of 4 jobs")
	r.follow("a job", chromedp.Click(`tbody tr:first-child th > a`))
	r.follow("home", chromedp.Click("header p a"))
	if got := r.ask("location.pathname"); got != "/" {
		t.Errorf("the way home leads to %s", got)
	}
	r.do("an array", chromedp.Navigate(r.at+"/jobs?name=convert&state=COMPLETED"))
	r.reads("an array", "57 tasks: 57 COMPLETED")
	r.follow("its tasks", chromedp.Click(chromedp.CSS(`tbody td a[href*="tasks=1"]`)))
	r.reads("its tasks", "Total of 57 jobs")
	if n := r.ask(`String(document.querySelectorAll("tbody th > a").length)`); n != fmt.Sprint(listedJobs) {
		t.Errorf("%s of its tasks are listed", n)
	}
	r.do("all tasks", chromedp.Navigate(r.at+"/jobs?name=convert"))
	r.follow("an array's page", chromedp.Click(chromedp.CSS("tbody th > a")))
	r.reads("an array's page", "60 tasks: 57 completed and 3 failed")
	r.follow("on from it", chromedp.Click(chromedp.CSS(`nav a[href="../workloads"]`)))
	r.reads("on from it", "Workloads")
	r.follow("a workload's page", chromedp.Click(chromedp.CSS("tbody th > a")))
	r.byKeyboard("a workload's page", "A Skip to the content,A jobeff,INPUT job,BUTTON Show,A Your jobs,A All jobs,A Months,A Users,A Accounts,A Programs,A Workloads,A Notices,A Digests,A Nodes,A Status,DIV picture")
	var seen []string
	r.do("all jobs", chromedp.Navigate(r.at+"/jobs?sort=start"))
	for range 2 {
		seen = append(seen, r.ask(`[...document.querySelectorAll("tbody th > a")].map(a => a.textContent).join(" ")`))
		r.follow("the next page", chromedp.Click(`.pages a:last-child`))
	}
	if n, again := len(strings.Fields(seen[0])), strings.Fields(seen[1]); n != listedJobs || len(again) == 0 || slices.ContainsFunc(again, func(id string) bool { return slices.Contains(strings.Fields(seen[0]), id) }) {
		t.Errorf("the pages are %q", seen)
	}
	r.do("by keyboard", chromedp.Navigate(r.at+"/jobs"))
	r.byKeyboard("a list", "A Skip to the content,A jobeff,INPUT job,BUTTON Show,A Your jobs,A All jobs,A Months,A Users,A Accounts,A Programs,A Workloads,A Notices,A Digests,A Nodes,A Status,SUMMARY Filter and sort,DIV Jobs")
	r.do("the form by keyboard", chromedp.Navigate(r.at+"/jobs"), chromedp.Evaluate[chromedp.Void](`document.querySelector("summary").focus()`), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("7,8"))
	r.follow("send it by keyboard", chromedp.KeyEvent(kb.Enter))
	r.reads("by keyboard", "Total of 2 jobs")
	r.do("a job's id, where there is no page", chromedp.Navigate(r.at+"/no/such"), chromedp.SendKeys(chromedp.CSS(".find input"), "7"))
	r.follow("look for it", chromedp.KeyEvent(kb.Enter))
	r.reads("a job's id", "Job 7")
}

// byKeyboard fails where the focus does not go as it should from the page's beginning on, or is not seen.
func (r *reader) byKeyboard(what, want string) {
	r.Helper()
	const focused = `(() => { const e = document.activeElement, r = e.getBoundingClientRect();
		return [e.tagName, e.name || e.ariaLabel || e.textContent.trim().slice(0, 20), r.left >= 0 && r.width > 0 && getComputedStyle(e).outlineStyle != "none" ? "" : "not seen"].join(" ").trim() })()`
	var order []string
	for range strings.Split(want, ",") {
		r.do("tab", chromedp.KeyEvent(kb.Tab))
		order = append(order, r.ask(focused))
	}
	if got := strings.Join(order, ","); got != want {
		r.Errorf("%s: the focus goes %s, want %s", what, got, want)
	}
}
