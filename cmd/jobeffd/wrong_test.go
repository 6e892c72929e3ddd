package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"jobeff/ingest/client"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/notice"
)

// chromium starts a headless browser that finds portal.test on this machine.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make deps installs it")
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("host-resolver-rules", "MAP portal.test 127.0.0.1"), chromedp.WSURLReadTimeout(time.Minute))
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); stop() })
	return browser
}

// shows waits until the browser shows a text.
func shows(browser context.Context, t *testing.T, want string) {
	t.Helper()
	var text string
	for range 600 {
		text, _ = chromedp.Run(browser, chromedp.Evaluate[string]("document.body.innerText"))
		if strings.Contains(text, want) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no %q in\n%s", want, text)
}

// TestWrongInBrowser: a person presses the button with the keyboard, behind a proxy that logs them in and changes
// path and host; once where the browser tells the site of a request, once over plain HTTP, where it tells the
// origin alone. Another site's form does nothing.
func TestWrongInBrowser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("several users need root")
	}
	d := newDaemon(t)
	os.Chmod(d.dir, 0o755)
	base := startNginx(t, d)
	browser := chromium(t)
	_, port, _ := net.SplitHostPort(strings.Split(base, "/")[2])
	conf := fmt.Sprintf("[server]\nsacct_interval = \"0s\"\n[web]\nproxy_header = \"X-Forwarded-User\"\nproxy_users = [\"www-data\"]\n[mail]\nlink = \"http://portal.test:%s/jobeff\"\n", port)
	if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	db, err := store.OpenBeside(d.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	told := []listing.Told{{UID: 1, User: "daemon", At: time.Now(), Subject: "w", Rule: "low-efficiency", Job: "7", Name: "<b>melt"}, {UID: 1, At: time.Now(), Subject: "h", Rule: "hung", Job: "7"}}
	if _, err := db.DecideMail(ctx, &notice.Mail{Key: "notice:1", Kind: notice.MailNotice, UID: 1, Decided: time.Now(), NotBefore: time.Now(), Told: told}); err != nil {
		t.Fatal(err)
	}
	said := func() (words []string) {
		both, err := d.client().Digest(ctx, client.DigestQuery{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range both.This.Wrong {
			words = append(words, fmt.Sprintf("%s by %d: %s", one.Rule, one.WrongBy, one.Wrong))
		}
		return words
	}
	open := func(address string) {
		t.Helper()
		if err := chromedp.Do(browser, chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="%s"><input name="why" value="evil"></form><script>document.forms[0].submit()</script>`, r.URL.Query().Get("to"))
	}))
	defer evil.Close()

	for i, host := range []string{"127.0.0.1", "portal.test"} {
		page := strings.Replace(base, "127.0.0.1", host, 1) + "jobs/7/wrong?rule=" + told[i].Rule
		link := strings.Replace(page, "http://", "http://daemon:secret@", 1)
		open(link)
		shows(browser, t, "by the rule")
		for _, from := range []string{evil.URL, strings.Replace(evil.URL, "127.0.0.1", "portal.test", 1)} {
			open(from + "?to=" + url.QueryEscape(page)) // the browser is logged in by now
			shows(browser, t, "no page of jobeff sent this")
		}
		open(link)
		if words := said(); len(words) != i {
			t.Fatalf("it was said before the button was pressed: %v", words)
		}
		if _, err := chromedp.Run(browser, chromedp.Evaluate[bool](`document.querySelector("textarea").focus() === undefined`)); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(browser, chromedp.KeyEvent("a master & its workers"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
		shows(browser, t, "It was said to be wrong on ")
		shows(browser, t, "In these words: a master & its workers")
		where, err := chromedp.Run(browser, chromedp.Evaluate[string]("location.pathname + location.search + document.querySelectorAll(\"main form\").length"))
		if want := "/jobeff/jobs/7/wrong?rule=" + told[i].Rule + "0"; err != nil || where != want {
			t.Errorf("the browser is at %s, want %s: %v", where, want, err)
		}
	}
	if got, want := fmt.Sprint(said()), "[low-efficiency by 1: a master & its workers hung by 1: a master & its workers]"; got != want {
		t.Errorf("the digest has %s, want %s", got, want)
	}
}
