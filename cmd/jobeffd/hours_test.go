package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/demo"
	"jobeff/policy/rule"
	"jobeff/report/view"
)

// coreTimes are sums of core time and GPU time, whole microseconds.
type coreTimes struct{ jobs, used, judged, lost, gpu, known, idle int64 }

// wholeMicroseconds restores a time from a number of hours or seconds, which may have lost its last digits.
func wholeMicroseconds(v, unit float64) int64 { return int64(math.Round(v * unit)) }

func ofHours(h listing.Hours) coreTimes {
	us := func(hours float64) int64 { return wholeMicroseconds(hours, job.CoreHour) }
	return coreTimes{int64(h.Jobs), us(h.Used), us(h.Judged), us(h.Lost), us(h.GPU), us(h.GPUKnown), us(h.GPUIdle)}
}

// add adds the hours that a job's JSON has.
func (c *coreTimes) add(j *view.Job) {
	h := &j.CoreHours
	c.jobs++
	for _, of := range []struct {
		to    *int64
		hours *float64
	}{{&c.gpu, j.GPUHours}, {&c.known, j.KnownGPUHours}, {&c.idle, j.IdleGPUHours}} {
		if of.hours != nil {
			*of.to += wholeMicroseconds(*of.hours, job.CoreHour)
		}
	}
	if h.Used != nil {
		c.used += wholeMicroseconds(*h.Used, job.CoreHour)
	}
	if h.Lost != nil {
		c.judged += wholeMicroseconds(*h.Used, job.CoreHour) - wholeMicroseconds(*h.SMT, job.CoreHour)
		c.lost += wholeMicroseconds(*h.Lost, job.CoreHour)
	}
}

// hoursSite is a made-up site that jobeffd began to count before its jobs ended.
type hoursSite struct {
	madeUpSite
	*testing.T
	db    *store.Store
	pages map[string]view.Job // what each job's page says as JSON
	ended coreTimes           // their sums
	all   coreTimes           // and with those that run
}

// get reads JSON.
func (s *hoursSite) get(path string, into any) {
	s.Helper()
	status, _, text := s.ask(s.T, "GET "+path, "")
	if err := json.Unmarshal(text, into); status != http.StatusOK || err != nil {
		s.Fatalf("%s: %d, %v: %.300s", path, status, err, text)
	}
}

func newHoursSite(t *testing.T) *hoursSite {
	s := &hoursSite{T: t, db: emptySite(t), pages: map[string]view.Job{}}
	browser, socket := browse(t, s.db)
	s.madeUpSite = madeUpSite{browser, socket}
	addDemo(t, s.db, demo.Options{Seed: 4, Jobs: 400, Users: 12, Workloads: 30, Until: demoUntil}, func(n int, j *job.Job) {
		if n%9 == 0 { // of the GPUs that Slurm gave it, its nodes speak of some, and know of some of these
			j.GPUs = n % 5
			j.GPUUse = &job.GPUUse{GPUs: 3, Known: 2, Time: 2 * j.Elapsed, Life: j.Elapsed, Busy: j.Elapsed / 7, Processes: 2, Unknown: map[string]int{job.GPUMIG: 1}}
		}
	})
	rules, err := rule.Compile(etc.Default().Rules)
	if err != nil {
		t.Fatal(err)
	}
	how := judging(rules, time.Hour)
	if err := s.db.JudgeBy(ctx, how.Rules); err != nil {
		t.Fatal(err)
	}
	for judged := 1; judged > 0; {
		if judged, err = s.db.Judge(ctx, how, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// eachPage reads all lists of jobs, and of each job the page, as JSON.
func (s *hoursSite) eachPage() {
	for next := "/v1/jobs?limit=200"; next != ""; {
		var list struct {
			Jobs []view.Job
			Next string
		}
		s.get(next, &list)
		next = list.Next
		for _, listed := range list.Jobs {
			var page view.Job
			s.get(fmt.Sprintf("/v1/jobs/%s?attempt=%d", listed.ID, listed.Attempt), &page)
			key := fmt.Sprint(listed.ID, " ", listed.Attempt)
			s.pages[key] = page
			s.all.add(&page)
			if !page.End.IsZero() {
				s.ended.add(&page)
			}
			for _, of := range []struct {
				what       string
				page, list *float64
			}{{"used", page.CoreHours.Used, listed.CoreHours.Used}, {"lost", page.CoreHours.Lost, listed.CoreHours.Lost}, {"GPU", page.GPUHours, listed.GPUHours}, {"idle GPU", page.IdleGPUHours, listed.IdleGPUHours}} {
				if (of.page == nil) != (of.list == nil) || of.page != nil && *of.page != *of.list {
					s.Errorf("job %s: %s %v on its page, %v in a list", key, of.what, said(of.page), said(of.list))
				}
			}
			for _, v := range page.Verdicts {
				if !page.Running && said(v.CoreHours.Lost) != said(page.CoreHours.Lost) { // so far
					s.Errorf("job %s: the rule %s says that it lost %s, the job %s", key, v.Rule, said(v.CoreHours.Lost), said(page.CoreHours.Lost))
				}
			}
		}
	}
}

func said(f *float64) string {
	if f == nil {
		return "not known"
	}
	return fmt.Sprint(*f)
}

// TestOneLoss: lists, months, the digest and /metrics show how much was used, judged and lost, and the same of GPUs. In whole microseconds, these are
// the sums of the jobs' JSON. A job whose loss is not known counts as not known in each of them, and comes last in the order of
// what was lost. And each page has one request.
func TestOneLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	s := newHoursSite(t)
	s.eachPage()
	unknown := 0 // although a program with all of its ranks has figures
	for _, page := range s.pages {
		if page.CoreHours.Lost == nil && page.Coverage != nil && *page.Coverage >= 1 && !page.End.IsZero() {
			unknown++
		}
	}
	if len(s.pages) < 400 || s.ended.lost < s.ended.used/20 || unknown < 3 || s.ended.idle == 0 || s.ended.known == s.ended.gpu {
		t.Fatalf("%d jobs, %+v, of %d it is not known what they lost: the test is empty", len(s.pages), s.ended, unknown)
	}
	want := func(what string, got, want coreTimes) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %+v; the sums of the jobs' pages are %+v", what, got, want)
		}
	}
	var lines listing.LineList
	s.get("/v1/jobs?stored=1&sort=lost&limit=1000", &lines)
	sum := lines.Selected.Sum
	want("a list", ofHours(*sum), s.all)
	s.order()
	s.requests()
	months, err := s.db.Months(ctx, store.Viewer{All: true}, listing.MonthQuery{By: []string{"month", "user", "partition"}})
	if err != nil {
		t.Fatal(err)
	}
	var sums coreTimes
	for _, m := range months {
		one := ofHours(m.Hours)
		sums = coreTimes{sums.jobs + one.jobs, sums.used + one.used, sums.judged + one.judged, sums.lost + one.lost, sums.gpu + one.gpu, sums.known + one.known, sums.idle + one.idle}
	}
	want("months", sums, s.ended)
	for _, by := range []string{"months", "users", "accounts"} {
		var answered view.Sums
		s.get("/v1/"+by+"?start=2020-01-01", &answered)
		want(by+" over HTTP", ofHours(answered.Total), s.ended)
	}
	year := "/v1/digest?from=" + demoUntil.AddDate(0, 0, -366).Format(time.RFC3339) + "&to=" + demoUntil.Format(time.RFC3339)
	var weeks listing.TwoWeeks
	s.get(year+"&stored=1", &weeks)
	total := weeks.This.Total
	for _, one := range weeks.This.Accounts {
		total.Jobs -= one.Jobs
	}
	if total.Jobs != 0 {
		t.Errorf("the accounts of a digest lack %d jobs", total.Jobs)
	}
	var digest view.Digest
	s.get(year, &digest)
	total = digest.Total
	want("a digest", ofHours(total), s.endedUntil(demoUntil))
	var ledger view.Coverage
	s.get("/v1/coverage?start=2020-01-01T00:00:00Z", &ledger)
	known := coreTimes{judged: s.ended.judged, lost: s.ended.lost, gpu: int64(ledger.GPUs.Known), known: int64(ledger.GPUs.Known), idle: int64(ledger.GPUs.Idle)}
	for _, part := range ledger.GPUs.Unknown {
		known.gpu += int64(part)
	}
	for _, l := range ledger.Lines {
		known.jobs, known.used = known.jobs+l.Jobs, known.used+int64(l.Used)
	}
	want("the ledger", known, s.ended)
	s.metrics()
}

// endedUntil sums up the jobs that ended before a time.
func (s *hoursSite) endedUntil(to time.Time) (sum coreTimes) {
	for _, page := range s.pages {
		if !page.End.IsZero() && page.End.Before(to) {
			sum.add(&page)
		}
	}
	return sum
}

// order: the most lost comes first, and what is not known last.
func (s *hoursSite) order() {
	s.Helper()
	var list struct{ Jobs []view.Job }
	s.get("/v1/jobs?sort=lost&limit=1000", &list)
	before := math.Inf(1)
	for _, j := range list.Jobs {
		lost := -1.0
		if p := s.pages[fmt.Sprint(j.ID, " ", j.Attempt)]; p.CoreHours.Lost != nil {
			lost = *p.CoreHours.Lost
		}
		if lost > before {
			s.Errorf("job %s lost %v, and stands behind one that lost %v", j.ID, lost, before)
		}
		before = lost
	}
}

var coreMetric = regexp.MustCompile(`(?m)^jobeff_(used_core|judged_core|lost_core|used_gpu|known_gpu|idle_gpu)_seconds_total\{.*\} (\S+)$`)

// metrics: they are sums of some seconds ago.
func (s *hoursSite) metrics() {
	s.Helper()
	var got coreTimes
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Second) {
		_, _, text := s.ask(s.T, "GET /metrics", "")
		got = coreTimes{jobs: s.ended.jobs}
		for _, m := range coreMetric.FindAllStringSubmatch(string(text), -1) {
			v, err := strconv.ParseFloat(strings.TrimSpace(m[2]), 64)
			if err != nil {
				s.Fatal(err)
			}
			*map[string]*int64{"used_core": &got.used, "judged_core": &got.judged, "lost_core": &got.lost, "used_gpu": &got.gpu, "known_gpu": &got.known, "idle_gpu": &got.idle}[m[1]] += wholeMicroseconds(v, 1e6)
		}
		if got == s.ended {
			return
		}
	}
	s.Errorf("/metrics: %+v; the sums of the jobs' pages are %+v", got, s.ended)
}
