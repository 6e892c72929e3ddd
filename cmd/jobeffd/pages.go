package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
	"jobeff/policy"
	"jobeff/policy/compare"
	"jobeff/policy/curve"
	"jobeff/policy/facts"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	views "jobeff/report"
	"jobeff/report/document"
	"jobeff/report/mail"
	"jobeff/report/page"
	"jobeff/report/view"
)

// How deep pages lie below the first one: a job's, a comparison of one, and one of two named jobs.
const (
	fromPage   = "../"
	fromMedian = "../../"
	fromPair   = "../../../"
)

// show fills in what jobeffd shows programs and in a browser, and returns what judges it: the
// configuration's rules.
func show(o *server.Options, cfg *etc.Config, db *store.Store) (by document.Judge, err error) {
	if by.Rules, err = policy.Compile(cfg.Rules); err != nil {
		return by, err
	}
	letters, err := mail.Load(cfg.Mail.Templates)
	if err != nil {
		return by, err
	}
	o.Documents, o.Weeks = by, notice.Weekly{Day: etc.Weekday(cfg.Digest.Day), Zone: cfg.Digest.Location()}
	o.Pages = server.Pages{
		More: map[string]server.Page{"/digest": {Policy: mail.ContentSecurityPolicy, Known: []string{"week", "account+"},
			Make: func(ctx context.Context, v store.Viewer, q url.Values) ([]byte, error) {
				return digestPage(ctx, cfg, db, o.Weeks, letters, v, q)
			}}},
		Policy: page.ContentSecurityPolicy, FormPolicy: page.FormPolicy, Link: cfg.Mail.Link,
		Wrong: func(v store.Viewer, told *facts.Told) ([]byte, error) {
			return written(func(w io.Writer) error { return views.WrongHTML(w, told, menu(v, fromMedian, "")) })
		},
		Lists: lists{db, by.Rules.Names(), o.Weeks}.all(),
		Refusal: func(home, status, message, hint string) ([]byte, error) {
			return written(func(w io.Writer) error { return views.RefusalHTML(w, status, message, hint, page.Links{Home: home}) })
		},
		Job: func(v store.Viewer, found *listing.JobAndWorkload) ([]byte, error) {
			links := menu(v, fromPage, "")
			if found.Tasks != nil {
				return written(func(w io.Writer) error { return views.ArrayHTML(w, found.Tasks, found.MoreTasks, links) })
			}
			study, verdicts := by.Judge(found)
			return written(func(w io.Writer) error { return views.JobHTML(w, found, study, verdicts, links) })
		},
		Compare: comparePage,
		Workload: func(v store.Viewer, runs *job.Workload) ([]byte, error) {
			study := workload.NewStudy(runs, nil, time.Now(), curve.Settings{})
			return written(func(w io.Writer) error { return views.WorkloadHTML(w, study, menu(v, fromPage, "")) })
		},
	}
	return by, nil
}

func written(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b)
	return b.Bytes(), err
}

// comparePage writes why a job took longer than an earlier one, or why that cannot be said.
func comparePage(v store.Viewer, before, after *listing.JobAndWorkload, load func(*job.Run) (*listing.JobAndWorkload, error)) ([]byte, error) {
	var c *compare.Comparison
	var err error
	links := menu(v, fromMedian, "")
	if before == nil {
		c, err = compare.WithMedian(after, false, load)
	} else {
		links = menu(v, fromPair, "")
		c, err = compare.New(before, after, false)
	}
	var refused *compare.Refusal
	if errors.As(err, &refused) {
		return written(func(w io.Writer) error { return views.NoCompareHTML(w, after.Job, refused.Why, links) })
	} else if err != nil {
		return nil, err
	}
	return written(func(w io.Writer) error { return views.CompareHTML(w, c, links) })
}

// digestPage writes a week's digest as it is mailed: /digest?week=2026-W46&account=chem. Coordinators get that of
// their accounts.
func digestPage(ctx context.Context, cfg *etc.Config, db *store.Store, when notice.Weekly, letters *mail.Templates, v store.Viewer, q url.Values) ([]byte, error) {
	from, to, err := when.Asked(q.Get("week"), time.Now())
	if err != nil {
		return nil, store.ErrNotFound
	}
	both, err := db.TwoWeeks(ctx, v, from, to, q["account"])
	if err != nil {
		return nil, err
	}
	letter, err := letters.Digest(view.NewDigest(notice.NewDigest(both), view.Site{Zone: when.Zone, Help: cfg.Mail.Help, Link: cfg.Mail.Link}))
	return []byte(letter.HTML), err
}
