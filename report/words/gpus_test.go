package words

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
)

// TestGPUWords: what is said of a job's GPUs, and nothing of a job without.
func TestGPUWords(t *testing.T) {
	const span = 2*time.Hour + 3*time.Minute
	for want, u := range map[string]*job.GPUUse{
		"": nil,
		"4; a kernel ran 37 % of the time (of 4 GPUs x 02:03:00)":             {GPUs: 4, Known: 4, Time: 4 * span, Busy: span * 148 / 100, Processes: 9},
		"1; a kernel ran at most 50 % of the time (of 1 GPU x 02:03:00)":      {GPUs: 1, Known: 1, Time: span, Busy: span / 2, Processes: 9, AtMost: true},
		"2; not known: the driver's accounting is off":                        {GPUs: 2, Unknown: map[string]int{job.GPUNoAccounting: 2}},
		"2; no process used them":                                             {GPUs: 2, Known: 2, Time: span},
		"1; not known: the node gave a reason that this jobeff does not know": {GPUs: 1, Unknown: map[string]int{"\x1b[2J": 1}},
		"4; a kernel ran 25 % of the time (of 1 GPU x 02:03:00); not known of 3 GPUs: the driver did not answer": {GPUs: 4, Known: 1, Time: span, Busy: span / 4, Processes: 1,
			Unknown: map[string]int{job.GPUHangs: 2, job.GPUFailed: 1}},
	} {
		if got := gpuText(&job.Job{GPUUse: u}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		waits := strings.Contains(gpuExplained(&job.Job{GPUUse: u}), "NCCL")
		if want := u != nil && u.Processes > 0 && u.GPUs > 1; waits != want {
			t.Errorf("%+v: what waits for another GPU is told: %v", u, waits)
		}
	}
}

// gpuJob is a job of 2 GPUs for an hour; of so many it is known that no process used them.
func gpuJob(id string, known int) job.Job {
	return job.Job{DisplayID: id, CPUs: 4, Elapsed: time.Hour, GPUs: 2, GPUUse: &job.GPUUse{GPUs: 2, Known: known, Time: time.Duration(known) * time.Hour}}
}

// TestGPUHoursWords: GPU-hours are told only where there are some, and no kernel only of GPUs that are known.
func TestGPUHoursWords(t *testing.T) {
	none := job.Job{DisplayID: "1", CPUs: 4, Elapsed: time.Hour}
	for _, c := range []struct {
		jobs              []job.Job
		columns, row, sum string
	}{
		{[]job.Job{none}, "Core-h Lost", "4.00 -", "of none is it known what was lost."},
		{[]job.Job{gpuJob("2", 0), none}, "Core-h Lost GPU-h", "4.00 - 2.00", "GPU-hours: 2.00 used; what the GPUs did is not known."},
		{[]job.Job{gpuJob("2", 1), none}, "Core-h Lost GPU-h GPUIdle", "4.00 - 2.00 1.00", "GPU-hours: 2.00 used; no kernel ran in at least 1.00 of 1.00 that are known (100 %)."},
		{[]job.Job{none, gpuJob("2", 1)}, "Core-h Lost GPU-h GPUIdle", "4.00 - - -", "GPU-hours: 2.00 used; no kernel ran in at least 1.00 of 1.00 that are known (100 %)."},
	} {
		l := OfList(listing.LinesOf(c.jobs), ListOptions{}, false)
		from := slices.Index(l.Table.Heads, "Core-h")
		to := slices.Index(l.Table.Heads, "LB")
		if got := strings.Join(l.Table.Heads[from:to], " "); got != c.columns || strings.Join(l.Table.Rows[0][from:to], " ") != c.row || !strings.HasSuffix(l.Notes[0], c.sum) {
			t.Errorf("%q %q %q, want %+v", got, l.Table.Rows[0], l.Notes, c)
		}
		page := jobsPageTable(&JobsPage{Lines: listing.LinesOf(c.jobs)})
		sums := sumsTable(&SumsPage{Of: "user", Counted: "job"}, []listing.NamedHours{{Name: "x", Hours: policy.HoursOf(c.jobs)}})
		gpus := strings.Contains(c.columns, "GPU")
		if slices.Contains(page.Heads, "GPU-h") != gpus || strings.Contains(page.Note, "GPU-h: ") != gpus || slices.Contains(sums.Heads, "GPU-hours") != gpus || len(sums.Rows[0]) != len(sums.Heads) || strings.Contains(sums.Note, "GPU") != gpus {
			t.Errorf("%v: %q %q, %q %q", c.columns, page.Heads, page.Note, sums.Heads, sums.Rows)
		}
	}
}

// TestGPUsAreListed: of GPUs that differ, those come first on which a kernel ran shortest, and it is told how many are
// left out. Of GPUs that nothing tells apart there is no list.
func TestGPUsAreListed(t *testing.T) {
	begin := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	used := func(minutes time.Duration) job.GPU {
		return job.GPU{UUID: "GPU-0123456789-ab", Life: time.Hour, Busy: minutes * time.Minute, Processes: 1, Memory: 3 << 30}
	}
	shared, mig, hangs, twenty := used(30), job.GPU{Why: job.GPUMIG}, job.GPU{Why: job.GPUHangs}, []job.GPU{used(3)}
	shared.AtMost = true
	for range 19 {
		twenty = append(twenty, used(60))
	}
	for name, c := range map[string]struct {
		gpus    []job.GPU
		heading string // "": no list
		rows    int
		first   string
		notes   string
	}{
		"one":               {[]job.GPU{used(50)}, "", 0, "", ""},
		"alike":             {[]job.GPU{used(50), used(49)}, "", 0, "", ""},
		"none was used":     {[]job.GPU{{}, {}}, "", 0, "", ""},
		"none is known":     {[]job.GPU{mig, mig}, "", 0, "", ""},
		"for two reasons":   {[]job.GPU{mig, hangs, mig}, "GPUs", 3, "n1 - not known - - -", "not known of 1 GPU: the driver did not answer; not known of 2 GPUs: the driver keeps no accounts of parts of a GPU (MIG)"},
		"one idled":         {[]job.GPU{used(60), {UUID: "GPU-77"}}, "GPUs: load balance 0.50", 2, "n1 77 0 % 01:00:00 0 -", ""},
		"half of the time":  {[]job.GPU{used(60), used(60), used(30)}, "GPUs: load balance 0.83", 3, "n1 01234567 50 % 01:00:00 1 3.0 GiB", ""},
		"one is not known":  {[]job.GPU{mig, used(60), used(60)}, "GPUs: load balance 1.00 of 2 known", 3, "n1 01234567 100 % 01:00:00 1 3.0 GiB", ""},
		"one is a bound":    {[]job.GPU{used(60), shared}, "GPUs", 2, "n1 01234567 at most 50 % 01:00:00 1 3.0 GiB", ""},
		"more than a list":  {twenty, "GPUs: load balance 0.95", 16, "n1 01234567 5 % 01:00:00 1 3.0 GiB", "and 4 other GPUs, each with as much or more of a kernel, or not known"},
		"of no time at all": {[]job.GPU{{Processes: 1}, mig}, "GPUs", 2, "n1 - 0 % 01:00:00 1 -", ""},
	} {
		u := new(job.GPUUse)
		u.Add(&job.NodeReport{Node: "n1", Start: begin, End: begin.Add(time.Hour), GPUs: c.gpus})
		part := gpusPart(&job.Job{GPUUse: u})
		if part.Heading != c.heading || strings.Join(part.Notes, "; ") != c.notes {
			t.Errorf("%s: %q, %q", name, part.Heading, part.Notes)
		}
		if c.heading == "" {
			continue
		}
		if drawn := part.Tables[0].Bars != nil; drawn != (u.Known == u.GPUs) { // an empty bar would say idle
			t.Errorf("%s: bars are drawn: %v", name, drawn)
		}
		if rows := part.Tables[0].Rows; len(rows) != c.rows || strings.Join(rows[0], " ") != c.first {
			t.Errorf("%s: %d rows, %q", name, len(rows), rows[0])
		}
	}
}
