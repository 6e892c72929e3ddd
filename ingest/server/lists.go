package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	views "jobeff/report"
	"jobeff/report/view"
	"jobeff/report/words"
)

// list is the page of a list. It asks the store for no more than the viewer may see, and package report writes it.
type list struct {
	known []string // its parameters, of those of listing.JobQuery
	make  func(r *http.Request, by viewer, q listing.JobQuery, uids []uint32) ([]byte, error)
}

// Bounds of the lists. No index covers all that a form may ask for, so the jobs of all users are read
// for a bounded span only.
const (
	ownDays     = 30 // of one's own jobs, where nobody asks for another span
	allDays     = 7
	longestDays = 92 // of jobs of several users
	listedJobs  = 50
	listedRows  = 100
	listedWeeks = 26
)

// The parameters of each list.
var (
	pageKnown   = []string{"cluster", "name", "start", "sort", "offset"}
	jobsKnown   = append([]string{"tasks", "job", "account", "partition", "qos", "state", "program", "rule", "end", "least_cores", "most_cores", "least_elapsed", "most_elapsed"}, pageKnown...)
	monthsKnown = append([]string{"account", "partition"}, pageKnown...)
)

// lists are all of them, by their path.
func (s *Server) lists() map[string]list {
	return map[string]list{
		"/{$}":       {jobsKnown, s.ownJobs},
		"/jobs":      {append([]string{"user"}, jobsKnown...), s.jobs},
		"/months":    {monthsKnown, sumsPage(s.months("month"))},
		"/users":     {monthsKnown, sumsPage(s.months("user"))},
		"/accounts":  {monthsKnown, sumsPage(s.months("account"))},
		"/programs":  {pageKnown, sumsPage(s.programs)},
		"/workloads": {[]string{"cluster", "user", "start", "sort", "offset"}, s.workloads},
		"/nodes":     {[]string{"name", "offset"}, s.nodes},
		"/digests":   {nil, s.digests},
		"/notices":   {[]string{"start", "offset"}, s.notices},
	}
}

// listPage makes the page of a list. A form sends its empty fields, too.
func (s *Server) listPage(l list) pageMaker {
	return func(r *http.Request, by viewer) ([]byte, error) {
		if !slices.Contains(l.known, "qos") { // a list of jobs selects by clusters, as by users
			var e *refusal
			if by, e = s.of(r, by); e != nil {
				return nil, e
			}
		}
		v := r.URL.Query()
		maps.DeleteFunc(v, func(_ string, values []string) bool { return values[0] == "" })
		q, uids, e := s.selection(r.Context(), by, v)
		if e != nil {
			return nil, e
		}
		return l.make(r, by, q, uids)
	}
}

// listed writes the page of a list.
func listed(l *words.ListPage, links views.Links) ([]byte, error) {
	return written(func(w io.Writer) error { return views.PageOfList(w, l, links) })
}

// seesOthers says that a viewer may see jobs of several users.
func seesOthers(v store.Viewer) bool { return v.All || len(v.Accounts) > 0 }

// menu makes the links of a page. here is the address of the page's own list; "": it is no list. The
// links are relative, so that a proxy may serve them below a path of its own.
func menu(r *http.Request, v store.Viewer, here string) views.Links {
	up := upFrom(r)
	all := views.Links{Home: cmp.Or(up, "./"), Jobs: up + "jobs/", Workloads: up + "workloads/"}
	for _, one := range []struct {
		text, at string
		shown    bool
	}{
		{"Your jobs", "./", true}, {"All jobs", "jobs", seesOthers(v)}, {"Months", "months", true}, {"Users", "users", seesOthers(v)}, {"Accounts", "accounts", seesOthers(v)},
		{"Programs", "programs", seesOthers(v)}, {"Workloads", "workloads", true}, {"Notices", "notices", true}, {"Digests", "digests", v.Operates() || len(v.Coordinates()) > 0}, {"Nodes", "nodes", v.Operates()}, {"Status", "status", v.Operates()},
	} {
		if one.shown {
			all.Nav = append(all.Nav, views.Link{Text: one.text, Address: up + strings.TrimPrefix(one.at, map[bool]string{true: "./"}[up != ""]), Here: one.at == here})
		}
	}
	return all
}

// since sets the beginning of a query that has none: midnight, so many days ago.
func since(q listing.JobQuery, days int) listing.JobQuery {
	if q.Start.IsZero() {
		now := time.Now()
		q.Start = time.Date(now.Year(), now.Month(), now.Day()-days, 0, 0, 0, 0, time.Local)
	}
	return q
}

func (s *Server) ownJobs(r *http.Request, by viewer, q listing.JobQuery, _ []uint32) ([]byte, error) {
	return s.jobsPage(r, by, &words.JobsPage{Own: true, Query: since(q, ownDays)}, []uint32{by.UID})
}

func (s *Server) jobs(r *http.Request, by viewer, q listing.JobQuery, uids []uint32) ([]byte, error) {
	if q.Jobs != "" && slurmid.Single(q.Jobs) && len(r.URL.Query()) == 1 { // typed into a page's head
		r.SetPathValue("id", q.Jobs)
		return s.jobPage(r, by)
	}
	p := &words.JobsPage{Others: seesOthers(by.Viewer), Query: q}
	switch {
	case !p.Others || len(uids) > 0: // the jobs of a user have an index
		p.Query = since(q, ownDays)
	case q.Jobs == "":
		p.Query = since(q, allDays)
		end := cmp.Or(q.End, time.Now())
		if end.Sub(p.Query.Start) > longestDays*24*time.Hour {
			return nil, &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("a list of the jobs of all users spans %d days at most", longestDays),
				Hint: "Name users, or a later day in \"Ended since\". The pages of months, users and accounts sum up longer times."}
		}
	}
	return s.jobsPage(r, by, p, uids)
}

// How long a page looks for few jobs among many, and how many tasks of arrays it reads.
const (
	longestLook     = 3 * time.Second
	mostListedTasks = 10_000
)

func (s *Server) jobsPage(r *http.Request, by viewer, p *words.JobsPage, uids []uint32) ([]byte, error) {
	p.Query.Sort, p.Query.Limit, p.Rules = cmp.Or(p.Query.Sort, "lost"), listedJobs, s.rules.Names()
	p.Query.Tasks = p.Query.Tasks || strings.Contains(p.Query.Jobs, "_")
	var jobs []job.Job
	q := p.Query
	for begin, tasks := time.Now(), 0; ; {
		next, all, err := s.store.EachLine(r.Context(), by.Viewer, q, uids, func(one *listing.Line) error {
			p.Lines, jobs, tasks = append(p.Lines, *one), append(jobs, one.Jobs[0]), tasks+len(one.Jobs)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if q.After == "" {
			p.All = all
		}
		q.After, q.Offset, q.Limit = next, 0, p.Query.Limit-len(p.Lines)
		if p.More = next != ""; !p.More || q.Limit <= 0 || tasks >= mostListedTasks || time.Since(begin) > longestLook {
			break
		}
	}
	var err error
	if p.Workloads, err = s.store.WorkloadsOf(r.Context(), jobs); err != nil {
		return nil, err
	}
	for i := range p.Lines {
		if len(p.Lines[i].Jobs) > 1 { // each task may be of another workload
			p.Workloads[i] = listing.WorkloadSummary{}
		}
	}
	if p.Pending, err = s.store.Pending(r.Context(), by.Viewer, p.Query, uids); err != nil {
		return nil, err
	}
	here := "jobs"
	if p.Own {
		here = "./"
	}
	return listed(words.OfJobs(p), menu(r, by.Viewer, here))
}

// sumsMaker makes sums of what a viewer may see.
type sumsMaker func(*http.Request, viewer, listing.JobQuery) (*view.Sums, error)

// sumsPage writes sums as a page.
func sumsPage(sums sumsMaker) func(*http.Request, viewer, listing.JobQuery, []uint32) ([]byte, error) {
	return func(r *http.Request, by viewer, q listing.JobQuery, _ []uint32) ([]byte, error) {
		v, err := sums(r, by, q)
		if err != nil {
			return nil, err
		}
		return listed(v.Words, menu(r, by.Viewer, v.By+"s"))
	}
}

// getSums answers sums to programs, by the parameters of their page: GET /v1/months, /v1/users, /v1/accounts and /v1/programs.
func (s *Server) getSums(known []string, sums sumsMaker) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, ok := s.viewer(w, r, known...)
		if !ok {
			return
		}
		q, _, e := s.selection(r.Context(), by, r.URL.Query())
		if e == nil {
			by, e = s.of(r, by)
		}
		var v *view.Sums
		if e == nil {
			var err error
			if v, err = sums(r, by, q); errors.Is(err, store.ErrNotFound) {
				e = &refusal{Status: http.StatusForbidden, Message: "these sums are for root and operators, and for coordinators of their accounts", Hint: "/v1/months sums up your own jobs"}
			} else if err != nil {
				e = refuse(err)
			}
		}
		if e != nil {
			s.fail(w, r, by, e)
			return
		}
		by.note(s.log.Debug()).Str("by", v.By).Msg("sums")
		answer(w, r, v)
	}
}

// months sums up jobs by month, or whole months by user or by account.
func (s *Server) months(of string) sumsMaker {
	return func(r *http.Request, by viewer, q listing.JobQuery) (*view.Sums, error) {
		now := time.Now().UTC()
		if q.Start.IsZero() {
			q.Start = now.AddDate(-1, 0, 0)
		}
		q.Start = time.Date(q.Start.Year(), q.Start.Month(), 1, 0, 0, 0, 0, time.UTC)
		q.Limit, q.Sort = listedRows, cmp.Or(q.Sort, map[string]string{"month": "name"}[of], "lost")
		if err := knownOrder(q.Sort, sumOrders); err != nil {
			return nil, err
		}
		isApart := of == "user" && len(s.clusters) > 0 // a uid may be another person's elsewhere
		keys := []string{of}
		if isApart {
			keys = []string{"cluster", of}
		}
		sums, err := s.store.Months(r.Context(), by.Viewer, listing.MonthQuery{From: q.Start, By: keys, Account: q.Account, Partition: q.Partition})
		if err != nil {
			return nil, err
		}
		p := &words.SumsPage{Of: of, Counted: "job", Heading: map[string]string{"month": "Months", "user": "Users", "account": "Accounts"}[of], Query: q, Monthly: true,
			Span: "Jobs that ended since the month of " + q.Start.Format("January 2006") + ", UTC" + onCluster(by), Link: jobsOf(of, q)}
		for _, m := range sums {
			name := map[string]string{"month": m.Month.Format("2006-01"), "user": m.User, "account": m.Account}[of]
			if of == "user" && name == "" {
				name = fmt.Sprint(m.UID)
			}
			if isApart {
				name = slurmid.Of(m.Cluster, name)
			}
			p.Rows = append(p.Rows, listing.NamedHours{Name: name, Hours: m.Hours})
		}
		return view.NewSums(p), nil
	}
}

// onCluster says which cluster a viewer asked about.
func onCluster(by viewer) string {
	if by.Of == "" {
		return ""
	}
	return ", on cluster " + by.Of
}

// sumOrders are the orders in which sums can be sorted.
const sumOrders = "lost -lost corehours -corehours jobs -jobs name -name"

// knownOrder refuses an order that is not known: the page would claim to be sorted by it.
func knownOrder(by, known string) error {
	if all := strings.Fields(known); !slices.Contains(all, by) {
		return &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("sort=%.40q is not one of %s", by, strings.Join(all, ", "))}
	}
	return nil
}

// jobsOf makes links from a row to its jobs. Their span is no longer than a list of jobs may have.
func jobsOf(by string, q listing.JobQuery) func(name string) string {
	return func(name string) string {
		to := listing.JobQuery{Cluster: q.Cluster, Account: q.Account, Partition: q.Partition, Start: q.Start}
		if least := time.Now().UTC().AddDate(0, 0, 1-longestDays); by != "user" && to.Start.Before(least) {
			to.Start = least.Truncate(24 * time.Hour)
		}
		switch by {
		case "month":
			month, err := time.Parse("2006-01", name)
			if err != nil {
				return ""
			}
			to.Start, to.End = month, month.AddDate(0, 1, 0)
		case "user":
			to.User = name
			if cluster, user, isApart := strings.Cut(name, ":"); isApart {
				to.Cluster, to.User = cluster, user
			}
		case "account":
			to.Account = name
		case "program":
			to.Program = name
		}
		return "jobs?" + to.Values().Encode()
	}
}

func (s *Server) programs(r *http.Request, by viewer, q listing.JobQuery) (*view.Sums, error) {
	q = since(q, allDays)
	now := time.Now()
	if now.Sub(q.Start) > longestDays*24*time.Hour {
		return nil, &refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("programs are summed up over %d days at most", longestDays), Hint: "Ask for a later day."}
	}
	q.Limit, q.Sort = listedRows, cmp.Or(q.Sort, "lost")
	if err := knownOrder(q.Sort, sumOrders); err != nil {
		return nil, err
	}
	rows, err := s.store.Programs(r.Context(), by.Viewer, q.Start, now)
	if err != nil {
		return nil, err
	}
	p := &words.SumsPage{Of: "program", Counted: "run", Heading: "Programs", Query: q, Rows: rows, Link: jobsOf("program", q),
		Span: "Runs of programs with figures, in jobs that ended since " + q.Start.Format("2006-01-02 15:04") + onCluster(by)}
	return view.NewSums(p), nil
}

func (s *Server) workloads(r *http.Request, by viewer, q listing.JobQuery, uids []uint32) ([]byte, error) {
	q = since(q, ownDays)
	q.Limit, q.Sort = listedJobs, cmp.Or(q.Sort, "lost")
	if err := knownOrder(q.Sort, "lost start"); err != nil {
		return nil, err
	}
	var uid *uint32
	if len(uids) > 0 {
		uid = &uids[0]
	}
	var all []listing.WorkloadSummary
	next, err := s.store.EachWorkload(r.Context(), by.Viewer, listing.WorkloadQuery{Since: q.Start, Lost: q.Sort == "lost", Limit: q.Limit, Offset: q.Offset}, uid, func(s *listing.WorkloadSummary) error {
		all = append(all, *s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return listed(words.OfWorkloadsPage(q, all, next != "", seesOthers(by.Viewer)), menu(r, by.Viewer, "workloads"))
}

func (s *Server) nodes(r *http.Request, by viewer, q listing.JobQuery, _ []uint32) ([]byte, error) {
	if !by.Operates() {
		return nil, store.ErrNotFound
	}
	nodes, err := s.store.Nodes(r.Context())
	if err != nil {
		return nil, err
	}
	look, err := s.store.SlowNodes(r.Context())
	if err != nil {
		return nil, err
	}
	q.Limit = listedRows
	return listed(words.OfNodes(q, nodes, look, time.Now()), menu(r, by.Viewer, "nodes"))
}

// digests links to the digests of whole weeks since the first month that has jobs.
func (s *Server) digests(r *http.Request, by viewer, _ listing.JobQuery, _ []uint32) ([]byte, error) {
	of := "of all accounts"
	switch {
	case by.Operates():
	case len(by.Coordinates()) == 0:
		return nil, store.ErrNotFound
	default:
		of = "of the accounts that you coordinate"
	}
	months, err := s.store.Months(r.Context(), by.Viewer, listing.MonthQuery{By: []string{"month"}})
	if err != nil {
		return nil, err
	}
	var weeks []words.Week
	for day := time.Now().In(s.weeks.Zone); len(months) > 0 && len(weeks) < listedWeeks; {
		day = day.AddDate(0, 0, -7)
		year, number := day.ISOWeek()
		week := words.Week{Name: fmt.Sprintf("%d-W%02d", year, number)}
		if week.From, week.To = notice.ISOWeek(year, number, s.weeks.Zone); !week.To.After(months[0].Month) {
			break
		}
		week.Link = "digest?week=" + week.Name // a coordinator's is of their accounts
		weeks = append(weeks, week)
	}
	return listed(words.OfDigests(of, weeks), menu(r, by.Viewer, "digests"))
}

func (s *Server) notices(r *http.Request, by viewer, q listing.JobQuery, _ []uint32) ([]byte, error) {
	q = since(q, listedWeeks*7)
	q.Limit = listedJobs
	all, err := s.store.ToldOf(r.Context(), by.Viewer, q.Start)
	if err != nil {
		return nil, err
	}
	from := min(q.Offset, len(all))
	to := min(from+q.Limit, len(all))
	var rows []words.NoticeRow
	for _, t := range all[from:to] {
		row := words.NoticeRow{Told: t}
		if t.Advised > 0 && t.Workload != "" && !t.Shadow && !t.Muted {
			if err := s.store.AddRunsOf(r.Context(), by.Viewer, &t, time.Now()); err != nil {
				return nil, err
			}
			row.Followed = workload.FollowAdvice(&t, t.At, time.Now())
		}
		rows = append(rows, row)
	}
	return listed(words.OfNotices(q, rows, to < len(all)), menu(r, by.Viewer, "notices"))
}
