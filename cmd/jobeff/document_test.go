package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/store"
	"jobeff/report/document"
	"jobeff/report/figure"
)

// ofJobeffd are the fields of a job's document that a node alone does not know.
var ofJobeffd = []string{"verdicts", "flags", "workload", "unconfirmed", "attempt"}

// TestOneDocument: what jobeffd answers of a job is what the command prints, field by field what
// jobeff-ingest --print makes of the same reports, and what the text and the page show.
func TestOneDocument(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("reports are root's")
	}
	dir := t.TempDir()
	socket, config, ctx := filepath.Join(dir, "s"), filepath.Join(dir, "jobeff.toml"), context.Background()
	if err := os.WriteFile(config, fmt.Appendf(nil, "[report]\nto = \"unix:%s\"\n", socket), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOBEFF_CONFIG", config)
	stop, err := startServer(filepath.Join(dir, "jobeff.db"), socket, config)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient("unix:"+socket, 10*time.Second, nil)
	defer c.Close()
	for what, names := range map[string][]string{"MPI": {"bad-n1", "bad-n2"}, "threads": {"bad-n1", "bad-n2"}, "five programs": {"five"}, "no data": {"nompi"}, "killed": {"killed-n1"}} {
		t.Run(what, func(t *testing.T) {
			var merger job.JobMerger
			var id string
			for _, name := range names {
				text, err := os.ReadFile(filepath.Join("testdata/reports", name+".json"))
				if err != nil {
					t.Fatal(err)
				}
				if what == "threads" {
					text = withThreads(t, text)
				}
				r, err := job.DecodeReport(text)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.PostReport(ctx, text); err != nil {
					t.Fatal(err)
				}
				merger.Add(r)
				id = fmt.Sprint(r.JobID)
			}
			db, _ := stores.Load(socket)
			if err := merge(db.(*store.Store)); err != nil {
				t.Fatal(err)
			}
			served, err := c.JobDocument(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			answered := fields(t, served)
			if d := cmp.Diff(answered, fields(t, ofCommand(t, "--json", id))); d != "" {
				t.Errorf("jobeff --json:\n%s", d)
			}
			var printed bytes.Buffer
			if err := document.WriteJob(&printed, merger.Job(), nil, nil); err != nil {
				t.Fatal(err)
			}
			want := fields(t, printed.Bytes())
			for _, name := range ofJobeffd {
				delete(want, name)
				delete(answered, name)
			}
			if d := cmp.Diff(want, answered); d != "" {
				t.Errorf("jobeffd:\n%s", d)
			}
			pe, measured := answered["parallel_efficiency"].(float64)
			if mpi := answered["mpi_parallel_efficiency"]; measured && (what == "threads") != (mpi.(float64) > pe) {
				t.Errorf("parallel efficiency %v, of MPI %v", pe, mpi)
			}
			text, page := string(ofCommand(t, id)), string(ofCommand(t, "report", id, "--html", "-"))
			tags := regexp.MustCompile(`<[^>]*>`)
			for where, said := range map[string]string{"text": text, "page": tags.ReplaceAllString(page, " ")} {
				said = strings.Join(strings.Fields(said), " ")
				if shown := "Parallel efficiency " + figure.Efficiency(pe); strings.Contains(said, shown) != measured {
					t.Errorf("the %s does not say %q:\n%s", where, shown, said)
				}
			}
		})
	}
}

// withThreads lets each rank of a report have two threads, of which one computes, and gives it
// another job.
func withThreads(t *testing.T, text []byte) []byte {
	var r job.NodeReport
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	r.JobID += 50
	for i := range r.Executions[0].Nodes {
		n := &r.Executions[0].Nodes[i]
		n.Threads = &job.ThreadShare{Ranks: n.Ranks, Threads: 2 * n.Ranks, ThreadsMax: 2, Useful: n.Useful, UsefulMax: n.UsefulMax,
			MPI: n.MPI, IO: n.IO, Serial: n.Useful + n.MPI + n.IO}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ofCommand is what a command of jobeff prints.
func ofCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, os.Getenv, &stdout, &stderr); code != 0 {
		t.Fatalf("jobeff %v: %d, %s", args, code, stderr.String())
	}
	return stdout.Bytes()
}

func fields(t *testing.T, text []byte) (of map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return of
}
