package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
)

// simulated is the work of a site: users run programs of their own, on one to four nodes.
type simulated struct {
	s    *Store
	rng  *rand.Rand
	next uint32
}

func (m *simulated) job(at time.Duration) ([]*job.NodeReport, slurm.Job) {
	m.next++
	nodes := 1 + m.rng.IntN(4)/3*m.rng.IntN(4)
	user := m.rng.IntN(100)
	reports := ofNodes(m.next, nodes, "a", at)
	line := sacct(m.next, fmt.Sprint(m.next), []string{"COMPLETED", "FAILED", "TIMEOUT"}[m.rng.IntN(3)], at-time.Minute, at, at+20*time.Second)
	line.UID, line.User, line.Account = uint32(2000+user), fmt.Sprintf("user%d", user), fmt.Sprintf("account%d", user%12)
	line.NodeList, line.Nodes, line.CPUs = reports[0].NodeList, nodes, 16*nodes
	for i, r := range reports {
		r.UID, r.User, r.Account = line.UID, line.User, line.Account
		x := &r.Executions[0]
		x.Executable, x.BuildID, x.ArgsHash, x.InputHash = "/apps/bin/program", "b1d0", fmt.Sprintf("%032x", 100*int(user)+m.rng.IntN(3)), strings.Repeat("c1", 16)
		n := &x.Nodes[0]
		x.Size, n.RankIDs, n.ElapsedSum = 16*nodes, fmt.Sprintf("%d-%d", 16*i, 16*i+15), 16*n.ElapsedMax
		n.Ranks, n.UsefulShare, n.MPIShare = 16, make([]byte, 16), make([]byte, 16)
		for i := range n.UsefulShare {
			n.UsefulShare[i], n.MPIShare[i] = byte(m.rng.IntN(256)), byte(m.rng.IntN(256))
		}
		n.Useful, n.MPI = time.Duration(m.rng.Int64N(14e9)), time.Duration(m.rng.Int64N(10e9))
	}
	return reports, line
}

// day adds a day's jobs and drops what is old.
func (m *simulated) day(t testing.TB, day, jobs int, keep Retention) Retained {
	var wg sync.WaitGroup
	work := make(chan []*job.NodeReport, 64)
	for range 32 {
		wg.Go(func() {
			for reports := range work {
				add(t, m.s, reports...)
			}
		})
	}
	var lines []slurm.Job
	for i := range jobs {
		reports, line := m.job(time.Duration(day)*oneDay + oneDay/time.Duration(jobs)*time.Duration(i)) // the other order would overflow
		work <- reports
		lines = append(lines, line)
	}
	close(work)
	wg.Wait()
	if _, err := m.s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	done, err := merged(t, m.s).Retain(ctx, keep, m.now(day+1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (m *simulated) now(days int) time.Time { return day.Add(time.Duration(days) * oneDay) }

// TestBounded: retention and monthly sums keep the database at the size that Size foretold
// earlier. JOBEFF_FAULTS=1 makes it five days of 200,000 jobs, and a year of 2,000 a day.
func TestBounded(t *testing.T) {
	onlySQLite(t, "the size of a PostgreSQL depends on when it vacuums")
	if testing.Short() {
		t.Skip("it takes a while")
	}
	full := os.Getenv("JOBEFF_FAULTS") != ""
	for _, c := range []struct {
		name          string
		days          int
		perDay, small int // jobs per day, in the full and the small form
		known         int // days after which the size is foretold
		keep          Retention
	}{
		{"five days", 5, 200_000, 400, 1, Retention{Ranks: oneDay, Jobs: 3 * oneDay}},
		{"a year", 365, 2000, 15, 30, Retention{Ranks: 14 * oneDay, Jobs: 60 * oneDay}},
	} {
		t.Run(c.name, func(t *testing.T) {
			perDay := c.small
			if full {
				perDay = c.perDay
			}
			m := &simulated{s: open(t), rng: rand.New(rand.NewPCG(1, 2))}
			var z *Sizes
			total := Retained{}
			for d := range c.days {
				done := m.day(t, d, perDay, c.keep)
				total.Pruned, total.Trimmed = total.Pruned+done.Pruned, total.Trimmed+done.Trimmed
				if d+1 == c.known {
					var err error
					if z, err = m.s.Size(ctx, c.keep, 0, c.days-c.known, m.now(d+1)); err != nil {
						t.Fatal(err)
					}
				}
			}
			end, err := m.s.Size(ctx, c.keep, float64(perDay), 1, m.now(c.days))
			if err != nil {
				t.Fatal(err)
			}
			off := float64(end.Now)/float64(z.Foretold) - 1
			t.Logf("%d jobs a day: foretold %d B for %d jobs, came to %d B (%+.0f %%) with %d jobs and %d months; a job %.0f B, %.0f B trimmed, then %.0f and %.0f",
				perDay, z.Foretold, z.KeptJobs, end.Now, 100*off, end.Jobs, end.Months, z.PerJob, z.PerTrimmed, end.PerJob, end.PerTrimmed)
			if off > 0.2 || off < -0.2 {
				t.Errorf("%.0f %% off", 100*off)
			}
			kept := int(c.keep.Jobs / oneDay * time.Duration(perDay))
			if n := count(t, m.s, "attempts"); n < kept-perDay || n > kept+perDay || total.Pruned != c.days*perDay-n {
				t.Errorf("%d jobs kept of %d, %+v", n, kept, total)
			}
			checkMonths(t, m.s, total.Pruned)
		})
	}
}

// checkMonths: every pruned job is in one month.
func checkMonths(t *testing.T, s *Store, pruned int) {
	jobs := int64(0)
	for _, m := range months(t, s) {
		jobs += m.Jobs
	}
	if jobs != int64(pruned) {
		t.Errorf("%d jobs in months of %d pruned", jobs, pruned)
	}
}
