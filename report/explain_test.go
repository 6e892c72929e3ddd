package report

import (
	"bytes"
	"io"
	"testing"

	"jobeff/report/text"
)

func TestExplainViews(t *testing.T) {
	for _, name := range []string{"bad", "five", "hostile", "killed", "no-mpi", "singletons", "threads", "hybrid"} {
		j := fixtures()[name]
		eachView(t, "explain-"+name, func(w io.Writer, opts text.Options) error { return explain(w, j, judged(t, j), opts) })
	}
}

// TestVerdictsInTheJob: what the rules flag stands in the job's page and document.
func TestVerdictsInTheJob(t *testing.T) {
	j := fixtures()["hostile"]
	j.Nodes, j.Metrics.Nodes, j.Complete = 4, 2, true
	var out bytes.Buffer
	if err := textOf(&out, j, nil, judged(t, j), text.Options{}); err != nil {
		t.Fatal(err)
	}
	checkFits(t, out.String(), text.Options{})
	golden(t, "job-flagged.txt", out.Bytes())
	out.Reset()
	if err := jsonOf(&out, fixtures()["bad"], nil, judged(t, fixtures()["bad"])); err != nil {
		t.Fatal(err)
	}
	golden(t, "job-flagged.json", out.Bytes())
}
