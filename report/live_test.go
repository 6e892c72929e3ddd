package report

import (
	"bytes"
	"io"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/view"
	"jobeff/report/words"
)

// TestLiveViews: any job, while it runs, beside another one's figures of the last moment.
func TestLiveViews(t *testing.T) {
	runs := func(j *job.Job) *job.Job {
		j.State, j.ExitCode, j.End, j.AsOf = "RUNNING", "", time.Time{}, began.Add(sec(90))
		return j
	}
	last := fixtures()["bad"]
	of := words.Watched{SoFar: runs(fixtures()["good"]), Last: last, Span: 10 * time.Second, CPU: 3 * time.Millisecond,
		Quiet: []string{"n2 has not answered since 12:00:10.", "n3: there is no record of this job" + nasty}}
	eachView(t, "live", func(w io.Writer, opts Options) error { return TextOfLive(w, view.NewLive(of, opts.Unicode), opts) })
	for name, j := range fixtures() {
		for look, opts := range views {
			for _, of := range []words.Watched{{SoFar: runs(j), Last: j, Quiet: []string{nasty}}, {SoFar: runs(j), Last: fixtures()["off"], Span: time.Second}} {
				var out bytes.Buffer
				if err := TextOfLive(&out, view.NewLive(of, opts.Unicode), opts); err != nil || out.Len() == 0 {
					t.Errorf("%s-%s: %v", name, look, err)
				}
				checkFits(t, out.String(), opts)
			}
		}
	}
}
