package harm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
)

// smallSite is a made-up site of few users, who submit alike. The programs of the first one often crash, fail and
// run out of memory, measured or not.
type smallSite struct {
	r     *rand.Rand
	users int
	share float64
	gap   time.Duration // between jobs, in the mean
	added float64       // part of the measured jobs that measuring crashes
	now   time.Time
	id    uint32
	drift float64 // of this week
	week  int
}

func newSmallSite(seed uint64, users int, share float64, perYear int) *smallSite {
	return &smallSite{r: rand.New(rand.NewPCG(seed, uint64(users))), users: users, share: share, gap: 365 * 24 * time.Hour / time.Duration(perYear),
		now: began, id: uint32(seed) * 1_000_000, week: -1}
}

func (s *smallSite) next() (*job.Job, bool) {
	s.id++
	s.now = s.now.Add(time.Duration(s.r.ExpFloat64() * float64(s.gap)))
	if at := int(s.now.Sub(began) / week); at > s.week {
		s.week, s.drift = at, math.Exp(.3*s.r.NormFloat64())
	}
	j := &job.Job{Cluster: "made", JobID: s.id, UID: uint32(1000 + s.r.IntN(s.users)), Name: "work", Partition: "main", CPUs: 64, Nodes: 1, State: "COMPLETED", ExitCode: "0:0",
		End: s.now, Elapsed: time.Duration(float64(time.Hour) * math.Exp(.05*s.r.NormFloat64()))}
	at, often := s.r.Float64(), s.drift
	if j.UID == 1000 {
		often = 10
	}
	for _, r := range rates {
		rate := r.rate
		if r.kind == AlarmCrashed {
			rate = .001
			if j.UID == 1000 {
				rate = .03
			}
		}
		if at -= rate * often; at < 0 {
			j.State, j.ExitCode = r.state, r.code
			break
		}
	}
	measured := (&etc.Measure{Share: s.share}).Draws(s.id)
	if measured && s.r.Float64() < s.added {
		crash(j)
	}
	return j, measured
}

// raises tells whether an alarm is raised in so many jobs, or within a year.
func (s *smallSite) raises(jobs int) bool {
	w, step := New(s.share, began), 10+s.users
	for i := 1; i <= jobs && s.now.Before(began.AddDate(1, 0, 0)); i++ {
		w.Add(s.next())
		if (i%step == 0 || i == jobs) && len(w.Alarms()) > 0 {
			return true
		}
	}
	return false
}

// TestQuietYears: of 1,000 years of sites of 5, 10, 14 and 300 users, at most 5 % have an alarm without harm. One user of each
// crashes his own jobs.
func TestQuietYears(t *testing.T) {
	years := uint64(1000)
	if testing.Short() {
		years = 40
	}
	raised := 0
	for seed := range years {
		users := []int{5, 10, 14, 300}[seed%4]
		s := newSmallSite(seed, users, []float64{.1, .5, .9}[seed/4%3], 1500+10*users)
		if s.raises(math.MaxInt) {
			raised++
		}
	}
	t.Logf("%d of %d years have an alarm", raised, years)
	if raised > int(years)/20 {
		t.Errorf("%d of %d years have an alarm without harm", raised, years)
	}
}

// TestYearsOfBets: the chances of all bets that are on in 52 weeks add up to at most 5 % (Ville, of each).
func TestYearsOfBets(t *testing.T) {
	chance := 0.0
	for _, term := range terms {
		on := (52 + term.weeks) / term.every
		chance += float64(on*len(AlarmKinds)) / term.limit
	}
	if chance > .05 {
		t.Errorf("an alarm without harm has a chance of up to %v a year", chance)
	}
}

// seen is in how many of a hundred sites an alarm comes within so many jobs of ten weeks.
func seen(users, jobs int, added float64) (n int) {
	for seed := range uint64(100) {
		s := newSmallSite(seed, users, .5, jobs*52/10)
		s.added = added
		if s.raises(jobs) {
			n++
		}
	}
	return n
}

// TestLeastHarm writes ADMIN's table of small sites: what part of the measured jobs must crash for 80 of 100 sites to have an alarm.
func TestLeastHarm(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of sites")
	}
	guide, err := os.ReadFile("../../doc/ADMIN.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, users := range []int{5, 10, 14} {
		row := fmt.Sprintf("| %d |", users)
		for _, jobs := range []int{780, 1560, 6000} {
			least := "none"
			for _, in := range []int{50, 30, 20, 10, 5} {
				if seen(users, jobs, 1/float64(in)) >= 80 {
					least = fmt.Sprintf("1 in %d", in)
					break
				}
			}
			row += " " + least + " |"
		}
		t.Log(row)
		if !strings.Contains(string(guide), row) {
			t.Errorf("doc/ADMIN.md lacks the row %q", row)
		}
	}
}

// TestHarmOfFewUsersIsSeen: 5 % of 780 measured jobs of 14 users crash.
func TestHarmOfFewUsersIsSeen(t *testing.T) {
	if n := seen(14, 2*780, .05); n < 80 {
		t.Errorf("%d of 100 sites have an alarm", n)
	}
}

// TestUsersNeeded: an alarm needs so many users as its text says, neither more nor less, whatever they do.
func TestUsersNeeded(t *testing.T) {
	for _, past := range []bool{false, true} {
		for n := 1; n <= 20; n++ {
			w, since := New(.5, began), began
			if past {
				since = since.Add(-Before)
				w = New(.98, began)
			}
			for i := range 20_000 {
				j := &job.Job{Cluster: "made", JobID: uint32(i), UID: uint32(i % n), State: "COMPLETED", ExitCode: "0:0", End: since.Add(time.Duration(i) * (week / 2000))}
				if measured := (&etc.Measure{Share: w.share}).Draws(j.JobID) && !j.End.Before(began); measured {
					if i/n%3 == 0 {
						crash(j)
					}
					w.Add(j, measured)
				} else {
					w.Add(j, false)
				}
			}
			if got := len(w.Alarms()) > 0; got != (n >= AlarmUsers) {
				t.Errorf("past %v: %d users: alarm %v, want at least %d", past, n, got, AlarmUsers)
			}
			if cannot := w.Comparison().Cannot; (cannot == FewUsers) != (n < AlarmUsers) {
				t.Errorf("past %v: %d users: %q", past, n, cannot)
			}
		}
	}
}

// TestComparison: it says what would be seen, or why nothing would; what it says would be is.
func TestComparison(t *testing.T) {
	for _, c := range []struct {
		share       float64
		users, jobs int
		cannot      string
	}{
		{0, 14, 1000, NoneMeasured}, {1, 14, 1000, AllMeasured}, {.5, 4, 10_000, FewUsers}, {.5, 14, 50, FewJobs}, {.5, 14, 0, FewUsers},
		{.5, 14, 1560, ""}, {.5, 300, 6000, ""}, {.1, 14, 6000, ""},
	} {
		is := func(seed uint64, oneIn int) (Comparison, bool) {
			s := newSmallSite(seed, c.users, c.share, 20_000)
			w := New(c.share, began)
			for range c.jobs {
				j, measured := s.next()
				if j.State, j.ExitCode = "COMPLETED", "0:0"; oneIn > 0 && measured && s.r.IntN(oneIn) == 0 {
					crash(j)
				}
				w.Add(j, measured)
			}
			return w.Comparison(), len(w.Alarms()) > 0
		}
		got, _ := is(1, 0)
		if got.Cannot != c.cannot || (got.OneIn > 0) != (c.cannot == "") {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.cannot != "" {
			continue
		}
		n := 0
		for seed := range uint64(20) {
			if _, up := is(seed+1, got.OneIn); up {
				n++
			}
		}
		t.Logf("%+v: %+v: %d of 20", c, got, n)
		if n < 10 {
			t.Errorf("%+v: %+v, but an alarm was up at %d of 20 sites", c, got, n)
		}
	}
}

// TestWhatCounts: a job once, a failing array once.
func TestWhatCounts(t *testing.T) {
	w := New(.5, began)
	add := func(id, uid uint32, state string) {
		w.Add(&job.Job{Cluster: "made", JobID: id, UID: uid, State: state, ExitCode: "0:11", End: began}, true)
	}
	count := func(what string, jobs, bad int) {
		t.Helper()
		for _, b := range w.kinds[0].bets {
			if got := b.all[1]; got != [2]int{jobs - bad, bad} {
				t.Errorf("%s: %v, want %d of %d", what, got, bad, jobs)
			}
		}
	}
	add(1, 1, "FAILED")
	add(1, 1, "FAILED")
	count("the second attempt", 1, 1)
	for id := range uint32(20) {
		add(10+id, 1, "COMPLETED")
	}
	count("the jobs after it", 1, 1)
	add(100, 1, "FAILED")
	count("the next one", 2, 2)
	for id := range uint32(30) {
		add(200+id, 1, "FAILED")
	}
	count("its array", 2, 2)
	add(300, 2, "FAILED")
	count("another user", 3, 3)
}

// TestQuietPast: 30 made-up sites whose rates drift by 30 % from week to week have no alarm against their past.
func TestQuietPast(t *testing.T) {
	sites := uint64(30)
	if testing.Short() {
		sites = 3
	}
	for seed := range sites {
		s, w := watched(seed+1, 200, .98, true)
		if _, ok := w.kinds[0].worst(); !ok {
			t.Errorf("site %d has no past", seed)
		}
		if a, _ := s.until(w, s.now.Add(pastFor*week), math.MaxInt); a != nil {
			t.Errorf("site %d: %+v", seed, *a)
		}
	}
}
