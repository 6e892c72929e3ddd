package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/policy/notice"
)

// digested is what a coordinator of some accounts gets of the week that begins with the tests' day.
func digested(t *testing.T, s *Store, asked []string, accounts ...string) *listing.TwoWeeks {
	t.Helper()
	both, err := s.TwoWeeks(ctx, Viewer{UID: 1500, Accounts: accounts}, day, day.Add(7*oneDay), asked)
	if err != nil {
		t.Fatal(err)
	}
	return both
}

// TestDigestOfAccounts: what a coordinator gets of an account is what there would be if no other account were:
// also of users and workloads that both have, and in sums, comparisons and what jobeff tells of itself.
func TestDigestOfAccounts(t *testing.T) {
	var digests [2]string
	for i, others := range []bool{false, true} {
		s := open(t)
		s.began = time.Time{}
		var reports []*job.NodeReport
		ran := func(id uint32, account, user string, hour, ranks int, build string, useful time.Duration) {
			r := runReport(id, hour, ranks, nil)
			x := &r.Executions[0]
			r.Account, r.User, x.BuildID, x.MPI, x.MPIVersion = account, user, build, "MPICH", "MPICH Version:      4.0.2"
			x.Nodes[0].Useful, x.Nodes[0].UsefulMax = useful, useful
			if user == "bob" {
				r.UID = bob.UID
			}
			reports = append(reports, r)
		}
		for n := range 12 { // before and in the week, on two core counts, with a new executable
			id := uint32(1000 + 10*n)
			build := []string{"b1", "b2"}[n/8]
			ran(id, "chem", "alice", -100+20*n, 2, build, 7*time.Second)
			ran(id+1, "chem", "alice", -99+20*n, 4, build, 5*time.Second)
			if others {
				ran(id+2, "bio", "alice", -98+20*n, 2, build, 2*time.Second) // the same work
				ran(id+5, "bio", "alice", -95+20*n, 2, "b3", 2*time.Second)
				ran(id+3, "bio", "alice", -97+20*n, 8, build, time.Second)
				ran(id+4, "bio", "bob", -96+20*n, 2, build, time.Second)
			}
		}
		addConfirmed(t, s, reports...)
		lines := []slurm.Job{sacct(1, "1", "FAILED", time.Hour, time.Hour, 3*time.Hour)}
		if lines[0].Account = "bio"; others { // without a report
			if _, err := s.AddSlurm(ctx, lines); err != nil {
				t.Fatal(err)
			}
		}
		key := job.WorkloadKey("test", alice.UID, &reports[0].Executions[0])
		mail := mailOf("notice:1")
		told := &mail.Told[0]
		told.At, told.Workload, told.Cores, told.Advised = day.Add(-oneDay), key, 2, 1
		if others {
			told.Job, told.Jobs, told.Lost = "1002", 77, 88
		}
		if _, err := s.DecideMail(ctx, mail); err != nil {
			t.Fatal(err)
		}
		if others {
			if _, err := s.DecideMail(ctx, &notice.Mail{Key: "notice:2", MessageID: "2", Kind: notice.MailNotice, Decided: day, NotBefore: day,
				Told: []listing.Told{{Cluster: "test", UID: bob.UID, At: day, Subject: "w", Workload: job.WorkloadKey("test", bob.UID, &reports[0].Executions[0]), Rule: "r", Cores: 2, Advised: 1}}}); err != nil {
				t.Fatal(err)
			}
		} else if err := s.MailSent(ctx, "notice:1", day); err != nil {
			t.Fatal(err)
		}
		both := digested(t, s, nil, "chem")
		f := both.This
		if len(f.Heavy) == 0 || len(f.Lineages) == 0 || len(f.Series) == 0 || len(f.Told) != 1 || len(f.Programs) == 0 || f.Total.Jobs == 0 || both.Before.Total.Jobs == 0 || f.Health.Reports == 0 {
			t.Fatalf("the test is empty: %d heavy, %d lineages, %d series, %d told, %+v", len(f.Heavy), len(f.Lineages), len(f.Series), len(f.Told), f.Total)
		}
		text, err := json.MarshalIndent(both, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = string(text)
		if others {
			seen(t, s, both)
		}
	}
	if d := cmp.Diff(digests[0], digests[1]); d != "" {
		t.Error("with other accounts beside it, the digest differs: ", d)
	}
}

// seen: a coordinator gets all of their accounts if they name none, and none but these.
func seen(t *testing.T, s *Store, chem *listing.TwoWeeks) {
	t.Helper()
	if all := digested(t, s, nil, "bio", "", "chem"); all.This.Total.Jobs <= chem.This.Total.Jobs || len(all.This.Accounts) != 2 {
		t.Errorf("of both accounts: %+v", all.This.Total)
	}
	if one := digested(t, s, []string{"chem"}, "bio", "chem"); !cmp.Equal(one, chem) {
		t.Error("one of two accounts: ", cmp.Diff(one, chem))
	}
	for _, c := range []struct {
		v     Viewer
		asked []string
	}{{alice, nil}, {alice, []string{"chem"}}, {Viewer{UID: 1500, Accounts: []string{"chem"}}, []string{"chem", "bio"}},
		{Viewer{UID: 1500, Accounts: []string{"chem"}}, []string{""}}, {Viewer{UID: 1500, Accounts: []string{""}}, nil}} {
		if both, err := s.TwoWeeks(ctx, c.v, day, day.Add(7*oneDay), c.asked); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v gets %v: %+v, %v", c.v, c.asked, both, err)
		}
	}
}

// TestWrongOfAccounts: a coordinator's digest has what was said to be wrong of jobs of their accounts, without the figures
// of all that its user ran, and nothing that was told in shadow.
func TestWrongOfAccounts(t *testing.T) {
	s := siteStore(t)
	for i, c := range []struct {
		job    string
		uid    uint32
		shadow bool
	}{{"1", alice.UID, false}, {"2", alice.UID, true}, {"3", alice.UID, false}, {"4", bob.UID, false}, {"1", bob.UID, false}, {"", alice.UID, false}, {"none", alice.UID, false}} {
		m := mailOf(fmt.Sprint("notice:", i))
		told := &m.Told[0]
		told.Job, told.UID, told.Shadow, told.Subject, told.At = c.job, c.uid, c.shadow, fmt.Sprint(i), day.Add(10*time.Hour)
		if _, err := s.DecideMail(ctx, m); err != nil {
			t.Fatal(err)
		}
		told.WrongAt, told.WrongBy, told.Wrong = day.Add(time.Duration(11+i)*time.Hour), c.uid, "no"
		if said, err := s.SayWrong(ctx, told); !said || err != nil {
			t.Fatal(said, err)
		}
	}
	for accounts, want := range map[string]string{"chem": "1 0 0", "bio": "3 0 0 4 0 0", "chem bio": "1 0 0 3 0 0 4 0 0", "phys": ""} {
		var got []string
		for _, w := range digested(t, s, nil, strings.Fields(accounts)...).This.Wrong {
			got = append(got, fmt.Sprintf("%s %d %g", w.Job, w.Jobs, w.Lost))
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("of %s: %s", accounts, d)
		}
	}
	if both, err := s.TwoWeeks(ctx, root, day, day.Add(7*oneDay), nil); err != nil || len(both.This.Wrong) != 7 {
		t.Errorf("of all: %v, %+v", err, both.This.Wrong)
	}
}
