package notify

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jobeff/ingest/store"
)

// TestWrongIsInTheMail: a mail leads to the page where its user says that it was wrong, and the next digest has that.
func TestWrongIsInTheMail(t *testing.T) {
	s := newSMTP(t).start(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 3, "melt")))
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Mail.Link, cfg.Digest.To = "https://portal.example.org/pun/jobeff/", nil
	notifier(t, cfg, db, c).Tick(ctx)
	l := s.arrived(t, 1)[0]
	link := regexp.MustCompile(`This was wrong:\s+(https://portal.example.org/pun/jobeff/jobs/([0-9]+)/wrong\?\S+)`).FindStringSubmatch(l.text)
	if link == nil || !strings.Contains(l.html, `<a href="`+link[1]+`"`) {
		t.Fatalf("no link in\n%s", l.text)
	}
	page, err := url.Parse(link[1])
	must(t, err)
	told, err := db.NoticeOf(ctx, store.Viewer{UID: 1001}, link[2], page.Query().Get("rule"))
	must(t, err)
	told.WrongAt, told.WrongBy, told.Wrong = tuesday.AddDate(0, 0, 1), 1001, "<b>a master</b>\nand its workers "+strings.Repeat("do other work ", 30)+"at its end"
	if said, err := db.SayWrong(ctx, told); !said || err != nil {
		t.Fatal(said, err)
	}
	cfg.Digest.To, cfg.Notice.Enabled = []string{"hpc@example.org"}, false
	c.at = tuesday.AddDate(0, 0, 7)
	notifier(t, cfg, db, c).Tick(ctx)
	for _, l := range s.arrived(t, 3) { // with the digest of the week before
		want := told.Rule + " of job " + told.Job + " of alice"
		had := strings.Contains(strings.Join(strings.Fields(l.text), " "), want) && strings.Contains(strings.Join(strings.Fields(l.text), " "), "a master</b>?and its workers do other work") && strings.Contains(l.text, "at its end")
		if strings.Contains(l.header.Get("To"), "hpc@") && (had != strings.Contains(l.subject(t), "16 to 22 November 2026") || had != strings.Contains(l.html, "&lt;b&gt;a master&lt;/b&gt;")) {
			t.Errorf("%s:\n%s", l.subject(t), l.text)
		}
	}
	cfg.Mail.Link, cfg.Notice.Enabled, cfg.Digest.To = "", true, nil
	must(t, db.AddJobs(ctx, badJobs("bob", 1002, 5000, 3, "flow")))
	c.at = tuesday
	must(t, db.SetMark(ctx, "notice", tuesday.AddDate(0, 0, -7)))
	notifier(t, cfg, db, c).Tick(ctx)
	for _, l := range s.arrived(t, 4) {
		if strings.Contains(l.header.Get("To"), "bob") && strings.Contains(l.text+l.html, "wrong") {
			t.Errorf("a link without a site's pages:\n%s", l.text)
		}
	}
}
