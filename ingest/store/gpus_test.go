package store

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
)

// TestGPUHours: of 4 GPUs that Slurm gave a job, its node knows of one that a kernel ran for 5 s, and of one that it is in
// parts. All that sums up jobs says how long it had GPUs as soon as Slurm has told, and the rest once the job is judged.
func TestGPUHours(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 1, "a", 0)
	r.Executions = nil // no MPI: nothing else of it changes when it is judged
	r.GPUs = []job.GPU{{Life: 10 * time.Second, Busy: 5 * time.Second, Processes: 1}, {Why: job.GPUMIG}}
	add(t, s, r)
	tell := func(elapsed time.Duration) {
		t.Helper()
		line := sacct(7, "7", "COMPLETED", 0, 0, elapsed)
		line.GPUs = 4
		if _, err := s.AddSlurm(ctx, []slurm.Job{line, sacct(8, "8", "COMPLETED", 0, 0, elapsed)}); err != nil {
			t.Fatal(err)
		}
		merged(t, s)
	}
	want := func(when string, used, known, idle float64, unknown map[string]job.CoreTime) { // s
		t.Helper()
		list, err := s.Jobs(ctx, root, listing.JobQuery{}, nil)
		if err != nil || len(list.Jobs) != 2 {
			t.Fatal(err, list)
		}
		_, all, err := s.EachLine(ctx, root, listing.JobQuery{}, nil, func(*listing.Line) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		facts, err := s.facts(ctx, span{from: day.Add(-oneDay), to: day.Add(oneDay)})
		if err != nil {
			t.Fatal(err)
		}
		for what, h := range map[string]listing.Hours{"a list": *all.Sum, "a week": facts.Total, "an account": facts.Accounts[0].Hours, "a month": monthsOf(t, s)[0].Hours} {
			if got := [3]float64{h.GPU, h.GPUKnown, h.GPUIdle}; got != [3]float64{used / 3600, known / 3600, idle / 3600} {
				t.Errorf("%s: %s: %v", when, what, got)
			}
		}
		if named := len(facts.IdleGPUs) > 0 && facts.IdleGPUs[0].Name == "alice"; named != (idle > 0) {
			t.Errorf("%s: %+v", when, facts.IdleGPUs)
		}
		ledger := wantLedger(t, s, anyTime[0], anyTime[1], when)
		if d := cmp.Diff(unknown, ledger.GPUs.Unknown); d != "" {
			t.Errorf("%s: %s", when, d)
		}
		wantSums(t, s, when)
	}
	const second = 1e6
	tell(20 * time.Second)
	unknown := map[string]job.CoreTime{job.GPUMIG: 20 * second, "": 40 * second}
	want("told", 80, 0, 0, unknown)
	settled(t, s)
	want("judged", 80, 20, 15, unknown)
	tell(30 * time.Second)
	unknown = map[string]job.CoreTime{job.GPUMIG: 30 * second, "": 60 * second}
	want("told anew", 120, 0, 0, unknown)
	settled(t, s)
	want("judged anew", 120, 30, 15, unknown)

	var out bytes.Buffer
	if err := s.Export(ctx, &out, nil); err != nil {
		t.Fatal(err)
	}
	old := open(t) // has what an export of before these columns has
	if _, err := old.Import(ctx, strings.NewReader(regexp.MustCompile(`"gpu_\w*us":\d+,`).ReplaceAllString(out.String(), "")), nil); err != nil {
		t.Fatal(err)
	}
	wantSums(t, old, "an import")
	const told = "attempts WHERE gpu_known_us = 0 AND gpu_idle_us = 0 AND gpu_us = CASE job_id WHEN 7 THEN 120000000 ELSE 0 END"
	if n := count(t, old, told); n != 2 {
		t.Errorf("imported: %d", n)
	}
	folder := "sqlite"
	if os.Getenv(testServer) != "" {
		folder = "postgres"
	}
	text, err := migrations.ReadFile("migrations/" + folder + "/00005_gpu_hours.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.doJob(ctx, jobKey{"test", 7}, func(w *writer) error {
		w.exec("UPDATE attempts SET gpu_us = 0, gpu_known_us = 0, gpu_idle_us = 0")
		return w.exec(string(text[bytes.LastIndex(text, []byte("UPDATE attempts SET gpu_us")):]))
	}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, told); n != 2 {
		t.Errorf("migrated: %d", n)
	}
	want("migrated", 120, 0, 0, unknown)

	if _, err := s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(50*oneDay), nil); err != nil {
		t.Fatal(err)
	}
	ledger := wantLedger(t, s, anyTime[0], anyTime[1], "retention")
	if d := cmp.Diff(&listing.GPULedger{Used: 120 * second, Unknown: map[string]job.CoreTime{listing.ClassRemoved: 120 * second}}, ledger.GPUs); d != "" {
		t.Error(d)
	}
}
