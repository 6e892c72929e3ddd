package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

// sumsOf is a coreTime of made-up sums.
func sumsOf(rows *[]listing.MonthSum, err *error) *coreTime {
	return newCoreTime(func(context.Context, store.Viewer, listing.MonthQuery) ([]listing.MonthSum, error) {
		return *rows, *err
	}, false)
}

// TestCoreTime: counters begin at 0, grow with the sums, and fall neither when a sum does nor when the
// database fails.
func TestCoreTime(t *testing.T) {
	rows, err := []listing.MonthSum{{Partition: "main", Account: "chem", Hours: listing.Hours{Used: 100, Judged: 50, Lost: 20}}}, error(nil)
	c := sumsOf(&rows, &err)
	now := time.Now()
	c.refresh(now)
	for i, step := range []struct {
		rows []listing.MonthSum
		err  error
		want string // used, judged and lost of chem and of bio
	}{
		{rows, nil, "0 0 0, 0 0 0"},
		{[]listing.MonthSum{{Partition: "main", Account: "chem", Hours: listing.Hours{Used: 110, Judged: 52, Lost: 21}}}, nil, "36000 7200 3600, 0 0 0"},
		{[]listing.MonthSum{{Partition: "main", Account: "chem", Hours: listing.Hours{Used: 110, Judged: 51, Lost: 20}}, {Partition: "main", Account: "bio", Hours: listing.Hours{Used: 1}}}, nil, "36000 7200 3600, 3600 0 0"},
		{[]listing.MonthSum{{Partition: "main", Account: "chem", Hours: listing.Hours{Used: 110, Judged: 52, Lost: 21.5}}}, nil, "36000 7200 5400, 3600 0 0"},
		{nil, errors.New("away"), "36000 7200 5400, 3600 0 0"},
	} {
		rows, err = step.rows, step.err
		now = now.Add(coreTimeLifetime)
		c.refresh(now)
		got := ""
		for _, account := range []string{"chem", "bio"} {
			m, b := c.most[place{"", "main", account}], c.before[place{"", "main", account}]
			got += fmt.Sprintf("%.0f %.0f %.0f, ", m[0]-b[0], m[1]-b[1], m[2]-b[2])
		}
		if strings.TrimSuffix(got, ", ") != step.want {
			t.Errorf("step %d: %s want %s", i, got, step.want)
		}
	}
}

// TestCoreTimeOfManyAccounts: 10,000 accounts and partitions of whatever name make few series, that
// Prometheus can read, and whose sum is the whole. Who has a series of their own keeps it.
func TestCoreTimeOfManyAccounts(t *testing.T) {
	var rows []listing.MonthSum
	var err error
	c := sumsOf(&rows, &err)
	now := time.Now()
	c.refresh(now)
	hostile := []string{"", "other", "a\"b", "a\nb", "a\\b", "\xff", "\xfe", "{job=\"x\"}", strings.Repeat("x", 10_000), "\x00", "# HELP"}
	for i := range 10_000 {
		name := fmt.Sprint("account", i)
		if i < len(hostile) {
			name = hostile[i]
		}
		rows = append(rows, listing.MonthSum{Partition: name, Account: name, Hours: listing.Hours{Used: 1, Judged: 1, Lost: 1}})
	}
	check := func(want float64) {
		t.Helper()
		now = now.Add(coreTimeLifetime)
		c.refresh(now)
		c.at = time.Now() // Collect takes these
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		all, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		used := 0.0
		for _, f := range all {
			if n := len(f.Metric); n > namedAccounts+namedPartitions {
				t.Errorf("%s: %d series", f.GetName(), n)
			}
			for _, m := range f.Metric {
				if f.GetName() == "jobeff_used_core_seconds_total" {
					used += m.GetCounter().GetValue()
				}
			}
		}
		if used != want*3600 {
			t.Errorf("%v s, want %v h", used, want)
		}
	}
	check(10_000)
	named := len(c.accounts)
	for i := range rows { // another order: others lose most now
		rows[i].Used++
	}
	for i := range len(rows) / 2 {
		rows[i], rows[len(rows)-1-i] = rows[len(rows)-1-i], rows[i]
	}
	check(20_000)
	if named != namedAccounts || len(c.accounts) != named {
		t.Errorf("%d accounts, then %d", named, len(c.accounts))
	}
}

// TestCoreTimeOfJobs: what a job used counts once Slurm has told of its end, less what was before the start,
// and stays when retention drops the job.
func TestCoreTimeOfJobs(t *testing.T) {
	db := openStore(t)
	line := func(id uint32) slurm.Job {
		l := known(id, "n1", 1)
		l.CPUs, l.Account, l.Partition = 4, "chem", "main"
		return l
	}
	tell(t, db, line(1))
	c := newCoreTime(db.Months, false)
	c.refresh(time.Now())
	used := func() float64 {
		c.at = time.Time{}
		c.refresh(time.Now())
		at := place{"", "main", "chem"}
		return c.most[at][0] - c.before[at][0]
	}
	if s := used(); s != 0 {
		t.Errorf("%v s before any job ended", s)
	}
	tell(t, db, line(2), line(3))
	if s := used(); s != 2*4*60 {
		t.Errorf("%v s of two jobs", s)
	}
	if done, err := db.Retain(ctx, store.Retention{Jobs: time.Hour}, time.Now().Add(48*time.Hour), nil); err != nil || done.Pruned != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	if s := used(); s != 2*4*60 {
		t.Errorf("%v s once they are dropped", s)
	}
}

// TestCoreTimeByCluster: the same partition and account of two clusters have a counter each, where they are told apart.
func TestCoreTimeByCluster(t *testing.T) {
	rows, err := []listing.MonthSum{}, error(nil)
	c := newCoreTime(func(_ context.Context, _ store.Viewer, q listing.MonthQuery) ([]listing.MonthSum, error) {
		if !slices.Equal(q.By, []string{"cluster", "partition", "account"}) {
			t.Error(q.By)
		}
		return rows, err
	}, true)
	now := time.Now()
	c.refresh(now)
	for i, cluster := range []string{"carbon", "gold"} {
		rows = append(rows, listing.MonthSum{Cluster: cluster, Partition: "main", Account: "chem", Hours: listing.Hours{Used: float64(1 + i)}})
	}
	c.refresh(now.Add(coreTimeLifetime))
	c.at = time.Now()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(families)
	for _, want := range []string{`label:{name:"cluster" value:"carbon"} label:{name:"partition" value:"main"} counter:{value:3600}`, `label:{name:"cluster" value:"gold"} label:{name:"partition" value:"main"} counter:{value:7200}`} {
		if !strings.Contains(strings.ReplaceAll(said, "  ", " "), want) {
			t.Errorf("%s is not in %s", want, said)
		}
	}
}
