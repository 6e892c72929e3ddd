package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// said is the text of a job.
func said(t *testing.T, j *job.Job) string {
	t.Helper()
	var out bytes.Buffer
	if err := textOf(&out, j, nil, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestLightSections: a section that took hardly any time is counted, not named, unless a rank
// ended inside it.
func TestLightSections(t *testing.T) {
	j := fixtures()["sections"]
	light := job.Section{Label: "light", Ranks: 1, Count: 1, Elapsed: time.Microsecond, ElapsedMax: time.Microsecond}
	ended := light
	ended.Label, ended.Open = "ended", 1
	j.Executions[0].Sections = append(j.Executions[0].Sections, light, ended)
	page := said(t, j)
	if strings.Contains(page, "light") || !strings.Contains(page, "and 11 sections with less time") || !strings.Contains(page, "ended (1 rank)") {
		t.Error(page)
	}
	j.Executions[0].Sections = []job.Section{light}
	if page := said(t, j); strings.Contains(page, "Sections of the program") {
		t.Error(page)
	}
}

// TestShareOfThreads: calls of several threads of a rank at once may come to more than the ranks'
// time, which is no share of it.
func TestShareOfThreads(t *testing.T) {
	j := fixtures()["bad"]
	j.Executions[0].Calls = []job.Call{{Name: "MPI_Recv", Count: 4, Time: time.Duration(4 * job.RankSeconds(j.Executions) * 1e9)}}
	if page := said(t, j); strings.Contains(page, "400 %") || !strings.Contains(page, "MPI_Recv") {
		t.Error(page)
	}
}
